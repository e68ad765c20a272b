import { sql, type Selectable } from 'kysely'

import { DAY_MS } from '../../clock.ts'
import type { Db } from '../connection/db.ts'
import { afterPage, sortColumn, sortKey, type Listed, type Page } from '../lists/page.ts'
import type { Tables } from '../tables.ts'
import { isOnline } from './live-sessions.ts'

/** An agent that has enrolled. */
export interface Replica {
  id: string
  connectorId: string
  /** The instance name that the agent gives itself. */
  name: string
  version: string
  remoteIp: string
  startedAt: Date
  lastHeartbeatAt: Date
  inFlight: number
  revokedAt: Date | null
  createdAt: Date
}

export interface SeenReplica extends Replica {
  isOnline: boolean
}

/** The connector that an enrolment key is for, with all that a bootstrap answers. */
export interface Enrolled {
  connectorId: string
  organisationId: string
  allowedHosts: string[]
}

const PRUNE_BATCH = 5_000

/** Undefined for a key that is unknown or was replaced. */
export async function findEnrolled(db: Db, enrollmentHash: Buffer): Promise<Enrolled | undefined> {
  const row = await db
    .selectFrom('connector')
    .select(['id', 'organisation_id', 'allowed_hosts'])
    .where('enrollment_hash', '=', enrollmentHash)
    .executeTakeFirst()
  return (
    row && {
      connectorId: row.id,
      organisationId: row.organisation_id,
      allowedHosts: row.allowed_hosts,
    }
  )
}

/** The same, held to the end of the transaction, so that bootstraps of a connector come one after the other. */
export async function lockEnrolled(tx: Db, enrollmentHash: Buffer): Promise<Enrolled | undefined> {
  await tx
    .selectFrom('connector')
    .select('id')
    .where('enrollment_hash', '=', enrollmentHash)
    .forNoKeyUpdate()
    .execute()
  return await findEnrolled(tx, enrollmentHash)
}

/**
 * Puts out the replicas of that instance name that have no session, so that a restart of an agent never eats the limit.
 * Their tokens are known as revoked.
 */
export async function replaceOffline(
  tx: Db,
  { connectorId, name }: { connectorId: string; name: string },
  now: Date,
): Promise<void> {
  await sql`
    with replaced as (
      delete from replica r
      where r.connector_id = ${connectorId}::uuid and r.name = ${name} and r.revoked_at is null
        and not ${isOnline('r.id', 'r.connector_id')}
      returning r.id, r.token_hash
    )
    insert into revoked_token (token_hash, replica_id, reason, at)
    select token_hash, id, 'replica_revoked', ${now}::timestamptz from replaced
    on conflict (token_hash) do nothing`.execute(tx)
}

