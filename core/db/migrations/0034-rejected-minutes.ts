import { sql, type Kysely } from 'kysely'

/** The search for flooded sources reads the minutes with rejections alone. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(REJECTED).execute(db)
}

const REJECTED = `
  create index event_minute_rejected on event_minute (start) where status = 'rejected';
  create index event_rollup_rejected on event_rollup (start)
    where granularity in ('minute', 'minute of all') and status = 'rejected';
`
