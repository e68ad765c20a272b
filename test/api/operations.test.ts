import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { DELIVERY_ROUTES } from '../../api/deliveries/routes.ts'
import { EVENT_ROUTES } from '../../api/events/routes.ts'
import { NewOperation } from '../../api/operations/shape.ts'
import { dueOperations } from '../../core/db/operations/operations.ts'
import type { Permissions } from '../../core/keys/permissions.ts'
import { deleteFinished, runOperations } from '../../dataplane/housekeeper/operations/operations.ts'
import type { Answer } from '../kit/call-api.ts'
import { hangs, says } from '../kit/endpoint.ts'
import { eventually, SOON_MS, startRelay, type Resource } from '../kit/relay.ts'
import { seedRoute, seedDelivery, seedEvent, uuid, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

const REFUSED = { code: 'INSUFFICIENT_API_KEY_PERMISSIONS', status: 403 }

/** Nothing but the API: whoever wants chunks runs them with `work`. */
let world: World
let shop: SeededRoute
beforeAll(async () => {
  world = await startWorld()
  shop = await seedRoute(world, 'shop')
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function work(on: World): Promise<void> {
  await runOperations(on.deps, () => true)
}

async function start(on: World, kind: string, filter: object, key = on.key): Promise<Resource> {
  const answer = await on.api('POST', '/v1/operations', { kind, filter }, { key })
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  return answer.body
}

async function plan(on: World, kind: string, filter: object): Promise<Resource> {
  const answer = await on.api('POST', '/v1/operations/plan', { kind, filter })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

async function read(on: World, id: string, key = on.key): Promise<Resource> {
  return (await on.api('GET', `/v1/operations/${id}`, undefined, { key })).body
}

async function ends(on: World, id: string, withinMs = 15_000): Promise<Resource> {
  return await eventually(async () => {
    const operation = await read(on, id)
    expect(operation.status).not.toBe('running')
    return operation
  }, withinMs)
}

async function query(on: World, text: string, values: unknown[] = []): Promise<Resource> {
  return (await on.pool.query(text, values)).rows
}

/** Events of one millisecond each, oldest first. */
async function seedEvents(on: World, from: SeededRoute, count: number): Promise<string[]> {
  const now = on.clock.now() - count
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await seedEvent(on, { ...from, atMs: now + n }))
  return ids
}

async function seedFailed(on: World, at: SeededRoute, count: number): Promise<string[]> {
  const eventId = await seedEvent(on, at)
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    ids.push(await seedDelivery(on, { ...at, eventId, status: 'failed', lastErrorCode: 'timeout' }))
  }
  return ids
}

async function auditOf(on: World, id: string): Promise<string[]> {
  const rows = await query(on, 'select action from audit where subject_id = $1 order by id', [
    uuid('opr', id),
  ])
  return rows.map(({ action }: { action: string }) => action)
}

test('1,000 failed deliveries are retried once each after the endpoint is mended', async () => {
  await using relay = await startRelay()
  const { source, destination, endpoint } = await relay.route({
    destination: { retryPolicy: { maxAttempts: 1 } },
    respond: says(500),
  })
  for (let batch = 0; batch < 20; batch++) {
    await Promise.all(Array.from({ length: 50 }, () => relay.accept(source)))
  }
  const failed = `select count(*)::int as n from delivery_failed`
  await eventually(async () => expect(await query(relay, failed)).toEqual([{ n: 1_000 }]), 20_000)
  endpoint.respond = says(200)
  endpoint.arrivals.length = 0

  const filter = { status: 'failed', destinationId: destination.id }
  expect(await plan(relay, 'retry', filter)).toMatchObject({
    kind: 'retry',
    matched: 1_000,
    truncated: false,
    destinations: [{ destinationId: destination.id, deliveries: 1_000 }],
  })
  const made = await start(relay, 'retry', filter)
  expect(made).toMatchObject({
    kind: 'retry',
    status: 'running',
    filter: { ...filter, to: made.createdAt },
    matched: 1_000,
    processed: 0,
    failed: 0,
    finishedAt: null,
  })
  const done = await ends(relay, made.id)
  expect(done).toMatchObject({ status: 'completed', matched: 1_000, processed: 1_000, failed: 0 })
  expect(done.finishedAt).not.toBeNull()
  const succeeded = `select count(*)::int as n from delivery where status = 'succeeded'`
  await eventually(
    async () => expect(await query(relay, succeeded)).toEqual([{ n: 1_000 }]),
    20_000,
  )
  const sent = endpoint.arrivals.map(({ headers }) => String(headers['webhook-id']))
  expect(sent).toHaveLength(1_000)
  expect(new Set(sent).size).toBe(1_000)
  expect(
    await query(relay, `select trigger, count(*)::int as n from attempt group by 1 order by 1`),
  ).toEqual([
    { trigger: 'bulk', n: 1_000 },
    { trigger: 'initial', n: 1_000 },
  ])
  // Outside the budget: what counted against the policy is as it was.
  expect(await query(relay, `select distinct attempt_count from delivery`)).toEqual([
    { attempt_count: 1 },
  ])
  expect(await auditOf(relay, made.id)).toEqual(['operation.create'])
}, 90_000)

test('a time range is replayed through two connections, by the filters they have now', async () => {
  await using relay = await startRelay()
  const { source, endpoint } = await relay.route()
  const second = await relay.endpoint()
  const to = await relay.make('destinations', { url: second.url })
  const moments: number[] = []
  const ids: string[] = []
  for (let n = 0; n < 12; n++) {
    const body = JSON.stringify({ n })
    ids.push(await relay.accept(source, { headers: { 'content-type': 'application/json' }, body }))
    moments.push(relay.clock.now())
    await relay.advance(1_000)
  }
  await eventually(() => expect(endpoint.arrivals).toHaveLength(12))
  await relay.connect(source, to, { filter: { body: { n: { $gte: 6 } } } })
  const filter = {
    from: new Date((moments[3] ?? 0) + 500).toISOString(),
    to: new Date((moments[8] ?? 0) + 500).toISOString(),
    sourceId: source.id,
  }
  expect(await plan(relay, 'replay', filter)).toMatchObject({ matched: 5 })
  const { id } = await start(relay, 'replay', filter)
  expect(await ends(relay, id)).toMatchObject({ status: 'completed', matched: 5, processed: 5 })
  await eventually(() => {
    expect(endpoint.arrivals).toHaveLength(17)
    expect(second.arrivals).toHaveLength(3)
  })
  const events = second.arrivals.map(({ headers }) => String(headers['postern-event-id']))
  expect(events.toSorted()).toEqual(ids.slice(6, 9))
  const replayed = endpoint.arrivals
    .slice(12)
    .map(({ headers }) => String(headers['postern-event-id']))
  expect(replayed.toSorted()).toEqual(ids.slice(4, 9))
  const { data } = await relay.get(`/v1/deliveries?eventId=${ids[7]}&sortDir=asc`)
  expect(data.map(({ trigger }: Resource) => trigger)).toEqual(['ingest', 'replay', 'replay'])
}, 60_000)

test('parked deliveries are cancelled and never go out', async () => {
  await using relay = await startRelay()
  const { source, destination, endpoint } = await relay.route({
    destination: { rateLimit: 1, rateLimitPeriod: 'hour' },
  })
  await Promise.all(Array.from({ length: 40 }, () => relay.accept(source)))
  const throttled = `/v1/deliveries?limit=100&status=throttled&destinationId=${destination.id}`
  await eventually(async () => expect((await relay.get(throttled)).data).toHaveLength(39))
  const filter = { status: 'throttled', destinationId: destination.id }
  expect(await plan(relay, 'cancel', filter)).toMatchObject({ matched: 39 })
  const { id } = await start(relay, 'cancel', filter)
  expect(await ends(relay, id)).toMatchObject({
    status: 'completed',
    matched: 39,
    processed: 39,
    failed: 0,
  })
  expect(await query(relay, 'select status, count(*)::int as n from delivery group by 1')).toEqual(
    expect.arrayContaining([
      { status: 'cancelled', n: 39 },
      { status: 'succeeded', n: 1 },
    ]),
  )
  expect(await query(relay, 'select from delivery_waiting')).toEqual([])
  expect(endpoint.arrivals).toHaveLength(1)
})

test('an operation that is cancelled stops; what it put to wait still goes out', async () => {
  await using relay = await startRelay({ plan: 'scale' })
  const { source, destination, connection, endpoint } = await relay.route({ respond: hangs })
  const at = { sourceId: source.id, destinationId: destination.id, connectionId: connection.id }
  await seedFailed(relay, at, 1_500)
  const { id } = await start(relay, 'retry', { status: 'failed' })
  const full = await eventually(async () => {
    const operation = await read(relay, id)
    expect(operation.processed).toBeGreaterThan(750)
    return operation
  })
  // No more than the window waits at once, so that live deliveries are not held long.
  expect(full).toMatchObject({ status: 'running', matched: 1_500 })
  expect(full.processed).toBeLessThanOrEqual(1_000)
  const answer = await relay.api('POST', `/v1/operations/${id}/cancel`)
  expect(answer).toMatchObject({ status: 200, body: { id, status: 'cancelled' } })
  expect(answer.body.finishedAt).not.toBeNull()
  const again = await relay.api('POST', `/v1/operations/${id}/cancel`)
  expect(again.body).toMatchObject({ code: 'CONFLICT', status: 409 })
  endpoint.respond = says(200)
  await relay.change('destinations', destination.id, { timeoutMs: 1_000 })
  const { processed } = answer.body
  const left = `select count(*)::int as n from delivery where status = 'failed' and attempt_number = 0`
  expect(await query(relay, left)).toEqual([{ n: 1_500 - processed }])
  expect(await read(relay, id)).toEqual(answer.body)
  expect(await auditOf(relay, id)).toEqual(['operation.create', 'operation.cancel'])
}, 60_000)

test('live deliveries of others keep going while an operation is stuck on a dead endpoint', async () => {
  await using relay = await startRelay()
  const dead = await relay.route({ respond: hangs })
  const live = await relay.route()
  await seedFailed(
    relay,
    {
      sourceId: dead.source.id,
      destinationId: dead.destination.id,
      connectionId: dead.connection.id,
    },
    1_200,
  )
  const { id } = await start(relay, 'retry', { status: 'failed' })
  await eventually(async () => expect((await read(relay, id)).processed).toBeGreaterThan(400))
  await eventually(() => expect(dead.endpoint.arrivals.length).toBeGreaterThan(0))
  await relay.accept(live.source)
  await eventually(() => expect(live.endpoint.arrivals).toHaveLength(1), SOON_MS)
  await relay.api('POST', `/v1/operations/${id}/cancel`)
}, 60_000)

test('replays stop at the quota of a hard-capped plan: what meets it counts as failed', async () => {
  await using own = await startWorld({ plan: 'hobby' })
  const from = await seedRoute(own, 'capped')
  await seedEvents(own, from, 40)
  await own.pool.query(
    `insert into usage (organisation_id, window_started_at, deliveries)
      values ($1, date_trunc('month', now(), 'UTC'), 9970)`,
    [uuid('org', own.organisationId)],
  )
  const { id } = await start(own, 'replay', { sourceId: from.sourceId })
  await work(own)
  expect(await read(own, id)).toMatchObject({
    status: 'completed',
    matched: 40,
    processed: 40,
    failed: 10,
    failures: { quota_exceeded: 10 },
  })
  expect(await query(own, 'select count(*)::int as n from delivery')).toEqual([{ n: 30 }])
  expect(await query(own, 'select deliveries::int as n from usage')).toEqual([{ n: 10_000 }])
})

test('an attempted delivery leaves its operation, which counts only deliveries that still wait for it', async () => {
  await using relay = await startRelay()
  const { source } = await relay.route({ respond: says(500) })
  await relay.reaches(await relay.accept(source), { status: 'pending', attemptCount: 1 })
  const { id } = await start(relay, 'replay', { sourceId: source.id })
  expect(await ends(relay, id)).toMatchObject({ status: 'completed', processed: 1 })
  const waiting = `select attempt_trigger as trigger, operation_id as "operationId" from delivery_waiting`
  const retried = { trigger: 'automatic', operationId: null }
  await eventually(async () => expect(await query(relay, waiting)).toEqual([retried, retried]))
}, 60_000)

test('a paced plan bounds what waits at once', async () => {
  await using own = await startWorld({ plan: 'hobby' })
  const from = await seedRoute(own, 'paced')
  await seedEvents(own, from, 120)
  const { id } = await start(own, 'replay', { sourceId: from.sourceId })
  await work(own)
  expect(await read(own, id)).toMatchObject({ status: 'running', matched: 120, processed: 50 })
  expect(
    await query(own, 'select count(*)::int as n from delivery_waiting where next_at is null'),
  ).toEqual([{ n: 50 }])
  // A disabled destination holds up nobody.
  await own.api('POST', `/v1/destinations/${from.destinationId}/toggle`, { isEnabled: false })
  own.clock.advance(200)
  await work(own)
  expect(await read(own, id)).toMatchObject({ status: 'completed', processed: 120 })
})

test('each delivery is retried by the rules of its own route, and counted by why not', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'rules')
  const eventId = await seedEvent(own, at)
  const soon = new Date(own.clock.now() + 3_600_000)
  const seeds: Record<string, object> = {
    failed: { lastErrorCode: 'timeout' },
    succeeded: {},
    cancelled: {},
    pending: { nextAt: soon },
    throttled: { nextAt: null },
    in_flight: { nextAt: soon, claimedBy: 'worker' },
  }
  const ids: Record<string, string> = {}
  for (const [status, seed] of Object.entries(seeds)) {
    ids[status] = await seedDelivery(own, { ...at, eventId, status, ...seed })
  }
  // Its first attempt is on its way: that is the attempt that was asked for.
  await seedDelivery(own, { ...at, eventId, status: 'pending', leaseUntil: soon })
  const gone = await seedRoute(own, 'gone')
  await seedDelivery(own, { ...gone, eventId, status: 'failed' })
  await own.api('DELETE', `/v1/connections/${gone.connectionId}`)

  const { id } = await start(own, 'retry', { eventId })
  await work(own)
  expect(await read(own, id)).toMatchObject({
    status: 'completed',
    matched: 8,
    processed: 8,
    failed: 3,
    failures: { throttled: 1, in_flight: 1, connection_deleted: 1 },
  })
  const waiting = await query(
    own,
    `select delivery_id, attempt_trigger, next_at, status from delivery_waiting
      where operation_id is not null order by delivery_id`,
  )
  expect(waiting).toEqual(
    ['failed', 'succeeded', 'cancelled', 'pending'].map((status) => ({
      delivery_id: uuid('dlv', ids[status] ?? ''),
      attempt_trigger: 'bulk',
      next_at: null,
      status: 'pending',
    })),
  )
})

