/**
 * Makes a day of a retention class by SQL alone: chance follows from numbers and ids, so that no row has to travel.
 * Ids carry the time of what they name; an event and its deliveries are milliseconds apart.
 */

/** Each event's number chooses one of ten thousand slots of its era. */
export const ROUTES = `
  create unlogged table bench_slot (
    era text not null,
    slot integer not null,
    organisation_id uuid not null,
    project_id uuid not null,
    source_id uuid not null,
    primary key (era, slot)
  );
  create unlogged table bench_source (
    source_id uuid primary key,
    connections uuid[] not null,
    destinations uuid[] not null,
    is_failing boolean not null
  );
`

export const DROP_ROUTES = 'drop table bench_slot, bench_source'

export const ADD_SLOTS = `
  insert into bench_slot
  select $1, n, $4::uuid, $5::uuid, $6::uuid from generate_series($2::int, $2::int + $3::int - 1) as n`

const NOBODY = "'00000000-0000-0000-0000-000000000000'::uuid"

export const ADD_SOURCE = 'insert into bench_source values ($1, $2, $3, $4) on conflict do nothing'

/**
 * `$1` is the era, `$2` the number of the first event, `$3` how many there are, `$4` the first moment and `$5` the step in
 * milliseconds, `$6` the class.
 */
export const EVENTS = (table: string): string => `
  insert into ${table} (class, id, organisation_id, project_id, source_id, status, event_type, rejection_reason,
    verified_with, method, path, query, headers, content_type, size_bytes, is_binary, remote_ip, raw, verified_us,
    matched_us, stored_at)
  select $6::int2, uuidv7(at - clock_timestamp()), organisation_id, project_id, source_id,
    case when share < 900 then 'received' when share < 940 then 'filtered' when share < 970 then 'unmatched'
      else 'rejected' end,
    case when n % 50000 = 0 then 'refund.created'
      else (array['push', 'invoice.paid', 'order.created', 'ping'])[1 + n % 4] end,
    case when share >= 970 then 'signature_mismatch' end, 'github', 'POST', '/', '',
    '[["content-type","application/json"]]', 'application/json', 100, false, '192.0.2.1',
    convert_to(rpad('{"number":' || n || ',"filler":"', 98, 'postern ') || '"}', 'UTF8'), 80, 40, at
  from (
    select n, to_timestamp(($4::float8 + $5::float8 * (n - $2::bigint)) / 1000) as at, (hash % 10000)::int as slot,
      hash / 10000 % 1000 as share
    from (select n, hashint8extended(n, 1) & 9223372036854775807 as hash
      from generate_series($2::bigint, $2::bigint + $3::bigint - 1) as n offset 0) as numbered
  ) as drawn join bench_slot using (slot)
  where era = $1
  order by n`

/** Every third received event gets two deliveries, the others get one. `$1` is how many days ago. */
export const DELIVERIES = (table: string, events: string): string => `
  insert into ${table} (class, id, event_id, connection_id, destination_id, source_id, project_id, status, trigger,
    attempt_count, attempt_number, max_attempts, throttled_reason, throttled_at, last_error, first_attempt_at,
    last_attempt_at, last_response_status, last_error_code, last_duration_ms, completed_at)
  select class, uuidv7(at - clock_timestamp()), event_id, connection_id, destination_id, source_id, project_id, status,
    'ingest', attempts, attempts, 8, case when status = 'throttled' then 'destination_busy' end,
    case when status = 'throttled' then at end, error, case when attempts > 0 then at end,
    case when attempts > 0 then at end,
    case when status = 'succeeded' then
      case when other < 100 then 204 when other < 110 then 201 when $1::int > 80 and other < 120 then 202 else 200 end
    when error = 'bad_response' then
      case when other < 400 then 500 when other < 540 then 503 when other < 590 then 404 else 422 end end,
    error, case when attempts > 0 then 5 + share % 50 end,
    case when status in ('succeeded', 'failed', 'cancelled') then at end
  from (
    select *,
      case when status in ('throttled', 'cancelled') then 0 when status = 'succeeded' then 1 else 2 end as attempts,
      case when status in ('failed', 'pending') then case
        when $1::int > 80 and other < 20 then 'tls_error' when other < 600 then 'bad_response'
        when other < 850 then 'timeout' when other < 990 then 'connection_refused' else 'connection_reset' end end as error
    from (
      select *, hash / 100000 % 1000 as other,
        case when is_failing then case when $1::int < 7 then 'pending' else 'failed' end
          when share < 300 then 'cancelled' when share < 2300 then 'failed'
          when $1::int < 3 and share < 12300 then 'pending' when $1::int < 3 and share < 17300 then 'throttled'
          else 'succeeded' end as status
      from (select *, hash % 100000 as share from (
        select e.class, e.id as event_id, e.project_id, source_id, connections[1 + k] as connection_id,
          destinations[1 + k] as destination_id, is_failing and k = 0 as is_failing,
          uuid_extract_timestamp(e.id) + (1 + k) * interval '1 ms' as at,
          uuid_hash_extended(e.id, k) & 9223372036854775807 as hash
        from ${events} e join bench_source using (source_id),
          generate_series(0, case when uuid_hash_extended(e.id, 2) % 3 = 0 then 1 else 0 end) as k
        where e.status = 'received' offset 0
      ) as hashed offset 0) as drawn offset 0
    ) as outcome offset 0
  ) as complete`

