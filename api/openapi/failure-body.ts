import assert from 'node:assert/strict'

import { z } from 'zod'

import { STATUS, type Code, type Data } from '../../core/errors.ts'
import { Timestamp } from '../http/fields.ts'
import { MEANING } from './meanings.ts'

const Count = z.int().min(0)
const used = {
  limit: Count.describe('How many the plan allows.'),
  current: Count.describe('How many there are.'),
}

const FieldFault = z
  .object({
    path: z
      .string()
      .describe('Where it is: `body`, `query`, `params` or `headers` and the names of members.'),
    message: z.string().describe('The fault, for people.'),
  })
  .meta({
    id: 'FieldFault',
    description: 'A fault of a request.',
    examples: [{ path: 'query.limit', message: 'Expected at most 100' }],
  })

/** The compiler holds it equal to what code can refuse with. */
const DATA: { [C in keyof Data]: z.ZodObject & z.ZodType<Data[C]> } = {
  BAD_REQUEST: z.object({ fields: z.array(FieldFault).min(1).describe('Every fault.') }),
  CONNECTOR_LIMIT_REACHED: z.object(used),
  REPLICA_LIMIT_REACHED: z.object(used),
  CONNECTOR_REPLICA_REVOKED: z.object({
    reason: z
      .enum(['connector_deleted', 'replica_revoked', 'identity_absent'])
      .describe('Why it was revoked.'),
  }),
  ROTATION_IN_USE: z.object({
    count: Count.describe('Requests that the new secret has verified.'),
    lastSeenAt: Timestamp.describe('When it verified the last one.'),
  }),
  ROTATION_OVERLAP_ACTIVE: z.object({
    expiresAt: Timestamp.describe('When the previous secret ends.'),
  }),
  QUOTA_EXCEEDED: z.object({
    limit: Count.describe('Deliveries that the plan allows in a window.'),
    current: Count.describe('The deliveries counted so far.'),
    resetAt: Timestamp.describe('When the count starts again at zero.'),
  }),
  RATE_LIMITED: z.object({
    limit: Count.describe('How many are allowed.'),
    remaining: Count.describe('How many are left.'),
    retryAfterSeconds: Count.describe('Seconds to wait.'),
  }),
}

const RequestId = z
  .object({ requestId: z.uuid().describe('Identifies the request in the log.') })
  .meta({ id: 'FailureData', description: 'Identifies the request in the log.' })

interface Uncoded {
  name: string
  meaning: string
  message: string
  data?: z.ZodType
}

/** Statuses that come without a code too: the limit of the key, and faults that are not the client's. */
export const UNCODED: ReadonlyMap<number, Uncoded> = new Map([
  [
    429,
    {
      name: 'TooManyRequests',
      meaning: 'More requests in a minute than one API key may make',
      message: 'More than 600 requests in a minute',
    },
  ],
  [
    500,
    {
      name: 'Internal',
      meaning: 'Not the request’s fault; `data.requestId` finds it in the log',
      message: 'Internal error',
      data: RequestId,
    },
  ],
  [
    503,
    {
      name: 'Unavailable',
      meaning: 'The database is not available; repeat after `Retry-After`',
      message: 'The database is not available',
      data: RequestId,
    },
  ],
])

/** The body of an answer with this status, by its code. */
export function meaningOf(status: number, codes: readonly Code[]): string {
  const uncoded = UNCODED.get(status)
  const prefix = codes.length > 0 ? 'Without a code: ' : ''
  return [
    ...codes.map((code) => `\`${code}\`: ${MEANING[code]}.`),
    ...(uncoded === undefined ? [] : [`${prefix}${uncoded.meaning}.`]),
  ].join('\n\n')
}

const REFUSALS = new Map<Code, z.ZodObject>()

/** `NOT_FOUND` is `NotFound`, two codes are `ThisOrThat`. */
export function nameOf(status: number, codes: readonly Code[]): string {
  const names = codes.map((code) =>
    code
      .toLowerCase()
      .replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
  )
  const uncoded = UNCODED.get(status)
  return [...names, ...(uncoded === undefined ? [] : [uncoded.name])].join('Or')
}

const BODIES = new Map<string, z.ZodType>()

/** The body of the answers of one status: the same schema for the same codes. */
export function failureBody(status: number, codes: readonly Code[]): z.ZodType {
  const name = nameOf(status, codes)
  const body = BODIES.get(name) ?? makeBody(name, status, codes)
  BODIES.set(name, body)
  return body
}

function makeBody(name: string, status: number, codes: readonly Code[]): z.ZodType {
  const uncoded = UNCODED.get(status)
  const [first, ...others] = codes.map(refusal)
  if (uncoded === undefined) {
    assert(first !== undefined)
    if (others.length === 0) return first
    const meta = { id: `${name}Error`, description: 'A refusal; `code` says which.' }
    return z.discriminatedUnion('code', [first, ...others]).meta(meta)
  }
  // Both share a shape: only the missing code tells them apart.
  assert(others.length === 0)
  const data = uncoded.data ?? first?.shape['data']
  return envelope(`${name}Error`, meaningOf(status, codes), {
    ...(first && { code: first.shape['code'].optional() }),
    ...common(status, uncoded.message),
    ...(data && { data: first === undefined ? data : data.optional() }),
  })
}

function refusal(code: Code): z.ZodObject {
  const known = REFUSALS.get(code) ?? makeRefusal(code)
  REFUSALS.set(code, known)
  return known
}

function makeRefusal(code: Code): z.ZodObject {
  const data: z.ZodObject | undefined = new Map(Object.entries(DATA)).get(code)
  const name = nameOf(0, [code])
  const named = data?.meta({ id: `${name}Data`, description: `Details of \`${code}\`.` })
  return envelope(`${name}Error`, `${MEANING[code]}.`, {
    code: z.literal(code).describe('The code for clients to branch on.'),
    ...common(STATUS[code], MEANING[code]),
    ...(named && { data: named }),
  })
}

function common(status: number, message: string): { status: z.ZodType; message: z.ZodType } {
  return {
    status: z.literal(status).describe('The status of the answer.'),
    message: z.string().meta({ description: 'The reason, for people.', examples: [message] }),
  }
}

function envelope(id: string, description: string, shape: z.ZodRawShape): z.ZodObject {
  return z.object(shape).meta({ id, description })
}