test('events that may not be replayed count as failed', async () => {
  await using own = await startWorld()
  const from = await seedRoute(own, 'rules')
  const now = own.clock.now()
  await seedEvent(own, from)
  await seedEvent(own, { ...from, status: 'unmatched' })
  await seedEvent(own, { ...from, status: 'rejected', rejectionReason: 'signature_mismatch' })
  await seedEvent(own, { ...from, status: 'duplicate' })
  await seedEvent(own, { ...from, atMs: now - 91 * 86_400_000 })
  const { id } = await start(own, 'replay', { sourceId: from.sourceId })
  await work(own)
  expect(await read(own, id)).toMatchObject({
    processed: 5,
    failed: 3,
    failures: { rejected: 1, duplicate: 1, past_retention: 1 },
  })
  expect(await query(own, 'select from delivery')).toHaveLength(2)
})

test('only what waits is cancelled', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'rules')
  const eventId = await seedEvent(own, at)
  const soon = new Date(own.clock.now() + 3_600_000)
  await seedDelivery(own, { ...at, eventId, status: 'pending', nextAt: soon })
  await seedDelivery(own, { ...at, eventId, status: 'throttled', nextAt: null })
  await seedDelivery(own, { ...at, eventId, status: 'in_flight', nextAt: soon, claimedBy: 'w' })
  await seedDelivery(own, { ...at, eventId, status: 'succeeded' })
  await seedDelivery(own, { ...at, eventId, status: 'failed' })
  const { id } = await start(own, 'cancel', { eventId })
  await work(own)
  expect(await read(own, id)).toMatchObject({
    status: 'completed',
    processed: 5,
    failed: 3,
    failures: { in_flight: 1, succeeded: 1, failed: 1 },
  })
  expect(
    await query(own, `select count(*)::int as n from delivery where status = 'cancelled'`),
  ).toEqual([{ n: 2 }])
})

