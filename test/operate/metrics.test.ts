import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { says } from '../kit/endpoint.ts'
import { setRateLimit } from '../kit/limits.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'
import type { Scrape } from '../kit/scrape.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const REQUESTS = 'postern_ingest_requests_total'
const ATTEMPTS = 'postern_delivery_attempts_total'
const WAITING = 'postern_deliveries_waiting'
const OLDEST = 'postern_oldest_due_delivery_age_seconds'

/** The growth of a counter between two scrapes. */
function growth(before: Scrape, after: Scrape) {
  return (name: string, labels?: Record<string, string>) =>
    after.sum(name, labels) - before.sum(name, labels)
}

const OUTCOMES = [
  'stored',
  'duplicate',
  'rejected',
  'rate_limited',
  'too_large',
  'unsupported_body',
  'not_found',
  'bad_request',
  'head',
]

test('a scrape under load agrees with what the senders sent and the destination got', async () => {
  const before = await relay.scrape()
  let answered = 0
  const { source, endpoint } = await relay.route({
    source: { idempotencyKeys: ['body.id'] },
    destination: { retryPolicy: { strategy: 'schedule', scheduleSeconds: [1, 1, 1, 1, 1] } },
    // Each third request fails once, and its retry succeeds.
    respond: (...asked) => says(++answered % 3 === 0 ? 500 : 200)(...asked),
  })
  const signed = await relay.make('sources', { verifier: { preset: 'github', secret: 's' } })
  const slow = await relay.make('sources', {})
  await setRateLimit(relay, slow, 1)
  const small = await relay.make('sources', { maxPayloadSizeKb: 1 })

  const COUNT = 120
  const sent = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0]))
  const say = (outcome: string): void => {
    sent[outcome] = (sent[outcome] ?? 0) + 1
  }
  const loads = Array.from({ length: COUNT }, async (_, n) => {
    const body = JSON.stringify({ id: n % 100 })
    const heard = await relay.send(source, {
      body,
      headers: { 'content-type': 'application/json' },
    })
    say(heard.body.duplicate === true ? 'duplicate' : 'stored')
  })
  const others = Array.from({ length: 10 }, async () => {
    expect((await relay.send(signed, { body: '{}' })).status).toBe(401)
    say('rejected')
    expect((await relay.send(small, { body: 'x'.repeat(2_000) })).status).toBe(413)
    say('too_large')
    expect((await relay.send(small, { body: Buffer.alloc(8) })).status).toBe(415)
    say('unsupported_body')
    expect((await relay.send({ maskId: 'none' }, { body: '' })).status).toBe(404)
    say('not_found')
    expect((await relay.send(small, { method: 'HEAD' })).status).toBe(200)
    say('head')
    expect((await relay.send(small, { method: 'DELETE' })).status).toBe(405)
    say('bad_request')
    const paced = await relay.send(slow, { body: '{}' })
    say(paced.status === 429 ? 'rate_limited' : 'stored')
  })
  await Promise.all([...loads, ...others])

  await eventually(() =>
    expect(new Set(endpoint.arrivals.map(({ body }) => String(body))).size).toBe(100),
  )
  const after = await eventually(async () => {
    const scrape = await relay.scrape()
    const grew = growth(before, scrape)
    expect(grew(ATTEMPTS, { outcome: 'succeeded' })).toBe(100)
    expect(scrape.sum(WAITING)).toBe(0)
    return scrape
  })
  const grew = growth(before, after)
  expect(
    Object.fromEntries(OUTCOMES.map((outcome) => [outcome, grew(REQUESTS, { outcome })])),
  ).toEqual(sent)
  const all = Object.values(sent).reduce((sum, count) => sum + count, 0)
  expect(grew(REQUESTS)).toBe(all)
  expect(grew('postern_ingest_request_duration_seconds_count')).toBe(all)
  expect(grew('postern_ingest_rejections_total', { reason: 'missing_signature_header' })).toBe(10)
  expect(grew('postern_ingest_rejections_total')).toBe(10)
  // Rejected requests are stored too.
  expect(grew('postern_ingest_batch_events_sum')).toBe(
    COUNT + (sent['rejected'] ?? 0) + 10 - (sent['rate_limited'] ?? 0),
  )
  expect(after.sum('postern_ingest_requests_in_flight')).toBe(0)

  const failed = endpoint.arrivals.length - 100
  expect(failed).toBeGreaterThan(0)
  expect(grew(ATTEMPTS)).toBe(endpoint.arrivals.length)
  expect(grew(ATTEMPTS, { outcome: 'failed', error_code: 'bad_response' })).toBe(failed)
  expect(grew(ATTEMPTS, { outcome: 'succeeded', error_code: 'none' })).toBe(100)
  expect(grew('postern_delivery_attempt_duration_seconds_count')).toBe(endpoint.arrivals.length)
  expect(grew('postern_delivery_retries_total', { trigger: 'automatic' })).toBe(failed)
  expect(grew('postern_delivery_latency_seconds_count')).toBe(100)
  const meanSeconds = grew('postern_delivery_latency_seconds_sum') / 100
  expect(meanSeconds).toBeGreaterThan(0)
  expect(meanSeconds).toBeLessThan(10)
})

