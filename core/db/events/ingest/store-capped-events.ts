import assert from 'node:assert/strict'

import type pg from 'pg'

import { uuidOfBytes } from '../../../ids.ts'
import { byteaArray, timeArray, uuidArray, uuidBytesArray } from '../../connection/binary-arrays.ts'
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

/** The deliveries of one organisation's window, counted on while its row is locked. */
interface Usage {
  organisationId: string
  windowStartedAtMs: number
  deliveries: number
}

const CLAIM_KEYS = `
  insert into dedupe_key (source_id, key, event_id)
  select * from unnest($1::uuid[], $2::bytea[], $3::uuid[]) as t (source_id, key, event_id)
  order by source_id, key
  on conflict do nothing
  returning event_id`

/** The rows are locked in order and stay so until the commit: the count that decides is the count that is written. */
const LOCK_USAGE = `
  insert into usage (organisation_id, window_started_at, deliveries)
  select organisation_id, window_started_at, 0
  from unnest($1::uuid[], $2::timestamptz[]) as t (organisation_id, window_started_at) order by 1, 2
  on conflict (organisation_id, window_started_at) do update set deliveries = usage.deliveries
  returning organisation_id, window_started_at, deliveries`

const ADD_USAGE = `
  update usage u set deliveries = t.deliveries, closed_at = null
  from unnest($1::uuid[], $2::timestamptz[], $3::bigint[]) as t (organisation_id, window_started_at, deliveries)
  where u.organisation_id = t.organisation_id and u.window_started_at = t.window_started_at`

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
    const accepted: NewEvent[] = []
    const refused: NewEvent[] = []
    /** Why the first event of a key was refused, for others of that key beside it. */
    const refusals = new Map<string, Stored>()
    const usage = await lockUsage(client, events)
    const outcomes = events.map((event): Stored | undefined => {
      if (isDuplicate(event)) return undefined
      const current = usage.get(windowOf(event))?.deliveries ?? 0
      const { limit, resetAtMs } = event.quota
      if (current >= limit) {
        const refusal: Stored = { kind: 'over_quota', limit, current, resetAtMs }
        refused.push(event)
        if (event.dedupeKey !== null) refusals.set(claimOf(event), refusal)
        return refusal
      }
      countIn(usage, event)
      accepted.push(event)
      return { kind: 'stored', event }
    })
    // A repeat of an event that was refused is refused as well: nobody has stored it.
    const results = events.map(
      (event, at): Stored => outcomes[at] ?? refusals.get(claimOf(event)) ?? { kind: 'duplicate' },
    )
    await releaseKeys(client, refused)
    await storeEvents(client, accepted, { nowMs, isClaimed: true })
    await writeUsage(client, usage)
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
): Promise<Map<string, Usage>> {
  const windows = [...new Map(events.map((event) => [windowOf(event), event])).values()]
  const { rows } = await client.query<{
    organisation_id: string
    window_started_at: Date
    deliveries: number
  }>(LOCK_USAGE, [
    uuidArray(windows.map(({ organisationId }) => organisationId)),
    timeArray(windows.map(({ quota }) => quota.windowStartedAtMs)),
  ])
  return new Map(
    rows.map((row) => {
      const usage = {
        organisationId: row.organisation_id,
        windowStartedAtMs: row.window_started_at.getTime(),
        deliveries: row.deliveries,
      }
      return [keyOf(usage), usage]
    }),
  )
}

function countIn(usage: ReadonlyMap<string, Usage>, event: CappedEvent): void {
  const counted = usage.get(windowOf(event))
  assert(counted !== undefined)
  counted.deliveries += event.deliveries.length
}

async function writeUsage(
  client: pg.ClientBase,
  counted: ReadonlyMap<string, Usage>,
): Promise<void> {
  const usage = [...counted.values()]
  await client.query(ADD_USAGE, [
    uuidArray(usage.map(({ organisationId }) => organisationId)),
    timeArray(usage.map(({ windowStartedAtMs }) => windowStartedAtMs)),
    usage.map(({ deliveries }) => deliveries),
  ])
}

function claimOf({ sourceId, dedupeKey }: NewEvent): string {
  return `${sourceId} ${dedupeKey?.toString('hex')}`
}

function windowOf({ organisationId, quota }: CappedEvent): string {
  return keyOf({ organisationId, windowStartedAtMs: quota.windowStartedAtMs })
}

function keyOf({ organisationId, windowStartedAtMs }: Omit<Usage, 'deliveries'>): string {
  return `${organisationId} ${windowStartedAtMs}`
}