test('a delivery that another transaction holds is cancelled when it is let go, and counted once', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'held')
  const eventId = await seedEvent(own, at)
  const nextAt = new Date(own.clock.now() + 3_600_000)
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    ids.push(await seedDelivery(own, { ...at, eventId, status: 'pending', nextAt }))
  }
  await using stack = new AsyncDisposableStack()
  const client = new pg.Client({ connectionString: own.databaseUrl })
  await client.connect()
  stack.defer(async () => await client.end())
  await client.query('begin')
  await client.query('select from delivery where id = $1 for update', [uuid('dlv', ids[2] ?? '')])
  const { id } = await start(own, 'cancel', { eventId })
  await work(own)
  expect(await read(own, id)).toMatchObject({ status: 'running', matched: 5, processed: 4 })
  await client.query('commit')
  own.clock.advance(1_000)
  await work(own)
  expect(await read(own, id)).toMatchObject({ status: 'completed', processed: 5, failed: 0 })
})

test('plan counts what the run comes to, for every filter', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'planned')
  const eventId = await seedEvent(own, { ...at, eventType: 'order.paid' })
  await seedEvent(own, { ...at, eventType: 'order.refunded', status: 'filtered' })
  const nextAt = new Date(own.clock.now() + 3_600_000)
  await seedFailed(own, at, 3)
  const refused = { lastErrorCode: 'bad_response', lastResponseStatus: 403 }
  await seedDelivery(own, { ...at, eventId, status: 'failed', ...refused })
  await seedDelivery(own, { ...at, eventId, status: 'pending', lastErrorCode: 'timeout', nextAt })
  await seedDelivery(own, { ...at, eventId, status: 'succeeded', lastResponseStatus: 200 })
  const filters: [string, object, number][] = [
    ['retry', { errorCode: 'timeout' }, 4],
    ['retry', { responseStatus: 403 }, 1],
    ['retry', { responseStatus: '5xx' }, 0],
    ['retry', { status: 'succeeded' }, 1],
    ['retry', { connectionId: at.connectionId, status: 'succeeded' }, 0],
    ['retry', { sourceId: at.sourceId }, 6],
    ['retry', { from: '2000-01-01T00:00:00Z', to: '2001-01-01T00:00:00Z' }, 0],
    ['replay', { status: 'filtered' }, 1],
    ['replay', { eventType: 'order.refunded' }, 1],
    ['replay', { eventType: 'order.*', search: 'order' }, 3],
    ['replay', { eventType: 'invoice.*' }, 0],
    ['replay', { search: 'refunded' }, 1],
    ['replay', { search: eventId }, 1],
    ['replay', { search: eventId, status: 'rejected' }, 0],
    ['replay', { to: '2999-01-01T00:00:00Z' }, 3],
    ['cancel', { destinationId: at.destinationId, status: 'throttled' }, 0],
    ['cancel', { to: '2999-01-01T00:00:00Z' }, 16],
  ]
  for (const [kind, filter, matched] of filters) {
    const what = `${kind} ${JSON.stringify(filter)}`
    expect(await plan(own, kind, filter), what).toMatchObject({
      kind,
      matched,
      truncated: false,
    })
    const { id } = await start(own, kind, filter)
    await work(own)
    const expected = { status: 'completed', matched, processed: matched }
    expect(await read(own, id), what).toMatchObject(expected)
  }
})

