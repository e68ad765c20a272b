import { sql, type RawBuilder } from 'kysely'

/** A page of a list of resources: `after` is the last row of the page before. */
export interface Page {
  limit: number
  sortBy: 'createdAt' | 'name' | 'updatedAt'
  sortDir: 'asc' | 'desc'
  after: { value: string; id: string } | undefined
}

/** A row of a list with the value that it is sorted by, as a cursor carries it. */
export type Listed<T> = T & { sortKey: string }

/** The projects in which a caller may read by id: one, or all of the organisation. */
export interface Reach {
  organisationId: string
  projectId: string | undefined
}

/**
 * Part of the query itself, so that what is out of reach is as absent as what does not exist. All of an organisation is
 * without its internal project.
 */
export function withinReach({ organisationId, projectId }: Reach): RawBuilder<boolean> {
  const isOwn = sql<boolean>`organisation_id = ${organisationId}::uuid`
  return projectId === undefined
    ? sql<boolean>`${isOwn} and not exists (
        select from project hidden where hidden.id = project_id and hidden.is_internal)`
    : sql<boolean>`${isOwn} and project_id = ${projectId}::uuid`
}

/** The id carries the creation time, so sorting by it is sorting by `createdAt`. */
const COLUMN = { createdAt: 'id', name: 'name', updatedAt: 'updated_at' } as const

export function sortColumn(page: Page): RawBuilder<unknown> {
  return sql.ref(COLUMN[page.sortBy])
}

/** The value that `afterPage` compares, as text. For `createdAt` the id is enough. */
export function sortKey(page: Page): RawBuilder<string> {
  if (page.sortBy === 'createdAt') return sql<string>`''`
  return page.sortBy === 'name' ? sql<string>`name` : microsOf(sortColumn(page))
}

/** The rows behind the page before; ties are broken by the id, which must be the last sort key. */
export function afterPage(page: Page): RawBuilder<boolean> {
  if (page.after === undefined) return sql<boolean>`true`
  const { value, id } = page.after
  const order = page.sortDir === 'asc' ? sql`>` : sql`<`
  if (page.sortBy === 'createdAt') return sql<boolean>`id ${order} ${id}::uuid`
  const key = page.sortBy === 'name' ? sql`${value}::text` : timeOfMicros(value)
  return sql<boolean>`(${sortColumn(page)}, id) ${order} (${key}, ${id}::uuid)`
}

/**
 * A time as microseconds since 1970, which is all that PostgreSQL keeps of it. A Date keeps milliseconds: a cursor made
 * of it would point before or behind its own row.
 */
export function microsOf(time: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`(extract(epoch from ${time}) * 1000000)::int8::text`
}

export function timeOfMicros(micros: string): RawBuilder<Date> {
  return sql<Date>`(timestamptz 'epoch' + ${micros}::int8 * interval '1 microsecond')`
}

/** Up to the year 2286, so that PostgreSQL has a time for it. */
export function isMicros(text: string): boolean {
  return /^\d{1,16}$/.test(text)
}
