import { sql, type Kysely } from 'kysely'

/**
 * A delivery that waits for an attempt by hand knows what it is again when that attempt fails. How long a destination is
 * left alone is written down: the next owner of its lane goes on from there, and a verdict can name it. The version
 * before knows neither: what it retries by hand goes back to its schedule.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
}

const CHANGES = `
  alter table delivery_waiting add column resumes_as text, add column resumes_at timestamptz;
  create index delivery_waiting_by_hand on delivery_waiting (destination_id, delivery_id)
    where next_at is null and attempt_trigger in ('manual', 'bulk');
  create table destination_busy (
    destination_id uuid primary key references destination on delete cascade,
    since timestamptz not null,
    until timestamptz not null,
    response_status smallint not null
  ) with (fillfactor = 50);
  alter table destination add column resumed_at timestamptz;
`
