import { sql, type Kysely } from 'kysely'

/** Who is asked to join an organisation, by a token kept as its hash. (decisions: Accounts, dashboard, agents) */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
}

const CHANGES = `
  create table invitation (
    id uuid primary key,
    organisation_id uuid not null references organisation (id) on delete cascade,
    email text not null,
    role text not null,
    token_hash bytea not null unique,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    created_at timestamptz not null
  );
  create index invitation_organisation on invitation (organisation_id, id);
`
