import { sql, type Kysely } from 'kysely'

/**
 * Which worker owns each partition, and which workers share them. The version before knows one lease over all of them,
 * which the workers of this version hold together while it may still run.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(OWNERS).execute(db)
}

const OWNERS = `
  create table partition_owner (
    partition smallint primary key,
    epoch int not null default 0,
    holder text,
    process_id uuid,
    held_until timestamptz not null default 'epoch'
  ) with (fillfactor = 25);
  insert into partition_owner (partition) select generate_series(0, 63);
  create table worker (
    name text primary key,
    process_id uuid not null,
    seen_at timestamptz not null
  ) with (fillfactor = 50);
`
