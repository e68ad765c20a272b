import { sql, type ControlledTransaction } from 'kysely'

import { firstIdAt } from '../../ids.ts'
import type { Db } from '../connection/db.ts'
import type { Tables } from '../tables.ts'
import { movedTables, whereOf, type MovedRow, type RowsOf } from './moved-tables.ts'

/** Rows of one line of a file, at most. */
const LINE_ROWS = 200
/** Events that are moved by one transaction: so many, or so many bytes of bodies and one event more. */
const PAGE_EVENTS = 200
const PAGE_BYTES = 4 * 1024 * 1024

/** Ids that one statement looks through. */
const WALK_ROWS = 2_000

export interface Moment {
  tx: ControlledTransaction<Tables>
  /** The transactions that are seen here (`pg_current_snapshot`). */
  snapshot: string
}

/** All reads of an export are of one moment: a transaction that writes nothing and holds no lock that a writer needs. */
export async function openMoment(db: Db): Promise<Moment> {
  const tx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    const { rows } = await sql<{ snapshot: string }>`
      select pg_current_snapshot()::text as snapshot`.execute(tx)
    return { tx, snapshot: rows[0]?.snapshot ?? '' }
  } catch (error) {
    await tx.rollback().execute()
    throw error
  }
}

/** The rows of a moved table, `LINE_ROWS` at a time. */
async function* readRows(
  tx: Db,
  [name, table]: ReturnType<typeof movedTables>[number],
  of: RowsOf,
): AsyncGenerator<MovedRow[]> {
  await sql`declare moved no scroll cursor for
    select row_to_json(t) as row from ${sql.table(name)} t where ${whereOf(table, of)}`.execute(tx)
  for (;;) {
    const { rows } = await sql<{ row: MovedRow }>`fetch ${sql.lit(LINE_ROWS)} from moved`.execute(
      tx,
    )
    if (rows.length > 0) yield rows.map(({ row }) => ({ ...row, ...table.set }))
    if (rows.length < LINE_ROWS) break
  }
  await sql`close moved`.execute(tx)
}

/** The lines of one page: rows that are imported by one transaction. */
export type Page = AsyncGenerator<{ table: string; rows: MovedRow[] }>

export async function* configurationPage(tx: Db, organisationId: string): Page {
  for (const table of movedTables('configuration')) {
    for await (const rows of readRows(tx, table, { organisationId }))
      yield { table: table[0], rows }
  }
}

/** Each line is a page. */
export async function* historyPages(tx: Db, organisationId: string): AsyncGenerator<Page> {
  for (const table of movedTables('history')) {
    for await (const rows of readRows(tx, table, { organisationId })) yield lineOf(table[0], rows)
  }
}

async function* lineOf(table: string, rows: MovedRow[]): Page {
  yield { table, rows }
}

/** Which events go along: those since a moment with all that wait, or those that an earlier export has not seen. */
export type EventChoice = { sinceMs: number } | { notIn: string; fromMs: number }

/** Events with their deliveries and all that belongs to them. */
export async function* eventPages(
  tx: Db,
  organisationId: string,
  choice: EventChoice,
): AsyncGenerator<Page> {
  for await (const eventIds of pagesOfIds(tx, organisationId, choice)) {
    yield pageOfEvents(tx, { organisationId, eventIds })
  }
}

async function* pageOfEvents(tx: Db, of: RowsOf): Page {
  for (const table of movedTables('events')) {
    for await (const rows of readRows(tx, table, of)) yield { table: table[0], rows }
  }
}

async function* pagesOfIds(
  tx: Db,
  organisationId: string,
  choice: EventChoice,
): AsyncGenerator<string[]> {
  const { rows: projects } = await sql<{ id: string }>`
    select id from project where organisation_id = ${organisationId}::uuid order by id`.execute(tx)
  const fromId = await firstIdOf(tx, choice)
  for (const { id } of projects) {
    const walk = { projectId: id, fromId, snapshot: 'notIn' in choice ? choice.notIn : null }
    yield* pagesOf(walkEvents(tx, walk))
  }
  if ('sinceMs' in choice) yield* pagesOf(waitingEvents(tx, organisationId, fromId))
}

/** Spooled events got their ids before the export that did not see them. */
async function firstIdOf(tx: Db, choice: EventChoice): Promise<string> {
  if ('sinceMs' in choice) return firstIdAt(choice.sinceMs)
  const { rows } = await sql<{ oldest: string | null }>`
    select oldest_id as oldest from spool_drain
    where until_transaction is null or until_transaction >= pg_snapshot_xmin(${choice.notIn}::pg_snapshot)
    order by oldest_id limit 1`.execute(tx)
  const fromId = firstIdAt(choice.fromMs)
  const oldest = rows[0]?.oldest
  return oldest != null && oldest < fromId ? oldest : fromId
}

interface Sized {
  id: string
  bytes: number
}

const BYTES = sql<number>`size_bytes + coalesce(octet_length(mail), 0)`

/** A project's events from an id on, in their order. */
async function* walkEvents(
  tx: Db,
  { projectId, fromId, snapshot }: { projectId: string; fromId: string; snapshot: string | null },
): AsyncGenerator<Sized> {
  let from = fromId
  let isFirst = true
  for (;;) {
    const { rows } = await sql<Sized & { isNew: boolean }>`
      select id, ${BYTES} as bytes, ${snapshot}::text is null
        or coalesce(not pg_visible_in_snapshot(transaction_id, ${snapshot}::pg_snapshot), false) as "isNew"
      from event where project_id = ${projectId}::uuid
        and (id > ${from}::uuid or (${isFirst} and id = ${from}::uuid))
      order by id limit ${WALK_ROWS}`.execute(tx)
    for (const row of rows) if (row.isNew) yield row
    const last = rows.at(-1)
    if (last === undefined || rows.length < WALK_ROWS) return
    from = last.id
    isFirst = false
  }
}

/** Events older than an id with a delivery that waits; one that has several comes several times at most. */
async function* waitingEvents(
  tx: Db,
  organisationId: string,
  beforeId: string,
): AsyncGenerator<Sized> {
  let after = firstIdAt(0)
  for (;;) {
    const { rows } = await sql<Sized & { deliveryId: string }>`
      select w.delivery_id as "deliveryId", e.id, e.size_bytes + coalesce(octet_length(e.mail), 0) as bytes
      from (
        select delivery_id, class from delivery_waiting
        where organisation_id = ${organisationId}::uuid and delivery_id > ${after}::uuid
        order by delivery_id limit ${WALK_ROWS}
      ) w
      left join delivery d on d.class = w.class and d.id = w.delivery_id
      left join event e on e.class = w.class and e.id = d.event_id and e.id < ${beforeId}::uuid
      order by w.delivery_id`.execute(tx)
    const distinct = new Map(rows.flatMap((row) => (row.id === null ? [] : [[row.id, row]])))
    yield* distinct.values()
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.deliveryId
  }
}

async function* pagesOf(events: AsyncIterable<Sized>): AsyncGenerator<string[]> {
  let ids: string[] = []
  let bytes = 0
  for await (const event of events) {
    ids.push(event.id)
    bytes += event.bytes
    if (ids.length < PAGE_EVENTS && bytes < PAGE_BYTES) continue
    yield ids
    ids = []
    bytes = 0
  }
  if (ids.length > 0) yield ids
}