export const ATTEMPTS = (table: string, deliveries: string): string => `
  insert into ${table} (class, delivery_id, number, id, trigger, outcome, started_at, duration_ms, first_byte_ms, url,
    signature, response_status, response_headers, response_body, error_code)
  select d.class, d.id, a, uuidv7(d.first_attempt_at - clock_timestamp()),
    case when a = 1 then 'initial' else 'automatic' end,
    case when d.last_error_code is null then 'succeeded' else 'failed' end, d.first_attempt_at, d.last_duration_ms, 4,
    'https://example.com/hook', 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=', d.last_response_status, '[]', 'ok',
    d.last_error_code
  from ${deliveries} d, generate_series(1, d.attempt_count) as a`

/** All of it is due in twenty days: what is parked, a worker would take. */
export const WAITING = (deliveries: string): string => `
  insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, connection_id, source_id,
    partition, status, attempt_trigger, next_at, error_code, response_status)
  select d.id, d.class, p.organisation_id, d.project_id, d.destination_id, d.connection_id, d.source_id, hash % 64,
    d.status, 'automatic', date_trunc('second', now()) + interval '20 days' + (hash % 36000) * interval '1 s',
    d.last_error_code, d.last_response_status
  from (select *, uuid_hash_extended(id, 3) & 9223372036854775807 as hash from ${deliveries}
    where status in ('pending', 'throttled')) d
  join project p on p.id = d.project_id`

export const FAILED = (deliveries: string): string => `
  insert into delivery_failed (delivery_id, class, project_id, destination_id, connection_id, source_id, status,
    error_code, response_status)
  select id, class, project_id, destination_id, connection_id, source_id, status, last_error_code, last_response_status
  from ${deliveries} where status in ('failed', 'cancelled')`

/** By `$1`, which is `minute` or `hour`. */
export const EVENT_ROLLUPS = (events: string): string => `
  insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
  select project_id, $1::text, date_trunc($1::text, stored_at, 'UTC'), source_id, status, coalesce(rejection_reason, ''),
    count(*)
  from ${events} group by 1, 2, 3, 4, 5, 6`

/** Latencies become histograms. */
export const DELIVERY_ROLLUPS = (deliveries: string): string => `
  insert into delivery_rollup (project_id, granularity, start, source_id, destination_id, connection_id, succeeded, failed,
    throttled, attempts, retried, latency_buckets, latency_counts)
  select project_id, $1::text, start, source_id, destination_id, connection_id, sum(succeeded), sum(failed),
    sum(throttled), sum(attempts), sum(retried), array_agg(bucket order by bucket), array_agg(answered order by bucket)
  from (
    select project_id, date_trunc($1::text, uuid_extract_timestamp(id), 'UTC') as start, source_id, destination_id,
      connection_id, ceil(ln(coalesce(last_duration_ms, 1) / 0.1) / ln(1.05 / 0.95))::int2 as bucket,
      count(*) filter (where status = 'succeeded') as succeeded, count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'throttled') as throttled, sum(attempt_count) as attempts,
      sum(greatest(attempt_count - 1, 0)) as retried, count(*) as answered
    from ${deliveries} group by 1, 2, 3, 4, 5, 6
  ) as by_bucket
  group by 1, 2, 3, 4, 5, 6`

/** By the primary key: nothing is known of these tables while they grow. */
const OF_THE_DAY = (
  table: string,
): string => `(select distinct project_id as of from bench_slot where era = $5) p
    cross join lateral (
      select * from ${table} where project_id = p.of and granularity = $1 and start >= $6
        and start < $6::timestamptz + interval '1 day' offset 0) counted`

/**
 * Sums the counts of a day by `$2`, named `$3`, into rows by `$1`; `$4` leaves out their owners. `$5` is the era, `$6` the
 * day.
 */
export const EVENT_SUMS = `
  insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
  select project_id, $3::text, date_trunc($2::text, start, 'UTC'), case when $4 then ${NOBODY} else source_id end, status,
    rejection_reason, sum(events)
  from ${OF_THE_DAY('event_rollup')} group by 1, 2, 3, 4, 5, 6`

export const DELIVERY_SUMS = `
  with hours as (
    select *, date_trunc($2::text, start, 'UTC') as at, case when $4 then ${NOBODY} else source_id end as source,
      case when $4 then ${NOBODY} else destination_id end as destination,
      case when $4 then ${NOBODY} else connection_id end as connection
    from ${OF_THE_DAY('delivery_rollup')}
  ), latencies as (
    select project_id, at, source, destination, connection, array_agg(bucket) as buckets, array_agg(answered) as counts
    from (
      select project_id, at, source, destination, connection, bucket, sum(answered)::bigint as answered
      from hours cross join unnest(latency_buckets::int2[], latency_counts::int8[]) as l (bucket, answered)
      group by 1, 2, 3, 4, 5, 6
    ) as by_bucket
    group by 1, 2, 3, 4, 5
  )
  insert into delivery_rollup (project_id, granularity, start, source_id, destination_id, connection_id, succeeded, failed,
    throttled, attempts, retried, latency_buckets, latency_counts)
  select project_id, $3::text, at, source, destination, connection, sum(succeeded), sum(failed), sum(throttled),
    sum(attempts), sum(retried), min(buckets), min(counts)
  from hours join latencies using (project_id, at, source, destination, connection)
  group by 1, 2, 3, 4, 5, 6`
