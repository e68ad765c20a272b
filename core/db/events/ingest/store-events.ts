import type pg from 'pg'

import {
  boolArray,
  byteaArray,
  int2Array,
  int4Array,
  textArray,
  timeArray,
  uuidArray,
  uuidBytesArray,
} from '../../connection/binary-arrays.ts'

/** A delivery to be made with its event: who it goes to and under what lease it is dispatched. */
export interface NewDelivery {
  id: Buffer
  connectionId: string
  destinationId: string
  maxAttempts: number
  /** Whose worker sends it. It is not stored. */
  partition: number
}

/** An event as ingest made it, complete: nothing of it changes afterwards. */
export interface NewEvent {
  retentionClass: number
  id: Buffer
  organisationId: string
  projectId: string
  sourceId: string
  /** Travels with the deliveries. It is not stored. */
  sourceName: string
  status: 'received' | 'filtered' | 'unmatched' | 'rejected'
  eventType: string | null
  /** SHA-256 of the selected values; null when the request is not deduplicated. */
  dedupeKey: Buffer | null
  rejectionReason: string | null
  /** The fault of the verifier; null when it has none. */
  rejectionDetail: string | null
  verifiedWith: string
  method: string
  path: string
  query: string
  /** JSON of [name, value] pairs. */
  headers: string
  contentType: string | null
  isBinary: boolean
  remoteIp: string
  /** The body: what filters read and destinations get. */
  raw: Buffer
  /** The source of a mail (RFC 5322), whose body is made of it; null when the body came as it is. */
  mail: Buffer | null
  /** JSON of the connections that excluded it; null when none did. */
  outcomes: string | null
  verifiedUs: number
  matchedUs: number
  /** The lease under which its deliveries are dispatched. */
  leaseUntilMs: number
  deliveries: readonly NewDelivery[]
}

/**
 * Stores a batch in one statement and one commit. The unique index deduplicates: exactly one row of a key is claimed, also
 * against other transactions, and the others leave nothing behind. Keys are claimed in order, so that two batches with the
 * same keys cannot deadlock.
 */
const STORE_EVENTS = `
  with input as materialized (
    select * from unnest($1::int2[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::bytea[],
      $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bool[], $17::text[],
      $18::bytea[], $19::text[], $20::int4[], $21::int4[], $22::int4[], $31::text[], $32::bytea[])
    as t (class, id, organisation_id, project_id, source_id, status, event_type, key,
      rejection_reason, verified_with, method, path, query, headers, content_type, is_binary, remote_ip,
      raw, outcomes, verified_us, matched_us, fan_out, rejection_detail, mail)
  ), claimed as (
    insert into dedupe_key (source_id, key, event_id)
    select source_id, key, id from input where key is not null and not $30::bool order by source_id, key
    on conflict do nothing
    returning event_id
  ), accepted as (
    select * from input where $30::bool or key is null or id in (select event_id from claimed)
  ), stored as (
    insert into event (class, id, organisation_id, project_id, source_id, status, event_type, idempotency_key,
      rejection_reason, verified_with, method, path, query, headers, content_type, size_bytes, is_binary, remote_ip,
      raw, outcomes, verified_us, matched_us, rejection_detail, mail)
    select class, id, organisation_id, project_id, source_id, status, event_type, encode(key, 'hex'),
      rejection_reason, verified_with, method, path, query, headers, content_type, length(raw), is_binary, remote_ip,
      raw, outcomes, verified_us, matched_us, rejection_detail, mail
    from accepted
  ), dispatched as (
    insert into delivery (class, id, event_id, connection_id, destination_id, source_id, project_id, status, trigger,
      max_attempts, lease_until)
    select a.class, d.id, a.id, d.connection_id, d.destination_id, a.source_id, a.project_id, 'pending', 'ingest',
      d.max_attempts, d.lease_until
    from unnest($23::uuid[], $24::uuid[], $25::uuid[], $26::uuid[], $27::timestamptz[], $28::int2[])
      as d (id, event_id, connection_id, destination_id, lease_until, max_attempts)
    join accepted a on a.id = d.event_id
  ), counted as (
    insert into usage_delta (organisation_id, at, deliveries)
    select organisation_id, $29::timestamptz, sum(fan_out) from accepted where fan_out > 0 and not $30::bool group by organisation_id
  ), tallied as (
    insert into event_delta (at, project_id, source_id, status, rejection_reason, events)
    select $29::timestamptz, project_id, source_id, status, rejection_reason, count(*) from accepted
    group by project_id, source_id, status, rejection_reason
  )
  select id from input
  where key is not null and not $30::bool and (id in (select event_id from claimed)) is not true`

export interface StoreOptions {
  nowMs: number
  /** Dedupe keys and usage were settled by the caller in the same transaction. */
  isClaimed?: boolean
}

/**
 * Stores the events with their deliveries, dedupe keys, usage and statistics. Returns the ids of those that were not,
 * being duplicates. Throws what PostgreSQL threw, having stored nothing.
 */
export async function storeEvents(
  pool: pg.Pool | pg.ClientBase,
  events: readonly NewEvent[],
  at: StoreOptions,
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'store_events',
    text: STORE_EVENTS,
    values: [
      ...eventColumns(events),
      ...deliveryColumns(events),
      new Date(at.nowMs),
      at.isClaimed ?? false,
      textArray(events.map((event) => event.rejectionDetail)),
      byteaArray(events.map((event) => event.mail)),
    ],
  })
  return new Set(rows.map((row) => row.id))
}

function deliveryColumns(events: readonly NewEvent[]): Buffer[] {
  const deliveries = events.flatMap((event) => event.deliveries)
  const eventOf = events.flatMap((event) => event.deliveries.map(() => event))
  return [
    uuidBytesArray(deliveries.map((delivery) => delivery.id)),
    uuidBytesArray(eventOf.map((event) => event.id)),
    uuidArray(deliveries.map((delivery) => delivery.connectionId)),
    uuidArray(deliveries.map((delivery) => delivery.destinationId)),
    timeArray(eventOf.map((event) => event.leaseUntilMs)),
    int2Array(deliveries.map((delivery) => delivery.maxAttempts)),
  ]
}

function eventColumns(events: readonly NewEvent[]): Buffer[] {
  return [
    int2Array(events.map((event) => event.retentionClass)),
    uuidBytesArray(events.map((event) => event.id)),
    uuidArray(events.map((event) => event.organisationId)),
    uuidArray(events.map((event) => event.projectId)),
    uuidArray(events.map((event) => event.sourceId)),
    textArray(events.map((event) => event.status)),
    textArray(events.map((event) => event.eventType)),
    byteaArray(events.map((event) => event.dedupeKey)),
    textArray(events.map((event) => event.rejectionReason)),
    textArray(events.map((event) => event.verifiedWith)),
    textArray(events.map((event) => event.method)),
    textArray(events.map((event) => event.path)),
    textArray(events.map((event) => event.query)),
    textArray(events.map((event) => event.headers)),
    textArray(events.map((event) => event.contentType)),
    boolArray(events.map((event) => event.isBinary)),
    textArray(events.map((event) => event.remoteIp)),
    byteaArray(events.map((event) => event.raw)),
    textArray(events.map((event) => event.outcomes)),
    int4Array(events.map((event) => event.verifiedUs)),
    int4Array(events.map((event) => event.matchedUs)),
    int4Array(events.map((event) => event.deliveries.length)),
  ]
}
