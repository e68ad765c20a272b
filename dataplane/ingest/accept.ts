import { isUtf8 } from 'node:buffer'

import type { Clock } from '../../core/clock.ts'
import { encodeId } from '../../core/ids.ts'
import type { Matchable } from '../../core/match/filter.ts'
import { cleanText, parsePayload, parseQuery } from '../../core/match/payload.ts'
import { dedupeKey, readSelector } from '../../core/match/selector.ts'
import type { EventNotices } from '../../core/stream/event-notices.ts'
import type { Rejection } from '../../core/verify/request.ts'
import type { Batcher } from '../batcher.ts'
import { duplicate, refusal, spooled, stored, unavailable, type Answer } from './answer.ts'
import { dispatch } from './dispatch.ts'
import { maskSecrets } from './mask.ts'
import { route, type Routing } from './match.ts'
import type { Publisher } from './publisher.ts'
import type { IngestRequest } from './request.ts'
import type { IngestSource } from './sources.ts'
import type { Incoming, StoreResult } from './store.ts'

export interface AcceptDeps {
  clock: Clock
  store: Batcher<Incoming, StoreResult>
  publisher: Publisher
  notices: EventNotices
  /** A source has taken an event. */
  noteEvent(source: IngestSource): void
}

/** A request whose body was read. */
export interface Received {
  source: IngestSource
  request: IngestRequest
  body: Buffer
  /** On the monotonic clock. */
  startedAt: number
  verifiedAt: number
}

const EVENT_TYPE_LENGTH_MAX = 255

/** Stores a verified request and dispatches its deliveries. The 200 is not given before the commit. */
export async function acceptEvent(deps: AcceptDeps, received: Received): Promise<Answer> {
  const { source, body } = received
  const matchable = matchableOf(received)
  const routing = route(source, matchable)
  const event = eventOf(received, { matchable, routing })
  const result = await deps.store.add(event, body.length)
  switch (result.kind) {
    case 'stored':
      deps.noteEvent(source)
      deps.notices.note(source.projectId)
      dispatch(deps.publisher, result.event, {
        sourceName: source.name,
        targets: routing.connections,
      })
      return stored(source.response, encodeId('evt', result.event.id))
    case 'spooled':
      deps.noteEvent(source)
      return spooled(source.response, encodeId('evt', result.id))
    case 'duplicate':
      return duplicate(source.response)
    case 'over_quota':
      return refusal('QUOTA_EXCEEDED', 'The delivery quota of this window is used up', {
        limit: result.limit,
        current: result.current,
        resetAt: new Date(result.resetAtMs).toISOString(),
      })
    case 'failed':
      return unavailable()
  }
}

/** Keeps a request that failed verification; false when it could not. Its sender learns nothing of it. */
export async function keepRejected(
  deps: AcceptDeps,
  received: Received,
  { reason, detail }: Rejection,
): Promise<boolean> {
  const event: Incoming = {
    ...commonOf(received),
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
  const { kind } = await deps.store.add(event, received.body.length)
  if (kind === 'stored') deps.notices.note(received.source.projectId)
  return kind === 'stored'
}

function matchableOf({ source, request, body }: Received): Matchable {
  let parsed: { value: unknown } | undefined
  const readable = {
    headers: request.headers,
    query: request.query === '' ? [] : parseQuery(request.query),
    payload: () =>
      (parsed ??= { value: parsePayload(request.headers['content-type'], body) }).value,
  }
  const eventType = source.eventType && readSelector(source.eventType, readable)
  return { ...readable, eventType: eventType === undefined ? null : shortText(eventType) }
}

function shortText(text: string): string {
  return cleanText(text).slice(0, EVENT_TYPE_LENGTH_MAX).toWellFormed()
}

function eventOf(
  received: Received,
  { matchable, routing }: { matchable: Matchable; routing: Routing },
): Incoming {
  const { source, verifiedAt } = received
  const keys = source.idempotencyKeys.map((selector) => readSelector(selector, matchable))
  return {
    ...commonOf(received),
    status: routing.status,
    eventType: matchable.eventType,
    dedupeKey: dedupeKey(keys) ?? null,
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

function commonOf({ source, request, body, startedAt, verifiedAt }: Received): Common {
  const { headers, query } = maskSecrets(source, request)
  return {
    class: source.retentionClass,
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
    contentType: request.headers['content-type'] ?? null,
    isBinary: !isUtf8(body),
    remoteIp: request.remoteIp,
    raw: body,
    verifiedUs: Math.round((verifiedAt - startedAt) * 1_000),
  }
}
