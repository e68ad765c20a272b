import { sql, type Kysely } from 'kysely'

/**
 * When spooled events were stored, whose ids are older than their transactions by the length of an outage: readers that
 * bound new events by the time of their ids widen the bound for these transactions.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table spool_drain (
        id bigint generated always as identity primary key,
        oldest_id uuid not null,
        from_transaction xid8 not null default pg_current_xact_id(),
        until_transaction xid8,
        begun_at timestamptz not null
      )`,
    )
    .execute(db)
}
