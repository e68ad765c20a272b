import { sql, type Kysely } from 'kysely'

/**
 * The transaction that stored an event: what the live stream reads on from, for ids are made before the commit and
 * commits come out of order. Column and default in two steps: rows that are there keep null and none is written again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(ADD_COLUMN).execute(db)
  await sql`reset lock_timeout`.execute(db)
}

/** A reader that holds the table (a backup) must not make ingest queue behind this: it waits 1 s at a time. */
const ADD_COLUMN = `
  do $$
  begin
    for tries in 1..60 loop
      begin
        set local lock_timeout = '1s';
        alter table event add column transaction_id xid8;
        alter table event alter column transaction_id set default pg_current_xact_id();
        return;
      exception when lock_not_available then
        if tries = 60 then raise; end if;
        perform pg_sleep(1);
      end;
    end loop;
  end $$;
`
