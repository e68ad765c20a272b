import { sql, type Kysely } from 'kysely'

/** Histograms are shown more often than they are added to: as arrays their text was made anew by each dashboard. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
}

const CHANGES = `
  alter table delivery_rollup
    alter column latency_buckets type text,
    alter column latency_counts type text;
`
