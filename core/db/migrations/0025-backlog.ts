import { sql, type Kysely } from 'kysely'

/** How much waited in each span of time, and how old the oldest of it was. (decisions: Statistics and stream) */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(BACKLOG).execute(db)
}

/** A span in which nothing waited has no row. The second index is for pruning. */
const BACKLOG = `
  create table backlog_rollup (
    project_id uuid not null,
    granularity text not null,
    start timestamptz not null,
    waiting bigint not null,
    oldest_ms bigint not null,
    primary key (project_id, granularity, start)
  ) with (fillfactor = 70);
  create index backlog_rollup_start on backlog_rollup (granularity, start);
`
