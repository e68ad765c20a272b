import type pg from 'pg'

import { uuidOfBytes } from '../ids.ts'
import { byteaArray, uuidArray, uuidBytesArray } from './binary-arrays.ts'
import { storeEvents, type NewEvent } from './store-events.ts'

/** The delivery quota of a hard-capped organisation in its present window. */
export interface Quota {
  limit: number
  windowStartedAtMs: number
  resetAtMs: number
}

export type CappedEvent = NewEvent & { quota: Quota }

export type Stored =
  | { kind: 'stored'; event: NewEvent }
  | { kind: 'duplicate' }
  | { kind: 'over_quota'; limit: number; current: number; resetAtMs: number }

const CLAIM_KEYS = `
  insert into dedupe_key (source_id, key, event_id)
  select * from unnest($1::uuid[], $2::bytea[], $3::uuid[]) as t (source_id, key, event_id)
  order by source_id, key
  on conflict do nothing
  returning event_id`

/** The rows are locked in order and stay so until the commit: the count that decides is the count that is written. */
const LOCK_USAGE = `
  insert into usage (organisation_id, window_started_at, deliveries)
  select organisation_id, $2::timestamptz, 0 from unnest($1::uuid[]) as t (organisation_id) order by 1
  on conflict (organisation_id, window_started_at) do update set deliveries = usage.deliveries
  returning organisation_id, deliveries`

const ADD_USAGE = `
  update usage set deliveries = $3::bigint where organisation_id = $1::uuid and window_started_at = $2::timestamptz`

/**
 * Stores events of hard-capped organisations: keys first, then the usage rows, then what the quota leaves. Below the
 * limit an event's whole fan-out is accepted; a refused one leaves no key. A duplicate is one whatever the quota.
 * (decisions: Ingest)
 */
export async function storeCappedEvents(
  pool: pg.Pool,
  events: readonly CappedEvent[],
  nowMs: number,
): Promise<Stored[]> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    await client.query('begin')
    const claimed = await claimKeys(client, events)
    const isDuplicate = (event: NewEvent): boolean =>
      event.dedupeKey !== null && !claimed.has(uuidOfBytes(event.id))
    const results: Stored[] = []
    const accepted: NewEvent[] = []
    const refused: NewEvent[] = []
    const usage = await lockUsage(client, events)
    for (const event of events) {
      const current = usage.get(event.organisationId) ?? 0
      if (isDuplicate(event)) {
        results.push({ kind: 'duplicate' })
      } else if (current >= event.quota.limit) {
        const { limit, resetAtMs } = event.quota
        results.push({ kind: 'over_quota', limit, current, resetAtMs })
        refused.push(event)
      } else {
        usage.set(event.organisationId, current + event.deliveries.length)
        results.push({ kind: 'stored', event })
        accepted.push(event)
      }
    }
    await releaseKeys(client, refused)
    await storeEvents(client, accepted, { nowMs, isClaimed: true })
    await writeUsage(client, events, usage)
    await client.query('commit')
    return results
  } catch (error) {
    // A connection whose transaction failed is closed, which rolls it back whatever state it is in.
    failure = error instanceof Error ? error : new Error(String(error))
    throw failure
  } finally {
    client.release(failure)
  }
}

async function claimKeys(client: pg.ClientBase, events: readonly NewEvent[]): Promise<Set<string>> {
  const keyed = events.filter((event) => event.dedupeKey !== null)
  if (keyed.length === 0) return new Set()
  const { rows } = await client.query<{ event_id: string }>(CLAIM_KEYS, [
    uuidArray(keyed.map((event) => event.sourceId)),
    byteaArray(keyed.map((event) => event.dedupeKey)),
    uuidBytesArray(keyed.map((event) => event.id)),
  ])
  return new Set(rows.map((row) => row.event_id))
}

async function releaseKeys(client: pg.ClientBase, refused: readonly NewEvent[]): Promise<void> {
  const keyed = refused.filter((event) => event.dedupeKey !== null)
  if (keyed.length === 0) return
  await client.query(
    `delete from dedupe_key k using unnest($1::uuid[], $2::bytea[]) as t (source_id, key)
     where k.source_id = t.source_id and k.key = t.key`,
    [
      uuidArray(keyed.map((event) => event.sourceId)),
      byteaArray(keyed.map((event) => event.dedupeKey)),
    ],
  )
}

async function lockUsage(
  client: pg.ClientBase,
  events: readonly CappedEvent[],
): Promise<Map<string, number>> {
  const usage = new Map<string, number>()
  for (const windowStartedAtMs of new Set(events.map((event) => event.quota.windowStartedAtMs))) {
    const organisations = new Set(
      events
        .filter((event) => event.quota.windowStartedAtMs === windowStartedAtMs)
        .map((event) => event.organisationId),
    )
    const { rows } = await client.query<{ organisation_id: string; deliveries: number }>(
      LOCK_USAGE,
      [uuidArray([...organisations]), new Date(windowStartedAtMs)],
    )
    for (const row of rows) usage.set(row.organisation_id, row.deliveries)
  }
  return usage
}

async function writeUsage(
  client: pg.ClientBase,
  events: readonly CappedEvent[],
  usage: ReadonlyMap<string, number>,
): Promise<void> {
  const windows = new Map(
    events.map((event) => [event.organisationId, event.quota.windowStartedAtMs]),
  )
  for (const [organisationId, windowStartedAtMs] of windows) {
    await client.query(ADD_USAGE, [
      organisationId,
      new Date(windowStartedAtMs),
      usage.get(organisationId) ?? 0,
    ])
  }
}