test('an event that comes after the operation was created is not part of it', async () => {
  await using own = await startWorld()
  const from = await seedRoute(own, 'later')
  await seedEvents(own, from, 3)
  const { id, filter } = await start(own, 'replay', { to: '2999-01-01T00:00:00Z' })
  expect(Date.parse(filter.to)).toBeLessThanOrEqual(own.clock.now())
  own.clock.advance(1_000)
  await seedEvent(own, from)
  await work(own)
  expect(await read(own, id)).toMatchObject({ status: 'completed', processed: 3 })
})

test('organisations take turns: a small operation does not wait for a large one', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'large')
  await seedFailed(own, at, 900)
  const other = await own.createTenant()
  const theirs = await seedRoute(own, 'small', other.key)
  const eventId = await seedEvent(own, { ...theirs, ...other })
  await seedDelivery(own, { ...theirs, ...other, eventId, status: 'failed' })
  const large = await start(own, 'retry', { status: 'failed' })
  const small = await start(own, 'retry', { status: 'failed' }, other.key)
  let rounds = 0
  // Two chunks of work, then the process is told to stop.
  await runOperations(own.deps, () => rounds++ < 2)
  expect(await read(own, small.id, other.key)).toMatchObject({ status: 'completed', processed: 1 })
  expect(await read(own, large.id)).toMatchObject({ status: 'running', processed: 200 })
  const due = await dueOperations(own.db, new Date(own.clock.now()), 10)
  expect(due).toEqual([uuid('opr', large.id)])
})

