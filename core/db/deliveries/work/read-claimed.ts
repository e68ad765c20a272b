import type pg from 'pg'

import type { AttemptTrigger } from '../../../delivery/states.ts'
import { CLAIM_BYTES_MAX, MESSAGE_BODY_BYTES_MAX } from '../../../limits.ts'
import { uuidArray } from '../../connection/binary-arrays.ts'
import { eachPartition, placeOfDelivery } from '../../connection/day-partitions.ts'

/** Who claimed the rows, and until when. */
export interface Lease {
  claimedBy: string
  leaseUntilMs: number
}

/** A row of `delivery_waiting`. */
export interface WaitingRow {
  retentionClass: number
  deliveryId: string
  organisationId: string
  projectId: string
  destinationId: string
  partition: number
  attemptTrigger: AttemptTrigger
}

/** A waiting row as a claim finds it. */
export interface ClaimableRow extends WaitingRow {
  /** The state to which the delivery returns if a manual attempt fails, and its time. */
  resumesAs: ResumedStatus | null
  resumesAt: Date | null
}

/** A delivery that is attempted by hand was one of these. */
type ResumedStatus = 'succeeded' | 'failed' | 'cancelled' | 'pending'

/** A delivery in the worker's hands, with what it needs from its event. Times are milliseconds since the epoch. */
export interface ClaimedDelivery extends WaitingRow {
  eventId: string | null
  sourceId: string | null
  connectionId: string | null
  attemptCount: number
  attemptNumber: number
  maxAttempts: number
  throttledAtMs: number | null
  firstAttemptAtMs: number | null
  /** Its event was delivered before. */
  isReplay: boolean
  /** The state to which it returns if its attempt fails: ended then, or due then; null if the retry policy decides. */
  resumes: { status: ResumedStatus; atMs: number | null } | null
  /** The connection was deleted, or the event purged, after the delivery was made. */
  isOrphan: boolean
  event: {
    /** JSON of [name, value] pairs. */
    headers: string
    verifiedWith: string
    remoteIp: string
    sourceName: string
  }
  /** Null when it is larger than what a claim brings along: to be read on its own. */
  body: Buffer | null
  /** Bytes of the headers and the body that were read with it. */
  bytes: number
}

interface StoredDelivery {
  id: string
  event_id: string | null
  source_id: string | null
  connection_id: string | null
  attempt_count: number
  attempt_number: number
  max_attempts: number
  throttled_at: Date | null
  first_attempt_at: Date | null
  is_replay: boolean
  is_cut_off: boolean
  source_name: string | null
}

interface StoredEvent {
  place: number
  headers: string | null
  verified_with: string
  remote_ip: string
  raw: Buffer | null
  bytes: number
  is_within: boolean
}

const readDeliveriesIn = (table: string): string => `
  select d.id, d.event_id, d.source_id, d.connection_id, d.attempt_count, d.attempt_number, d.max_attempts,
    d.throttled_at, d.first_attempt_at, d.trigger = 'replay' as is_replay,
    d.connection_id is not null and k.id is null as is_cut_off,
    s.name as source_name
  from ${table} d
    join delivery_waiting w on w.delivery_id = d.id and w.claimed_by = $3::text and w.next_at = $4::timestamptz
    left join connection k on k.id = d.connection_id
    left join source s on s.id = d.source_id
  where d.class = $1::int2 and d.id = any($2::uuid[]) and d.status in ('pending', 'throttled', 'in_flight')`

/** Locks the deliveries: whoever makes one wait again at this moment leaves a row that is claimed as it is. */
const dropEndedIn = (table: string): string => `
  with ended as materialized (
    select d.id from ${table} d
    where d.class = $1::int2 and d.id = any($2::uuid[]) and d.status not in ('pending', 'throttled', 'in_flight')
    order by d.id for share
  )
  delete from delivery_waiting w using ended
  where w.delivery_id = ended.id and w.claimed_by = $3::text and w.next_at = $4::timestamptz`

/** In their order as many as fit. A larger body is not even fetched from where PostgreSQL keeps it. */
const readEventsIn = (table: string): string => `
  select place::int, verified_with, remote_ip, bytes, is_within,
    case when is_within then headers end as headers,
    case when is_within and size_bytes <= ${MESSAGE_BODY_BYTES_MAX} then raw end as raw
  from (
    select *, sum(bytes) over (rows unbounded preceding) <= $3::int4 as is_within
    from (
      select i.place, e.headers, e.raw, e.size_bytes, e.verified_with, e.remote_ip, octet_length(e.headers)
        + case when e.size_bytes <= ${MESSAGE_BODY_BYTES_MAX} then e.size_bytes else 0 end as bytes
      from unnest($2::uuid[]) with ordinality as i (id, place) join ${table} e on e.class = $1::int2 and e.id = i.id
      order by i.place
    ) as measured
  ) as summed`

