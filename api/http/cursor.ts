import { createHash } from 'node:crypto'

import { z } from 'zod'

import { refuseField } from '../../core/errors.ts'
import { refuseUnstorable } from './body.ts'

/** Everything that decides the rows and order of a list; a cursor is valid for this list only. */
export type Binding = Readonly<Record<string, unknown>>

const Position = z.tuple([z.string(), z.string(), z.guid()])

/** Where a page ended: the value it was sorted by and the id of its last row. */
export interface Place {
  value: string
  id: string
}

/** An opaque cursor behind `place`, bound to the list's filters and sort. */
export function writeCursor(binding: Binding, place: Place): string {
  return Buffer.from(JSON.stringify([digest(binding), place.value, place.id])).toString('base64url')
}

/** Refuses a cursor of another list, other filters or another sort. (decisions: Conventions of the API) */
export function readCursor(binding: Binding, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const position = Position.safeParse(parse(cursor))
  if (!position.success) refuseCursor()
  const [bound, value, id] = position.data
  if (bound !== digest(binding)) {
    refuseField('query.cursor', 'Made for other filters or another sort')
  }
  refuseUnstorable('query.cursor', value)
  return { value, id }
}

/** Refuses a text that is no cursor. */
export function refuseCursor(): never {
  refuseField('query.cursor', 'Not a cursor of this API')
}

function digest(binding: Binding): string {
  const entries = Object.entries(binding).filter(([, value]) => value !== undefined)
  const text = JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
