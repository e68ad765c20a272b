import { sql, type Kysely } from 'kysely'

/** The relay: who owns what, what came in, where it goes, and what became of it. (architecture: Data) */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const part of [TENANTS, RESOURCES, CHANGES, EVENTS, DELIVERIES, WAITING, PROCESSES]) {
    await sql.raw(part).execute(db)
  }
}

const TENANTS = `
  create table organisation (
    id uuid primary key,
    name text not null,
    plan text not null,
    overrides jsonb not null default '{}',
    retention_class smallint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
  );
  create table project (
    id uuid primary key,
    organisation_id uuid not null references organisation,
    name text not null,
    is_default boolean not null,
    metadata jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (organisation_id, name)
  );
  create unique index project_default on project (organisation_id) where is_default;
  create table api_key (
    id uuid primary key,
    organisation_id uuid not null references organisation,
    project_id uuid references project on delete cascade,
    name text not null,
    secret_hash bytea not null unique,
    secret_hint text not null,
    permissions jsonb,
    expires_at timestamptz,
    revoked_at timestamptz,
    window_started_at timestamptz,
    window_requests integer not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null
  ) with (fillfactor = 70);
  create table audit (
    id uuid primary key,
    organisation_id uuid not null,
    project_id uuid,
    actor text not null,
    action text not null,
    subject_kind text not null,
    subject_id uuid not null,
    changes jsonb not null,
    at timestamptz not null
  );
  create index audit_organisation on audit (organisation_id, id);
  create table usage (
    organisation_id uuid not null,
    window_started_at timestamptz not null,
    deliveries bigint not null,
    primary key (organisation_id, window_started_at)
  ) with (fillfactor = 50);
  create table usage_delta (
    organisation_id uuid not null,
    at timestamptz not null,
    deliveries integer not null
  );
`

/** Secrets are sealed as one column a row, so that a rotation of the encryption key touches one place. */
const RESOURCES = `
  create table source (
    id uuid primary key,
    organisation_id uuid not null references organisation,
    project_id uuid not null references project on delete cascade,
    name text not null,
    kind text not null,
    mask_id text not null unique,
    is_enabled boolean not null,
    verifier jsonb not null,
    secrets bytea,
    secret_hint text,
    previous_secret_expires_at timestamptz,
    event_type_field text,
    idempotency_keys jsonb not null,
    allowed_methods jsonb not null,
    max_payload_size_kb integer not null,
    ingest_response jsonb not null,
    handshake jsonb,
    rate_limit integer not null default 0,
    metadata jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (project_id, name)
  );
  create table source_activity (
    source_id uuid primary key,
    last_event_at timestamptz,
    last_handshake_at timestamptz
  ) with (fillfactor = 50);
  create table destination (
    id uuid primary key,
    organisation_id uuid not null references organisation,
    project_id uuid not null references project on delete cascade,
    name text not null,
    mode text not null,
    url text not null,
    connector_id uuid,
    is_enabled boolean not null,
    disabled_reason text,
    method text not null,
    header_names jsonb not null,
    auth jsonb not null,
    secrets bytea not null,
    previous_signing_secret_expires_at timestamptz,
    timeout_ms integer not null,
    rate_limit integer,
    rate_limit_period text not null,
    max_concurrency integer,
    retry_policy jsonb not null,
    health text not null default 'healthy',
    metadata jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (project_id, name)
  );
  create table connection (
    id uuid primary key,
    organisation_id uuid not null references organisation,
    project_id uuid not null references project on delete cascade,
    name text not null,
    source_id uuid not null references source on delete cascade,
    destination_id uuid not null references destination on delete cascade,
    is_enabled boolean not null,
    filter jsonb,
    metadata jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (project_id, name)
  );
  create index connection_source on connection (source_id);
  create index connection_destination on connection (destination_id);
`

/**
 * Every change of what ingest and workers keep in memory, written by triggers so that no writer can forget it.
 * Readers follow by transaction id below the snapshot's xmin: a change that commits late is never stepped over.
 */
const CHANGES = `
  create table config_change (
    id bigint generated always as identity primary key,
    transaction_id xid8 not null default pg_current_xact_id(),
    kind text not null,
    subject_id uuid not null,
    at timestamptz not null default now()
  );
  create index config_change_transaction on config_change (transaction_id);
  create function note_config_change() returns trigger language plpgsql as $$
  declare
    changed record := coalesce(new, old);
  begin
    if tg_table_name = 'connection' then
      insert into config_change (kind, subject_id) values ('source', changed.source_id);
      if tg_op = 'UPDATE' and old.source_id <> new.source_id then
        insert into config_change (kind, subject_id) values ('source', old.source_id);
      end if;
    else
      insert into config_change (kind, subject_id) values (tg_table_name, changed.id);
    end if;
    return null;
  end $$;
  create trigger note_change after insert or update or delete on organisation
    for each row execute function note_config_change();
  create trigger note_change after insert or update or delete on source
    for each row execute function note_config_change();
  create trigger note_change after insert or update or delete on destination
    for each row execute function note_config_change();
  create trigger note_change after insert or update or delete on connection
    for each row execute function note_config_change();
`

