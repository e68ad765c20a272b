import { sql } from 'kysely'

import { PARTITIONS } from '../../../limits.ts'
import type { Db } from '../../connection/db.ts'

/** The earliest time that a waiting delivery waits for, by one index probe a partition. */
export async function earliestNextMs(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ nextAt: Date | null }>`
    select min(first.next_at) as "nextAt"
    from generate_series(0, ${PARTITIONS - 1}) as p (number) cross join lateral (
      select next_at from delivery_waiting
      where partition = p.number::int2 and next_at is not null order by next_at limit 1
    ) as first`.execute(db)
  return rows[0]?.nextAt?.getTime()
}
