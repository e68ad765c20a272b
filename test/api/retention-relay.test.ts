import { afterAll, beforeAll, expect, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { runRetention } from '../../core/retention/run-retention.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ plan: 'hobby' })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function purge() {
  const { db, clock, deps } = relay
  const { signal } = new AbortController()
  return await runRetention({ db, clock, plans: deps.plans, signal }, clock.now())
}

test('a dedupe key lives as long as its event: then the same request is a new event', async () => {
  const { source, endpoint } = await relay.route({ source: { idempotencyKeys: ['body.id'] } })
  const sent = { headers: { 'content-type': 'application/json' }, body: '{"id":"same"}' }
  const first = await relay.accept(source, sent)
  await relay.reaches(first, { status: 'succeeded' })
  expect((await relay.send(source, sent)).body).toEqual({ ok: true, duplicate: true })
  await relay.advance(3 * DAY_MS - 3_600_000)
  await purge()
  expect((await relay.send(source, sent)).body).toEqual({ ok: true, duplicate: true })
  await relay.advance(2 * 3_600_000)
  await purge()
  const second = await relay.accept(source, sent)
  expect(second).not.toBe(first)
  await relay.reaches(second, { status: 'succeeded' })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  expect((await relay.api('GET', `/v1/events/${first}`)).status).toBe(404)
})

test('a delivery that waits past retention is moved out of its day and still goes out, byte for byte', async () => {
  // The clock may be past the days that were made when the relay started: by the hour at which the test runs.
  await ensurePartitions(relay.db, relay.clock.now())
  const { source, destination, endpoint } = await relay.route()
  await relay.api('POST', `/v1/destinations/${destination.id}/toggle`, { isEnabled: false })
  const eventId = await relay.accept(source, { body: 'kept for later' })
  await relay.reaches(eventId, { status: 'pending', lastError: 'destination_disabled' })
  await relay.advance(5 * DAY_MS)
  expect(await purge()).toMatchObject({ moved: 1, expired: 0, daysLeft: [] })
  await relay.api('POST', `/v1/destinations/${destination.id}/toggle`, { isEnabled: true })
  await relay.reaches(eventId, { status: 'succeeded' })
  expect(endpoint.arrivals.map((request) => request.body.toString())).toEqual(['kept for later'])
  await purge()
  expect((await relay.api('GET', `/v1/events/${eventId}`)).status).toBe(404)
})