test('a chunk that fails changes nothing, and the others go on', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'broken')
  await seedEvents(own, at, 2)
  const broken = await start(own, 'replay', { sourceId: at.sourceId })
  const sound = await start(own, 'retry', { status: 'failed' })
  await own.pool.query(
    `alter table delivery_waiting add constraint broken check (next_at is not null)`,
  )
  await work(own)
  expect(await read(own, sound.id)).toMatchObject({ status: 'completed' })
  expect(await read(own, broken.id)).toMatchObject({ status: 'running', processed: 0 })
  expect(await query(own, 'select from delivery')).toEqual([])
  await own.pool.query('alter table delivery_waiting drop constraint broken')
  own.clock.advance(6_000)
  await work(own)
  expect(await read(own, broken.id)).toMatchObject({ status: 'completed', processed: 2 })
})

test('at most 10 operations run in a project, also when they are asked for at once', async () => {
  await using own = await startWorld()
  const body = { kind: 'retry', filter: { status: 'failed' } }
  const answers = await Promise.all(
    Array.from({ length: 14 }, async () => await own.api('POST', '/v1/operations', body)),
  )
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(10)
  const refused = answers.filter(({ status }) => status === 409)
  expect(refused).toHaveLength(4)
  expect(refused[0]?.body).toMatchObject({ code: 'CONFLICT' })
  const other = (await own.api('POST', '/v1/projects', { name: 'other' })).body.id
  const there = { headers: { 'x-project-id': other } }
  expect((await own.api('POST', '/v1/operations', body, there)).status).toBe(202)
  await work(own)
  expect((await own.api('POST', '/v1/operations', body)).status).toBe(202)
})

