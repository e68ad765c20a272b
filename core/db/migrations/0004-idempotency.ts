import { sql, type Kysely } from 'kysely'

/** The first answer to a POST with an Idempotency-Key; a row without an answer is a request that still runs. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table idempotent_answer (
        digest bytea primary key,
        request bytea not null,
        holder uuid not null,
        held_until timestamptz,
        answer bytea,
        created_at timestamptz not null,
        check ((held_until is null) = (answer is not null))
      );
      create index idempotent_answer_created_at on idempotent_answer (created_at);`,
    )
    .execute(db)
}
