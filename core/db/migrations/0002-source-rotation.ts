import { sql, type Kysely } from 'kysely'

/** Counts, for each rotation of a source's secret, the requests that either secret verified. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table source add column rotation_id uuid`.execute(db)
  await sql`
    create table secret_usage (
      rotation_id uuid primary key,
      source_id uuid not null references source on delete cascade,
      current_count bigint not null,
      current_seen_at timestamptz,
      previous_count bigint not null,
      previous_seen_at timestamptz
    ) with (fillfactor = 50)`.execute(db)
  await sql`create index secret_usage_source on secret_usage (source_id)`.execute(db)
}
