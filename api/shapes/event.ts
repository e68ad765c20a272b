import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Event as Row, EventSummary as SummaryRow } from '../../core/db/events/events.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import { parsePayload, parseQuery } from '../../core/match/payload.ts'
import { REJECTION_REASONS } from '../../core/verify/request.ts'
import { Id, Timestamp } from '../fields.ts'
import { Pairs } from './attempt.ts'
import { Delivery } from './delivery.ts'

/** (spec: Event status; the last two are no longer written) */
export const EVENT_STATUSES = [
  'received',
  'filtered',
  'unmatched',
  'rejected',
  'duplicate',
  'pending',
] as const

export const EventSummary = z
  .object({
    id: Id('evt'),
    sourceId: Id('src'),
    projectId: Id('prj'),
    status: z.enum(EVENT_STATUSES),
    eventType: z.string().nullable(),
    idempotencyKey: z.string().optional(),
    rejectionReason: z.enum(REJECTION_REASONS).optional(),
    verifiedWith: z.string(),
    method: z.string(),
    path: z.string(),
    contentType: z.string().nullable(),
    sizeBytes: z.int(),
    isBinary: z.boolean(),
    remoteIp: z.string(),
    createdAt: Timestamp,
  })
  .meta({ id: 'EventSummary' })

export const Event = EventSummary.extend({
  headers: Pairs,
  query: Pairs,
  payload: z.unknown(),
  raw: z.string(),
  rawBase64: z.string(),
  deliveries: z.array(Delivery),
}).meta({ id: 'Event' })

export function viewEventSummary(row: SummaryRow): z.output<typeof EventSummary> {
  return EventSummary.parse({
    id: encodeId('evt', row.id),
    sourceId: encodeId('src', row.sourceId),
    projectId: encodeId('prj', row.projectId),
    status: row.status,
    eventType: row.eventType,
    ...(row.idempotencyKey !== null && { idempotencyKey: row.idempotencyKey }),
    ...(row.rejectionReason !== null && { rejectionReason: row.rejectionReason }),
    verifiedWith: row.verifiedWith,
    method: row.method,
    path: row.path,
    contentType: row.contentType,
    sizeBytes: row.sizeBytes,
    isBinary: row.isBinary,
    remoteIp: row.remoteIp,
    createdAt: timestamp(timeOfId(row.id)),
  })
}

export function viewEvent(
  row: Row,
  deliveries: z.output<typeof Delivery>[],
): z.output<typeof Event> {
  return {
    ...viewEventSummary(row),
    headers: Pairs.parse(JSON.parse(row.headers)),
    query: parseQuery(row.query),
    payload: parsePayload(row.contentType, row.raw),
    raw: row.raw.toString('utf8'),
    rawBase64: row.raw.toString('base64'),
    deliveries,
  }
}
