import { z } from 'zod'

import type { Page } from '../core/db/lists/page.ts'
import { refuseField } from '../core/errors.ts'
import { readCursor, writeCursor, type Binding } from './cursor.ts'
import { Cursor, Limit, SortDir } from './fields.ts'

/** The query of every list of resources. (decisions: Conventions of the API) */
export const ListQuery = z.strictObject({
  limit: Limit,
  cursor: Cursor,
  sortBy: z.enum(['createdAt', 'name', 'updatedAt']).default('createdAt'),
  sortDir: SortDir,
})

export function listOf<T extends z.ZodType>(
  item: T,
): z.ZodObject<{ data: z.ZodArray<T>; nextCursor: z.ZodNullable<z.ZodString> }> {
  return z.object({ data: z.array(item), nextCursor: z.string().nullable() })
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
  if (sortBy === 'updatedAt' && after !== undefined && Number.isNaN(Date.parse(after.value))) {
    refuseField('query.cursor', 'Not a cursor of this API')
  }
  return { page: { limit, sortBy, sortDir, after }, binding }
}

interface Row {
  id: string
  name: string
  updatedAt: Date
}

/** Cuts the row that was read beyond the page and turns the last one left into the next cursor. */
export function toList<R extends Row, V>(
  rows: readonly R[],
  { page, binding }: { page: Page; binding: Binding },
  view: (row: R) => V,
): { data: V[]; nextCursor: string | null } {
  const shown = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? shown.at(-1) : undefined
  const value = {
    createdAt: '',
    name: last?.name ?? '',
    updatedAt: last?.updatedAt.toISOString() ?? '',
  }
  return {
    data: shown.map(view),
    nextCursor:
      last === undefined ? null : writeCursor(binding, { value: value[page.sortBy], id: last.id }),
  }
}