test('the list pages by time and filters by kind and status', async () => {
  await using own = await startWorld()
  const made: string[] = []
  for (const kind of ['retry', 'replay', 'cancel', 'retry']) {
    own.clock.advance(1)
    made.push((await start(own, kind, { status: kind === 'replay' ? 'received' : 'failed' })).id)
  }
  const list = async (text: string): Promise<Answer> => {
    const answer = await own.api('GET', `/v1/operations?${text}`)
    return answer
  }
  const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id)
  expect(idsOf(await list(''))).toEqual(made.toReversed())
  expect(idsOf(await list('sortDir=asc'))).toEqual(made)
  expect(idsOf(await list('kind=retry'))).toEqual([made[3], made[0]])
  expect(idsOf(await list('status=completed'))).toEqual([])
  await own.api('POST', `/v1/operations/${made[1]}/cancel`)
  expect(idsOf(await list('status=cancelled&kind=replay'))).toEqual([made[1]])
  const first = await list('limit=3')
  expect(idsOf(first)).toEqual(made.slice(1).toReversed())
  const rest = await list(`limit=3&cursor=${first.body.nextCursor}`)
  expect(idsOf(rest)).toEqual([made[0]])
  expect(rest.body.nextCursor).toBeNull()
  const foreign = await own.api('GET', `/v1/operations?kind=retry&cursor=${first.body.nextCursor}`)
  expect(foreign.body.code).toBe('BAD_REQUEST')
})

