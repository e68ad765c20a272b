import { sql } from 'kysely'
import type pg from 'pg'

import { uuidOfBytes } from '../../../ids.ts'
import { OVERDUE_CLASS, RETENTION_CLASSES } from '../../../limits.ts'
import { int2Array, uuidBytesArray } from '../../connection/binary-arrays.ts'
import type { Db } from '../../connection/db.ts'
import { storeEvents, type NewEvent } from './store-events.ts'

/** No position in a stream and no event is older than the longest retention. */
const DRAIN_KEPT_DAYS = 91

/** Returns the ids of the events that are stored, in any class. */
export async function storedIds(
  pool: pg.Pool,
  events: readonly NewEvent[],
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>(
    'select id from event where class = any($1::int2[]) and id = any($2::uuid[])',
    [
      int2Array([...RETENTION_CLASSES, OVERDUE_CLASS]),
      uuidBytesArray(events.map((event) => event.id)),
    ],
  )
  return new Set(rows.map((row) => row.id))
}

/**
 * Stores an event whose key another event has. Its sender knows its id, so it is there; the other one was delivered, so
 * it is not. False when it is stored already.
 */
export async function storeUndelivered(
  pool: pg.Pool,
  event: NewEvent,
  nowMs: number,
): Promise<boolean> {
  const isStored = (await storedIds(pool, [event])).has(uuidOfBytes(event.id))
  if (isStored) return false
  const status = event.status === 'received' ? 'filtered' : event.status
  const undelivered: NewEvent = { ...event, status, deliveries: [] }
  await storeEvents(pool, [undelivered], { nowMs, isClaimed: true })
  return true
}

/** Records, before any of them is stored, that a drain of a share stores events with ids from `oldestId` on. */
export async function beginDrain(
  db: Db,
  { share, oldestId, nowMs }: { share: string; oldestId: string; nowMs: number },
): Promise<void> {
  await sql`
    insert into spool_drain (share, oldest_id, begun_at)
    values (${share}, ${oldestId}::uuid, ${new Date(nowMs)})`.execute(db)
}

/** All that was begun of a share is stored: by now also what a process that died had begun. */
export async function endDrains(db: Db, share: string, nowMs: number): Promise<void> {
  await sql`
    update spool_drain set until_transaction = pg_current_xact_id()
    where until_transaction is null and share = ${share}`.execute(db)
  const before = new Date(nowMs - DRAIN_KEPT_DAYS * 86_400_000)
  await sql`delete from spool_drain where begun_at < ${before} and until_transaction is not null`.execute(
    db,
  )
}
