import { sql, type Kysely } from 'kysely'

/** Subscriptions, usage windows that end where a subscription says, and the ledger. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const part of [SUBSCRIPTIONS, WINDOWS, LEDGER]) await sql.raw(part).execute(db)
}

/** Ingest and workers keep what a subscription decides: to them its change is one of the organisation. */
const SUBSCRIPTIONS = `
  create table subscription (
    organisation_id uuid primary key references organisation on delete cascade,
    plan text not null,
    status text not null,
    anchor_at timestamptz not null,
    current_period_start timestamptz not null,
    current_period_end timestamptz not null,
    cancel_at_period_end boolean not null,
    scheduled_plan text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check (current_period_start < current_period_end),
    check (not (cancel_at_period_end and scheduled_plan is not null)),
    check (status = 'active' or (not cancel_at_period_end and scheduled_plan is null))
  );
  create index subscription_due on subscription (current_period_end) where status = 'active';
  create function note_subscription_change() returns trigger language plpgsql as $$
  declare
    changed record := coalesce(new, old);
  begin
    insert into config_change (kind, subject_id) values ('organisation', changed.organisation_id);
    return null;
  end $$;
  create trigger note_change after insert or update or delete on subscription
    for each row execute function note_subscription_change();
`

/**
 * A window without an end is a calendar month. The row keeps the deliveries already in the ledger beside the count, so
 * that a delivery that commits after the window was closed is recorded too.
 */
const WINDOWS = `
  alter table usage
    add column ends_at timestamptz,
    add column plan text,
    add column ledgered bigint not null default 0,
    add column closed_at timestamptz;
  create index usage_open on usage (window_started_at) where closed_at is null;
`

const LEDGER = `
  create table ledger (
    id uuid primary key,
    organisation_id uuid not null,
    kind text not null,
    plan text not null,
    window_started_at timestamptz,
    window_ends_at timestamptz,
    deliveries bigint,
    overage bigint,
    details jsonb not null,
    at timestamptz not null
  );
  create index ledger_organisation on ledger (organisation_id, id);
  create function refuse_ledger_change() returns trigger language plpgsql as $$
  begin
    raise exception 'The ledger is append-only';
  end $$;
  create trigger append_only before update or delete or truncate on ledger
    for each statement execute function refuse_ledger_change();
`
