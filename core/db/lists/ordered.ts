import { sql, type RawBuilder } from 'kysely'

import { LIST_LIMIT_MAX } from '../../limits.ts'
import type { Db } from '../connection/db.ts'
import { KEPT } from '../connection/kept-plans.ts'
import type { Direction } from './id-ranges.ts'

/** A column of `t` that must have a value. */
export interface Equal {
  column: RawBuilder<unknown>
  value: RawBuilder<unknown>
  /** The predicate that the planner must see to use a partial index. */
  predicate?: RawBuilder<unknown>
  /** A condition with the same answer for every row of this index range. */
  besides?: RawBuilder<unknown>
  /** A condition that depends on no row: nothing is read if it is false. */
  gate?: RawBuilder<unknown>
}

interface Bound {
  /** Values of the columns that sort. */
  values: RawBuilder<unknown>[]
  isIncluded: boolean
}

/** A part of an index: some columns that are fixed, then those that sort. */
export interface Range {
  prefix: readonly Equal[]
  order: readonly RawBuilder<unknown>[]
  low?: Bound
  high?: Bound
  /** Conditions besides. */
  served: readonly RawBuilder<unknown>[]
}

interface Page extends Range {
  /** The rows of it are called `t`. */
  table: RawBuilder<unknown>
  columns: RawBuilder<unknown>
  dir: Direction
  /** Further conditions of the rows. */
  others: readonly RawBuilder<unknown>[]
  readRows: number
  limit: number
  /** Over so many days that its plan is worth keeping. */
  isWide?: boolean
}

/** Wide statements always read this many rows before they cut to the page, so that they share few texts. */
const WIDE_LIMIT = LIST_LIMIT_MAX + 1

/**
 * Reads one more row than the limit, in one statement. The rows that the index finds are cut before the other conditions
 * are checked, so that no plan can read more of them. `reached` is the last of them if there may be more.
 */
export async function readOrdered<T>(
  db: Db,
  page: Page,
): Promise<{ found: T[]; reached: T | undefined }> {
  const { table, columns, prefix, order, dir, others, limit } = page
  const { kept, most, readRows } = sizesOf(page)
  const within = and(servedBy(page))
  const ordered = orderBy(prefix, order, dir)
  const gates = and(prefix.flatMap(({ gate }) => gate ?? []))
  if (others.length === 0) {
    const all = await sql<T>`${kept}
      select ${columns} from (select * from ${table} where ${within} ${ordered} limit ${most}) as t
      where ${gates} ${ordered} limit ${limit + 1}`.execute(db)
    return { found: all.rows, reached: undefined }
  }
  const read = await sql<T & { isMatch: boolean; place: number }>`${kept}
    select ${columns}, "isMatch", place
    from (
      select *, (${and(others)}) is true as "isMatch", row_number() over (${ordered}) as place
      from (select * from ${table} where ${within} ${ordered} limit ${readRows}) as t
    ) as t
    where ${gates} and ("isMatch" or place = ${readRows})
    ${ordered} limit ${limit + 1}`.execute(db)
  const found = read.rows.filter((row) => row.isMatch)
  const last = found.length > limit ? undefined : read.rows.at(-1)
  return {
    found: found.slice(0, limit + 1),
    reached: last?.place === page.readRows ? last : undefined,
  }
}

/** LIMIT is inlined in cached plans: as a parameter the planner would assume 10 % of the table. */
function sizesOf({ limit, readRows, isWide = false }: Page): {
  kept: RawBuilder<unknown>
  most: RawBuilder<unknown>
  readRows: RawBuilder<unknown>
} {
  return isWide && limit < WIDE_LIMIT
    ? { kept: KEPT, most: sql.lit(WIDE_LIMIT), readRows: sql.lit(readRows) }
    : { kept: sql``, most: sql`${limit + 1}`, readRows: sql`${readRows}` }
}

/**
 * The fixed columns are bounded, not compared: to the planner a column that equals something needs no place in the
 * order, and any index of the id would give it, the primary key above all, which finds a small project's rows among all
 * others. With them in the order only the index that begins with them gives it.
 */
export function servedBy({ prefix, order, low, high, served }: Range): RawBuilder<unknown>[] {
  return [
    ...bound({ prefix, order }, low, low?.isIncluded === false ? sql`>` : sql`>=`),
    ...bound({ prefix, order }, high, high?.isIncluded === false ? sql`<` : sql`<=`),
    ...prefix.flatMap(({ predicate }) => predicate ?? []),
    ...prefix.flatMap(({ besides }) => besides ?? []),
    ...served,
  ]
}

export function orderBy(
  prefix: readonly Equal[],
  order: readonly RawBuilder<unknown>[],
  dir: Direction,
): RawBuilder<unknown> {
  const columns = [...prefix.map(({ column }) => column), ...order]
  return sql`order by ${sql.join(columns.map((column) => sql`${column} ${sql.raw(dir)}`))}`
}

function bound(
  { prefix, order }: Pick<Range, 'prefix' | 'order'>,
  edge: Bound | undefined,
  compare: RawBuilder<unknown>,
): RawBuilder<unknown>[] {
  const columns = [...prefix.map(({ column }) => column), ...(edge === undefined ? [] : order)]
  const values = [...prefix.map(({ value }) => value), ...(edge?.values ?? [])]
  return columns.length === 0 ? [] : [sql`(${sql.join(columns)}) ${compare} (${sql.join(values)})`]
}

export function isEqual({ column, value, besides }: Equal): RawBuilder<unknown> {
  return and([sql`${column} = ${value}`, ...(besides === undefined ? [] : [besides])])
}

export function and(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join([sql`true`, ...conditions], sql` and `)
}
