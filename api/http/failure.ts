import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'

import { PasswordsBusy } from '../../core/accounts/password.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { isDatabaseAway } from '../../core/db/connection/failures.ts'
import { stateOf } from '../../core/db/moving/organisation-states.ts'
import { Refusal, refuse, STATUS, type Code, type FieldFault } from '../../core/errors.ts'
import { encodeId, type Prefix } from '../../core/ids.ts'
import { API_WINDOW_SECONDS, FAULT_LENGTH_MAX, FAULTS_MAX } from '../../core/limits.ts'
import { KeysBusy } from '../../core/verify/keys.ts'
import { rateHeaders, TooManyRequests } from '../auth/rate-limit.ts'
import type { Deps } from '../deps.ts'
import { KIND_OF } from './fields.ts'
import type { Answer } from './route.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that needs no key: its answers say nothing of a key's window. */
    isPublic?: boolean
  }
}

/** A move takes minutes. */
const MOVING_RETRY_SECONDS = 60

/** A client may try again as soon as PostgreSQL or a worker has had time to restart. */
const RETRY_AFTER_SECONDS = 2

/** All faults of a request, each at its longest. */
const MESSAGE_LENGTH_MAX = FAULTS_MAX * (2 * FAULT_LENGTH_MAX + 4)

/** A part of the installation that the answer needs does not answer: the same request may pass a moment later. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

/** The organisation is being moved to another installation: nothing of it is changed meanwhile. */
class Moving extends Error {
  override readonly name = 'Moving'
  override readonly message = 'The organisation is moving to another installation, try again later'
}

/** Parts of this installation that are not there for a moment. */
const BUSY = [Unavailable, KeysBusy, PasswordsBusy]

const codes = new WeakMap<FastifyRequest, string>()

/** The error code that a request was refused with. */
export function codeOf(request: FastifyRequest): string | undefined {
  return codes.get(request)
}

/** The only voice of the API's failures: every thrown thing leaves through here in one envelope. (spec: Envelopes) */
export async function sendFailure(
  { log, requestsPerMinute }: Pick<Deps, 'log' | 'requestsPerMinute'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.header('x-request-id', request.id)
  if (needsKey(request) && !reply.hasHeader('x-ratelimit-limit')) {
    // Without a valid key nothing was counted: show the full window.
    const resetSeconds = API_WINDOW_SECONDS
    void reply.headers(
      rateHeaders({ limit: requestsPerMinute, left: requestsPerMinute, resetSeconds }),
    )
  }
  const { status, body, code, retryAfterSeconds, isOurs } = failureOf(error, request.id)
  if (code !== undefined) codes.set(request, code)
  if (retryAfterSeconds !== undefined) void reply.header('retry-after', retryAfterSeconds)
  const [path] = request.url.split('?', 1)
  if (isOurs) log.error({ err: error, requestId: request.id, path }, 'Cannot answer a request')
  return await reply.code(status).send(body)
}

/** A thrown thing as its client is told of it. */
interface Failure {
  status: number
  body: unknown
  code?: Code
  retryAfterSeconds?: number | undefined
  /** The fault of this installation, to be logged. */
  isOurs: boolean
}

export function failureOf(error: unknown, requestId: string): Failure {
  if (error instanceof TooManyRequests) {
    const { message, retryAfterSeconds } = error
    return { status: 429, body: { status: 429, message }, retryAfterSeconds, isOurs: false }
  }
  const refusal = asRefusal(error)
  if (refusal !== undefined) {
    const retryAfterSeconds = waitOf(refusal)
    return { ...answerTo(refusal), code: refusal.code, retryAfterSeconds, isOurs: false }
  }
  if (error instanceof Moving) {
    const body = { status: 503, message: error.message, data: { requestId } }
    return { status: 503, body, retryAfterSeconds: MOVING_RETRY_SECONDS, isOurs: false }
  }
  const busy =
    error instanceof Error && BUSY.some((one) => error instanceof one) ? error : undefined
  const isAway = busy !== undefined || isDatabaseAway(error)
  const status = isAway ? 503 : 500
  const away = busy?.message ?? 'Database is not available'
  const message = isAway ? away : 'Internal error'
  const body = { status, message, data: { requestId } }
  return { status, body, retryAfterSeconds: isAway ? RETRY_AFTER_SECONDS : undefined, isOurs: true }
}

