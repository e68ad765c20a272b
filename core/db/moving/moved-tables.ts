import { sql, type RawBuilder } from 'kysely'

/** The parts of a file in their order: configuration is one page, events and history are many. A page is a transaction. */
export type Part = 'configuration' | 'events' | 'history'

export interface MovedTable {
  fate: 'moved'
  part: Part
  /** Which rows `t` are those of the organisation `$1`; in part `events`, those of the events `$2` of a page. */
  where: string
  /** Columns with the id of a person: that of the same person at the target, null (or no row) where it has none. */
  people?: readonly string[]
  /** Columns that have another value at the target. */
  set?: Readonly<Record<string, unknown>>
  /** The prefix of its ids, to name a row. */
  prefix?: 'org' | 'prj' | 'key' | 'inv' | 'usr' | 'agt' | 'cnr' | 'rpl' | 'src' | 'dst' | 'con'
}

/** `anew`: the target makes it by itself. `left`: it stays behind. */
interface StayingTable {
  fate: 'anew' | 'left'
  why: string
}

const OF_ORGANISATION = 't.organisation_id = $1'
const PROJECTS = 'select id from project where organisation_id = $1'
const OF_PROJECTS = `t.project_id in (${PROJECTS})`
const OF_SOURCES = 't.source_id in (select id from source where organisation_id = $1)'
const OF_DESTINATIONS =
  't.destination_id in (select id from destination where organisation_id = $1)'
const DELIVERIES = 'select id from delivery where event_id = any($2)'
const MEMBERS = 'select person_id from membership where organisation_id = $1'

const configuration = (
  where: string,
  more: Omit<MovedTable, 'fate' | 'part' | 'where'> = {},
): MovedTable => ({ fate: 'moved', part: 'configuration', where, ...more })
const history = (
  where: string,
  more: Omit<MovedTable, 'fate' | 'part' | 'where'> = {},
): MovedTable => ({ fate: 'moved', part: 'history', where, ...more })
const events = (
  where: string,
  more: Omit<MovedTable, 'fate' | 'part' | 'where'> = {},
): MovedTable => ({
  fate: 'moved',
  part: 'events',
  where,
  ...more,
})
const anew = (why: string): StayingTable => ({ fate: 'anew', why })
const left = (why: string): StayingTable => ({ fate: 'left', why })

/**
 * Every table, and what becomes of an organisation's rows in it when the organisation moves to another installation. The
 * moved ones are in the order in which they can be inserted. A new table must be decided here: a test compares the names.
 */
