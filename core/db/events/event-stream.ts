import { sql } from 'kysely'

import { firstIdAt } from '../../ids.ts'
import { permissionsOf, type Permissions } from '../../keys/permissions.ts'
import { SESSION_DAYS_MAX } from '../../limits.ts'
import type { Db } from '../connection/db.ts'
import { SUMMARY, type EventSummary } from './events.ts'

/**
 * Transactions below `transaction` had begun to write at `ms`, the others had not. Between two marks lie the events of
 * known transactions, and their ids lie between two known times.
 */
export interface Mark {
  transaction: bigint
  /** Wall time. */
  ms: number
}

/** The events of the transactions from one mark up to, not including, another. */
export interface EventWindow {
  from: Mark
  until: Mark
}

/** Where to read a window on, and for whom. */
export interface WindowQuery {
  projectId: string
  sourceId: string | undefined
  afterId: string | null
  limit: number
}

/**
 * From when ingest makes an id to when the transaction that stores it begins to write: a wait for a connection, a
 * statement that is run again, and how far the clocks of two machines may be apart.
 */
const ID_LAG_MS = 15_000

/** By how much a clock may be set between two marks: nothing is missed then either. */
const STEP_MS = 3_700_000

/**
 * Up to `limit` events of a window behind `afterId`, in the order of their ids. The ids bound what is read, so that no
 * index on the transaction is needed: those of the window were made after its first mark and before its last, give or
 * take the lag. Rows older than the column have no transaction and belong to no window.
 */
export async function windowPage(
  db: Db,
  { from, until }: EventWindow,
  { projectId, sourceId, afterId, limit }: WindowQuery,
): Promise<EventSummary[]> {
  const { firstMs, lastMs } = idTimes(from.ms, until.ms)
  const bySource = sourceId === undefined ? sql`true` : sql`source_id = ${sourceId}::uuid`
  const { rows } = await sql<EventSummary>`
    select ${SUMMARY} from event
    where project_id = ${projectId}::uuid and ${bySource} and id > ${afterId ?? firstIdAt(0)}::uuid
      and id >= least(${firstIdAt(firstMs)}::uuid, (${oldestSpooled({ from, until })}))
      and id < ${firstIdAt(lastMs)}::uuid
      and transaction_id >= ${String(from.transaction)}::xid8 and transaction_id < ${String(until.transaction)}::xid8
    order by id limit ${limit}`.execute(db)
  return rows
}

/**
 * Between which times the ids of a window lie. Its last mark is the present, or was a moment ago, so that room above it
 * costs nothing: the clock may have been ahead within the window. Room below is only taken when the marks say that it was
 * set back.
 */
export function idTimes(fromMs: number, untilMs: number): { firstMs: number; lastMs: number } {
  const isSetBack = untilMs < fromMs
  return {
    firstMs: isSetBack ? untilMs - STEP_MS : fromMs - ID_LAG_MS,
    lastMs: Math.max(fromMs, untilMs) + STEP_MS,
  }
}

/** Events that were spooled while PostgreSQL was away are stored with ids of that time. No row when the window has none. */
function oldestSpooled({ from, until }: EventWindow) {
  return sql`
    select oldest_id from spool_drain
    where from_transaction < ${String(until.transaction)}::xid8
      and (until_transaction is null or until_transaction >= ${String(from.transaction)}::xid8)
    order by oldest_id limit 1`
}

/** Tells one database from every other, a restored copy included: transaction numbers mean something in one only. */
export async function databaseIdentity(db: Db): Promise<string> {
  const { rows } = await sql<{ identity: string }>`
    select (select system_identifier from pg_control_system()) || '/' || oid as identity
    from pg_database where datname = current_database()`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('Cannot tell the database')
  return row.identity
}

/** The key or session, and the project, that a stream was opened with. */
export interface StreamGrant {
  by: 'key' | 'session'
  id: string
  projectId: string
}

/** The rights of its owner: the permissions of a key, or the role of a person. */
export type StreamRights = { permissions: Permissions | null } | { role: string }

/** The rights of each grant whose key or session still works and whose project is still there. */
export async function liveGrants(
  db: Db,
  grants: readonly StreamGrant[],
  nowMs: number,
): Promise<(StreamGrant & { rights: StreamRights })[]> {
  const now = new Date(nowMs)
  const bornAfter = new Date(nowMs - SESSION_DAYS_MAX * 86_400_000)
  const { rows } = await sql<StreamGrant & { rights: { permissions: unknown } | { role: string } }>`
    with open as (
      select * from unnest(${grants.map(({ by }) => by)}::text[], ${grants.map(({ id }) => id)}::uuid[],
        ${grants.map(({ projectId }) => projectId)}::uuid[]) as open (by, id, project_id)
    )
    select open.by, k.id, p.id as "projectId", jsonb_build_object('permissions', k.permissions) as rights
    from open
    join api_key k on k.id = open.id
    join project p on p.id = open.project_id and p.organisation_id = k.organisation_id
    where open.by = 'key' and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})
    union all
    select open.by, s.id, p.id, jsonb_build_object('role', m.role)
    from open
    join session s on s.id = open.id
    join project p on p.id = open.project_id
    join membership m on m.person_id = s.person_id and m.organisation_id = p.organisation_id
    where open.by = 'session' and s.expires_at > ${now} and s.created_at > ${bornAfter}`.execute(db)
  return rows.map(({ rights, ...grant }) => ({
    ...grant,
    rights: 'role' in rights ? rights : { permissions: permissionsOf(rights.permissions) },
  }))
}
