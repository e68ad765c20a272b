import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'

import { isDatabaseAway } from '../core/db/failures.ts'
import { Refusal, refuse, STATUS, type FieldFault } from '../core/errors.ts'
import { encodeId, type Prefix } from '../core/ids.ts'
import type { Logger } from '../core/log.ts'
import { KIND_OF } from './fields.ts'
import { TooManyRequests } from './principal.ts'

/** A client may try again as soon as PostgreSQL has had time to restart. */
const RETRY_AFTER_SECONDS = 2

/** The only voice of the API's failures: every thrown thing leaves through here in one envelope. (spec: Envelopes) */
export async function sendFailure(
  log: Logger,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.header('x-request-id', request.id)
  if (error instanceof TooManyRequests) {
    return await reply.code(429).send({ status: 429, message: error.message })
  }
  const refusal = asRefusal(error)
  if (refusal !== undefined) {
    const { code, message, data } = refusal
    const status = STATUS[code]
    return await reply.code(status).send({ code, status, message, ...(data && { data }) })
  }
  const isAway = isDatabaseAway(error)
  log.error({ err: error, requestId: request.id, url: request.url }, 'Cannot answer a request')
  if (isAway) void reply.header('retry-after', RETRY_AFTER_SECONDS)
  const status = isAway ? 503 : 500
  const message = isAway ? 'Database is not available' : 'Internal error'
  return await reply.code(status).send({ status, message, data: { requestId: request.id } })
}

/** The faults of one part of a request, each with the path of its member. */
export function faultsOf(part: 'query' | 'body', error: z.ZodError): FieldFault[] {
  return error.issues.flatMap((issue) => faultsOfIssue(part, issue))
}

export function badRequest(fields: FieldFault[]): Refusal {
  const texts = fields.map(({ path, message }) => `${path}: ${message}`)
  return new Refusal('BAD_REQUEST', texts.join('; '), { fields })
}

/** Absent and foreign are one answer. (spec: NOT_FOUND) */
export function refuseMissing(prefix: Prefix, id: string): never {
  refuse('NOT_FOUND', `Cannot find ${KIND_OF[prefix]} "${encodeId(prefix, id)}"`)
}

/** The ways a request is the client's fault: ours, and Fastify's own parser and router. */
function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined
  if (typeof error.statusCode !== 'number' || error.statusCode >= 500) return undefined
  const path = 'code' in error && String(error.code).startsWith('FST_ERR_CTP') ? 'body' : 'path'
  return badRequest([{ path, message: error.message }])
}

function faultsOfIssue(part: string, issue: z.core.$ZodIssue): FieldFault[] {
  const path = [part, ...issue.path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: `${path}.${key}`, message: 'Unknown member' }))
  }
  if (issue.code === 'invalid_union') {
    // The alternative that came furthest is the one that was meant.
    const [closest] = issue.errors.toSorted((a, b) => deepest(b) - deepest(a))
    const nested = closest?.flatMap((inner) =>
      faultsOfIssue(part, { ...inner, path: [...issue.path, ...inner.path] }),
    )
    if (nested !== undefined && nested.length > 0) return nested
  }
  return [{ path, message: issue.message }]
}

function deepest(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map((issue) => issue.path.length))
}
