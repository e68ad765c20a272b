import { z } from 'zod'

import { isMicros, type Listed, type Page } from '../../core/db/lists/page.ts'
import { readCursor, refuseCursor, writeCursor, type Binding } from './cursor.ts'
import { Cursor, Limit, SortDir } from './fields.ts'

/** The query of every list of resources. (decisions: Conventions of the API) */
export const ListQuery = z.strictObject({
  limit: Limit,
  cursor: Cursor,
  sortBy: z
    .enum(['createdAt', 'name', 'updatedAt'])
    .default('createdAt')
    .describe('The member to sort by.'),
  sortDir: SortDir,
})

type List<T extends z.ZodType> = z.ZodObject<{
  data: z.ZodArray<T>
  nextCursor: z.ZodNullable<z.ZodString>
}>

export function listOf<T extends z.ZodType>(item: T, id: string): List<T> {
  return z
    .object({
      data: z.array(item).describe('The items of this page.'),
      nextCursor: z.string().nullable().describe('The cursor of the next page; null on the last.'),
    })
    .meta({ id, description: `A page of ${pluralOf(id)}.` })
}

/** `deliveries` for `DeliveryList`. */
function pluralOf(id: string): string {
  const kind = id.replace(/List$/, '').toLowerCase()
  return kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`
}

/** `kind` and `projectId` bind the cursor beside the sort: it is good for one list of one project. */
export function readPage(
  query: z.output<typeof ListQuery>,
  kind: string,
  projectId: string | undefined,
): { page: Page; binding: Binding } {
  const { limit, cursor, sortBy, sortDir } = query
  const binding = { kind, projectId, sortBy, sortDir }
  const after = readCursor(binding, cursor)
  if (sortBy === 'updatedAt' && after !== undefined && !isMicros(after.value)) refuseCursor()
  return { page: { limit, sortBy, sortDir, after }, binding }
}

/** Cuts the row that was read beyond the page and turns the last one left into the next cursor. */
export function toList<R extends Listed<{ id: string }>, V>(
  rows: readonly R[],
  { page, binding }: { page: Page; binding: Binding },
  view: (row: R) => V,
): { data: V[]; nextCursor: string | null } {
  const shown = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? shown.at(-1) : undefined
  return {
    data: shown.map(view),
    nextCursor: last ? writeCursor(binding, { value: last.sortKey, id: last.id }) : null,
  }
}
