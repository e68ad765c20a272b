import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import {
  EVENT_STATUSES,
  type Event as Row,
  type EventSummary as SummaryRow,
} from '../../core/db/events/events.ts'
import { parseHeaders } from '../../core/delivery/delivery-headers.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import { Filter } from '../../core/match/filter.ts'
import { storedRequest } from '../../core/match/matchable.ts'
import { asText, Pairs } from '../deliveries/attempt-shape.ts'
import { Delivery } from '../deliveries/shape.ts'
import { Id, Timestamp } from '../http/fields.ts'
import { RejectionReason } from '../sources/rejection.ts'

export const EventStatus = z.enum(EVENT_STATUSES).meta({
  id: 'EventStatus',
  description:
    '`received`: at least one connection matched. `filtered`: the filters of all connections excluded it. `unmatched`: the source had no connection. `rejected`: it was not verified. Events never have `duplicate` and `pending`.',
})

export const EventTypeFilter = Filter.shape.eventTypes
  .unwrap()
  .element.optional()
  .describe('Only events of this type; `*` as the last character matches anything.')

export const EventSummary = z
  .object({
    id: Id('evt').describe('Begins with `evt_`; the answer of ingest has it as `eventId`.'),
    sourceId: Id('src').describe('The source that it came to.'),
    projectId: Id('prj').describe('The project of its source.'),
    status: EventStatus,
    eventType: z
      .string()
      .nullable()
      .describe('The value that the source’s `eventTypeField` selects, or null.'),
    idempotencyKey: z
      .string()
      .optional()
      .describe('The values that the source’s `idempotencyKeys` selected; absent without them.'),
    rejectionReason: RejectionReason.optional(),
    verifiedWith: z.string().describe('The preset or the type of the verifier at that time.'),
    method: z.string().describe('The method of the request; `MAIL` for a mail.'),
    path: z.string().describe('The path of the request below the ingest URL.'),
    contentType: z
      .string()
      .nullable()
      .describe('Its `content-type`; null without one. A mail has `message/rfc822`.'),
    sizeBytes: z.int().describe('The size of its body, or of the mail as it came.'),
    isBinary: z.boolean().describe('Its body, or the mail as it came, is no UTF-8 text.'),
    remoteIp: z.string().describe('The address that it came from.'),
    createdAt: Timestamp.describe('When it came.'),
  })
  .meta({ id: 'EventSummary', description: 'An event as lists show it, without its content.' })

export const Event = EventSummary.extend({
  headers: Pairs.describe('Its headers as they came, with secrets masked.'),
  query: Pairs.describe('Its query parameters as they came, with secrets masked.'),
  payload: z
    .unknown()
    .describe(
      'Its body, parsed: JSON, with its numbers as they were sent, or a form; else null. For a mail they are its parts: sender, recipients, subject, texts, attachments.',
    ),
  raw: z.string().describe('Its body as text; a mail is its source as it came (RFC 5322).'),
  rawBase64: z.string().describe('The same byte for byte, in base64.'),
  deliveries: z.array(Delivery).describe('Its newest deliveries, at most 100.'),
}).meta({ id: 'Event', description: 'A webhook as it came in, with its newest deliveries.' })

export function viewEventSummary(row: SummaryRow): z.output<typeof EventSummary> {
  return {
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
  }
}

/** All of an `Event` before its body and its deliveries. */
export function viewEventHead(
  row: Row,
): Omit<z.output<typeof Event>, 'payload' | 'raw' | 'rawBase64' | 'deliveries'> {
  const headers = parseHeaders(row.headers)
  const { query } = storedRequest({ ...row, headers, raw: NO_BODY })
  return {
    ...viewEventSummary(row),
    headers: asText(headers),
    query: query.map(([name, value]) => [name, value]),
  }
}

const NO_BODY = Buffer.alloc(0)

/** An event with the first bytes of its body alone. */
export function viewEventStart(
  row: Row,
  start: Buffer,
  deliveries: z.output<typeof Delivery>[],
): z.output<typeof Event> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const isCut = start.length < row.sizeBytes
  return {
    ...viewEventHead(row),
    payload: null,
    // A character that was cut in two is left out.
    raw: decoder.decode(start, { stream: isCut }),
    rawBase64: start.toString('base64'),
    deliveries,
  }
}
