import { sql, type Kysely } from 'kysely'

/** Alerts, whom they are told to, and where. (decisions: Accounts, dashboard, agents) */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const part of [ALERTS, CHOICES, ENDPOINT, SIGNALS]) await sql.raw(part).execute(db)
}

/**
 * `told_level` is the level that the organisation knows of, 0 for none; `told_at` stays when it hears that all is well.
 * The unique index decides which of several housekeepers opens an alert.
 */
const ALERTS = `
  create table alert (
    id uuid primary key,
    organisation_id uuid not null references organisation on delete cascade,
    project_id uuid references project on delete cascade,
    type text not null,
    subject_id uuid not null,
    name text not null,
    level smallint not null,
    summary text not null,
    evidence jsonb not null,
    opened_at timestamptz not null,
    reopened integer not null default 0,
    well_since timestamptz,
    closed_at timestamptz,
    told_level smallint not null default 0,
    told_at timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by uuid references person on delete set null
  ) with (fillfactor = 70);
  create unique index alert_open on alert (type, subject_id) where closed_at is null;
  create index alert_subject on alert (type, subject_id, id);
  create index alert_organisation on alert (organisation_id, id);
  create index alert_open_of on alert (organisation_id, id) where closed_at is null;
  create index alert_closed on alert (closed_at) where closed_at is not null;
  create table alert_notification (
    id uuid primary key,
    alert_id uuid not null references alert on delete cascade,
    type text not null,
    level smallint not null,
    at timestamptz not null,
    delivery_id uuid,
    mails integer not null default 0
  );
  create index alert_notification_alert on alert_notification (alert_id, id);
`

/** Mails wait here until a mail server has taken them; they go with the person or the membership. */
const CHOICES = `
  create table alert_mute (
    organisation_id uuid not null references organisation on delete cascade,
    subject_id uuid not null,
    until timestamptz not null,
    muted_by uuid references person on delete set null,
    primary key (organisation_id, subject_id)
  );
  create table alert_mail_choice (
    organisation_id uuid not null,
    person_id uuid not null,
    unwanted jsonb not null,
    primary key (organisation_id, person_id),
    foreign key (organisation_id, person_id) references membership on delete cascade
  );
  create table alert_mail (
    id uuid primary key,
    organisation_id uuid not null,
    person_id uuid not null,
    words jsonb not null,
    due_at timestamptz not null,
    tries smallint not null default 0,
    foreign key (organisation_id, person_id) references membership on delete cascade
  );
  create index alert_mail_due on alert_mail (due_at);
`

/**
 * The destination of an organisation's alerts, their events and deliveries are in a project that nobody sees: they are
 * stored, sent and purged like all others, and are in none of the lists.
 */
const ENDPOINT = `
  alter table project add column is_internal boolean not null default false;
  create unique index project_internal on project (organisation_id) where is_internal;
`

/** Events that are there were told of in their time: the default is theirs, and those that come later have none. */
const SIGNALS = `
  alter table operational_event add column alerted_at timestamptz default now();
  alter table operational_event alter column alerted_at drop default;
  create index operational_event_unalerted on operational_event (id) where alerted_at is null;
`