/** A delivery that is there, with its event once that is read; null when the event is gone, or never was. */
interface Found<Row extends ClaimableRow> {
  row: Row
  stored: StoredDelivery
  event: StoredEvent | null
}

/**
 * Reads the deliveries and events of claimed rows, from the first on, until headers and bodies exceed `CLAIM_BYTES_MAX`
 * (many times the size of one); `left` has the others. A row whose delivery is gone or was claimed again is in neither,
 * nor is one whose delivery has ended: that row is deleted. The statement reads only the days of these deliveries and
 * events: over 150 days it would take 5 ms before it reads anything.
 */
export async function readClaimed<Row extends ClaimableRow>(
  pool: pg.Pool,
  rows: readonly Row[],
  claim: Lease,
): Promise<{ deliveries: ClaimedDelivery[]; left: Row[] }> {
  const found = await readDeliveries(pool, rows, claim)
  const beyond = await readEvents(pool, found)
  const end = beyond === undefined ? found.length : found.indexOf(beyond)
  return {
    deliveries: found.slice(0, end).map(toClaimed),
    left: found.slice(end).map(({ row }) => row),
  }
}

async function readDeliveries<Row extends ClaimableRow>(
  pool: pg.Pool,
  rows: readonly Row[],
  { claimedBy, leaseUntilMs }: Lease,
): Promise<Found<Row>[]> {
  const byId = new Map<string, StoredDelivery>()
  await eachPartition('delivery', rows, {
    placeOf: placeOfDelivery,
    async run(table, group) {
      const values = [
        group[0]?.retentionClass,
        uuidArray(group.map((row) => row.deliveryId)),
        claimedBy,
        new Date(leaseUntilMs),
      ]
      const { rows: stored } = await pool.query<StoredDelivery>({
        name: `read_claimed_in_${table}`,
        text: readDeliveriesIn(table),
        values,
      })
      for (const one of stored) byId.set(one.id, one)
      // An attempt that was shown as in flight after its result was written leaves such a row behind.
      if (stored.length < group.length) await pool.query(dropEndedIn(table), values)
    },
  })
  return rows.flatMap((row) => {
    const stored = byId.get(row.deliveryId)
    return stored === undefined ? [] : [{ row, stored, event: null }]
  })
}

/** Returns the first that is beyond the bytes; it and all behind it may lack their events. */
async function readEvents<Row extends ClaimableRow>(
  pool: pg.Pool,
  found: readonly Found<Row>[],
): Promise<Found<Row> | undefined> {
  const beyond = new Set<Found<Row>>()
  let room = CLAIM_BYTES_MAX
  await eachPartition('event', found, {
    placeOf: ({ row, stored }) =>
      stored.event_id === null
        ? undefined
        : { retentionClass: row.retentionClass, id: stored.event_id },
    async run(table, group) {
      const { rows: events } = await pool.query<StoredEvent>({
        name: `read_claimed_events_in_${table}`,
        text: readEventsIn(table),
        values: [
          group[0]?.row.retentionClass,
          uuidArray(group.map(({ stored }) => stored.event_id)),
          room,
        ],
      })
      for (const event of events) {
        const one = group[event.place - 1]
        if (one === undefined) continue
        if (event.is_within) room -= event.bytes
        else beyond.add(one)
        one.event = event
      }
    },
  })
  return found.find((one) => beyond.has(one))
}

function toClaimed({ row, stored, event }: Found<ClaimableRow>): ClaimedDelivery {
  return {
    retentionClass: row.retentionClass,
    deliveryId: row.deliveryId,
    organisationId: row.organisationId,
    projectId: row.projectId,
    destinationId: row.destinationId,
    partition: row.partition,
    attemptTrigger: row.attemptTrigger,
    eventId: stored.event_id,
    sourceId: stored.source_id,
    connectionId: stored.connection_id,
    attemptCount: stored.attempt_count,
    attemptNumber: stored.attempt_number,
    maxAttempts: stored.max_attempts,
    throttledAtMs: stored.throttled_at?.getTime() ?? null,
    firstAttemptAtMs: stored.first_attempt_at?.getTime() ?? null,
    isReplay: stored.is_replay,
    resumes:
      row.resumesAs === null
        ? null
        : { status: row.resumesAs, atMs: row.resumesAt?.getTime() ?? null },
    isOrphan: stored.is_cut_off || (stored.event_id !== null && event === null),
    event: {
      headers: event?.headers ?? '[]',
      verifiedWith: event?.verified_with ?? 'none',
      remoteIp: event?.remote_ip ?? '',
      sourceName: stored.source_name ?? '',
    },
    body: event?.raw ?? null,
    bytes: event?.bytes ?? 0,
  }
}
