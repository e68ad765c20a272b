import { sql } from 'kysely'

import { int4Array, timeArray, uuidArray } from '../connection/binary-arrays.ts'
import type { Db } from '../connection/db.ts'

/** Requests that one secret verified since its rotation began. */
interface SecretCount {
  count: number
  lastSeenAt: Date | null
}

/** The use of the two secrets of a rotation. */
export interface SecretUsage {
  current: SecretCount
  previous: SecretCount
}

/** Counts of one ingest process for a rotation since it last wrote. Times are milliseconds since the epoch. */
export interface SecretUses {
  sourceId: string
  rotationId: string
  current: { count: number; lastSeenAtMs: number | null }
  previous: { count: number; lastSeenAtMs: number | null }
}

/**
 * Adds what was counted, all or nothing. Processes write the same rows at once, so they lock them in one order; a
 * rotation that is over is left out.
 */
export async function addSecretUses(db: Db, uses: readonly SecretUses[]): Promise<void> {
  await sql`
    insert into secret_usage
      (source_id, rotation_id, current_count, current_seen_at, previous_count, previous_seen_at)
    select t.* from unnest(
      ${uuidArray(uses.map(({ sourceId }) => sourceId))}::uuid[],
      ${uuidArray(uses.map(({ rotationId }) => rotationId))}::uuid[],
      ${int4Array(uses.map(({ current }) => current.count))}::int4[],
      ${timeArray(uses.map(({ current }) => current.lastSeenAtMs))}::timestamptz[],
      ${int4Array(uses.map(({ previous }) => previous.count))}::int4[],
      ${timeArray(uses.map(({ previous }) => previous.lastSeenAtMs))}::timestamptz[])
      as t (source_id, rotation_id, current_count, current_seen_at, previous_count, previous_seen_at)
    where exists (select from source s where s.id = t.source_id and s.rotation_id = t.rotation_id)
    order by t.rotation_id
    on conflict (rotation_id) do update set
      current_count = secret_usage.current_count + excluded.current_count,
      current_seen_at = greatest(secret_usage.current_seen_at, excluded.current_seen_at),
      previous_count = secret_usage.previous_count + excluded.previous_count,
      previous_seen_at = greatest(secret_usage.previous_seen_at, excluded.previous_seen_at)`.execute(
    db,
  )
}

/** By rotation; one that no request was counted for is absent. */
export async function readSecretUsage(
  db: Db,
  rotationIds: readonly string[],
): Promise<Map<string, SecretUsage>> {
  if (rotationIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('secret_usage')
    .select(['rotation_id', 'current_count', 'current_seen_at'])
    .select(['previous_count', 'previous_seen_at'])
    .where('rotation_id', 'in', rotationIds)
    .execute()
  return new Map(
    rows.map((row) => [
      row.rotation_id,
      {
        current: { count: row.current_count, lastSeenAt: row.current_seen_at },
        previous: { count: row.previous_count, lastSeenAt: row.previous_seen_at },
      },
    ]),
  )
}

/** Deletes the counts of the source's former rotations. */
export async function forgetSecretUsage(db: Db, sourceId: string): Promise<void> {
  await db.deleteFrom('secret_usage').where('source_id', '=', sourceId).execute()
}
