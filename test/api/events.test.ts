import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { newId } from '../../core/ids.ts'
import {
  seedRoute,
  seedAttempt,
  seedDelivery,
  seedEvent,
  uuid,
  type SeededRoute,
} from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
let shop: SeededRoute
beforeAll(async () => {
  world = await startWorld()
  shop = await seedRoute(world, 'shop')
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function get(path: string, from = world) {
  const answer = await from.api('GET', path)
  expect(answer.body, path).toMatchObject({})
  expect(answer.status, path).toBe(200)
  return answer.body
}

const idsOf = (list: { data: { id: string }[] }): string[] => list.data.map(({ id }) => id)

test('GET /v1/events/{id} shows what was received, parsed and byte for byte', async () => {
  const raw = Buffer.from('{"type":"order.paid","amount":1.50}')
  const id = await seedEvent(world, {
    ...shop,
    raw,
    query: 'a=1&a=2&b=%20',
    headers: [
      ['Content-Type', 'application/json'],
      ['X-Twice', '1'],
      ['X-Twice', '2'],
    ],
  })
  const deliveryId = await seedDelivery(world, { ...shop, eventId: id })
  expect(await get(`/v1/events/${id}`)).toEqual({
    id,
    sourceId: shop.sourceId,
    projectId: world.projectId,
    status: 'received',
    eventType: 'order.paid',
    verifiedWith: 'none',
    method: 'POST',
    path: '',
    headers: [
      ['Content-Type', 'application/json'],
      ['X-Twice', '1'],
      ['X-Twice', '2'],
    ],
    query: [
      ['a', '1'],
      ['a', '2'],
      ['b', ' '],
    ],
    contentType: 'application/json',
    sizeBytes: raw.length,
    payload: { type: 'order.paid', amount: 1.5 },
    raw: raw.toString(),
    rawBase64: raw.toString('base64'),
    isBinary: false,
    remoteIp: '192.0.2.7',
    createdAt: expect.any(String),
    deliveries: [expect.objectContaining({ id: deliveryId, eventId: id, status: 'succeeded' })],
  })
})

test('a binary body is a lossy text and its exact bytes', async () => {
  const raw = Buffer.from([0xff, 0xfe, 0x41])
  const id = await seedEvent(world, { ...shop, raw, contentType: 'application/octet-stream' })
  const event = await get(`/v1/events/${id}`)
  expect(event).toMatchObject({ isBinary: true, payload: null, raw: '\ufffd\ufffdA' })
  expect(Buffer.from(event.rawBase64, 'base64')).toEqual(raw)
})

test('the list filters by source, status and time, and has no bodies', async () => {
  await using own = await startWorld()
  const [a, b] = [await seedRoute(own, 'a'), await seedRoute(own, 'b')]
  const start = own.clock.now()
  const at = (n: number): number => start + n * 1000
  const first = await seedEvent(own, { ...a, atMs: at(0) })
  const second = await seedEvent(own, {
    ...b,
    atMs: at(1),
    status: 'rejected',
    rejectionReason: 'signature_mismatch',
  })
  const third = await seedEvent(own, { ...a, atMs: at(2), status: 'unmatched' })
  own.clock.advance(10_000)
  const list = await get('/v1/events', own)
  expect(idsOf(list)).toEqual([third, second, first])
  expect(list.data[1]).toMatchObject({ rejectionReason: 'signature_mismatch' })
  expect(Object.keys(list.data[0])).not.toContain('raw')
  const expected: Record<string, string[]> = {
    [`sourceId=${a.sourceId}`]: [third, first],
    'status=rejected': [second],
    'status=received': [first],
    'status=duplicate': [],
    [`sourceId=${a.sourceId}&status=rejected`]: [],
    [`from=${new Date(at(1)).toISOString()}`]: [third, second],
    [`to=${new Date(at(1)).toISOString()}`]: [second, first],
    [`from=${new Date(at(1)).toISOString()}&to=${new Date(at(1)).toISOString()}`]: [second],
    'sortDir=asc': [first, second, third],
    'limit=2': [third, second],
  }
  for (const [query, ids] of Object.entries(expected)) {
    expect(idsOf(await get(`/v1/events?${query}`, own)), query).toEqual(ids)
  }
  expect(await get('/v1/events/has-any', own)).toEqual({ hasAny: true })
})

test('has-any is false in a project that never had an event', async () => {
  const project = await world.api('POST', '/v1/projects', { name: 'empty' })
  const inside = { headers: { 'x-project-id': project.body.id } }
  const answer = await world.api('GET', '/v1/events/has-any', undefined, inside)
  expect(answer.body).toEqual({ hasAny: false })
})

test('pages meet every event once while others come in, in both directions', async () => {
  await using own = await startWorld()
  const seeded = await seedRoute(own, 'pages')
  const ids: string[] = []
  for (let n = 0; n < 25; n++) ids.push(await seedEvent(own, seeded))
  for (const sortDir of ['desc', 'asc']) {
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: { data: { id: string }[]; nextCursor: string | null } = await get(
        `/v1/events?limit=4&sortDir=${sortDir}${cursor === null ? '' : `&cursor=${cursor}`}`,
        own,
      )
      seen.push(...idsOf(page))
      cursor = page.nextCursor
      if (seen.length < 30) ids.push(await seedEvent(own, seeded))
    } while (cursor !== null)
    const wanted = sortDir === 'asc' ? ids.slice(0, seen.length) : ids.slice(0, 25).toReversed()
    expect(seen, sortDir).toEqual(wanted)
    if (sortDir === 'desc') ids.length = 25 + 7
  }
})

test('an ascending page stops before what an open transaction may still bring', async () => {
  await using own = await startWorld()
  const seeded = await seedRoute(own, 'horizon')
  const before = await seedEvent(own, seeded)
  const client = new pg.Client({ connectionString: own.databaseUrl })
  await client.connect()
  await client.query('begin')
  const late = newId(own.clock.now())
  await client.query('lock table event in row exclusive mode')
  await client.query('select pg_current_xact_id()')
  own.clock.advance(2)
  const after = await seedEvent(own, seeded)
  own.clock.advance(2)
  const open = await get('/v1/events?sortDir=asc', own)
  expect(idsOf(open)).toEqual([before])
  expect(open.nextCursor).not.toBeNull()
  await client.query('rollback')
  await client.end()
  const middle = await seedEvent(own, { ...seeded, id: late })
  const rest = await get(`/v1/events?sortDir=asc&cursor=${open.nextCursor}`, own)
  expect(idsOf(rest)).toEqual([middle, after])
  expect(rest.nextCursor).toBeNull()
})

test('a transaction that stores no events holds no ascending page back', async () => {
  await using own = await startWorld()
  const seeded = await seedRoute(own, 'unheld')
  const client = new pg.Client({ connectionString: own.databaseUrl })
  await client.connect()
  await client.query('begin')
  await client.query('create temporary table held as select 1')
  const ids = [await seedEvent(own, seeded), await seedEvent(own, seeded)]
  expect(idsOf(await get('/v1/events?sortDir=asc', own))).toEqual(ids)
  expect(idsOf(await get('/v1/events?sortDir=asc&search=order', own))).toEqual(ids)
  await client.end()
})

test('search finds id, type, idempotency key and body text, ignoring case', async () => {
  await using own = await startWorld()
  const seeded = await seedRoute(own, 'search')
  const typed = await seedEvent(own, { ...seeded, eventType: 'Invoice.Paid', raw: '{}' })
  const keyed = await seedEvent(own, { ...seeded, idempotencyKey: 'abc-123', raw: '{}' })
  const worded = await seedEvent(own, { ...seeded, raw: '{"note":"Grüße 100%_sure"}' })
  const binary = await seedEvent(own, { ...seeded, raw: Buffer.from([0xff, 0x4e, 0x45, 0x45]) })
  const found: Record<string, string[]> = {
    'invoice.paid': [typed],
    'ABC-123': [keyed],
    grüße: [worded],
    '100%_SURE': [worded],
    '100x': [],
    nee: [binary],
    [typed]: [typed],
    'nothing of the kind': [],
  }
  for (const [term, ids] of Object.entries(found)) {
    const list = await get(`/v1/events?search=${encodeURIComponent(term)}`, own)
    expect(idsOf(list), term).toEqual(ids)
    expect(list).toMatchObject({ truncated: false, searchedThrough: expect.any(String) })
  }
  const rejected = await get(`/v1/events?search=${typed}&status=rejected`, own)
  expect(idsOf(rejected)).toEqual([])
  const paged: string[] = []
  let cursor = ''
  do {
    const page = await get(`/v1/events?search=order&limit=1${cursor}`, own)
    paged.push(...idsOf(page))
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
  } while (cursor !== '')
  expect(paged).toEqual([binary, worded, keyed])
})

test('the timeline tells phases, connections, deliveries with attempts, and a verdict', async () => {
  const other = await seedRoute(world, 'other')
  const eventId = await seedEvent(world, {
    ...shop,
    outcomes: [{ connectionId: other.connectionId, outcome: 'filtered', failedPart: 'body' }],
    headers: [
      ['Content-Type', 'application/json'],
      ['X-Secret', '***'],
    ],
  })
  const deliveryId = await seedDelivery(world, {
    ...shop,
    eventId,
    status: 'failed',
    attemptCount: 2,
    lastErrorCode: 'timeout',
    completedAt: new Date(world.clock.now()),
  })
  await seedAttempt(world, { deliveryId, number: 2, errorCode: 'timeout', headerNames: ['X-Own'] })
  await seedAttempt(world, { deliveryId, number: 1 })
  const timeline = await get(`/v1/events/${eventId}/timeline`)
  expect(timeline.verdict).toMatchObject({ cause: 'failed', action: 'retry', nextAt: null })
  expect(timeline.phases.map((phase: { name: string }) => phase.name)).toEqual([
    'received',
    'verified',
    'stored',
    'matched',
    'dispatched',
  ])
  expect(timeline.phases[1].durationMs).toBe(0.25)
  expect(timeline.phases[2].durationMs).toBeNull()
  expect(timeline.connections).toEqual([
    { connectionId: other.connectionId, outcome: 'filtered', failedPart: 'body' },
    { connectionId: shop.connectionId, outcome: 'delivered_to' },
  ])
  const [delivery] = timeline.deliveries
  expect(delivery).toMatchObject({ id: deliveryId, status: 'failed' })
  expect(delivery.attempts).toMatchObject([
    { number: 1, outcome: 'succeeded', responseStatus: 200, responseBody: 'thanks' },
    { number: 2, outcome: 'failed', errorCode: 'timeout', responseStatus: null },
  ])
  const sent = Object.fromEntries(delivery.attempts[1].requestHeaders)
  expect(sent).toMatchObject({
    'webhook-id': deliveryId,
    'webhook-signature': 'v1,c2lnbmF0dXJl',
    'postern-event-id': eventId,
    'postern-attempt': '2',
  })
  expect(Object.entries(sent).find(([name]) => name.toLowerCase() === 'x-own')?.[1]).toBe('***')
  expect(Object.keys(sent)).not.toContain('X-Secret')
})

test('a rejected event has no matching and says why', async () => {
  const id = await seedEvent(world, {
    ...shop,
    status: 'rejected',
    rejectionReason: 'missing_signature_header',
  })
  const timeline = await get(`/v1/events/${id}/timeline`)
  expect(timeline).toMatchObject({
    verdict: { cause: 'rejected' },
    connections: [],
    deliveries: [],
  })
  expect(timeline.phases.map((phase: { name: string }) => phase.name)).toEqual([
    'received',
    'verified',
    'stored',
  ])
})

test('replay makes due deliveries through what is active and matches now, and counts them', async () => {
  await using own = await startWorld()
  const one = await seedRoute(own, 'one')
  const connect = async (name: string, members: object): Promise<string> => {
    const body = { name, sourceId: one.sourceId, destinationId: one.destinationId, ...members }
    return (await own.api('POST', '/v1/connections', body)).body.id
  }
  const matching = await connect('matching', { filter: { body: { amount: { $gt: 10 } } } })
  await connect('other', { filter: { body: { amount: { $gt: 100 } } } })
  await connect('off', { isEnabled: false })
  const eventId = await seedEvent(own, one)
  const answer = await own.api('POST', `/v1/events/${eventId}/replay`)
  expect(answer.status).toBe(202)
  const { deliveries } = answer.body
  expect(deliveries.map((delivery: { connectionId: string }) => delivery.connectionId)).toEqual([
    one.connectionId,
    matching,
  ])
  expect(deliveries[0]).toMatchObject({
    status: 'pending',
    trigger: 'replay',
    eventId,
    maxAttempts: 8,
  })
  const { rows } = await own.pool.query(
    `select attempt_trigger, claimed_by, next_at <= $1 as due, partition
     from delivery_waiting order by delivery_id`,
    [new Date(own.clock.now())],
  )
  expect(rows).toHaveLength(2)
  expect(rows[0]).toMatchObject({ attempt_trigger: 'initial', claimed_by: null, due: true })
  const usage = await own.pool.query('select sum(deliveries) as n from usage_delta')
  expect(Number(usage.rows[0].n)).toBe(2)
  await own.api('DELETE', `/v1/sources/${one.sourceId}?cascade=true`)
  const alone = await own.api('POST', `/v1/events/${eventId}/replay`, {})
  expect(alone).toMatchObject({ status: 202, body: { deliveries: [] } })
})

test('replay refuses what was rejected, what is a duplicate and what is past retention', async () => {
  const old = await seedEvent(world, { ...shop, atMs: world.clock.now() - 91 * 86_400_000 })
  const kept = await seedEvent(world, { ...shop, atMs: world.clock.now() - 89 * 86_400_000 })
  const rejected = await seedEvent(world, { ...shop, status: 'rejected' })
  const duplicate = await seedEvent(world, { ...shop, status: 'duplicate' })
  for (const id of [old, rejected, duplicate]) {
    const answer = await world.api('POST', `/v1/events/${id}/replay`)
    expect(answer.body, id).toMatchObject({ code: 'BAD_REQUEST', status: 400 })
  }
  expect((await world.api('POST', `/v1/events/${kept}/replay`)).status).toBe(202)
})

test('replay is refused at the quota of a hard-capped plan, exactly, and counted below it', async () => {
  await using own = await startWorld({ plan: 'hobby' })
  const seeded = await seedRoute(own, 'capped')
  const eventId = await seedEvent(own, seeded)
  await own.pool.query(`insert into usage values ($1, date_trunc('month', now(), 'UTC'), 9998)`, [
    uuid('org', own.organisationId),
  ])
  const answers = await Promise.all(
    Array.from({ length: 5 }, async () => await own.api('POST', `/v1/events/${eventId}/replay`)),
  )
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(2)
  expect(answers.find(({ status }) => status === 429)?.body).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    data: { limit: 10_000, current: 10_000, resetAt: expect.any(String) },
  })
  const { rows } = await own.pool.query('select count(*)::int as n from delivery')
  expect(rows).toEqual([{ n: 2 }])
})
