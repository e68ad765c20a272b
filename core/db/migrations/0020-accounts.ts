import { sql, type Kysely } from 'kysely'

/** People, the organisations that they are members of, and their sessions. (decisions: Accounts, dashboard, agents) */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(ACCOUNTS).execute(db)
}

/**
 * Tokens of sessions and links are stored as SHA-256. `authenticated_at` is when the person last proved who they are.
 * `account_limit` counts requests of addresses; it may be lost.
 */
const ACCOUNTS = `
  create table person (
    id uuid primary key,
    email text not null constraint person_email unique,
    name text not null,
    password_hash text,
    created_at timestamptz not null,
    updated_at timestamptz not null
  );
  create table membership (
    organisation_id uuid not null references organisation on delete cascade,
    person_id uuid not null references person on delete cascade,
    role text not null,
    created_at timestamptz not null,
    primary key (organisation_id, person_id)
  );
  create index membership_person on membership (person_id);
  create table session (
    id uuid primary key,
    token_hash bytea not null unique,
    person_id uuid not null references person on delete cascade,
    authenticated_at timestamptz not null,
    expires_at timestamptz not null,
    window_started_at timestamptz not null,
    window_requests integer not null default 0,
    created_at timestamptz not null
  ) with (fillfactor = 70);
  create index session_person on session (person_id, id);
  create index session_expires on session (expires_at);
  create table account_link (
    token_hash bytea primary key,
    kind text not null,
    person_id uuid references person on delete cascade,
    organisation_id uuid references organisation on delete cascade,
    expires_at timestamptz not null
  );
  create index account_link_person on account_link (person_id);
  create table identity (
    issuer text not null,
    subject text not null,
    person_id uuid not null references person on delete cascade,
    created_at timestamptz not null,
    primary key (issuer, subject)
  );
  create index identity_person on identity (person_id);
  alter table invitation add column accepted_at timestamptz;
  alter table api_key add column created_by uuid references person on delete set null;
  create unlogged table account_limit (
    scope text primary key,
    started_at timestamptz not null,
    requests integer not null
  ) with (fillfactor = 50);
`
