import { z } from 'zod'

import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from '../../core/limits.ts'
import { Cursor } from '../http/fields.ts'

/** A time as agents write it. */
export const When = z.iso.datetime({ offset: true })

export const From = When.optional().describe('The earliest time, included.')
export const To = When.optional().describe('The latest time, included.')

/** A page of a list. */
export const Page = {
  limit: z
    .int()
    .min(1)
    .max(LIST_LIMIT_MAX)
    .default(LIST_LIMIT_DEFAULT)
    .describe('The maximum number of items in the page.'),
  cursor: Cursor,
}

export const NextCursor = z
  .string()
  .nullable()
  .describe('The cursor of the next page; null on the last.')

/** The answer of a list, by the schema of its items. */
export function listed<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), nextCursor: z.string().nullable() })
}
