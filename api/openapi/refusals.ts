import { z } from 'zod'

import { STATUS, type Code, type Data } from '../../core/errors.ts'
import { Timestamp } from '../fields.ts'
import type { Components } from './components.ts'
import type { Json } from './json.ts'

/** When an operation of the management API answers with a code. (spec: Codes) */
const MEANING: Readonly<Record<Code, string>> = {
  BAD_REQUEST: 'A value is wrong; `data.fields` names each path and its fault',
  DESTINATION_NOT_PUBLIC: 'The URL resolves to a private or reserved address',
  UNAUTHORIZED: 'The key or token is missing, invalid, expired or revoked',
  FORBIDDEN: 'No organisation or project could be resolved',
  INSUFFICIENT_API_KEY_PERMISSIONS:
    'The permissions of the API key do not cover this; a retry does not help',
  CONNECTOR_LIMIT_REACHED: 'The connectors of the plan are used up',
  REPLICA_LIMIT_REACHED: 'The replicas of the plan are used up for this connector',
  CONNECTOR_REPLICA_REVOKED: 'The replica was revoked and has to enrol again',
  NEGOTIATED_PLAN_OVERRIDE: 'The organisation is on a negotiated plan',
  INVITATION_LIMIT_REACHED: 'The seats of the plan are used up',
  NOT_FOUND: 'There is none, or it belongs to another organisation or project',
  CONFLICT:
    'The present state forbids it; or the Idempotency-Key is in use or was sent with another request',
  CONNECTOR_PROVISIONING: 'The connector is still being provisioned',
  ROTATION_IN_USE: 'The new secret has already verified requests; `force` overrides',
  ROTATION_OVERLAP_ACTIVE: 'The previous secret is still accepted, until `data.expiresAt`',
  PAYLOAD_TOO_LARGE: 'The body exceeds the limit of the source',
  UNSUPPORTED_BODY: 'The body contains NUL bytes',
  QUOTA_EXCEEDED: 'The delivery quota of the window is used up, until `data.resetAt`',
  RATE_LIMITED: 'Too fast; repeat after `data.retryAfterSeconds`',
  ROTATION_USAGE_UNAVAILABLE: 'The uses of the new secret cannot be counted now; `force` overrides',
}

const MEANINGS: ReadonlyMap<string, string> = new Map(Object.entries(MEANING))

const Count = z.int().min(0)
const Used = z.object({ limit: Count, current: Count })

/** The compiler holds it equal to what code can refuse with. */
const DATA: { [C in keyof Data]: z.ZodType<Data[C]> } = {
  BAD_REQUEST: z.object({
    fields: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .min(1)
      .meta({ examples: [[{ path: 'query.limit', message: 'Expected at most 100' }]] }),
  }),
  CONNECTOR_LIMIT_REACHED: Used,
  REPLICA_LIMIT_REACHED: Used,
  CONNECTOR_REPLICA_REVOKED: z.object({
    reason: z.enum(['connector_deleted', 'replica_revoked', 'identity_absent']),
  }),
  ROTATION_IN_USE: z.object({ count: Count, lastSeenAt: Timestamp }),
  ROTATION_OVERLAP_ACTIVE: z.object({ expiresAt: Timestamp }),
  QUOTA_EXCEEDED: Used.extend({ resetAt: Timestamp }),
  RATE_LIMITED: z.object({ limit: Count, remaining: Count, retryAfterSeconds: Count }),
}

const TOO_MANY_REQUESTS = envelope('TooManyRequests', {
  status: z.literal(429),
  message: z.string().meta({ examples: ['More than 600 requests in a minute'] }),
})

const FAILURE = envelope('Failure', {
  status: z.union([z.literal(500), z.literal(503)]),
  message: z.string().meta({ examples: ['Internal error'] }),
  data: z.object({ requestId: z.uuid() }),
})

const REFUSALS: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(STATUS).map(([code, status]) => [code, refusal(code, status)]),
)

const UNCODED: Readonly<Record<string, { schema: z.ZodType; meaning: string }>> = {
  429: {
    schema: TOO_MANY_REQUESTS,
    meaning: 'More requests in a minute than one API key may make',
  },
  500: {
    schema: FAILURE,
    meaning: 'Not the request’s fault; `data.requestId` finds it in the log',
  },
  503: { schema: FAILURE, meaning: 'The database is not available; repeat after `Retry-After`' },
}

/** One response for each status: the codes it can carry, and the answer without one. (spec: Envelopes) */
export function failureResponses(
  codes: readonly Code[],
  components: Components,
): Record<string, { description: string; schema: Json }> {
  const statuses = new Set([...codes.map((code) => String(STATUS[code])), ...Object.keys(UNCODED)])
  return Object.fromEntries(
    [...statuses].toSorted().map((status) => {
      const coded = codes.filter((code) => String(STATUS[code]) === status)
      return [status, failureResponse(coded, UNCODED[status], components)]
    }),
  )
}

function failureResponse(
  codes: readonly Code[],
  uncoded: { schema: z.ZodType; meaning: string } | undefined,
  components: Components,
): { description: string; schema: Json } {
  const schemas = [
    ...codes.map((code) => REFUSALS.get(code)).filter((schema) => schema !== undefined),
    ...(uncoded === undefined ? [] : [uncoded.schema]),
  ].map((schema) => components.schema(schema, 'output'))
  const lines = [
    ...codes.map((code) => `\`${code}\`: ${MEANING[code]}.`),
    ...(uncoded === undefined
      ? []
      : [`${codes.length > 0 ? 'Without a code: ' : ''}${uncoded.meaning}.`]),
  ]
  const [only] = schemas
  const schema = schemas.length === 1 && only !== undefined ? only : { oneOf: schemas }
  return { description: lines.join('\n\n'), schema }
}

/** `NOT_FOUND` is `NotFoundError`. */
function refusal(code: string, status: number): z.ZodType {
  const data: z.ZodType | undefined = new Map(Object.entries(DATA)).get(code)
  const name = code
    .toLowerCase()
    .replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase())
  return envelope(`${name}Error`, {
    code: z.literal(code),
    status: z.literal(status),
    message: z.string().meta({ examples: [MEANINGS.get(code) ?? code] }),
    ...(data && { data }),
  })
}

function envelope(id: string, shape: z.ZodRawShape): z.ZodType {
  return z.object(shape).meta({ id })
}