test('deliveries of a disabled destination wait as pending and are not due', async () => {
  const { source, destination } = await relay.route()
  await relay.change('destinations', destination.id, { isEnabled: false })
  await relay.acceptMany(source, 7)
  await eventually(async () => {
    const scrape = await relay.scrape()
    expect(scrape.sum(WAITING, { state: 'pending' })).toBe(7)
    expect(scrape.sum(WAITING, { state: 'throttled' })).toBe(0)
    expect(scrape.sum('postern_deliveries_due')).toBe(0)
    expect(scrape.sum(OLDEST)).toBe(0)
  })
  await relay.change('destinations', destination.id, { isEnabled: true })
  await eventually(async () => expect((await relay.scrape()).sum(WAITING)).toBe(0))
})

test('a paced and a busy destination show as throttled, by reason', async () => {
  const before = await relay.scrape()
  const paced = await relay.route({ destination: { rateLimit: 1 } })
  const busy = await relay.route({
    respond: says(429, { 'retry-after': '60' }),
  })
  await relay.acceptMany(paced.source, 5)
  await relay.accept(busy.source)
  await eventually(async () => {
    const scrape = await relay.scrape()
    const grew = growth(before, scrape)
    expect(grew('postern_delivery_throttled_total', { reason: 'rate_limit' })).toBe(4)
    expect(grew('postern_delivery_throttled_total', { reason: 'destination_busy' })).toBe(1)
    expect(grew(ATTEMPTS, { outcome: 'busy', error_code: 'bad_response' })).toBe(1)
    expect(scrape.sum(WAITING, { state: 'throttled' })).toBeGreaterThanOrEqual(1)
  })
})

test('deliveries that no worker takes are due, and the oldest grows older', async () => {
  const { source } = await relay.route()
  await relay.stopWorker()
  await relay.acceptMany(source, 3)
  await sleep(2_000)
  await eventually(async () => {
    const scrape = await relay.scrape()
    expect(scrape.sum('postern_deliveries_due')).toBeGreaterThanOrEqual(3)
    expect(scrape.sum(OLDEST)).toBeGreaterThan(1)
    expect(scrape.sum('postern_delivery_stream_messages')).toBeGreaterThan(0)
  })
  await relay.startWorker()
  await eventually(async () => {
    const scrape = await relay.scrape()
    expect(scrape.sum('postern_deliveries_due')).toBe(0)
    expect(scrape.sum(OLDEST)).toBe(0)
    expect(scrape.sum('postern_worker_partitions')).toBe(64)
  }, 20_000)
})

test('no label has a value of a tenant, and no counter a name with an id', async () => {
  const { samples } = await relay.scrape()
  const bad = samples.filter(({ name, labels }) =>
    [name, ...Object.values(labels)].some((text) =>
      /[a-z]{3}_[0-9a-z]{26}|[0-9a-f]{8}-[0-9a-f]{4}-|\d+\.\d+\.\d+\.\d+/.test(text),
    ),
  )
  expect(samples.length).toBeGreaterThan(100)
  expect(bad).toEqual([])
})
