import { sql, type RawBuilder } from 'kysely'

import { Refusal } from '../../errors.ts'
import { encodeId } from '../../ids.ts'
import { RETENTION_CLASSES, OVERDUE_CLASS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'
import { TABLES, whereOf, type MovedRow, type MovedTable, type RowsOf } from './moved-tables.ts'

/** Conflicts that a refusal names. */
const NAMED_MAX = 5

const CLASSES = [...RETENTION_CLASSES, OVERDUE_CLASS]

/** The moved table of a line. Throws on another. */
export function movedTable(name: string): MovedTable {
  const table = Object.hasOwn(TABLES, name) ? TABLES[name] : undefined
  if (table?.fate !== 'moved') throw new Error(`The file has rows of "${name}", which do not move`)
  return table
}

/**
 * Inserts rows of the organisation. Refuses rows of another, and names those whose id, name, mask id, address or hash is
 * there already.
 */
export async function insertRows(
  tx: Db,
  name: string,
  rows: readonly MovedRow[],
  { of, isChecked = true }: { of: RowsOf; isChecked?: boolean },
): Promise<void> {
  if (rows.length === 0) return
  const table = movedTable(name)
  await refuseTaken(tx, { name, prefix: table.prefix }, rows)
  const columns = sql.join(Object.keys(rows[0] ?? {}).map((column) => sql.ref(`t.${column}`)))
  const targets = sql.join(Object.keys(rows[0] ?? {}).map((column) => sql.ref(column)))
  const { numAffectedRows } = await sql`
    insert into ${sql.table(name)} (${targets}) select ${columns} from ${recordsOf(name, rows)} t
    where ${isChecked ? whereOf(table, of) : sql`true`}`.execute(tx)
  if (numAffectedRows !== BigInt(rows.length)) {
    throw new Error(`The file has rows of "${name}" that are not of its organisation`)
  }
}

function recordsOf(name: string, rows: readonly MovedRow[]): RawBuilder<unknown> {
  return sql`json_populate_recordset(null::${sql.table(name)}, ${JSON.stringify(rows)}::text::json)`
}

/** Compares the rows with those that are there by each unique index of whole columns. */
async function refuseTaken(
  tx: Db,
  { name, prefix }: { name: string; prefix: MovedTable['prefix'] },
  rows: readonly MovedRow[],
): Promise<void> {
  for (const columns of await uniqueColumns(tx, name)) {
    const alike = columns.map((column) => sql`t.${sql.ref(column)} = r.${sql.ref(column)}`)
    const { rows: taken } = await sql<{ row: MovedRow }>`
      select row_to_json(r) as row from ${recordsOf(name, rows)} r
      where exists (select from ${sql.table(name)} t where ${sql.join(alike, sql` and `)})
      limit ${NAMED_MAX}`.execute(tx)
    if (taken.length === 0) continue
    const named = taken.map(({ row }) => nameOf(row, prefix, columns)).join(', ')
    throw new Refusal(
      'CONFLICT',
      `Cannot import: another ${name} here has the ${columns.join(' and ')} of ${named}`,
    )
  }
}

async function uniqueColumns(tx: Db, name: string): Promise<string[][]> {
  const { rows } = await sql<{ columns: string[] }>`
    select array(select a.attname::text from unnest(i.indkey::int2[]) with ordinality k (number, place)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number order by k.place) as columns
    from pg_index i
    where i.indrelid = ${name}::regclass and i.indisunique and i.indpred is null and i.indexprs is null
    order by i.indisprimary desc, i.indexrelid`.execute(tx)
  return rows.map(({ columns }) => columns)
}

/** Its id, or the columns that are alike; no hash is shown. */
function nameOf(row: MovedRow, prefix: MovedTable['prefix'], columns: readonly string[]): string {
  const { id } = row
  if (typeof id === 'string') return prefix === undefined ? id : encodeId(prefix, id)
  return columns
    .filter((column) => !column.endsWith('hash'))
    .map((column) => String(row[column]))
    .join(' ')
}

/** Which of these events are not here, in any class. */
export async function missingEvents(tx: Db, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    select id from event where class = any(${CLASSES}::int2[]) and id = any(${ids}::uuid[])`.execute(
    tx,
  )
  const known = new Set(rows.map(({ id }) => id))
  return new Set(ids.filter((id) => !known.has(id)))
}

/** Claims the keys of events. Returns the events whose key another event has claimed here. */
export async function claimMovedKeys(tx: Db, rows: readonly MovedRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set()
  const { rows: claimed } = await sql<{ event_id: string }>`
    insert into dedupe_key (source_id, key, event_id)
    select source_id, key, event_id from ${recordsOf('dedupe_key', rows)} order by source_id, key
    on conflict do nothing returning event_id`.execute(tx)
  const own = new Set(claimed.map((row) => row.event_id))
  return new Set(rows.map((row) => String(row['event_id'])).filter((id) => !own.has(id)))
}

/** Events that repeat one which is delivered here: they stay as ingest stores a repeat, without deliveries. */
export async function setFiltered(tx: Db, ids: readonly string[]): Promise<void> {
  await sql`
    update event set status = 'filtered' where class = any(${CLASSES}::int2[]) and id = any(${ids}::uuid[])
      and status = 'received'`.execute(tx)
}

/**
 * Gives a waiting row, due at once, to each delivery of these events that is open and has none: a first attempt that no
 * worker had taken. Partitions are set by `placeWaiting`.
 */
export async function queueOpen(
  tx: Db,
  { organisationId, eventIds = [] }: RowsOf,
  now: Date,
): Promise<void> {
  await sql`
    with open as (
      update delivery d set status = 'pending', lease_until = null
      where d.class = any(${CLASSES}::int2[]) and d.event_id = any(${eventIds}::uuid[])
        and d.status in ('pending', 'throttled', 'in_flight')
        and not exists (select from delivery_waiting w where w.delivery_id = d.id)
      returning d.*
    )
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, connection_id,
      source_id, partition, status, attempt_trigger, next_at)
    select id, class, ${organisationId}::uuid, project_id, destination_id, connection_id, source_id, 0, 'pending',
      case when attempt_count = 0 then 'initial' else 'automatic' end, ${now}
    from open`.execute(tx)
}

/**
 * Places waiting deliveries of these events in the partition that their destination has here. Parked ones are due at once: a
 * worker takes them into their lanes.
 */
export async function placeWaiting(
  tx: Db,
  eventIds: readonly string[],
  { partitionOf, now }: { partitionOf: (destinationId: string) => number; now: Date },
): Promise<void> {
  const ofEvents = sql`
    delivery_id in (select id from delivery
      where class = any(${CLASSES}::int2[]) and event_id = any(${eventIds}::uuid[]))`
  const { rows } = await sql<{ destinationId: string }>`
    select distinct destination_id as "destinationId" from delivery_waiting where ${ofEvents}`.execute(
    tx,
  )
  for (const { destinationId } of rows) {
    await sql`
      update delivery_waiting set partition = ${partitionOf(destinationId)}, next_at = coalesce(next_at, ${now})
      where destination_id = ${destinationId}::uuid and ${ofEvents}`.execute(tx)
  }
}

/** Counts events that came after the exported counts, as ingest would have counted them when it stored them. */
export async function countEvents(
  tx: Db,
  { organisationId, eventIds = [] }: RowsOf,
): Promise<void> {
  await sql`
    insert into event_delta (at, project_id, source_id, status, rejection_reason, events)
    select stored_at, project_id, source_id, status, rejection_reason, count(*) from event
    where class = any(${CLASSES}::int2[]) and id = any(${eventIds}::uuid[]) group by 1, 2, 3, 4, 5`.execute(
    tx,
  )
  await sql`
    insert into usage_delta (organisation_id, at, deliveries)
    select ${organisationId}::uuid, e.stored_at, count(*) from event e
    join delivery d on d.class = e.class and d.event_id = e.id
    where e.class = any(${CLASSES}::int2[]) and e.id = any(${eventIds}::uuid[]) and d.trigger = 'ingest'
    group by 2`.execute(tx)
}