/** Counts the replicas that are not revoked. */
export async function countReplicas(tx: Db, connectorId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('replica')
    .select(sql<number>`count(*)::int4`.as('count'))
    .where('connector_id', '=', connectorId)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

/** How many replicas of all connectors come from an address: they share what it may ask. */
export async function countAtAddress(db: Db, remoteIp: string): Promise<number> {
  const { count } = await db
    .selectFrom('replica')
    .select(sql<number>`count(*)::int4`.as('count'))
    .where('remote_ip', '=', remoteIp)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

export async function insertReplica(
  tx: Db,
  replica: Omit<Replica, 'inFlight' | 'revokedAt'> & { tokenHash: Buffer },
): Promise<void> {
  await tx
    .insertInto('replica')
    .values({
      id: replica.id,
      connector_id: replica.connectorId,
      name: replica.name,
      version: replica.version,
      remote_ip: replica.remoteIp,
      token_hash: replica.tokenHash,
      started_at: replica.startedAt,
      last_heartbeat_at: replica.lastHeartbeatAt,
      created_at: replica.createdAt,
    })
    .execute()
}

/** False when the replica is gone or was revoked meanwhile. */
export async function noteHeartbeat(
  db: Db,
  id: string,
  beat: { inFlight: number; remoteIp: string; startedAt: Date; now: Date },
): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    with beaten as (
      update replica set last_heartbeat_at = ${beat.now}::timestamptz, in_flight = ${beat.inFlight}::int4,
        remote_ip = ${beat.remoteIp}, started_at = ${beat.startedAt}::timestamptz
      where id = ${id}::uuid and revoked_at is null
      returning id, connector_id
    ), seen as (
      update connector set last_seen_at = ${beat.now}::timestamptz from beaten
      where connector.id = beaten.connector_id
        and (last_seen_at is null or last_seen_at < ${beat.now}::timestamptz - interval '5 seconds')
    )
    select id from beaten`.execute(db)
  return rows.length > 0
}

/** Reads one more row than the page holds, to tell whether there is another page. */
export async function listReplicas(
  db: Db,
  connectorId: string,
  page: Page,
): Promise<Listed<SeenReplica>[]> {
  const rows = await db
    .selectFrom('replica')
    .selectAll()
    .select([
      isOnline('replica.id', 'replica.connector_id').as('online'),
      sortKey(page).as('sortKey'),
    ])
    .where('connector_id', '=', connectorId)
    .where(afterPage(page))
    .orderBy(sortColumn(page), page.sortDir)
    .orderBy('id', page.sortDir)
    .limit(page.limit + 1)
    .execute()
  return rows.map((row) => ({ ...toReplica(row), sortKey: row.sortKey }))
}

/** Revokes it for good; one that was revoked before stays as it was. Undefined when the connector has no such replica. */
export async function revokeReplica(
  tx: Db,
  { connectorId, id }: { connectorId: string; id: string },
  now: Date,
): Promise<SeenReplica | undefined> {
  await sql`
    with revoked as (
      update replica set revoked_at = ${now}::timestamptz
      where id = ${id}::uuid and connector_id = ${connectorId}::uuid and revoked_at is null
      returning id, token_hash
    )
    insert into revoked_token (token_hash, replica_id, reason, at)
    select token_hash, id, 'replica_revoked', ${now}::timestamptz from revoked
    on conflict (token_hash) do nothing`.execute(tx)
  const row = await tx
    .selectFrom('replica')
    .selectAll()
    .select(isOnline('replica.id', 'replica.connector_id').as('online'))
    .where('id', '=', id)
    .where('connector_id', '=', connectorId)
    .executeTakeFirst()
  return row && toReplica(row)
}

/**
 * Forgets replicas that nobody has heard of for so long, leaving word for a token that comes back all the same, and in
 * the end that word and what was revoked. (decisions: Connectors, replicas, tunnel; "tombstone")
 */
export async function pruneReplicas(
  db: Db,
  nowMs: number,
  days: { silent: number; revoked: number },
): Promise<void> {
  const silentBefore = new Date(nowMs - days.silent * DAY_MS)
  const revokedBefore = new Date(nowMs - days.revoked * DAY_MS)
  await sql`
    with silent as (
      delete from replica r where r.id in (
        select id from replica where revoked_at is null and last_heartbeat_at < ${silentBefore}::timestamptz
        limit ${PRUNE_BATCH})
        and not ${isOnline('r.id', 'r.connector_id')}
      returning r.id, r.token_hash
    )
    insert into revoked_token (token_hash, replica_id, reason, at)
    select token_hash, id, 'identity_absent', ${new Date(nowMs)}::timestamptz from silent
    on conflict (token_hash) do nothing`.execute(db)
  await db
    .deleteFrom('replica')
    .where('revoked_at', '<', revokedBefore)

    .execute()
  await db.deleteFrom('revoked_token').where('at', '<', revokedBefore).execute()
}

function toReplica(row: Selectable<Tables['replica']> & { online: boolean }): SeenReplica {
  return {
    id: row.id,
    connectorId: row.connector_id,
    name: row.name,
    version: row.version,
    remoteIp: row.remote_ip,
    startedAt: row.started_at,
    lastHeartbeatAt: row.last_heartbeat_at,
    inFlight: row.in_flight,
    revokedAt: row.revoked_at,
    isOnline: row.online && row.revoked_at === null,
    createdAt: row.created_at,
  }
}
