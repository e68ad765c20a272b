import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { decodeId, type Prefix } from '../../core/ids.ts'
import {
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  METADATA_KEYS_MAX,
  METADATA_VALUE_LENGTH_MAX,
  NAME_LENGTH_MAX,
} from '../../core/limits.ts'

/** Names of the kinds of ids, for messages. */
export const KIND_OF: Readonly<Record<Prefix, string>> = {
  org: 'organisation',
  usr: 'user',
  prj: 'project',
  src: 'source',
  dst: 'destination',
  con: 'connection',
  evt: 'event',
  dlv: 'delivery',
  att: 'attempt',
  cnr: 'connector',
  rpl: 'replica',
  key: 'API key',
  agt: 'agent',
  opr: 'operation',
  inv: 'invitation',
  alr: 'alert',
}

/** Longest key of `metadata`. Ours: the decisions bound only the values. */
const METADATA_KEY_LENGTH_MAX = 100

/** RFC 3339 in UTC with milliseconds, as every answer writes it. */
export const Timestamp = z.iso.datetime({ precision: 3 })

/** A moment as clients may write it, with any precision and offset; milliseconds since the epoch inside. */
export const Moment = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))

export const From = Moment.optional().describe('The earliest time of creation, included.')
export const To = Moment.optional().describe('The latest time of creation, included.')

export function Id(prefix: Prefix): z.ZodString {
  return z.string().regex(idPattern(prefix), `Expected an id that begins with "${prefix}_"`)
}

/** An id in a query or body; the uuid inside. */
export function IdInput(prefix: Prefix): z.ZodType<string, string> {
  return Id(prefix).transform((text) => decodeId(prefix, text) ?? text)
}

/** Blanks and invisible characters. */
const BLANK = String.raw`[\s\u200b]`
const INVISIBLE = /^[\s\p{Default_Ignorable_Code_Point}]*$/u

/** Names are stored in NFC, so that two names that look alike are the same. (decisions: Configuration) */
export const Name = z
  .string()
  .normalize('NFC')
  .refine((text) => !INVISIBLE.test(text), {
    error: 'Expected at least 1 visible character',
    abort: true,
  })
  .max(NAME_LENGTH_MAX, { abort: true })
  .refine((text) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), {
    error: 'Expected no control characters',
    abort: true,
  })
  .refine(
    (text) => !new RegExp(`^${BLANK}|${BLANK}$`, 'u').test(text),
    'Expected no blanks around it',
  )
  .meta({ minLength: 1 })

/** A name in answers: a stored name is shown even if it breaks a newer rule. */
export const ShownName = z.string()

/** The body of an action that has nothing to choose. */
export const NoMembers = z
  .strictObject({})
  .meta({ id: 'NoMembers', description: 'An object without members; the body may be left out.' })

/** Parameters of a path: an id with its prefix, or the name of a resource. */
export type ParamKind = Prefix | 'name'

export function Param(kind: ParamKind): z.ZodString {
  return kind === 'name' ? Name : Id(kind)
}

export const Metadata = z
  .record(z.string().min(1).max(METADATA_KEY_LENGTH_MAX), z.string().max(METADATA_VALUE_LENGTH_MAX))
  .refine((map) => Object.keys(map).length <= METADATA_KEYS_MAX, {
    message: `Expected at most ${METADATA_KEYS_MAX} keys`,
  })
  .meta({
    id: 'Metadata',
    description: `Your own texts under names that you choose, at most ${METADATA_KEYS_MAX}. Postern stores them and returns them.`,
  })

/** `true` and `false` in a query; nothing else. Clients send a boolean, and the document says so. */
const Flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', enum: undefined })

export const Cascade = Flag.default(false).describe('Delete resources that depend on it as well.')

export const Limit = z.coerce
  .number()
  .int()
  .min(1)
  .max(LIST_LIMIT_MAX)
  .default(LIST_LIMIT_DEFAULT)
  .describe('The maximum number of items in the page.')

export const SortDir = z
  .enum(['asc', 'desc'])
  .default('desc')
  .describe('`asc` begins with the smallest or oldest, `desc` with the largest or newest.')

export const Cursor = z
  .string()
  .min(1)
  .max(1024)
  .optional()
  .describe('The `nextCursor` of the previous page, with the same filters and sort.')

/** The body of every toggle. */
export const Toggle = z
  .strictObject({ isEnabled: z.boolean().describe('True to enable, false to disable.') })
  .meta({ id: 'Toggle', description: 'Enables or disables a resource.' })

/** As answers write it. */
export function moment(date: Date | null): string | null {
  return date === null ? null : timestamp(date.getTime())
}

function idPattern(prefix: Prefix): RegExp {
  return new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
}
