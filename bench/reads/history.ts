import type pg from 'pg'

import { openDb, openPool } from '../../core/db/db.ts'
import { ensurePartitions } from '../../core/db/partitions.ts'
import { openLog } from '../../core/log.ts'
import { bucketOf } from '../../core/statistics/histogram.ts'

const DAY_MS = 86_400_000
export const HISTORY_DAYS = 30

const ATTEMPT_MS = 12

/** Events made by one statement: a transaction of a few seconds. */
const CHUNK = 100_000

/** Days that one call makes partitions for, from the day before. */
const PARTITION_SPAN_DAYS = 15

export interface History {
  organisationId: string
  projectId: string
  sourceIds: readonly string[]
  connectionIds: readonly string[]
  destinationIds: readonly string[]
  events: number
  nowMs: number
}

/**
 * A past of `events` spread evenly over thirty days, made by SQL: nine in ten received, the rest filtered, unmatched or
 * rejected; of each received one a delivery and of every third a second; one delivery in fifty failed and one in a
 * hundred waits for a retry; an attempt each.
 */
export async function makeHistory(databaseUrl: string, history: History): Promise<void> {
  const log = openLog('silent', 'bench')
  const pool = openPool({ url: databaseUrl, max: 2, log, statementTimeoutMs: 600_000 })
  await using db = openDb(pool)
  for (let day = HISTORY_DAYS; day > 0; day -= PARTITION_SPAN_DAYS) {
    await ensurePartitions(db, history.nowMs - day * DAY_MS)
  }
  for (let made = 0; made < history.events; made += CHUNK) {
    await makeChunk(pool, history, made, Math.min(CHUNK, history.events - made))
    console.log(`${made + CHUNK} of ${history.events} events`)
  }
  for (const granularity of ['minute', 'hour', 'day']) {
    await pool.query(EVENT_ROLLUPS, [granularity, new Date(history.nowMs)])
    await pool.query(DELIVERY_ROLLUPS, [granularity, new Date(history.nowMs), bucketOf(ATTEMPT_MS)])
  }
  await pool.query('vacuum analyze')
}

const EVENTS = `
  insert into event (class, id, organisation_id, project_id, source_id, status, event_type, idempotency_key,
    rejection_reason, verified_with, method, path, query, headers, content_type, size_bytes, is_binary, remote_ip, raw,
    outcomes, verified_us, matched_us, stored_at)
  select 90, uuidv7(made.at - clock_timestamp()), $1::uuid, $2::uuid, ($3::uuid[])[1 + n % cardinality($3::uuid[])],
    case when n % 100 < 90 then 'received' when n % 100 < 94 then 'filtered'
      when n % 100 < 97 then 'unmatched' else 'rejected' end,
    (array['push', 'invoice.paid', 'order.created', 'ping'])[1 + n % 4], encode(sha256(n::text::bytea), 'hex'),
    case when n % 100 >= 97 then 'signature_mismatch' end, 'github', 'POST', '/', '',
    '[["content-type","application/json"],["user-agent","GitHub-Hookshot/bench"]]', 'application/json', length(body),
    false, '192.0.2.1', body, null, 80, 40, made.at
  from generate_series($4::bigint, $4::bigint + $5::bigint - 1) as n,
    lateral (select to_timestamp($6::float8 + $7::float8 * n) as at) made,
    lateral (select convert_to('{"number":"' || n || '","filler":"' || repeat(md5(n::text), 6) || '"}', 'UTF8') as body) text
  returning id, source_id, status`

/** A delivery has the time of its event: its id is the event's with other random bits. */
const DELIVERIES = `
  insert into delivery (class, id, event_id, connection_id, destination_id, source_id, project_id, status, trigger,
    attempt_count, attempt_number, max_attempts, last_error, first_attempt_at, last_attempt_at, last_response_status,
    last_error_code, last_duration_ms, completed_at)
  select 90, d.id, e.id, ($2::uuid[])[1 + k], ($3::uuid[])[1 + k], e.source_id, $1::uuid, d.status, 'ingest', 1, 1, 8,
    d.error, e.at, e.at, case when d.error is null then 200 else 500 end, d.error, 12, case when d.status <> 'pending' then e.at end
  from unnest($4::uuid[], $5::uuid[]) with ordinality as made (id, source_id, place),
    lateral (select made.id, made.source_id, uuid_extract_timestamp(made.id) as at) e,
    generate_series(0, case when place % 3 = 0 then 1 else 0 end) as second,
    lateral (select (place + second) % cardinality($2::uuid[]) as k) c,
    lateral (select uuidv7(e.at + second * interval '1 ms' - clock_timestamp()) as id,
      case when place % 50 = 0 then 'failed' when place % 100 = 1 then 'pending' else 'succeeded' end as status,
      case when place % 50 = 0 or place % 100 = 1 then 'bad_response' end as error) d
  returning id, destination_id, status, first_attempt_at`

