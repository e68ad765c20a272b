import type pg from 'pg'
import { expect } from 'vitest'

/** Resolves when as many sessions of this database wait for a lock. */
export async function untilBlocked(pool: pg.Pool, count: number): Promise<void> {
  await expect
    .poll(async () => {
      const { rows } = await pool.query<{ count: number }>(
        `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows[0]?.count
    })
    .toBe(count)
}
