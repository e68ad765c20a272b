import { sql, type Kysely } from 'kysely'

/** Minutes between their deltas and the roll-ups, which follow some minutes later. (architecture: Data) */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(MINUTES).execute(db)
}

/** Rows live for some minutes and are changed by every fold: half of a page is free for that. */
const SHORT_LIVED = 'with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.5)'

const MINUTES = `
  create table event_minute (
    project_id uuid not null,
    start timestamptz not null,
    source_id uuid not null,
    status text not null,
    rejection_reason text not null,
    events bigint not null,
    primary key (project_id, start, source_id, status, rejection_reason)
  ) ${SHORT_LIVED};
  create table delivery_minute (
    project_id uuid not null,
    start timestamptz not null,
    source_id uuid not null,
    destination_id uuid not null,
    connection_id uuid not null,
    succeeded bigint not null,
    failed bigint not null,
    throttled bigint not null,
    attempts bigint not null,
    retried bigint not null,
    latency_buckets text,
    latency_counts text,
    primary key (project_id, start, source_id, destination_id, connection_id)
  ) ${SHORT_LIVED};
`
