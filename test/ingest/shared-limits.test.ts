import { setTimeout as sleep } from 'node:timers/promises'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { setRateLimit, setUsage, usageOf } from '../kit/limits.ts'
import {
  eventually,
  SOON_MS,
  startRelay,
  type IngestReply,
  type IngestProcess,
  type Relay,
  type Resource,
} from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
let second: IngestProcess
beforeAll(async () => {
  relay = await startRelay({ worker: false })
  second = await relay.openIngest()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const JSON_TYPE = { 'content-type': 'application/json' }

test('two ingest processes hold one rateLimit together, within 10 % plus a request each', async () => {
  const perSecond = 60
  const seconds = 3
  const source = await relay.make('sources', {})
  await setRateLimit(relay, source, perSecond)
  const endAt = performance.now() + seconds * 1_000
  let taken = 0
  let refused = 0
  const flood = async (to: IngestProcess): Promise<void> => {
    while (performance.now() < endAt) {
      const { status } = await relay.send(source, { to })
      if (status === 200) taken++
      else refused++
      await sleep(20)
    }
  }
  // Enough that together they ask for more than the limit on a slow machine too.
  const floods = [relay.ingest, second].flatMap((to) => Array.from({ length: 6 }, () => flood(to)))
  await Promise.all(floods)
  const fair = perSecond * (seconds + 1)
  expect(refused).toBeGreaterThan(20)
  expect(taken).toBeLessThanOrEqual(fair * 1.1 + 2)
  expect(taken).toBeGreaterThanOrEqual(fair * 0.9 - 2)
})

/** Sends the same webhook so many times at once, in turn to both processes. */
async function sendAtOnce(source: Resource, count: number, body: string): Promise<IngestReply[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, n) =>
      relay.send(source, { body, headers: JSON_TYPE, to: n % 2 === 0 ? relay.ingest : second }),
    ),
  )
}

