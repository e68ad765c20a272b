import { sql, type Kysely } from 'kysely'

/**
 * The headers that took an event's place in a test delivery; and whatever deliveries are listed by, on the rows of what
 * waits and what failed, so that a list reads its page alone. The version before writes none of it: until it is gone,
 * its rows are found again at their next attempt. (architecture: Data)
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
  await sql.raw(LATE_INDEX).execute(db)
}

/** Indexes of partitioned tables, created without their partitions, which get theirs one by one afterwards. */
const LATE_INDEX = 'create index delivery_source on only delivery (source_id, id)'

const CHANGES = `
  set local enable_partition_pruning = off;
  alter table attempt add column given_headers text;
  alter table delivery_waiting add column error_code text, add column response_status smallint,
    add column connection_id uuid, add column source_id uuid;
  update delivery_waiting w set error_code = d.last_error_code, response_status = d.last_response_status,
      connection_id = d.connection_id, source_id = d.source_id
    from delivery d where d.class = w.class and d.id = w.delivery_id;
  alter table delivery_failed add column destination_id uuid, add column connection_id uuid, add column source_id uuid;
  update delivery_failed f
    set destination_id = d.destination_id, connection_id = d.connection_id, source_id = d.source_id
    from delivery d where d.class = f.class and d.id = f.delivery_id;
  create index delivery_waiting_error on delivery_waiting (project_id, error_code, delivery_id)
    where error_code is not null;
  create index delivery_waiting_response on delivery_waiting (project_id, response_status, delivery_id)
    where response_status is not null;
  create index delivery_waiting_response_class on delivery_waiting (project_id, (response_status / 100), delivery_id)
    where response_status is not null;
  create index delivery_waiting_destination on delivery_waiting (destination_id, delivery_id);
  create index delivery_waiting_next on delivery_waiting (project_id, status, next_at, delivery_id)
    where next_at is not null and claimed_by is null;
  create index delivery_failed_destination on delivery_failed (destination_id, delivery_id);
  create index delivery_failed_connection on delivery_failed (connection_id, delivery_id);
  create index delivery_failed_source on delivery_failed (source_id, delivery_id);
  create index delivery_failed_error on delivery_failed (project_id, error_code, delivery_id);
  create index delivery_failed_response on delivery_failed (project_id, response_status, delivery_id);
  create index delivery_failed_response_class on delivery_failed (project_id, (response_status / 100), delivery_id);
`
