import { sql, type Kysely } from 'kysely'

/** Counts shown to people: what happened, as it was written, and added up. (architecture: Data) */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const part of [DELTAS, ROLLUPS, WAITING]) await sql.raw(part).execute(db)
}

/** Rows live for a second: vacuumed by their number, or each fold would wade through those of the last minutes. */
const SHORT_LIVED =
  'with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 1)'

/** Insert-only, without an index: a row per batch and subject, deleted when it is folded. */
const DELTAS = `
  create table event_delta (
    at timestamptz not null,
    project_id uuid not null,
    source_id uuid not null,
    status text not null,
    rejection_reason text,
    events integer not null
  ) ${SHORT_LIVED};
  create table delivery_delta (
    at timestamptz not null,
    project_id uuid not null,
    source_id uuid not null,
    destination_id uuid not null,
    connection_id uuid not null,
    succeeded integer not null,
    failed integer not null,
    throttled integer not null,
    attempts integer not null,
    retried integer not null,
    latencies smallint[]
  ) ${SHORT_LIVED};
`

/** The second index is for pruning; neither holds a column that a fold changes. */
const ROLLUPS = `
  create table event_rollup (
    project_id uuid not null,
    granularity text not null,
    start timestamptz not null,
    source_id uuid not null,
    status text not null,
    rejection_reason text not null,
    events bigint not null,
    primary key (project_id, granularity, start, source_id, status, rejection_reason)
  ) with (fillfactor = 70);
  create index event_rollup_start on event_rollup (granularity, start);
  create table delivery_rollup (
    project_id uuid not null,
    granularity text not null,
    start timestamptz not null,
    source_id uuid not null,
    destination_id uuid not null,
    connection_id uuid not null,
    succeeded bigint not null,
    failed bigint not null,
    throttled bigint not null,
    attempts bigint not null,
    retried bigint not null,
    latency_buckets smallint[],
    latency_counts bigint[],
    primary key (project_id, granularity, start, source_id, destination_id, connection_id)
  ) with (fillfactor = 70);
  create index delivery_rollup_start on delivery_rollup (granularity, start);
`

/** The last count of waiting deliveries of a project: for backlogs too long to be counted on demand. */
const WAITING = `
  create table waiting_count (
    project_id uuid primary key,
    pending bigint not null,
    throttled bigint not null,
    undispatched bigint not null,
    oldest_undispatched_id uuid
  ) with (fillfactor = 50);
`