async function eventsOf(source: Resource): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from event where source_id = ${uuid('src', source.id)}`.execute(
    relay.db,
  )
  return rows[0]?.count ?? 0
}

const PLANS = ['enterprise', 'hobby'] as const

test.each(PLANS)(
  '200 identical requests at once through two processes make exactly one event (%s)',
  async (plan) => {
    const { key, organisationId } = await relay.createTenant(plan)
    // The clamp of Hobby would answer most of them.
    await sql`update organisation set overrides = '{"ingestRequestsPerSecond": null}'
      where id = ${uuid('org', organisationId)}`.execute(relay.db)
    const { source } = await relay.route({ key, source: { idempotencyKeys: ['body.id'] } })
    const heard = await sendAtOnce(source, 200, '{"id":"one"}')
    const stored = heard.filter(({ body }) => body.eventId !== undefined)
    expect(heard.every(({ status }) => status === 200)).toBe(true)
    expect(stored).toHaveLength(1)
    const duplicates = heard.filter((one) => !stored.includes(one))
    expect(new Set(duplicates.map(({ text }) => text))).toEqual(
      new Set(['{"ok":true,"duplicate":true}']),
    )
    expect(await eventsOf(source)).toBe(1)
    // Duplicates are never counted.
    await eventually(async () => expect(await usageOf(relay, organisationId)).toBe(1), SOON_MS)
  },
)

/** Two bodies after one another, and whether the second is a duplicate. */
interface Pair {
  what: string
  keys: string[]
  bodies: [first: string, then: string]
  /** Unset: neither has a key. */
  isSame?: boolean
}

const AB = ['body.a', 'body.b']

const PAIRS: Pair[] = [
  {
    what: 'the same values are a duplicate, whatever else the body holds',
    keys: AB,
    bodies: ['{"a":"1","b":"2"}', '{"n":1,"b":"2","a":"1"}'],
    isSame: true,
  },
  {
    what: 'ab + c is not a + bc',
    keys: AB,
    bodies: ['{"a":"ab","b":"c"}', '{"a":"a","b":"bc"}'],
    isSame: false,
  },
  {
    what: 'the order of values counts',
    keys: AB,
    bodies: ['{"a":"1","b":"2"}', '{"a":"2","b":"1"}'],
    isSame: false,
  },
  {
    what: 'an empty text is no value',
    keys: ['body.a'],
    bodies: ['{"a":""}', '{"a":""}'],
  },
  { what: 'a missing value is not deduplicated', keys: AB, bodies: ['{"a":"1"}', '{"a":"1"}'] },
  {
    what: 'an object is no value',
    keys: ['body.a'],
    bodies: ['{"a":{"b":1}}', '{"a":{"b":1}}'],
  },
  {
    what: 'integers past 2^53 are told apart by their digits',
    keys: ['body.a'],
    bodies: ['{"a":9007199254740993}', '{"a":9007199254740992}'],
    isSame: false,
  },
]

test.each(PAIRS)('deduplication: $what', async ({ keys, bodies, isSame }) => {
  const source = await relay.make('sources', { idempotencyKeys: keys })
  const [first, then] = bodies
  const id = await relay.accept(source, { body: first, headers: JSON_TYPE })
  const heard = await relay.send(source, { body: then, headers: JSON_TYPE, to: second })
  expect(heard.body.duplicate).toBe(isSame === true ? true : undefined)
  expect(await eventsOf(source)).toBe(isSame === true ? 1 : 2)
  const { idempotencyKey } = await relay.get(`/v1/events/${id}`)
  expect(typeof idempotencyKey).toBe(isSame === undefined ? 'undefined' : 'string')
})

test('a key counts within its source only', async () => {
  const fields = { idempotencyKeys: ['body.id'] }
  const sources = [await relay.make('sources', fields), await relay.make('sources', fields)]
  for (const source of sources) await relay.accept(source, { body: '{"id":1}', headers: JSON_TYPE })
  expect(await Promise.all(sources.map((source) => eventsOf(source)))).toEqual([1, 1])
})

/** A source of an organisation on Hobby whose events go to `fanOut` destinations. */
async function capped(
  fanOut: number,
  used: number,
): Promise<{ source: Resource; organisationId: string; key: string }> {
  const { key, organisationId } = await relay.createTenant('hobby')
  const { source, endpoint } = await relay.route({
    key,
    source: { idempotencyKeys: ['header.id'] },
  })
  for (let more = 1; more < fanOut; more++) {
    const { id: destinationId } = await relay.make('destinations', { url: endpoint.url }, key)
    await relay.make('connections', { sourceId: source.id, destinationId }, key)
  }
  await setUsage(relay, organisationId, used)
  return { source, organisationId, key }
}

const QUOTAS: [used: number, status: number, after: number][] = [
  [9_997, 200, 10_000],
  [9_999, 200, 10_002],
  [10_000, 429, 10_000],
  [10_001, 429, 10_001],
]

test.each(QUOTAS)(
  'with %i of 10,000 deliveries used, an event for three connections is %i',
  async (used, status, after) => {
    const { source, organisationId } = await capped(3, used)
    expect(await relay.send(source, { headers: { id: '1' } })).toMatchObject({ status })
    expect(await usageOf(relay, organisationId)).toBe(after)
  },
)

test('a request refused for its quota leaves no event and no dedupe key', async () => {
  const { source, organisationId } = await capped(1, 10_000)
  const sent = { headers: { id: '1' } }
  expect(await relay.send(source, sent)).toMatchObject({ status: 429 })
  expect(await eventsOf(source)).toBe(0)
  await setUsage(relay, organisationId, 0)
  expect((await relay.send(source, sent)).body).toMatchObject({ eventId: expect.any(String) })
  expect(await usageOf(relay, organisationId)).toBe(1)
})

test('requests at once never pass the quota by more than a fan-out less one', async () => {
  const { source, organisationId } = await capped(3, 9_990)
  const heard = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      relay.send(source, { headers: { id: String(n) }, to: n % 2 === 0 ? relay.ingest : second }),
    ),
  )
  expect(heard.filter(({ status }) => status === 200)).toHaveLength(4)
  expect(await usageOf(relay, organisationId)).toBe(10_002)
})

test('a new month brings a new quota', async () => {
  const { source } = await capped(1, 10_000)
  expect(await relay.send(source, { headers: { id: '1' } })).toMatchObject({ status: 429 })
  const now = new Date(relay.clock.now())
  const nextMonthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
  await relay.advance(nextMonthMs - now.getTime())
  expect(await relay.send(source, { headers: { id: '1' } })).toMatchObject({ status: 200 })
})
