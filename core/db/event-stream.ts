import { sql } from 'kysely'

import { firstIdAt } from '../ids.ts'
import type { Db } from './db.ts'
import type { EventSummary } from './events.ts'

/**
 * Transactions below `transaction` had begun to write at `ms`, the others had not. Between two marks lie the events of
 * known transactions, and their ids lie between two known times.
 */
export interface Mark {
  transaction: bigint
  /** Wall time. */
  ms: number
}

/** The events of the transactions from one mark up to, not including, another. */
export interface EventWindow {
  from: Mark
  until: Mark
}

/** What the transactions of the installation are doing, at one moment. */
export interface Snapshot {
  /** The next transaction to write gets this number or a higher one. */
  next: bigint
  /** Transactions that have written and may still commit; of those from `runningFrom` on it is not known which. */
  running: bigint[]
  runningFrom: bigint
}

/** Where to read a window on, and for whom. */
export interface WindowQuery {
  projectId: string
  sourceId: string | undefined
  afterId: string | null
  limit: number
}

/**
 * From when ingest makes an id to when the transaction that stores it begins to write: a wait for a connection, a
 * statement that is run again, and how far the clocks of two machines may be apart.
 */
const ID_LAG_MS = 15_000

/** Ingest writes to one of them in the first statement of each transaction, hence locks it before it has an id. */
const INGEST_TABLES = ['event', 'dedupe_key', 'usage']

/**
 * A snapshot's own upper end is only past the transactions that have ended; \`age\` counts from the next transaction
 * that will be, without taking a number.
 */
export async function readSnapshot(db: Db): Promise<Snapshot> {
  const { rows } = await sql<{ snapshot: string; age: number }>`
    select pg_current_snapshot()::text as snapshot, age('3'::xid) as age`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('Cannot read the snapshot')
  const [, end = '0', list = ''] = row.snapshot.split(':')
  const runningFrom = BigInt(end)
  return {
    next: runningFrom + BigInt.asUintN(32, BigInt(row.age) + 3n - runningFrom),
    running: list === '' ? [] : list.split(',').map(BigInt),
    runningFrom,
  }
}

/**
 * Those of `transactions` that hold a lock as ingest does. One that holds none cannot be storing events: it has ended,
 * and what it stored is seen by every later statement, or it does something else (an index, a bulk change).
 */
export async function storingTransactions(
  db: Db,
  transactions: readonly bigint[],
): Promise<Set<bigint>> {
  const byXid = new Map(transactions.map((one) => [String(BigInt.asUintN(32, one)), one]))
  const { rows } = await sql<{ xid: string }>`
    with held as materialized (select * from pg_locks where granted),
      ingest as (select oid from pg_class where oid = any(${INGEST_TABLES}::text[]::regclass[]::oid[]))
    select distinct own.transactionid::text as xid
    from held own join held other on other.virtualtransaction = own.virtualtransaction
      and other.pid is not distinct from own.pid
    where own.locktype = 'transactionid' and own.mode = 'ExclusiveLock'
      and own.transactionid::text = any(${[...byXid.keys()]}::text[])
      and other.locktype = 'relation' and other.mode <> 'AccessShareLock'
      and other.relation in (select oid from ingest)
      and other.database = (select oid from pg_database where datname = current_database())`.execute(
    db,
  )
  return new Set(rows.flatMap(({ xid }) => byXid.get(xid) ?? []))
}

/**
 * Up to `limit` events of a window behind `afterId`, in the order of their ids. The ids bound what is read, so that no
 * index on the transaction is needed: those of the window were made after its first mark and before its last, give or
 * take the lag. Rows older than the column have no transaction and belong to no window.
 */
export async function windowPage(
  db: Db,
  { from, until }: EventWindow,
  { projectId, sourceId, afterId, limit }: WindowQuery,
): Promise<EventSummary[]> {
  const bySource = sourceId === undefined ? sql`true` : sql`source_id = ${sourceId}::uuid`
  const { rows } = await sql<EventSummary>`
    select class, id, organisation_id as "organisationId", project_id as "projectId", source_id as "sourceId", status,
      event_type as "eventType", idempotency_key as "idempotencyKey", rejection_reason as "rejectionReason",
      verified_with as "verifiedWith", method, path, content_type as "contentType", size_bytes as "sizeBytes",
      is_binary as "isBinary", remote_ip as "remoteIp"
    from event
    where project_id = ${projectId}::uuid and ${bySource} and id > ${afterId ?? firstIdAt(0)}::uuid
      and id >= least(${firstIdAt(from.ms - ID_LAG_MS)}::uuid, (${oldestSpooled({ from, until })}))
      and id < ${firstIdAt(until.ms + ID_LAG_MS)}::uuid
      and transaction_id >= ${String(from.transaction)}::xid8 and transaction_id < ${String(until.transaction)}::xid8
    order by id limit ${limit}`.execute(db)
  return rows
}

/** Events that were spooled while PostgreSQL was away are stored with ids of that time. No row when the window has none. */
function oldestSpooled({ from, until }: EventWindow) {
  return sql`
    select oldest_id from spool_drain
    where from_transaction < ${String(until.transaction)}::xid8
      and (until_transaction is null or until_transaction >= ${String(from.transaction)}::xid8)
    order by oldest_id limit 1`
}

/** Tells one database from every other, a restored copy included: transaction numbers mean something in one only. */
export async function databaseIdentity(db: Db): Promise<string> {
  const { rows } = await sql<{ identity: string }>`
    select (select system_identifier from pg_control_system()) || '/' || oid as identity
    from pg_database where datname = current_database()`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('Cannot tell the database')
  return row.identity
}

/** A key and the project that a stream was opened with. */
export interface StreamGrant {
  keyId: string
  projectId: string
}

/** The permissions of each pair whose key still works and whose project is still there, by `keyId/projectId`. */
export async function liveGrants(
  db: Db,
  grants: readonly StreamGrant[],
  nowMs: number,
): Promise<Map<string, Record<string, string> | null>> {
  const { rows } = await sql<StreamGrant & { permissions: Record<string, string> | null }>`
    select k.id as "keyId", p.id as "projectId", k.permissions
    from unnest(${grants.map(({ keyId }) => keyId)}::uuid[], ${grants.map(({ projectId }) => projectId)}::uuid[])
      as open (key_id, project_id)
    join api_key k on k.id = open.key_id
    join project p on p.id = open.project_id and p.organisation_id = k.organisation_id
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > ${new Date(nowMs)})`.execute(
    db,
  )
  return new Map(rows.map((row) => [`${row.keyId}/${row.projectId}`, row.permissions]))
}
