import { sql, type Kysely } from 'kysely'

/**
 * The headers that took an event's place in a test delivery, and what the last attempt of a waiting delivery came to,
 * so that a list by error reads the page alone. The version before writes neither: until it is gone, its rows are
 * found again at their next attempt. (architecture: Data)
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
}

const CHANGES = `
  set local enable_partition_pruning = off;
  alter table attempt add column given_headers text;
  alter table delivery_waiting add column error_code text, add column response_status smallint;
  update delivery_waiting w set error_code = d.last_error_code, response_status = d.last_response_status
    from delivery d
    where d.class = w.class and d.id = w.delivery_id and d.last_attempt_at is not null;
  create index delivery_waiting_error on delivery_waiting (project_id, error_code, delivery_id)
    where error_code is not null;
  create index delivery_waiting_response on delivery_waiting (project_id, response_status, delivery_id)
    where response_status is not null;
  create index delivery_waiting_response_class on delivery_waiting (project_id, (response_status / 100), delivery_id)
    where response_status is not null;
  create index delivery_failed_error on delivery_failed (project_id, error_code, delivery_id);
  create index delivery_failed_response on delivery_failed (project_id, response_status, delivery_id);
  create index delivery_failed_response_class on delivery_failed (project_id, (response_status / 100), delivery_id);
`
