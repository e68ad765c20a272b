import { sql, type RawBuilder } from 'kysely'

/** One page of a list of resources: `after` is the last row of the page before. */
export interface Page {
  limit: number
  sortBy: 'createdAt' | 'name' | 'updatedAt'
  sortDir: 'asc' | 'desc'
  after: { value: string; id: string } | undefined
}

/** What a caller may reach by an id: one project, or any of the organisation. */
export interface Reach {
  organisationId: string
  projectId: string | undefined
}

/** Part of the query itself, so that what is out of reach is as absent as what does not exist. */
export function withinReach({ organisationId, projectId }: Reach): RawBuilder<boolean> {
  const isOwn = sql<boolean>`organisation_id = ${organisationId}::uuid`
  return projectId === undefined
    ? isOwn
    : sql<boolean>`${isOwn} and project_id = ${projectId}::uuid`
}

/** The id carries the creation time, so sorting by it is sorting by `createdAt`. */
const COLUMN = { createdAt: 'id', name: 'name', updatedAt: 'updated_at' } as const

export function sortColumn(page: Page): RawBuilder<unknown> {
  return sql.ref(COLUMN[page.sortBy])
}

/** The rows behind the page before; ties are broken by the id, which must be the last sort key. */
export function afterPage(page: Page): RawBuilder<boolean> {
  if (page.after === undefined) return sql<boolean>`true`
  const { value, id } = page.after
  const order = page.sortDir === 'asc' ? sql`>` : sql`<`
  if (page.sortBy === 'createdAt') return sql<boolean>`id ${order} ${id}::uuid`
  const type = page.sortBy === 'name' ? sql`text` : sql`timestamptz`
  return sql<boolean>`(${sortColumn(page)}, id) ${order} (${value}::${type}, ${id}::uuid)`
}
