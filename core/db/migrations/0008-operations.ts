import { sql, type Kysely } from 'kysely'

/**
 * Bulk operations, and which of them put a delivery to wait: their rows are counted while they wait. Both are new and
 * empty to the version before. (decisions: Resources, Bulk)
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(OPERATIONS).execute(db)
}

const OPERATIONS = `
  create table operation (
    id uuid primary key,
    organisation_id uuid not null references organisation,
    project_id uuid not null references project on delete cascade,
    kind text not null,
    status text not null,
    selection jsonb not null,
    matched integer not null,
    is_truncated boolean not null,
    processed integer not null default 0,
    failures jsonb not null default '{}',
    after_id uuid,
    left_over jsonb not null default '[]',
    turns integer not null default 0,
    worked_at timestamptz,
    due_at timestamptz not null,
    finished_at timestamptz
  ) with (fillfactor = 50);
  create index operation_project on operation (project_id, id);
  create index operation_running on operation (organisation_id, project_id) where status = 'running';
  create index operation_finished on operation (finished_at) where finished_at is not null;
  alter table delivery_waiting add column operation_id uuid;
  create index delivery_waiting_operation on delivery_waiting (operation_id) where operation_id is not null;
`
