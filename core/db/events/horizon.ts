import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** The open transactions of the installation at one moment. */
export interface Snapshot {
  /** The next transaction to write gets this number or a higher one. */
  next: bigint
  /** Transactions that have written and may still commit; of those from `runningFrom` on it is not known which. */
  running: bigint[]
  runningFrom: bigint
}

/** Ingest writes to one of them in the first statement of each transaction, hence locks it before it has an id. */
const INGEST_TABLES = ['event', 'dedupe_key', 'usage']

/**
 * A snapshot's own upper end is only past the transactions that have ended; `age` counts from the next transaction
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
 * Returns the transactions that have a lock like ingest's. A transaction without one cannot be storing events: it has
 * ended, so that every later statement sees its events, or it does something else (an index, a bulk change).
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
 * Every transaction below it that stores events has ended, so that a later statement sees their events. Other open
 * transactions, in this database or beside it, do not matter.
 */
export async function settledBelow(db: Db): Promise<bigint> {
  const { running, runningFrom } = await readSnapshot(db)
  if (running.length === 0) return runningFrom
  const storing = await storingTransactions(db, running)
  return [...storing].reduce((low, one) => (one < low ? one : low), runningFrom)
}
