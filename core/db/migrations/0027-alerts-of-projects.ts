import { sql, type Kysely } from 'kysely'

/** The deletion of a project finds its alerts. Some databases got this index with the table itself. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      'create index if not exists alert_project on alert (project_id) where project_id is not null',
    )
    .execute(db)
}
