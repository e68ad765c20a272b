import { sql, type Kysely } from 'kysely'

/**
 * Which destinations fail and since when, and what happened that an owner must hear of. Both are new and empty to the
 * version before, whose folds note no failures. (decisions: Delivery, "failing"; Accounts, dashboard, agents)
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const part of [FAILURES, EVENTS]) await sql.raw(part).execute(db)
}

/**
 * Beside the destination, whose every change makes workers read it again. The triggers end a run with whatever ends
 * it, so that no writer can forget it: one who enables a destination begins anew.
 */
const FAILURES = `
  create table destination_failure (
    destination_id uuid primary key,
    failing_since timestamptz,
    last_failure_at timestamptz,
    last_success_at timestamptz,
    judged_since timestamptz,
    told_since timestamptz,
    told_percent smallint
  ) with (fillfactor = 50);
  create function end_destination_failure() returns trigger language plpgsql as $$
  begin
    if tg_op = 'DELETE' then
      delete from destination_failure where destination_id = old.id;
    else
      update destination_failure
        set failing_since = null, last_failure_at = null, last_success_at = null, judged_since = null
        where destination_id = new.id;
    end if;
    return null;
  end $$;
  create trigger end_failure after update of is_enabled on destination
    for each row when (old.is_enabled is distinct from new.is_enabled) execute function end_destination_failure();
  create trigger forget_failure after delete on destination
    for each row execute function end_destination_failure();
`

const EVENTS = `
  create table operational_event (
    id uuid primary key,
    organisation_id uuid not null,
    project_id uuid,
    kind text not null,
    subject_id uuid not null,
    occasion text not null,
    details jsonb not null,
    at timestamptz not null,
    unique (subject_id, kind, occasion)
  );
  create index operational_event_organisation on operational_event (organisation_id, id);
`
