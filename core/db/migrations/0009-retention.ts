import { sql, type Kysely } from 'kysely'

/**
 * A class without days for what outlives the longest class because its delivery still waits, what each run of
 * retention did, and how a search ignores case. All are new to the version before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(RETENTION).execute(db)
  await sql.raw(SEARCH).execute(db)
}

const RETENTION = `
  create table event_97 partition of event for values in (97);
  create table delivery_97 partition of delivery for values in (97) with (fillfactor = 50);
  create table attempt_97 partition of attempt for values in (97);
  create table retention_run (
    as_of timestamptz primary key,
    finished_at timestamptz not null,
    report jsonb not null
  );
`

/** The best that the server has: PostgreSQL 17 brings its own. */
const SEARCH = `
  do $$ begin
    if current_setting('server_version_num')::int >= 170000 then
      create collation search_text (provider = builtin, locale = 'C.UTF-8');
    else
      begin
        create collation search_text (provider = icu, locale = 'und');
      exception when others then
        create collation search_text (provider = libc, locale = 'C.UTF-8');
      end;
    end if;
  end $$;
`
