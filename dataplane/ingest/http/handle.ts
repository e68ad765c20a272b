import type { IncomingMessage } from 'node:http'

import type { Clock } from '../../../core/clock.ts'
import { HOPS_HEADER, hopsOf } from '../../../core/delivery/hops.ts'
import { isClosing } from '../../../core/http/gentle-close.ts'
import { BODY_BYTES_PER_SECOND_MIN, HOPS_MAX } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import { nowDoing } from '../../../core/loop/watch.ts'
import { hasNul } from '../../../core/request/text.ts'
import { KeysBusy, verifyWithKeys, type KeyStore } from '../../../core/verify/keys.ts'
import { presetOf } from '../../../core/verify/presets/presets.ts'
import {
  rejected,
  type SignedRequest,
  type Verdict,
} from '../../../core/verify/request/signed-request.ts'
import { acceptEvent, type Received } from '../accept/accept.ts'
import type { IngestRequest } from '../accept/event.ts'
import type { IngestMetrics } from '../accept/ingest-metrics.ts'
import { reject, type RejectDeps } from '../accept/reject.ts'
import type { IngestSource, Sources } from '../accept/sources.ts'
import type { IngestLimits, Reached } from '../budgets/limits.ts'
import type { IngestTraces } from '../trace/ingest-traces.ts'
import { answerTo, moved, plainRefusal, refusal, unavailable, type Answer } from './answer.ts'
import type { BodyReader } from './body.ts'
import type { Handshakes } from './handshakes.ts'
import { report } from './report.ts'
import { readRequest } from './request.ts'
import { isInOverlap, type SecretUsage } from './secret-usage.ts'

export interface HandleDeps extends RejectDeps {
  clock: Clock
  /** Gets a line for each request. */
  requestLog: Logger
  metrics: IngestMetrics
  sources: Sources
  limits: IngestLimits
  bodies: BodyReader
  keys: KeyStore
  handshakes: Handshakes
  secretUsage: SecretUsage
  /** The public origin of ingest: signatures that cover the URL are made over it, never over the Host header. */
  ingestUrl: string
}

/** A request on its way through the checks. */
interface Passing {
  source: IngestSource
  request: IngestRequest
}

/** The order of the checks is the specification's: mask, method, kind, limits, size, NUL bytes, verification, then the store. */
export async function handle(
  deps: HandleDeps,
  raw: IncomingMessage,
  caller: { target: string; remoteIp: string },
): Promise<Answer> {
  const startedAt = performance.now()
  deps.metrics.inFlight++
  const request = readRequest(raw, caller)
  const { method, remoteIp } = request
  let source: IngestSource | undefined
  let answer: Answer
  try {
    const found = deps.sources.get(request.maskId)
    source = found instanceof Promise ? await found : found
    answer =
      source?.isEnabled === true
        ? await passChecks(deps, raw, { source, request })
        : closing(refusal('NOT_FOUND', 'There is no source at this address'))
  } catch (err) {
    if (!(err instanceof KeysBusy)) deps.log.warn({ err }, 'Cannot handle a request')
    answer = closing(unavailable())
  }
  deps.metrics.inFlight--
  // A body that broke off or came too late was answered, and reported, at the edge.
  const isReported = answer.outcome === 'aborted' && isClosing(raw.socket)
  if (!isReported) report(deps, answer, { method, remoteIp, sourceId: source?.id, startedAt })
  if (deps.traces !== undefined) trace(deps.traces, answer, { request, source, startedAt })
  return answer
}

function trace(
  traces: IngestTraces,
  { outcome, status, reason, eventId }: Answer,
  asked: { request: IngestRequest; source: IngestSource | undefined; startedAt: number },
): void {
  const { request, source, startedAt } = asked
  const isOurs = status >= 500
  traces.answered({
    name: 'ingest request',
    headers: request.rawHeaders,
    eventId,
    sourceId: source?.id,
    remoteIp: request.remoteIp,
    outcome,
    attributes: {
      'http.request.method': request.method,
      'http.response.status_code': status,
      'error.type': isOurs ? String(status) : undefined,
    },
    fault: isOurs ? reason : undefined,
    startedAt,
  })
}