test('finished operations are kept for 30 days', async () => {
  await using own = await startWorld()
  const done = await start(own, 'retry', { status: 'failed' })
  await work(own)
  own.clock.advance(29 * 86_400_000)
  const running = await start(own, 'retry', { status: 'failed' })
  await deleteFinished(own.deps)
  expect(await read(own, done.id)).toMatchObject({ status: 'completed' })
  own.clock.advance(40 * 86_400_000)
  await deleteFinished(own.deps)
  expect(await read(own, done.id)).toMatchObject({ code: 'NOT_FOUND' })
  expect(await read(own, running.id)).toMatchObject({ status: 'running' })
})

test('an empty filter, unknown members and members of the other list are refused', async () => {
  const wrong: [object, string][] = [
    [{ kind: 'retry', filter: {} }, 'body.filter'],
    [{ kind: 'replay', filter: {} }, 'body.filter'],
    [{ kind: 'retry', filter: { search: 'x' } }, 'body.filter.search'],
    [{ kind: 'replay', filter: { errorCode: 'timeout' } }, 'body.filter.errorCode'],
    [{ kind: 'replay', filter: { status: 'failed' } }, 'body.filter.status'],
    [{ kind: 'retry', filter: { status: 'failed', limit: 5 } }, 'body.filter.limit'],
    [{ kind: 'cancel', filter: { from: 'yesterday' } }, 'body.filter.from'],
    [{ kind: 'cancel', filter: { destinationId: shop.sourceId } }, 'body.filter.destinationId'],
    [{ kind: 'retry', filter: { responseStatus: '500' } }, 'body.filter.responseStatus'],
    [{ kind: 'destroy', filter: { status: 'failed' } }, 'body.kind'],
    [{ filter: { status: 'failed' } }, 'body.kind'],
    [{ kind: 'retry' }, 'body.filter'],
  ]
  for (const path of ['/v1/operations', '/v1/operations/plan']) {
    for (const [body, member] of wrong) {
      const answer = await world.api('POST', path, body)
      expect(answer.body, JSON.stringify(body)).toMatchObject({
        code: 'BAD_REQUEST',
        data: { fields: [{ path: member }] },
      })
    }
  }
  expect(await query(world, 'select from operation')).toEqual([])
})

test('an operation takes the filters that its list has, no more and no less', () => {
  const page = ['limit', 'cursor', 'sortBy', 'sortDir']
  const filtersOf = (routes: readonly { path: string; query: unknown }[], path: string) => {
    const shape = Object(routes.find((route) => route.path === path)?.query).shape
    return Object.keys(shape).filter((name) => !page.includes(name))
  }
  const lists: Record<string, string[]> = {
    retry: filtersOf(DELIVERY_ROUTES, '/deliveries'),
    cancel: filtersOf(DELIVERY_ROUTES, '/deliveries'),
    replay: filtersOf(EVENT_ROUTES, '/events'),
  }
  for (const option of NewOperation.options) {
    const { kind, filter } = option.shape
    expect(Object.keys(filter.shape).toSorted(), kind.value).toEqual(lists[kind.value]?.toSorted())
  }
})

