import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** So many at once, and then one each interval. */
export interface Allowance {
  burst: number
  intervalMs: number
}

/** A moment so much later than any that is written belongs to a clock that was set back since. */
const FOREIGN_MS = 1_000

/**
 * Counts one request of `scope`, over all processes of the API. Returns for how long it must wait when it is one too
 * many, else 0. All times are the database's. (GCRA, as in core/pacing)
 */
export async function takeAllowance(
  db: Db,
  scope: string,
  { burst, intervalMs }: Allowance,
): Promise<number> {
  const interval = sql`${intervalMs}::int4 * interval '1 millisecond'`
  const tolerance = sql`${(burst - 1) * intervalMs}::int4 * interval '1 millisecond'`
  const foreign = sql`${burst * intervalMs + FOREIGN_MS}::int4 * interval '1 millisecond'`
  const { rows: taken } = await sql`
    insert into public_limit as l (scope, tat) values (${scope}, clock_timestamp() + ${interval})
    on conflict (scope) do update set tat = ${interval} + case
      when l.tat > clock_timestamp() + ${foreign} then clock_timestamp() else greatest(l.tat, clock_timestamp()) end
    where l.tat <= clock_timestamp() + ${tolerance} or l.tat > clock_timestamp() + ${foreign}
    returning scope`.execute(db)
  if (taken.length > 0) return 0
  const { rows } = await sql<{ wait: number }>`
    select extract(epoch from tat - ${tolerance} - clock_timestamp())::float8 * 1000 as wait
    from public_limit where scope = ${scope}`.execute(db)
  return Math.max(1, rows[0]?.wait ?? 0)
}

/** Gives back a request that came to nothing. */
export async function returnAllowance(
  db: Db,
  scope: string,
  { intervalMs }: Allowance,
): Promise<void> {
  await sql`update public_limit set tat = tat - ${intervalMs}::int4 * interval '1 millisecond'
    where scope = ${scope}`.execute(db)
}

/** Forgets the requests of one scope. */
export async function forgetAllowance(db: Db, scope: string): Promise<void> {
  await sql`delete from public_limit where scope = ${scope}`.execute(db)
}

/** Forgets callers who may come with a full burst again. */
export async function deleteOldAllowances(db: Db): Promise<void> {
  await sql`delete from public_limit where tat < clock_timestamp() - interval '1 minute'`.execute(
    db,
  )
}