async function passChecks(
  deps: HandleDeps,
  raw: IncomingMessage,
  passing: Passing,
): Promise<Answer> {
  const { source, request } = passing
  if (source.isClosed) return closing(moved())
  if (request.method === 'HEAD') return { status: 200, headers: {}, body: '', outcome: 'head' }
  const isAllowed = source.allowedMethods.has(request.method)
  if (!isAllowed && !deps.handshakes.mayAnswer(source, request)) return closing(notAllowed(source))
  if (isAllowed && source.kind !== 'http') {
    const message = 'This source takes email, not webhooks'
    return closing(refusal('BAD_REQUEST', message, { fields: [] }))
  }
  if (hopsOf(request.headers[HOPS_HEADER]) > HOPS_MAX) return closing(loops())
  const reached = deps.limits.takeOf(source)
  if (reached !== undefined) return closing(rateLimited(reached))

  const read = await deps.bodies.read(raw, source, source.maxBytes)
  if (read.kind === 'too_large') return closing(tooLarge(source))
  if (read.kind === 'too_slow') return closing(tooSlow())
  if (read.kind === 'overloaded') return closing(overloaded())
  if (read.kind !== 'read') return { ...closing(unavailable()), outcome: 'aborted' }
  const { body } = read
  if (hasNul(body)) return refusal('UNSUPPORTED_BODY', 'The body contains NUL bytes')

  const signed = signedOf(deps, request, body)
  const asked = deps.handshakes.before(source, signed)
  const challenge = asked && (await asked)
  if (challenge !== undefined) return challenge
  if (!isAllowed) return notAllowed(source)
  return await verified(deps, passing, signed)
}

async function verified(
  deps: HandleDeps,
  passing: Passing,
  signed: SignedRequest,
): Promise<Answer> {
  const { source, request } = passing
  const startedAt = performance.now()
  nowDoing('verifying a request', startedAt)
  const judged = verdictOf(deps, source, signed)
  const verdict = judged instanceof Promise ? await judged : judged
  const verifiedAt = performance.now()
  nowDoing('reading and matching an event', verifiedAt)
  const received: Received = { source, request, signed, startedAt, verifiedAt }
  if (verdict.kind !== 'valid') {
    const rejection = verdict.kind === 'rejected' ? verdict : rejected('verifier_misconfigured')
    const eventId = await reject(deps, received, rejection)
    return { ...refusalOf(source), rejection, eventId }
  }
  deps.secretUsage.note(source, verdict.slot)
  const asked = deps.handshakes.after(source, signed, verdict.slot)
  const challenge = asked && (await asked)
  return challenge ?? answerTo(await acceptEvent(deps, received, verdict.once), source.response)
}

function refusalOf({ config }: IngestSource): Answer {
  const refused = refusal('UNAUTHORIZED', 'Signature verification failed')
  const isBare = config !== undefined && presetOf(config)?.refusesWithoutBody === true
  return isBare ? { ...refused, headers: {}, body: '' } : refused
}

/** Synchronous where no key has to be fetched, which is nearly always. */
function verdictOf(
  deps: HandleDeps,
  source: IngestSource,
  signed: SignedRequest,
): Verdict | Promise<Verdict> {
  const nowMs = deps.clock.now()
  const { overlap } = source
  const verifier =
    overlap !== undefined && isInOverlap(source, nowMs) ? overlap.verifier : source.verifier
  const keys = { store: deps.keys, holder: source.share }
  return verifyWithKeys(verifier, signed, nowMs, keys)
}

function signedOf(deps: HandleDeps, request: IngestRequest, body: Buffer): SignedRequest {
  const { method, fullPath, query, headers, rawHeaders, remoteIp } = request
  const url = `${deps.ingestUrl}${fullPath}${query === '' ? '' : `?${query}`}`
  return { method, url, path: fullPath, query, headers, rawHeaders, body, remoteIp }
}

/** (spec: Codes, RATE_LIMITED and the headers beside it) */
function rateLimited({ perSecond: limit, admission }: Reached): Answer {
  const { remaining, retryAfterSeconds } = admission
  const answer = refusal('RATE_LIMITED', `More than ${limit} requests a second`, {
    limit,
    remaining,
    retryAfterSeconds,
  })
  answer.headers['retry-after'] = String(retryAfterSeconds)
  answer.headers['x-ratelimit-limit'] = String(limit)
  answer.headers['x-ratelimit-remaining'] = String(remaining)
  return answer
}

/** A destination leads back to its own source, or many lead to one another. */
function loops(): Answer {
  const message = `must be at most ${HOPS_MAX}: the event has come through that many deliveries`
  const fields = [{ path: `headers.${HOPS_HEADER}`, message }]
  return refusal('BAD_REQUEST', `${HOPS_HEADER} ${message}`, { fields })
}

function tooLarge(source: IngestSource): Answer {
  return refusal('PAYLOAD_TOO_LARGE', `The body is larger than ${source.maxBytes / 1_024} KiB`)
}

function tooSlow(): Answer {
  return plainRefusal(408, `The body came at less than ${BODY_BYTES_PER_SECOND_MIN} bytes a second`)
}

function overloaded(): Answer {
  const message = 'More bodies arrive at once than there is room for, try again'
  return plainRefusal(503, message, { 'retry-after': '1' })
}

function notAllowed(source: IngestSource): Answer {
  const allowed = [...source.allowedMethods].join(', ')
  return plainRefusal(405, `This source takes ${allowed}`, { allow: allowed })
}

/** Closes the connection without reading the rest of the request. */
function closing(answer: Answer): Answer {
  return { ...answer, close: true }
}
