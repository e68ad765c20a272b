import { sql } from 'kysely'

import { IDEMPOTENCY_CLAIM_MS, IDEMPOTENCY_HOURS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'

/** Rows deleted by one statement, and statements of one run: 100,000 a minute at most. */
const DELETE_BATCH = 1_000
const DELETE_BATCHES_MAX = 100

/** Who runs a request: the row is its own for as long as `holder` stands in it. */
export interface Claim {
  /** Hash of the scope and the Idempotency-Key. */
  digest: Buffer
  holder: string
}

/** The record of an earlier request with the same key. */
export interface KnownRequest {
  /** Sealed digest of what must be the same. */
  request: Buffer
  /** Sealed; null while the request runs. */
  answer: Buffer | null
}

/**
 * Takes the row when there is none, when it is older than its time, or when its holder let the claim lapse. The row
 * lock of the conflict makes exactly one of many claimants the holder, across processes.
 */
export async function claimAnswer(
  db: Db,
  { digest, holder }: Claim,
  request: Buffer,
  nowMs: number,
): Promise<boolean> {
  const now = new Date(nowMs)
  const heldUntil = new Date(nowMs + IDEMPOTENCY_CLAIM_MS)
  const { rows } = await sql`
    insert into idempotent_answer as known (digest, request, holder, held_until, created_at)
    values (${digest}, ${request}, ${holder}, ${heldUntil}, ${now})
    on conflict (digest) do update set request = excluded.request, holder = excluded.holder,
      held_until = excluded.held_until, created_at = excluded.created_at, answer = null
    where known.held_until <= ${now} or known.created_at <= ${oldest(nowMs)}
    returning holder`.execute(db)
  return rows.length > 0
}

export async function findAnswer(db: Db, digest: Buffer): Promise<KnownRequest | undefined> {
  return await db
    .selectFrom('idempotent_answer')
    .select(['request', 'answer'])
    .where('digest', '=', digest)
    .executeTakeFirst()
}

/** Nothing happens when the claim lapsed and another holds the row. */
export async function keepAnswer(db: Db, { digest, holder }: Claim, answer: Buffer): Promise<void> {
  await db
    .updateTable('idempotent_answer')
    .set({ answer, held_until: null })
    .where('digest', '=', digest)
    .where('holder', '=', holder)
    .execute()
}

/** Lets the next request with this key run: nothing of this one is kept. */
export async function releaseAnswer(db: Db, { digest, holder }: Claim): Promise<void> {
  await db
    .deleteFrom('idempotent_answer')
    .where('digest', '=', digest)
    .where('holder', '=', holder)
    .execute()
}

/** In batches, so that no statement holds many locks. Returns how many went. */
export async function deleteOldAnswers(db: Db, nowMs: number): Promise<number> {
  let deleted = 0
  for (let batch = 0; batch < DELETE_BATCHES_MAX; batch++) {
    const { numAffectedRows = 0n } = await sql`
      delete from idempotent_answer where digest in (
        select digest from idempotent_answer where created_at <= ${oldest(nowMs)}
        order by created_at limit ${DELETE_BATCH} for update skip locked)`.execute(db)
    deleted += Number(numAffectedRows)
    if (numAffectedRows < DELETE_BATCH) break
  }
  return deleted
}

function oldest(nowMs: number): Date {
  return new Date(nowMs - IDEMPOTENCY_HOURS * 3_600_000)
}