/** When a client that was refused for its haste may come again. */
function waitOf({ data }: Refusal): number | undefined {
  return data !== undefined && 'retryAfterSeconds' in data ? data.retryAfterSeconds : undefined
}

function needsKey({ url, routeOptions }: FastifyRequest): boolean {
  const config: FastifyContextConfig | undefined = routeOptions.config
  return url.startsWith('/v1/') && config?.isPublic !== true
}

/** The answer to a refusal; undefined when the fault is not the client's. */
export function answerOf(error: unknown): Answer | undefined {
  const refusal = asRefusal(error)
  return refusal && answerTo(refusal)
}

function answerTo(refusal: Refusal): { status: number; body: unknown } {
  const { code, data } = refusal
  const message = shortened(refusal.message, MESSAGE_LENGTH_MAX)
  const status = STATUS[code]
  return { status, body: { code, status, message, ...(data && { data }) } }
}

/** The first faults of one part of a request, each with the path of its member. */
export function faultsOf(part: 'query' | 'body', error: z.ZodError): FieldFault[] {
  const faults: FieldFault[] = []
  for (const issue of error.issues) {
    faults.push(...faultsOfIssue(part, issue))
    if (faults.length >= FAULTS_MAX) break
  }
  return faults.slice(0, FAULTS_MAX)
}

/** A client needs the first few, and not the whole of a name or value that it sent. */
export function badRequest(faults: readonly FieldFault[]): Refusal {
  const fields = faults.slice(0, FAULTS_MAX).map(({ path, message }) => ({
    path: shortened(path, FAULT_LENGTH_MAX),
    message: shortened(message, FAULT_LENGTH_MAX),
  }))
  const texts = fields.map(({ path, message }) => `${path}: ${message}`)
  return new Refusal('BAD_REQUEST', texts.join('; '), { fields })
}

/** Refuses changes of an organisation that is being moved. */
export async function refuseMoving(db: Db, organisationId: string): Promise<void> {
  const state = await stateOf(db, organisationId)
  if (state !== undefined && state !== 'running') throw new Moving()
}

/** Absent and foreign are one answer. (spec: NOT_FOUND) */
export function refuseMissing(prefix: Prefix, id: string): never {
  refuse('NOT_FOUND', `Cannot find ${KIND_OF[prefix]} "${encodeId(prefix, id)}"`)
}

/** The ways a request is the client's fault: ours, and Fastify's own parser and router. */
function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) {
    const { data } = error
    return data !== undefined && 'fields' in data ? badRequest(data.fields) : error
  }
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined
  if (typeof error.statusCode !== 'number' || error.statusCode >= 500) return undefined
  const path = 'code' in error && String(error.code).startsWith('FST_ERR_CTP') ? 'body' : 'path'
  return badRequest([{ path, message: error.message }])
}

function faultsOfIssue(part: string, issue: z.core.$ZodIssue): FieldFault[] {
  const path = [part, ...issue.path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, FAULTS_MAX)
      .map((key) => ({ path: `${path}.${key}`, message: 'Unknown member' }))
  }
  if (issue.code === 'invalid_union') {
    // The client most likely meant the alternative that matched furthest.
    const [closest] = issue.errors.toSorted((a, b) => deepest(b) - deepest(a))
    const nested = closest
      ?.slice(0, FAULTS_MAX)
      .flatMap((inner) => faultsOfIssue(part, { ...inner, path: [...issue.path, ...inner.path] }))
    if (nested !== undefined && nested.length > 0) return nested
  }
  return [{ path, message: issue.message }]
}

function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
}

function deepest(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((depth, issue) => Math.max(depth, issue.path.length), 0)
}