/** Partitioned by retention class in days, then by day of the id: retention drops partitions. */
const EVENTS = `
  create table event (
    class smallint not null,
    id uuid not null,
    organisation_id uuid not null,
    project_id uuid not null,
    source_id uuid not null,
    status text not null,
    event_type text,
    idempotency_key text,
    rejection_reason text,
    verified_with text not null,
    method text not null,
    path text not null,
    query text not null,
    headers text not null,
    content_type text,
    size_bytes integer not null,
    is_binary boolean not null,
    remote_ip text not null,
    raw bytea not null,
    outcomes text,
    verified_us integer not null,
    matched_us integer not null,
    stored_at timestamptz not null default now(),
    primary key (class, id)
  ) partition by list (class);
  alter table event alter column raw set storage external;
  create index event_project on event (project_id, id);
  create index event_source on event (source_id, id);
  create index event_status on event (project_id, status, id) where status <> 'received';
  create table dedupe_key (
    source_id uuid not null,
    key bytea not null,
    event_id uuid not null,
    primary key (source_id, key)
  ) partition by hash (source_id, key);
  ${Array.from({ length: 8 }, (_, n) => `create table dedupe_key_${n} partition of dedupe_key for values with (modulus 8, remainder ${n});`).join('\n')}
`

/**
 * The state of a delivery changes in place without touching an index (HOT); whatever waits or failed has a row in a
 * small table of its own that carries the indexes on state, time and error.
 */
const DELIVERIES = `
  create table delivery (
    class smallint not null,
    id uuid not null,
    event_id uuid,
    connection_id uuid,
    destination_id uuid not null,
    source_id uuid,
    project_id uuid not null,
    status text not null,
    trigger text not null,
    attempt_count smallint not null default 0,
    attempt_number smallint not null default 0,
    max_attempts smallint not null,
    lease_until timestamptz,
    throttled_reason text,
    throttled_at timestamptz,
    last_error text,
    first_attempt_at timestamptz,
    last_attempt_at timestamptz,
    last_response_status smallint,
    last_error_code text,
    last_duration_ms real,
    completed_at timestamptz,
    primary key (class, id)
  ) partition by list (class);
  create index delivery_event on delivery (event_id);
  create index delivery_project on delivery (project_id, id);
  create index delivery_destination on delivery (destination_id, id);
  create index delivery_connection on delivery (connection_id, id);
  create table attempt (
    class smallint not null,
    delivery_id uuid not null,
    number smallint not null,
    id uuid not null,
    trigger text not null,
    outcome text not null,
    started_at timestamptz not null,
    duration_ms real not null,
    dns_ms real,
    connect_ms real,
    tls_ms real,
    first_byte_ms real,
    url text not null,
    signature text not null,
    header_names text,
    response_status smallint,
    response_headers text,
    response_body bytea,
    error_code text,
    replica_id uuid,
    primary key (class, delivery_id, number)
  ) partition by list (class);
  alter table attempt alter column response_body set storage external;
`

/** \`next_at\` null means parked: the row waits for its lane, not for a time. */
const WAITING = `
  create table delivery_waiting (
    delivery_id uuid primary key,
    class smallint not null,
    organisation_id uuid not null,
    project_id uuid not null,
    destination_id uuid not null,
    partition smallint not null,
    status text not null,
    attempt_trigger text not null,
    next_at timestamptz,
    claimed_by text
  ) with (fillfactor = 70);
  create index delivery_waiting_due on delivery_waiting (partition, next_at) where next_at is not null;
  create index delivery_waiting_lane on delivery_waiting (destination_id, delivery_id) where next_at is null;
  create index delivery_waiting_project on delivery_waiting (project_id, status, delivery_id);
  create table delivery_failed (
    delivery_id uuid primary key,
    class smallint not null,
    project_id uuid not null,
    error_code text,
    response_status smallint
  );
  create index delivery_failed_project on delivery_failed (project_id, delivery_id);
  create table pacing (
    scope_id uuid primary key,
    tat timestamptz not null
  ) with (fillfactor = 50);
`

const PROCESSES = `
  create table process (
    name text not null,
    role text not null,
    id uuid not null,
    seen_at timestamptz not null,
    primary key (role, name)
  ) with (fillfactor = 50);
  create table lease (
    name text primary key,
    holder text not null,
    epoch bigint not null,
    held_until timestamptz not null
  ) with (fillfactor = 50);
  create table sweep (
    name text primary key,
    watermark uuid not null
  ) with (fillfactor = 50);
`