export const TABLES: Readonly<Record<string, MovedTable | StayingTable>> = {
  organisation: configuration('t.id = $1', { prefix: 'org', set: { state: 'stopped' } }),
  subscription: configuration(OF_ORGANISATION),
  project: configuration(OF_ORGANISATION, { prefix: 'prj' }),
  person: configuration(`t.id in (${MEMBERS})`, { prefix: 'usr' }),
  identity: configuration(`t.person_id in (${MEMBERS})`),
  membership: configuration(OF_ORGANISATION, { people: ['person_id'] }),
  invitation: configuration(OF_ORGANISATION, { prefix: 'inv' }),
  api_key: configuration(OF_ORGANISATION, { prefix: 'key', people: ['created_by'] }),
  agent: configuration(`${OF_ORGANISATION} and t.person_id in (${MEMBERS})`, {
    prefix: 'agt',
    people: ['person_id'],
  }),
  connector: configuration(OF_ORGANISATION, { prefix: 'cnr' }),
  replica: configuration(
    't.connector_id in (select id from connector where organisation_id = $1)',
    { prefix: 'rpl' },
  ),
  revoked_token: configuration(
    `t.replica_id in (select r.id from replica r join connector c on c.id = r.connector_id
      where c.organisation_id = $1)`,
  ),
  source: configuration(OF_ORGANISATION, { prefix: 'src' }),
  secret_usage: configuration(OF_SOURCES),
  source_activity: configuration(OF_SOURCES),
  destination: configuration(OF_ORGANISATION, { prefix: 'dst' }),
  destination_failure: configuration(OF_DESTINATIONS),
  connection: configuration(OF_ORGANISATION, { prefix: 'con' }),
  alert_mute: configuration(OF_ORGANISATION, { people: ['muted_by'] }),
  alert_mail_choice: configuration(OF_ORGANISATION, { people: ['person_id'] }),

  event: events(`t.id = any($2) and ${OF_ORGANISATION} and ${OF_PROJECTS}`, {
    set: { transaction_id: null },
  }),
  dedupe_key: events(
    `t.event_id = any($2) and (t.source_id, t.key) in (
      select source_id, decode(idempotency_key, 'hex') from event
      where id = any($2) and idempotency_key is not null)`,
  ),
  delivery: events(`t.event_id = any($2) and ${OF_PROJECTS}`),
  attempt: events(`t.delivery_id in (${DELIVERIES})`),
  delivery_failed: events(`t.delivery_id in (${DELIVERIES})`),
  delivery_waiting: events(`t.delivery_id in (${DELIVERIES}) and ${OF_ORGANISATION}`, {
    set: { claimed_by: null },
  }),

  usage: history(OF_ORGANISATION),
  usage_delta: history(OF_ORGANISATION),
  ledger: history(OF_ORGANISATION),
  audit: history(OF_ORGANISATION),
  operational_event: history(OF_ORGANISATION),
  alert: history(OF_ORGANISATION, { people: ['acknowledged_by'] }),
  alert_notification: history('t.alert_id in (select id from alert where organisation_id = $1)'),
  event_rollup: history(OF_PROJECTS),
  event_minute: history(OF_PROJECTS),
  event_delta: history(OF_PROJECTS),
  delivery_rollup: history(OF_PROJECTS),
  delivery_minute: history(OF_PROJECTS),
  delivery_delta: history(OF_PROJECTS),
  backlog_rollup: history(OF_PROJECTS),
  operation: history(OF_ORGANISATION),
  pending_cancellation: history(
    `t.destination_id in (select destination_id from delivery_waiting where organisation_id = $1)`,
  ),

  waiting_count: anew('the housekeeper counts what waits'),
  config_change: anew('triggers write it as rows arrive'),
  tunnel_session: anew('an agent that dials a gateway of the target gets a session there'),
  organisation_export: left('the exports of an installation'),
  organisation_import: anew('the import writes it'),
  kysely_migration: anew('the target has its schema'),
  kysely_migration_lock: anew('the target has its schema'),
  session: left('people sign in at the target'),
  account_link: left('links name the dashboard of the source; another can be made'),
  alert_mail: left('the source mails what it has begun to mail'),
  idempotent_answer: left('sealed for 24 hours under a key that is not stored'),
  destination_busy: left('a busy window lasts minutes; the first delivery finds out'),
  pacing: left('it lasts a second, or a period of the pace at most'),
  public_limit: left('counts callers of an installation; may be lost'),
  account_limit: left('counts callers of an installation; may be lost'),
  process: left('the processes of an installation'),
  worker: left('the processes of an installation'),
  partition_owner: left('the processes of an installation'),
  lease: left('the processes of an installation'),
  sweep: left('how far an installation has walked; what moves waits in rows of its own'),
  spool_drain: left('transactions of an installation'),
  retention_run: left('the work of an installation'),
}

/** The moved tables of a part, in the order in which their rows can be inserted. */
export function movedTables(part: Part): [name: string, table: MovedTable][] {
  return Object.entries(TABLES).flatMap(([name, table]): [string, MovedTable][] =>
    table.fate === 'moved' && table.part === part ? [[name, table]] : [],
  )
}

/** A row as PostgreSQL writes it in JSON. */
export type MovedRow = Record<string, unknown>

/** The rows of an organisation, or those of some of its events. */
export interface RowsOf {
  organisationId: string
  eventIds?: readonly string[]
}

/** The condition of a moved table. Its ids are literals, since a cursor takes no parameters. */
export function whereOf(
  { where }: MovedTable,
  { organisationId, eventIds = [] }: RowsOf,
): RawBuilder<unknown> {
  return sql.join(
    where.split(/(\$[12])/).map((part) => {
      if (part === '$1') return sql`${sql.lit(organisationId)}::uuid`
      if (part === '$2') return sql`${sql.lit(`{${eventIds.join(',')}}`)}::uuid[]`
      return sql.raw(part)
    }),
    sql``,
  )
}
