import { sql, type RawBuilder } from 'kysely'

import { PAGE_READ_ROWS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'
import { isWide, since, rangesOf, type Direction, type IdRange } from './id-ranges.ts'
import { and, isEqual, orderBy, readOrdered, servedBy, type Equal, type Range } from './ordered.ts'

/** Rows in the order of their ids, read by one of several indexes. The table's name is `t`. */
export interface IndexedList {
  table: RawBuilder<unknown>
  /** The column of the id. */
  id: RawBuilder<unknown>
  columns: RawBuilder<unknown>
  equals: { readonly project: Equal } & Readonly<Record<string, Equal>>
  /** Conditions that no index serves. */
  others: readonly RawBuilder<unknown>[]
  /** An index each: the names of `equals` that are its columns, which the id follows. None: the table is small. */
  indexes: readonly (readonly string[])[]
  /** By the day of the id. */
  isPartitioned: boolean
  /** There is none before it. */
  fromId?: string
}

export interface Walk {
  range: IdRange
  dir: Direction
  /** Rows found, one more included, end a walk. */
  limit: number
  nowMs: number
  /** Rows of an index that one statement looks through for a filter that has none. */
  readRows: number
}

/** The rows that a walk found: at most one more than its limit. It may end before the page is full. */
export interface PartialPage<T> {
  rows: T[]
  /** So far it was read: more may lie behind this id, and what lies before it is all here. */
  reachedId: string | undefined
}

/** The rows of a page, and the id behind which the next one goes on; undefined at the end. */
export interface Cut<T> {
  rows: T[]
  nextId: string | undefined
}

/** The index is chosen by how far so many of its rows reach. */
const PROBED_ROWS = 500

export function cut<T extends { id: string }>(
  { rows, reachedId }: PartialPage<T>,
  limit: number,
): Cut<T> {
  const shown = rows.slice(0, limit)
  return { rows: shown, nextId: rows.length > limit ? shown.at(-1)?.id : reachedId }
}

/**
 * Reads until the page is full, the list ends, or so many rows did not fill it: where conditions that no index serves
 * are seldom met, a page is short rather than slow. Its connection must read by index only.
 */
export async function readList<T extends { id: string }>(
  db: Db,
  list: IndexedList,
  walk: Walk,
): Promise<PartialPage<T>> {
  const { dir, nowMs, limit } = walk
  const range = since(walk.range, list.fromId)
  const ranges = list.isPartitioned ? rangesOf(range, dir, nowMs) : [range]
  const index = await narrowestIndex(db, list, { dir, range: ranges[0] ?? range })
  const found: T[] = []
  for (const part of ranges) {
    const left = { ...walk, range: part, limit: limit - found.length }
    const { rows, reachedId } = await readRange<T>(db, { list, index }, left)
    found.push(...rows)
    if (reachedId !== undefined || found.length > limit) return { rows: found, reachedId }
  }
  return { rows: found, reachedId: undefined }
}

async function readRange<T extends { id: string }>(
  db: Db,
  { list, index }: { list: IndexedList; index: readonly string[] },
  { range, dir, limit, nowMs, readRows }: Walk,
): Promise<PartialPage<T>> {
  const { table, id, columns, equals } = list
  const { found, reached } = await readOrdered<T>(db, {
    table,
    columns,
    prefix: pick(equals, index),
    order: [id],
    dir,
    ...boundsOf(range),
    served: conditionsOf(id, range),
    others: othersOf(list, index),
    readRows,
    limit,
    // A long statement spares little by a plan that is kept, and there is room for few.
    isWide: list.isPartitioned && readRows <= PAGE_READ_ROWS && isWide(range, nowMs),
  })
  return { rows: found, reachedId: reached?.id }
}

/** Every index looks at the project. */
function othersOf(
  { equals, others }: IndexedList,
  index: readonly string[],
): RawBuilder<unknown>[] {
  const rest = Object.keys(equals).filter((name) => name !== 'project' && !index.includes(name))
  return [...pick(equals, rest).map(isEqual), ...others]
}

/** The index that has the fewest rows next: few at all, or such as reach far. */
async function narrowestIndex(
  db: Db,
  { table, id, equals, indexes }: IndexedList,
  { range, dir }: Pick<Walk, 'range' | 'dir'>,
): Promise<readonly string[]> {
  const [first = []] = indexes
  if (indexes.length < 2) return first
  const last = dir === 'asc' ? sql`max` : sql`min`
  const probes = indexes.map((index) => {
    const prefix = pick(equals, index)
    const served = conditionsOf(id, range)
    const within = and(servedBy({ prefix, order: [id], ...boundsOf(range), served }))
    // Ids in text compare as they do in themselves; not every supported version has min(uuid).
    return sql`select count(*)::int as rows, ${last}(id::text collate "C") as "lastId"
      from (select ${id} as id from ${table} where ${within}
        ${orderBy(prefix, [id], dir)} limit ${PROBED_ROWS}) as next`
  })
  const { rows } = await sql<Probe>`${sql.join(probes, sql` union all `)}`.execute(db)
  const [narrowest] = [...rows.entries()].toSorted(([, one], [, other]) => compare(one, other, dir))
  return indexes[narrowest?.[0] ?? 0] ?? first
}

interface Probe {
  rows: number
  lastId: string | null
}

function compare(one: Probe, other: Probe, dir: Direction): number {
  if (one.rows !== other.rows) return one.rows - other.rows
  if (one.rows < PROBED_ROWS || one.lastId === other.lastId) return 0
  const isFurther = (one.lastId ?? '') > (other.lastId ?? '') === (dir === 'asc')
  return isFurther ? -1 : 1
}

function boundsOf({ fromId, untilId }: IdRange): Pick<Range, 'low' | 'high'> {
  return {
    ...(fromId !== undefined && { low: { values: [sql`${fromId}::uuid`], isIncluded: true } }),
    ...(untilId !== undefined && { high: { values: [sql`${untilId}::uuid`], isIncluded: false } }),
  }
}

/** As conditions of their own the bounds leave partitions out; any of their indexes could serve them. */
export function conditionsOf(
  id: RawBuilder<unknown>,
  { fromId, untilId }: IdRange,
): RawBuilder<unknown>[] {
  return [
    ...(fromId === undefined ? [] : [sql`${id} >= ${fromId}::uuid`]),
    ...(untilId === undefined ? [] : [sql`${id} < ${untilId}::uuid`]),
  ]
}

function pick(equals: IndexedList['equals'], names: readonly string[]): Equal[] {
  return names.flatMap((name) => equals[name] ?? [])
}
