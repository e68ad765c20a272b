import { sql, type Kysely } from 'kysely'

/**
 * Cancelled deliveries stand beside the failed ones, so that a list of them reads the page alone. Until the version
 * before is gone, what it cancels is in no list by that status. (architecture: Data)
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
}

const CHANGES = `
  alter table delivery_failed add column status text not null default 'failed';
  create index delivery_failed_status on delivery_failed (project_id, status, delivery_id);
  drop index delivery_failed_project;
  insert into delivery_failed (delivery_id, class, project_id, destination_id, connection_id, source_id, status,
      error_code, response_status)
    select id, class, project_id, destination_id, connection_id, source_id, status, last_error_code, last_response_status
    from delivery where status = 'cancelled'
    on conflict (delivery_id) do update set status = excluded.status;
`
