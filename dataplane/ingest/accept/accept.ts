import { isUtf8 } from 'node:buffer'

import { matchableOf } from '../../../core/match/matchable.ts'
import { dedupeKey, readKey, readSelector } from '../../../core/match/selector.ts'
import type { EventNotices } from '../../../core/notices/event-notices.ts'
import { joinHeaders } from '../../../core/request/headers.ts'
import { parsedOf, type Parsed } from '../../../core/request/parsed.ts'
import { cleanText } from '../../../core/request/text.ts'
import type { Rejection, SignedRequest } from '../../../core/verify/request/signed-request.ts'
import type { IngestTraces } from '../trace/ingest-traces.ts'
import { dispatch } from './dispatch.ts'
import type { EventBatches } from './event-batches.ts'
import type { Incoming, IngestRequest, StoreResult } from './event.ts'
import { maskSecrets } from './mask.ts'
import { route, type Routing } from './match.ts'
import type { Publisher } from './publisher.ts'
import type { IngestSource } from './sources.ts'

export interface AcceptDeps {
  store: EventBatches
  publisher: Publisher
  notices: EventNotices
  /** Undefined while traces are off. */
  traces: IngestTraces | undefined
  /** A source has taken an event. */
  noteEvent(source: IngestSource): void
}

/** A request whose body was read. */
export interface Received {
  source: IngestSource
  request: IngestRequest
  /** The same as it was verified, with its body and with what was parsed of it. */
  signed: SignedRequest
  /** The source of a mail, whose body is made of it. */
  mail?: Buffer | null
  /** On the monotonic clock. */
  startedAt: number
  verifiedAt: number
}

const EVENT_TYPE_LENGTH_MAX = 255

/** The type of a mail's source, which its event shows as `raw`. */
const MAIL_TYPE = 'message/rfc822'

/**
 * Stores a verified request and dispatches its deliveries; a result is not there before the commit. `once` is what the
 * signature covers where that alone tells one event from another.
 */
export async function acceptEvent(
  deps: AcceptDeps,
  received: Received,
  once: string | undefined,
): Promise<StoreResult> {
  const { source } = received
  const masked = maskSecrets(source, received.request)
  const parsed = parsedWith(masked, received)
  const eventType = typeOf(source, parsed)
  const routing = route(source, matchableOf(parsed, eventType))
  const keys = once === undefined ? keysOf(source, parsed) : [once]
  const event = eventOf(received, masked, { eventType, routing, dedupeKey: dedupeKey(keys) })
  const askedAt = performance.now()
  const result = await deps.store.add(event, bytesOf(event))
  if (deps.traces !== undefined) traceStore(deps.traces, event, { result, askedAt })
  if (result.kind === 'stored' || result.kind === 'spooled') deps.noteEvent(source)
  if (result.kind === 'stored') {
    deps.notices.note(source.projectId)
    dispatch(deps, result.event)
  }
  return result
}

function traceStore(
  traces: IngestTraces,
  { headers }: Incoming,
  { result, askedAt }: { result: StoreResult; askedAt: number },
): void {
  if (result.kind === 'stored') {
    traces.stored({ id: result.event.id, headers }, askedAt, 'postgresql')
  } else if (result.kind === 'spooled') traces.stored({ id: result.id, headers }, askedAt, 'nats')
}

/** Keeps a request that failed verification: its id, undefined when it could not. Its sender learns nothing of it. */
export async function keepRejected(
  deps: AcceptDeps,
  received: Received,
  { reason, detail }: Rejection,
): Promise<Buffer | undefined> {
  const event: Incoming = {
    ...commonOf(received, maskSecrets(received.source, received.request)),
    status: 'rejected',
    eventType: null,
    dedupeKey: null,
    rejectionReason: reason,
    rejectionDetail: detail ?? null,
    outcomes: null,
    matchedUs: 0,
    deliveries: [],
    quotaAt: () => null,
  }
  const askedAt = performance.now()
  const result = await deps.store.add(event, bytesOf(event))
  if (deps.traces !== undefined) traceStore(deps.traces, event, { result, askedAt })
  if (result.kind !== 'stored') return undefined
  deps.notices.note(received.source.projectId)
  return result.event.id
}

function bytesOf({ raw, mail }: Incoming): number {
  return raw.length + (mail?.length ?? 0)
}

type Masked = ReturnType<typeof maskSecrets>

/** Selectors and filters see what is stored, so that a replay sees the same: a secret is masked for them too. */
function parsedWith(masked: Masked, { request, signed }: Received): Parsed {
  const isAsSigned = masked.headers === request.rawHeaders && masked.query === request.query
  if (isAsSigned) return parsedOf(signed)
  return parsedOf({ headers: joinHeaders(masked.headers), query: masked.query, body: signed.body })
}

function typeOf({ eventType }: IngestSource, parsed: Parsed): string | null {
  const text = eventType && readSelector(eventType, parsed)
  return text === undefined ? null : shortText(text)
}

function keysOf({ idempotencyKeys }: IngestSource, parsed: Parsed): (string | undefined)[] {
  return idempotencyKeys.map((selector) => readKey(selector, parsed))
}

function shortText(text: string): string {
  return cleanText(text).slice(0, EVENT_TYPE_LENGTH_MAX).toWellFormed()
}

function eventOf(
  received: Received,
  masked: Masked,
  found: { eventType: string | null; routing: Routing; dedupeKey: Buffer | undefined },
): Incoming {
  const { source, verifiedAt } = received
  const { routing } = found
  return {
    ...commonOf(received, masked),
    status: routing.status,
    eventType: found.eventType,
    dedupeKey: found.dedupeKey ?? null,
    rejectionReason: null,
    rejectionDetail: null,
    outcomes: routing.outcomes,
    matchedUs: Math.round((performance.now() - verifiedAt) * 1_000),
    deliveries: routing.connections.map((connection) => ({
      connectionId: connection.id,
      destinationId: connection.destinationId,
      maxAttempts: connection.maxAttempts,
      partition: connection.partition,
    })),
    quotaAt: source.quotaAt,
  }
}

type Common = Omit<
  Incoming,
  | 'quotaAt'
  | 'status'
  | 'eventType'
  | 'dedupeKey'
  | 'rejectionReason'
  | 'rejectionDetail'
  | 'outcomes'
  | 'matchedUs'
  | 'deliveries'
>

function commonOf(
  { source, request, signed: { body }, mail = null, startedAt, verifiedAt }: Received,
  { headers, query }: Masked,
): Common {
  return {
    retentionClass: source.retentionClass,
    organisationId: source.organisationId,
    projectId: source.projectId,
    sourceId: source.id,
    sourceName: source.name,
    maskId: request.maskId,
    verifiedWith: source.verifier.verifiedWith,
    method: request.method,
    path: request.path,
    query,
    headers: JSON.stringify(headers),
    contentType: mail === null ? (request.headers['content-type'] ?? null) : MAIL_TYPE,
    isBinary: !isUtf8(mail ?? body),
    remoteIp: request.remoteIp,
    raw: body,
    mail,
    verifiedUs: Math.round((verifiedAt - startedAt) * 1_000),
  }
}
