import { sql, type Kysely } from 'kysely'

/** Tokens of agents, each a member's, with the project that it acts in. (decisions: Accounts, dashboard, agents) */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(AGENTS).execute(db)
}

const AGENTS = `
  create table agent (
    id uuid primary key,
    organisation_id uuid not null references organisation on delete cascade,
    person_id uuid not null references person on delete cascade,
    name text not null,
    token_hash bytea not null unique,
    token_hint text not null,
    project_id uuid references project on delete set null,
    expires_at timestamptz,
    revoked_at timestamptz,
    window_started_at timestamptz,
    window_requests integer not null default 0,
    created_at timestamptz not null
  ) with (fillfactor = 70);
  create index agent_organisation on agent (organisation_id, id);
  create index agent_person on agent (person_id);
  create index agent_project on agent (project_id);
`