const ATTEMPTS = `
  insert into attempt (class, delivery_id, number, id, trigger, outcome, started_at, duration_ms, first_byte_ms, url,
    signature, response_status, response_headers, response_body, error_code)
  select 90, id, 1, uuidv7(at - clock_timestamp()), 'initial', case when status = 'succeeded' then 'succeeded' else 'failed' end,
    at, 12, 11, 'https://example.com/hook', 'v1,' || md5(id::text), case when status = 'succeeded' then 200 else 500 end,
    '[]', 'ok', case when status <> 'succeeded' then 'bad_response' end
  from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as made (id, status, at)`

const WAITING = `
  insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
    attempt_trigger, next_at)
  select id, 90, $1::uuid, $2::uuid, destination_id, 0, 'pending', 'automatic', now() + interval '20 days'
  from unnest($3::uuid[], $4::uuid[], $5::text[]) as made (id, destination_id, status) where status = 'pending'`

const FAILED = `
  insert into delivery_failed (delivery_id, class, project_id, error_code, response_status)
  select id, 90, $1::uuid, 'bad_response', 500
  from unnest($2::uuid[], $3::text[]) as made (id, status) where status = 'failed'`

/** By the minute only the last two days, as the housekeeper keeps them. */
const EVENT_ROLLUPS = `
  insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
  select project_id, $1::text, date_trunc($1::text, stored_at, 'UTC'), source_id, status, coalesce(rejection_reason, ''),
    count(*)
  from event where $1::text <> 'minute' or stored_at > $2::timestamptz - interval '2 days'
  group by 1, 2, 3, 4, 5, 6`

const DELIVERY_ROLLUPS = `
  insert into delivery_rollup (project_id, granularity, start, source_id, destination_id, connection_id, succeeded, failed,
    throttled, attempts, retried, latency_buckets, latency_counts)
  select project_id, $1::text, date_trunc($1::text, first_attempt_at, 'UTC'), source_id, destination_id, connection_id,
    count(*) filter (where status = 'succeeded'), count(*) filter (where status = 'failed'), 0, count(*), 0,
    array[$3::int2], array[count(*)]
  from delivery where $1::text <> 'minute' or first_attempt_at > $2::timestamptz - interval '2 days'
  group by 1, 2, 3, 4, 5, 6`

interface EventRow {
  id: string
  source_id: string
  status: string
}

interface DeliveryRow {
  id: string
  destination_id: string
  status: string
  first_attempt_at: Date
}

async function makeChunk(
  pool: pg.Pool,
  history: History,
  from: number,
  count: number,
): Promise<void> {
  const { organisationId, projectId, sourceIds, connectionIds, destinationIds, nowMs } = history
  const startSeconds = (nowMs - HISTORY_DAYS * DAY_MS) / 1_000
  const stepSeconds = (HISTORY_DAYS * DAY_MS) / 1_000 / history.events
  const events = await pool.query<EventRow>(EVENTS, [
    organisationId,
    projectId,
    sourceIds,
    from,
    count,
    startSeconds,
    stepSeconds,
  ])
  const received = events.rows.filter((row) => row.status === 'received')
  const { rows } = await pool.query<DeliveryRow>(DELIVERIES, [
    projectId,
    connectionIds,
    destinationIds,
    received.map((row) => row.id),
    received.map((row) => row.source_id),
  ])
  const ids = rows.map((row) => row.id)
  const statuses = rows.map((row) => row.status)
  const targets = rows.map((row) => row.destination_id)
  await pool.query(ATTEMPTS, [ids, statuses, rows.map((row) => row.first_attempt_at)])
  await pool.query(WAITING, [organisationId, projectId, ids, targets, statuses])
  await pool.query(FAILED, [projectId, ids, statuses])
}
