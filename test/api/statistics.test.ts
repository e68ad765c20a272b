import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Hold } from '../../core/db/deliveries/work/partition-owners.ts'
import { recordResults, type DeliveryResult } from '../../core/db/deliveries/work/record-results.ts'
import { park } from '../../core/db/deliveries/work/waiting.ts'
import { FOLD_BATCH, foldDeliveries, foldEvents } from '../../core/db/statistics/folds.ts'
import { pruneRollups, rollUpDeliveries, rollUpEvents } from '../../core/db/statistics/rollups.ts'
import { newId } from '../../core/ids.ts'
import { DASHBOARD_BUCKETS_MAX, DASHBOARD_ROWS_MAX, REJECTED_BURST } from '../../core/limits.ts'
import { bucketOf } from '../../core/statistics/histogram.ts'
import { pruneStatistics } from '../../dataplane/housekeeper/tasks/statistics.ts'
import { hangs, inTurn, says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { seedDelivery, uuid } from '../kit/seed.ts'
import type { Tenant } from '../kit/world.ts'

const OUTCOME_WITHIN_MS = 5_000

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

interface Sum {
  events: { received: number; filtered: number; unmatched: number; rejected: number }
  deliveries: { succeeded: number; failed: number; throttled: number }
  attempts: number
  retried: number
}

const NOTHING: Sum = {
  events: { received: 0, filtered: 0, unmatched: 0, rejected: 0 },
  deliveries: { succeeded: 0, failed: 0, throttled: 0 },
  attempts: 0,
  retried: 0,
}

/** All buckets of a dashboard added up: a test may run across the hour. */
async function total(tenant: Tenant, query = ''): Promise<Sum> {
  return sumOf((await relay.get(`/v1/stats/dashboard?${query}`, tenant.key)).data)
}

function sumOf(buckets: Sum[]): Sum {
  return buckets.reduce(
    (sum, { events, deliveries, attempts, retried }) => ({
      events: {
        received: sum.events.received + events.received,
        filtered: sum.events.filtered + events.filtered,
        unmatched: sum.events.unmatched + events.unmatched,
        rejected: sum.events.rejected + events.rejected,
      },
      deliveries: {
        succeeded: sum.deliveries.succeeded + deliveries.succeeded,
        failed: sum.deliveries.failed + deliveries.failed,
        throttled: sum.deliveries.throttled + deliveries.throttled,
      },
      attempts: sum.attempts + attempts,
      retried: sum.retried + retried,
    }),
    NOTHING,
  )
}

async function expectCounts(tenant: Tenant, query: string, expected: object): Promise<void> {
  await eventually(async () => {
    expect(await total(tenant, query)).toEqual({ ...NOTHING, ...expected })
  }, OUTCOME_WITHIN_MS)
}

const SIGNED = {
  type: 'shared_token',
  secret: 'right',
  token: { in: 'header', name: 'x-token' },
}
const ONCE = { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 1 }
const TWICE = { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 2 }

test('the dashboard counts every event and outcome of known traffic within 5 s', async () => {
  const tenant = await relay.createTenant()
  const { key } = tenant
  const source = { idempotencyKeys: ['header.x-id'] }
  const good = await relay.route({ key, source, respond: says(200) })
  const flaky = await relay.route({
    key,
    destination: { retryPolicy: TWICE },
    respond: inTurn(says(500), says(200)),
  })
  const bad = await relay.route({ key, destination: { retryPolicy: ONCE }, respond: says(500) })
  const busy = await relay.route({ key, respond: says(429, { 'retry-after': '3600' }) })
  const picky = await relay.route({ key, connection: { filter: { eventTypes: ['never'] } } })
  const lonely = await relay.make('sources', {}, key)
  const guarded = await relay.make('sources', { verifier: SIGNED }, key)

  for (const id of ['a', 'b', 'b']) {
    await relay.send(good.source, { headers: { 'x-id': id }, body: '{}' })
  }
  await relay.accept(flaky.source)
  await relay.accept(bad.source)
  await relay.accept(busy.source)
  await relay.accept(picky.source)
  await relay.accept(lonely)
  await relay.send(guarded, { headers: { 'x-token': 'wrong' } })
  await relay.send(guarded)

  const events = { received: 5, filtered: 1, unmatched: 1, rejected: 2 }
  const deliveries = { succeeded: 3, failed: 1, throttled: 1 }
  await expectCounts(tenant, '', { events, deliveries, attempts: 6, retried: 1 })
  await expectCounts(tenant, `sourceId=${good.source.id}`, {
    events: { ...NOTHING.events, received: 2 },
    attempts: 2,
    deliveries: { ...NOTHING.deliveries, succeeded: 2 },
  })
  await expectCounts(tenant, `destinationId=${busy.destination.id}`, {
    deliveries: { ...NOTHING.deliveries, throttled: 1 },
    attempts: 1,
  })
  await expectCounts(tenant, `connectionId=${flaky.connection.id}`, {
    deliveries: { ...NOTHING.deliveries, succeeded: 1 },
    attempts: 2,
    retried: 1,
  })
  await expectCounts(tenant, 'granularity=minute', { events, deliveries, attempts: 6, retried: 1 })
  await expectCounts(tenant, 'granularity=day', { events, deliveries, attempts: 6, retried: 1 })
  expect(await total(relay)).toEqual(NOTHING)
  await expectGroups(tenant, { good, flaky, bad, busy })
})

async function expectGroups(
  { key }: Tenant,
  { good, flaky, bad, busy }: Record<'good' | 'flaky' | 'bad' | 'busy', Resource>,
): Promise<void> {
  const grouped = async (groupBy: string): Promise<Map<string, Sum>> => {
    const { data } = await relay.get(`/v1/stats/dashboard?groupBy=${groupBy}`, key)
    const groups = Map.groupBy<string, Resource>(data, (bucket: Resource) => bucket.group)
    return new Map([...groups].map(([group, buckets]) => [group, sumOf(buckets)]))
  }
  const byDestination = await grouped('destination')
  const ids = [good, flaky, bad, busy].map(({ destination }) => destination.id)
  expect(new Set(byDestination.keys())).toEqual(new Set(ids))
  expect(byDestination.get(bad.destination.id)).toMatchObject({ deliveries: { failed: 1 } })
  const byConnection = await grouped('connection')
  expect(byConnection.get(good.connection.id)).toMatchObject({ attempts: 2 })
  const bySource = await grouped('source')
  expect(bySource.get(good.source.id)).toMatchObject({ events: { received: 2 }, attempts: 2 })
  expect(bySource.size).toBe(7)
  const byReason = await grouped('rejectionReason')
  expect([...byReason.keys()]).toHaveLength(2)
  for (const sum of byReason.values())
    expect(sum.events).toEqual({ ...NOTHING.events, rejected: 1 })
}

test('latency percentiles are those of answered attempts', async () => {
  const tenant = await relay.createTenant()
  const { source, endpoint } = await relay.route({
    key: tenant.key,
    destination: { timeoutMs: 1_000, retryPolicy: ONCE },
    respond: hangs,
  })
  await relay.accept(source)
  await expectCounts(tenant, '', {
    events: { ...NOTHING.events, received: 1 },
    attempts: 1,
    deliveries: { ...NOTHING.deliveries, failed: 1 },
  })
  const shown = async (): Promise<Resource> => {
    const { data } = await relay.get('/v1/stats/dashboard', tenant.key)
    return data.find((bucket: Resource) => bucket.attempts > 0).latencyMs
  }
  expect(await shown()).toEqual({ p50: null, p95: null, p99: null })
  endpoint.respond = says(200)
  const eventId = await relay.accept(source)
  await eventually(async () => expect((await shown()).p50).not.toBeNull(), OUTCOME_WITHIN_MS)
  const { p50, p99 } = await shown()
  const event = await relay.get(`/v1/events/${eventId}`, tenant.key)
  const { durationMs } = event.deliveries[0].lastAttempt
  expect(Math.abs(p50 - durationMs) / durationMs).toBeLessThan(0.051)
  expect(p99).toBe(p50)
})

test('rejected events that are past the budget are counted, not stored', async () => {
  const tenant = await relay.createTenant()
  const source = await relay.make('sources', { verifier: SIGNED }, tenant.key)
  const sent = REJECTED_BURST + 30
  const answers = await Promise.all(Array.from({ length: sent }, () => relay.send(source)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
  await expectCounts(tenant, '', { events: { ...NOTHING.events, rejected: sent } })
  const stored = await sql<{ count: number }>`
    select count(*) from event where source_id = ${uuid('src', source.id)}`.execute(relay.db)
  expect(stored.rows[0]?.count).toBeLessThan(sent)
})

test('a statement that fails and is tried again counts once', async () => {
  const tenant = await relay.createTenant()
  const { source } = await relay.route({ key: tenant.key })
  await failOnce('event_delta', '40001', source)
  await failOnce('delivery_delta', '57014', source)
  const sent = 5
  await Promise.all(Array.from({ length: sent }, () => relay.accept(source)))
  await expectCounts(tenant, '', {
    events: { ...NOTHING.events, received: sent },
    attempts: sent,
    deliveries: { ...NOTHING.deliveries, succeeded: sent },
  })
  const { rows } = await sql<{ failures: number }>`
    select (select last_value from failed_event_delta) + (select last_value from failed_delivery_delta)
      as failures`.execute(relay.db)
  expect(rows[0]?.failures).toBeGreaterThanOrEqual(4)
})

/** The first row of a source that is written to `table` fails the statement. A sequence forgets no try. */
async function failOnce(table: string, code: string, source: Resource): Promise<void> {
  await sql
    .raw(
      `create sequence failed_${table};
      create function fail_${table}() returns trigger language plpgsql as $$
      begin
        if new.source_id = '${uuid('src', source.id)}' and nextval('failed_${table}') = 1 then
          raise exception 'broken for a test' using errcode = '${code}';
        end if;
        return new;
      end $$;
      create trigger fail before insert on ${table} for each row execute function fail_${table}();`,
    )
    .execute(relay.db)
}

test('results that were recorded unheard, and are recorded again, count once', async () => {
  const tenant = await relay.createTenant()
  const result = await resultOf(tenant, { status: 'throttled', throttledAtMs: relay.clock.now() })
  const expected = { deliveries: { ...NOTHING.deliveries, throttled: 1 }, attempts: 1 }
  await recordResults(relay.pool, [result], 0)
  await expectCounts(tenant, '', expected)
  for (const tries of [1, 2]) await recordResults(relay.pool, [result], tries)
  await expectCounts(tenant, '', expected)
  const next: DeliveryResult = {
    ...result,
    status: 'succeeded',
    throttledAtMs: null,
    nextAtMs: null,
    isWaiting: true,
    attempt: { ...result.attempt, id: newId(relay.clock.now()), number: 2 },
  }
  await recordResults(relay.pool, [next], 3)
  await recordResults(relay.pool, [next], 0)
  await expectCounts(tenant, '', {
    deliveries: { ...NOTHING.deliveries, throttled: 1, succeeded: 1 },
    attempts: 2,
    retried: 1,
  })
})

test('a delivery that is parked again and again is throttled once', async () => {
  const tenant = await relay.createTenant()
  const result = await resultOf(tenant, {})
  const row = {
    ...result,
    hold: await holdOf(0),
    attemptTrigger: 'initial' as const,
    status: 'throttled' as const,
    throttledAtMs: relay.clock.now(),
    lastError: null,
  }
  await park(relay.pool, [row], 0)
  await park(relay.pool, [row], 1)
  await park(relay.pool, [{ ...row, throttledAtMs: null }], 0)
  await expectCounts(tenant, '', { deliveries: { ...NOTHING.deliveries, throttled: 1 } })
})

test('an attempt at a delivery that was cancelled meanwhile counts, its outcome does not', async () => {
  const tenant = await relay.createTenant()
  const cancelled = await resultOf(tenant, {})
  const kept = await resultOf(tenant, {})
  await sql`update delivery set status = 'cancelled' where id = ${cancelled.deliveryId}`.execute(
    relay.db,
  )
  await recordResults(relay.pool, [cancelled, kept], 0)
  await expectCounts(tenant, '', {
    deliveries: { ...NOTHING.deliveries, succeeded: 1 },
    attempts: 2,
  })
})

test('deliveries of a test are outside the statistics', async () => {
  const tenant = await relay.createTenant()
  const result = await resultOf(tenant, { connectionId: null, sourceId: null })
  await recordResults(relay.pool, [result], 0)
  await recordResults(relay.pool, [result], 1)
  expect(await total(tenant)).toEqual(NOTHING)
})

/** As the owner of the partition has it. */
async function holdOf(partition: number): Promise<Hold> {
  const { rows } = await sql<Hold>`
    select partition, epoch from partition_owner where partition = ${partition}`.execute(relay.db)
  const [hold] = rows
  if (hold === undefined) throw new Error('No such partition')
  return hold
}

/** The result of a delivery that is stored and waits for it: a success unless said otherwise. */
async function resultOf(tenant: Tenant, given: Partial<DeliveryResult>): Promise<DeliveryResult> {
  const { source, destination, connection } = await relay.route({ key: tenant.key })
  const nowMs = relay.clock.now()
  const id = await seedDelivery(relay, {
    eventId: null,
    connectionId: connection.id,
    sourceId: source.id,
    ...tenant,
    destinationId: destination.id,
    status: 'pending',
    leaseUntil: new Date(nowMs + 60_000),
  })
  return {
    retentionClass: 90,
    deliveryId: uuid('dlv', id),
    organisationId: uuid('org', tenant.organisationId),
    projectId: uuid('prj', tenant.projectId),
    sourceId: uuid('src', source.id),
    connectionId: uuid('con', connection.id),
    destinationId: uuid('dst', destination.id),
    partition: 0,
    hold: await holdOf(0),
    claimedBy: 'worker',
    status: 'succeeded',
    attemptCount: 1,
    maxAttempts: null,
    completedAtMs: null,
    throttledReason: given.status === 'throttled' ? 'destination_busy' : null,
    throttledAtMs: null,
    nextAtMs: given.status === 'throttled' ? nowMs + 3_600_000 : null,
    isWaiting: false,
    attempt: {
      id: newId(nowMs),
      number: 1,
      trigger: 'initial',
      outcome: 'succeeded',
      startedAtMs: nowMs,
      durationMs: 12,
      dnsMs: null,
      connectMs: null,
      tlsMs: null,
      firstByteMs: 11,
      url: 'http://127.0.0.1:9/hook',
      signature: 'v1,c2lnbmF0dXJl',
      headerNames: null,
      responseStatus: 200,
      responseHeaders: '[]',
      responseBody: null,
      errorCode: null,
      replicaId: null,
    },
    ...given,
  }
}

test('two housekeepers at once fold each delta once, and readers see all of them all the time', async () => {
  const tenant = await relay.createTenant()
  const projectId = uuid('prj', tenant.projectId)
  const ids = Array.from({ length: 3 }, () => newId(relay.clock.now()))
  const number = FOLD_BATCH + 1_000
  const bucket = bucketOf(20)
  await sql`
    insert into delivery_delta (at, project_id, source_id, destination_id, connection_id,
      succeeded, failed, throttled, attempts, retried, latencies)
    select now(), ${projectId}::uuid, ${ids[0]}::uuid, ${ids[1]}::uuid, ${ids[2]}::uuid,
      1, 0, 0, 2, 1, array[${bucket}, ${bucket}]::int2[]
    from generate_series(1, ${number})`.execute(relay.db)
  await sql`
    insert into event_delta (at, project_id, source_id, status, events)
    select now(), ${projectId}::uuid, ${ids[0]}::uuid, 'received', 3
    from generate_series(1, ${number})`.execute(relay.db)
  const expected = {
    events: { ...NOTHING.events, received: number * 3 },
    deliveries: { ...NOTHING.deliveries, succeeded: number },
    attempts: number * 2,
    retried: number,
  }
  const foldAll = async (fold: typeof foldEvents): Promise<void> => {
    while ((await fold(relay.db)) > 0) expect(await total(tenant)).toEqual(expected)
  }
  await Promise.all([foldEvents, foldEvents, foldDeliveries, foldDeliveries].map(foldAll))
  await eventually(async () => {
    const { rows } = await sql<{ left: number }>`
      select (select count(*) from delivery_delta where project_id = ${projectId})
        + (select count(*) from event_delta where project_id = ${projectId}) as left`.execute(
      relay.db,
    )
    expect(rows[0]?.left).toBe(0)
  })
  const expectAll = async (): Promise<void> => {
    for (const granularity of ['minute', 'hour', 'day']) {
      expect(await total(tenant, `granularity=${granularity}`)).toEqual(expected)
    }
  }
  await expectAll()
  const end = new Date(relay.clock.now() + 60_000)
  await Promise.all(
    [rollUpEvents, rollUpEvents, rollUpDeliveries, rollUpDeliveries].map((rollUp) =>
      rollUp(relay.db, end),
    ),
  )
  await expectAll()
  const { rows } = await sql`
    select latency_buckets as buckets, sum((latency_counts::int8[])[1])::float8 as attempts from delivery_rollup
    where project_id = ${projectId} and granularity = 'day of all' group by 1`.execute(relay.db)
  expect(rows).toEqual([{ buckets: `{${bucket}}`, attempts: number * 2 }])
})

test('a dashboard has every bucket of the range, aligned to the granularity', async () => {
  const query = 'from=2026-11-01T09:20:00Z&to=2026-11-01T12:00:00Z&granularity=hour'
  const { data } = await relay.get(`/v1/stats/dashboard?${query}`)
  const starts = ['09', '10', '11'].map((hour) => `2026-11-01T${hour}:00:00.000Z`)
  expect(data).toEqual(
    starts.map((start) => ({ start, ...NOTHING, latencyMs: { p50: null, p95: null, p99: null } })),
  )
  const day = await relay.get('/v1/stats/dashboard')
  expect(day.data).toHaveLength(25)
  const minutes = await relay.get('/v1/stats/dashboard?granularity=minute')
  expect(minutes.data).toHaveLength(DASHBOARD_BUCKETS_MAX)
})

test.for([
  ['from=2026-11-01T00:00:00Z&to=2026-11-01T16:41:00Z&granularity=minute', 'query.from'],
  ['from=2026-11-01T00:00:00Z&to=2026-11-01T00:00:00Z', 'query.from'],
  ['from=2999-01-01T00:00:00Z', 'query.from'],
  ['from=0001-01-01T00:00:00Z&to=9999-01-01T00:00:00Z&granularity=day', 'query.from'],
])('a dashboard refuses %s and names %s', async ([query, path]) => {
  const answer = await relay.api('GET', `/v1/stats/dashboard?${query}`)
  expect(answer.body).toMatchObject({ code: 'BAD_REQUEST', data: { fields: [{ path }] } })
})

test('a dashboard of exactly as many buckets as may be is answered', async () => {
  const query = 'from=2026-11-01T00:00:00Z&to=2026-11-01T16:40:00Z&granularity=minute'
  const { data } = await relay.get(`/v1/stats/dashboard?${query}`)
  expect(data).toHaveLength(DASHBOARD_BUCKETS_MAX)
})

test('minutes are named by the day and time at which they begin', async () => {
  const tenant = await relay.createTenant()
  const range = 'from=2026-10-31T23:58:30Z&to=2026-11-01T00:02:00Z'
  const { data } = await relay.get(`/v1/stats/dashboard?granularity=minute&${range}`, tenant.key)
  expect(data).toMatchObject([
    { start: '2026-10-31T23:58:00.000Z' },
    { start: '2026-10-31T23:59:00.000Z' },
    { start: '2026-11-01T00:00:00.000Z' },
    { start: '2026-11-01T00:01:00.000Z' },
  ])
})

test('a dashboard refuses more groups than it can show', async () => {
  const tenant = await relay.createTenant()
  const insert = async (count: number): Promise<unknown> =>
    await sql`
      insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
      select ${uuid('prj', tenant.projectId)}::uuid, 'hour', '2026-11-01T05:00:00Z', gen_random_uuid(), 'received', '', 1
      from generate_series(1, ${count}::int)`.execute(relay.db)
  const path = `/v1/stats/dashboard?from=2026-11-01T00:00:00Z&to=2026-11-01T10:00:00Z&groupBy=source`
  await insert(DASHBOARD_ROWS_MAX / 10)
  const { data } = await relay.get(path, tenant.key)
  expect(data).toHaveLength(DASHBOARD_ROWS_MAX)
  await insert(1)
  const answer = await relay.api('GET', path, undefined, { key: tenant.key })
  const fields = [{ path: 'query.groupBy' }]
  expect(answer.body).toMatchObject({ code: 'BAD_REQUEST', data: { fields } })
})

test('old roll-ups are pruned, each granularity at its own age', async () => {
  const projectId = newId(relay.clock.now())
  const ages = { minute: [1, 3], hour: [89, 91], day: [729, 731] }
  for (const [granularity, days] of Object.entries(ages)) {
    for (const day of days) {
      await sql`
        insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
        values (${projectId}, ${granularity}, now() - ${day} * interval '1 day', ${projectId}, 'received', '', 1)`.execute(
        relay.db,
      )
    }
  }
  await pruneStatistics(relay.db, relay.clock.now())
  const { rows } = await sql<{ granularity: string }>`
    select granularity from event_rollup where project_id = ${projectId} order by start`.execute(
    relay.db,
  )
  expect(rows.map((row) => row.granularity)).toEqual(['day', 'hour', 'minute'])
})

test('the search for old roll-ups does not read those that stay', async () => {
  await relay.db.transaction().execute(async (tx) => {
    await sql`
      insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
      select gen_random_uuid(), granularity, now() - n * interval '1 second', gen_random_uuid(), 'received', '', 1
      from (values ('minute', 1), ('hour', 2000)) as kept (granularity, seconds), generate_series(1, 5000 * seconds, seconds) as n`.execute(
      tx,
    )
    await sql`analyze event_rollup`.execute(tx)
    // The count includes scans that earlier transactions of the connection have not reported yet.
    const scans = async () =>
      await sql`
        select relname, seq_scan from pg_stat_xact_user_tables
        where relname in ('event_rollup', 'delivery_rollup') order by 1`.execute(tx)
    const before = await scans()
    await pruneRollups(tx, 'minute', new Date(relay.clock.now() - 2 * 86_400_000))
    const after = await scans()
    expect(after.rows).toHaveLength(2)
    expect(after.rows).toEqual(before.rows)
  })
})

test('has-any knows an event from the moment it is counted, and none in a new project', async () => {
  const tenant = await relay.createTenant()
  expect(await relay.get('/v1/events/has-any', tenant.key)).toEqual({ hasAny: false })
  await relay.accept(await relay.make('sources', {}, tenant.key))
  expect(await relay.get('/v1/events/has-any', tenant.key)).toEqual({ hasAny: true })
})
