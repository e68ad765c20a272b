import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { findOpen, moveToWaiting } from '../../core/db/deliveries/upkeep/sweep.ts'
import { expireWaiting } from '../../core/db/retention/expiry.ts'
import { firstIdAt } from '../../core/ids.ts'
import { hangs, says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'
import { seedRoute, seedDelivery, uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

/**
 * The rows of what waits and what failed, by status; each must be of the connection, source and destination of its
 * delivery: lists look at nothing else.
 */
async function listed(table: 'delivery_waiting' | 'delivery_failed'): Promise<string[]> {
  const { rows } = await sql<{ status: string; isWhole: boolean }>`
    select t.status, (t.project_id, t.destination_id, t.connection_id, t.source_id)
      is not distinct from (d.project_id, d.destination_id, d.connection_id, d.source_id) as "isWhole"
    from ${sql.table(table)} t join delivery d on d.class = t.class and d.id = t.delivery_id
    order by d.id`.execute(relay.db)
  expect(rows.map(({ isWhole }) => isWhole)).not.toContain(false)
  return rows.map(({ status }) => status)
}

test('every statement that makes a delivery wait, or ends it, writes all columns that lists use', async () => {
  const failing = await relay.route({ respond: says(503) })
  await relay.reaches(await relay.accept(failing.source), { status: 'pending', attemptCount: 1 })
  expect(await listed('delivery_waiting')).toEqual(['pending'])

  const disabled = await relay.route({ destination: { isEnabled: false } })
  const parked = await relay.reaches(await relay.accept(disabled.source), {
    lastError: 'destination_disabled',
  })
  expect(await listed('delivery_waiting')).toEqual(['pending', 'pending'])
  expect((await relay.api('POST', `/v1/events/${parked.eventId}/replay`)).status).toBe(202)
  expect(await listed('delivery_waiting')).toHaveLength(3)
  expect((await relay.api('POST', `/v1/deliveries/${parked.id}/cancel`)).status).toBe(202)
  expect(await listed('delivery_failed')).toEqual(['cancelled'])
  expect((await relay.api('POST', `/v1/deliveries/${parked.id}/retry`)).status).toBe(202)
  expect(await listed('delivery_failed')).toEqual([])
  expect(await listed('delivery_waiting')).toHaveLength(3)

  const slow = await relay.route({ respond: hangs })
  await relay.reaches(await relay.accept(slow.source), { status: 'in_flight' })
  expect(await listed('delivery_waiting')).toContain('in_flight')

  const once = await relay.route({
    respond: says(500),
    destination: { retryPolicy: { strategy: 'linear', initialDelaySeconds: 1, maxAttempts: 1 } },
  })
  await relay.reaches(await relay.accept(once.source), { status: 'failed' })
  expect(await listed('delivery_failed')).toEqual(['failed'])

  expect((await relay.api('DELETE', `/v1/connections/${failing.connection.id}`)).status).toBe(204)
  await eventually(async () =>
    expect(await listed('delivery_failed')).toEqual(['cancelled', 'failed']),
  )
}, 60_000)

test('a first attempt that never came back waits with all that it is listed by, and expires with it', async () => {
  const shop = await seedRoute(relay, 'swept')
  const atMs = relay.clock.now() - 60_000
  const seed = {
    ...shop,
    eventId: null,
    status: 'pending',
    atMs,
    leaseUntil: new Date(atMs + 15_000),
  }
  const id = uuid('dlv', await seedDelivery(relay, seed))
  const ids = { fromId: firstIdAt(atMs - 1), untilId: firstIdAt(atMs + 1) }
  const { open } = await findOpen(relay.pool, ids)
  const own = open.filter((one) => one.deliveryId === id).map((one) => ({ ...one, partition: 0 }))
  expect(await moveToWaiting(relay.pool, own, relay.clock.now() + 3_600_000)).toBe(1)
  expect(await listed('delivery_waiting')).toContain('pending')
  const of = {
    untilIds: new Map([[uuid('prj', relay.projectId), firstIdAt(atMs + 1)]]),
    afterId: firstIdAt(atMs),
    watermark: firstIdAt(relay.clock.now()),
    now: new Date(relay.clock.now()),
  }
  expect((await expireWaiting(relay.db, of, 10)).expired).toBe(1)
  const found = await relay.get(
    `/v1/deliveries?errorCode=expired&connectionId=${shop.connectionId}`,
  )
  expect(found.data).toHaveLength(1)
  await listed('delivery_failed')
})