test.for<[string, Permissions, Permissions, boolean]>([
  ['retry', { deliveries: 'write' }, { deliveries: 'read', events: 'write' }, true],
  ['replay', { events: 'write' }, { events: 'read', deliveries: 'write' }, true],
  ['cancel', { deliveries: 'write' }, { deliveries: 'read', events: 'write' }, false],
])(
  '%s needs its own permission, before the rest of the body',
  async ([kind, enough, less, isFree]) => {
    const sound = { kind, filter: { to: '2001-01-01T00:00:00Z' } }
    const broken = { kind, filter: { nonsense: 1 } }
    const granted = await world.createKey(enough)
    const lacking = await world.createKey(less)
    const unscoped = await world.createKey(null)
    for (const path of ['/v1/operations', '/v1/operations/plan']) {
      const ask = async (key: string, body: object): Promise<Answer> =>
        await world.api('POST', path, body, { key })
      expect((await ask(granted.key, sound)).status).toBeLessThan(300)
      expect((await ask(granted.key, broken)).body.code).toBe('BAD_REQUEST')
      expect((await ask(lacking.key, sound)).body).toMatchObject(REFUSED)
      expect((await ask(lacking.key, broken)).body).toMatchObject(REFUSED)
      const member = await ask(unscoped.key, broken)
      expect(member.body.code).toBe(isFree ? 'BAD_REQUEST' : REFUSED.code)
    }
    const { id } = await start(world, kind, sound.filter)
    const stop = `/v1/operations/${id}/cancel`
    const refused = await world.api('POST', stop, undefined, { key: lacking.key })
    expect(refused.body).toMatchObject(REFUSED)
    // A key that may start an operation may follow and stop it.
    expect((await world.api('GET', `/v1/operations/${id}`, undefined, granted)).status).toBe(200)
    expect((await world.api('POST', stop, undefined, granted)).status).toBe(200)
    const { key } = await world.createKey({ sources: 'write' })
    expect(await read(world, id, key)).toMatchObject(REFUSED)
    await query(world, 'delete from operation')
  },
)

test('operations of another organisation or project are not found, listed or fed', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'own')
  await seedFailed(own, at, 2)
  const { id } = await start(own, 'retry', { status: 'failed' })
  const other = await own.createTenant()
  const project = (await own.api('POST', '/v1/projects', { name: 'other' })).body.id
  const bound = await own.createKey(
    { deliveries: 'write', events: 'write' },
    { projectId: project },
  )
  for (const key of [other.key, bound.key]) {
    expect(await read(own, id, key)).toMatchObject({ code: 'NOT_FOUND', status: 404 })
    const stopped = await own.api('POST', `/v1/operations/${id}/cancel`, undefined, { key })
    expect(stopped.body).toMatchObject({ code: 'NOT_FOUND', status: 404 })
    const listed = await own.api('GET', '/v1/operations', undefined, { key })
    expect(listed.body).toEqual({ data: [], nextCursor: null })
    for (const filter of [{ destinationId: at.destinationId }, { status: 'failed' }]) {
      const body = { kind: 'retry', filter }
      const counted = await own.api('POST', '/v1/operations/plan', body, { key })
      expect(counted.body).toMatchObject({ matched: 0 })
    }
  }
  expect(await read(own, id)).toMatchObject({ status: 'running', matched: 2 })
})

test('a delivery that a worker has just taken from its lane is not sent twice', async () => {
  await using own = await startWorld()
  const at = await seedRoute(own, 'taken')
  const eventId = await seedEvent(own, at)
  const lease = new Date(own.clock.now() + 15_000)
  await seedDelivery(own, { ...at, eventId, status: 'pending', nextAt: lease, claimedBy: 'worker' })
  const { id } = await start(own, 'retry', { eventId })
  await work(own)
  expect(await read(own, id)).toMatchObject({ processed: 1, failed: 0 })
  expect(await query(own, 'select claimed_by, next_at from delivery_waiting')).toEqual([
    { claimed_by: 'worker', next_at: lease },
  ])
})
