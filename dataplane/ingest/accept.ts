import { isUtf8 } from 'node:buffer'

import type { Clock } from '../../core/clock.ts'
import type { NewEvent } from '../../core/db/store-events.ts'
import { encodeId, uuidOfBytes } from '../../core/ids.ts'
import type { Matchable } from '../../core/match/filter.ts'
import { cleanText, parsePayload, parseQuery } from '../../core/match/payload.ts'
import { dedupeKey, readSelector } from '../../core/match/selector.ts'
import { encodeDelivery, encodeEvent } from '../../core/stream/delivery-message.ts'
import type { EventNotices } from '../../core/stream/event-notices.ts'
import { deliverySubject } from '../../core/stream/subjects.ts'
import type { RejectionReason } from '../../core/verify/request.ts'
import type { Batcher } from '../batcher.ts'
import { duplicate, refusal, stored, unavailable, type Answer } from './answer.ts'
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
      dispatch(deps, source, result.event, routing)
      return stored(source.response, encodeId('evt', result.event.id))
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

/** Keeps a request that failed verification. Its sender learns nothing of it. */
export async function keepRejected(
  deps: AcceptDeps,
  received: Received,
  reason: RejectionReason,
): Promise<void> {
  const event: Incoming = {
    ...commonOf(received),
    status: 'rejected',
    eventType: null,
    dedupeKey: null,
    rejectionReason: reason,
    outcomes: null,
    matchedUs: 0,
    deliveries: [],
    quotaAt: () => null,
  }
  const { kind } = await deps.store.add(event, received.body.length)
  if (kind === 'stored') deps.notices.note(received.source.projectId)
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
    outcomes: routing.outcomes,
    matchedUs: Math.round((performance.now() - verifiedAt) * 1_000),
    deliveries: routing.connections.map((connection) => ({
      connectionId: connection.id,
      destinationId: connection.destinationId,
      maxAttempts: connection.maxAttempts,
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

function dispatch(
  deps: AcceptDeps,
  source: IngestSource,
  event: NewEvent,
  { connections }: Routing,
): void {
  if (connections.length === 0) return
  const encoded = encodeEvent(
    {
      id: uuidOfBytes(event.id),
      class: event.class,
      organisationId: event.organisationId,
      projectId: event.projectId,
      sourceId: event.sourceId,
      sourceName: source.name,
      verifiedWith: event.verifiedWith,
      remoteIp: event.remoteIp,
      headers: event.headers,
    },
    event.raw,
  )
  for (const [index, connection] of connections.entries()) {
    const delivery = event.deliveries[index]
    if (delivery === undefined) continue
    const message = encodeDelivery(encoded, {
      id: uuidOfBytes(delivery.id),
      connectionId: connection.id,
      destinationId: connection.destinationId,
      partition: connection.partition,
      maxAttempts: connection.maxAttempts,
      leaseUntilMs: event.leaseUntilMs,
    })
    deps.publisher.publish(deliverySubject(connection.partition), message)
  }
}
