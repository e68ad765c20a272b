import { sql, type Kysely } from 'kysely'

/** Connectors, their replicas and the sessions that these have at gateways. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CONNECTORS).execute(db)
}

/**
 * Keys and tokens are stored as SHA-256. A revoked token leaves its hash and the reason behind, whatever becomes of its
 * replica. `public_limit` counts the callers of the endpoints that need no API key; it may be lost.
 */
const CONNECTORS = `
  create table connector (
    id uuid primary key,
    organisation_id uuid not null references organisation,
    project_id uuid not null references project on delete cascade,
    name text not null,
    is_disabled boolean not null,
    provisioned_at timestamptz,
    allowed_hosts jsonb not null,
    enrollment_hash bytea not null unique,
    last_seen_at timestamptz,
    metadata jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (project_id, name)
  );
  create index connector_organisation on connector (organisation_id);
  create index connector_unprovisioned on connector (id) where provisioned_at is null;
  update destination set connector_id = null where connector_id is not null;
  alter table destination add foreign key (connector_id) references connector on delete cascade;
  create index destination_connector on destination (connector_id) where connector_id is not null;
  create table replica (
    id uuid primary key,
    connector_id uuid not null references connector on delete cascade,
    name text not null,
    version text not null,
    remote_ip text not null,
    token_hash bytea not null unique,
    started_at timestamptz not null,
    last_heartbeat_at timestamptz not null,
    in_flight integer not null default 0,
    revoked_at timestamptz,
    created_at timestamptz not null
  ) with (fillfactor = 70);
  create index replica_connector on replica (connector_id, name);
  create index replica_address on replica (remote_ip) where revoked_at is null;
  create table revoked_token (
    token_hash bytea primary key,
    replica_id uuid not null,
    reason text not null,
    at timestamptz not null
  );
  create index revoked_token_replica on revoked_token (replica_id);
  create index revoked_token_at on revoked_token (at);
  create table tunnel_session (
    id uuid primary key,
    gateway_id uuid not null,
    replica_id uuid not null,
    connector_id uuid not null
  );
  create index tunnel_session_connector on tunnel_session (connector_id, replica_id);
  create index tunnel_session_gateway on tunnel_session (gateway_id);
  create unlogged table public_limit (
    scope text primary key,
    tat timestamptz not null
  ) with (fillfactor = 50);
`
