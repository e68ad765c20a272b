import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Attempt as Row } from '../../core/db/deliveries/read/attempts.ts'
import { parseHeaders, type Header } from '../../core/delivery/delivery-headers.ts'
import { ATTEMPT_OUTCOMES, ATTEMPT_TRIGGERS } from '../../core/delivery/states.ts'
import { encodeId } from '../../core/ids.ts'
import { decodeText } from '../../core/request/text.ts'
import { Id, Timestamp } from '../http/fields.ts'
import { Delivery, ErrorCode, milliseconds } from './shape.ts'

const Pair = z.tuple([z.string(), z.string()]).meta({
  id: 'Pair',
  description: 'A name and its value.',
  examples: [['content-type', 'text/plain']],
})

/** Header names and values as they were on the wire, in order. */
export const Pairs = z
  .array(Pair)
  .meta({ id: 'Pairs', description: 'Names and values in the order in which they came.' })

/** Headers as people read them; they are kept and sent as bytes. */
export function asText(headers: readonly Header[]): z.output<typeof Pairs> {
  return headers.map(([name, value]) => [name, decodeText(value)])
}

const Duration = z.number().nullable()

const Phases = z
  .object({
    dnsMs: Duration.describe('Looking up the host name; null when there was none to look up.'),
    connectMs: Duration.describe('Opening the connection; null when one was open already.'),
    tlsMs: Duration.describe('The TLS handshake; null without one.'),
    firstByteMs: Duration.describe('From the request to the first byte of its answer.'),
    totalMs: z.number().describe('The whole attempt.'),
  })
  .meta({
    id: 'AttemptPhases',
    description: 'How long each part of an attempt took, in milliseconds.',
  })

export const Attempt = z
  .object({
    id: Id('att').describe('Begins with `att_`; unique among the attempts of all deliveries.'),
    deliveryId: Id('dlv').describe('The delivery that it belongs to.'),
    number: z.int().describe('Its place among the attempts of the delivery, from 1.'),
    trigger: z
      .enum(ATTEMPT_TRIGGERS)
      .describe(
        'Who asked for it: the delivery itself, its retry policy, a retry by hand, or an operation.',
      ),
    startedAt: Timestamp.describe('When it began.'),
    durationMs: z.number().describe('How long it took, in milliseconds.'),
    phases: Phases,
    requestUrl: z.string().describe('The URL that was called.'),
    requestHeaders: Pairs.describe('The headers that were sent, with secrets masked.'),
    responseStatus: z.int().nullable().describe('The status of the answer; null without one.'),
    responseHeaders: Pairs.describe('The headers of the answer.'),
    responseBody: z
      .string()
      .nullable()
      .describe('The first 16 KiB of the answer’s body; null without an answer.'),
    errorCode: ErrorCode.nullable().describe('Why it failed; null when it did not.'),
    replicaId: Id('rpl')
      .nullable()
      .describe('The replica of a connector that carried it; null for a public destination.'),
    outcome: z
      .enum(ATTEMPT_OUTCOMES)
      .describe('`busy`: the destination asked for later, which spends no attempt.'),
  })
  .meta({ id: 'Attempt', description: 'A request to a destination, with its answer or its error.' })

export const DeliveryWithAttempts = Delivery.extend({
  attempts: z.array(Attempt).describe('Its attempts, the first one first.'),
}).meta({ id: 'DeliveryWithAttempts', description: 'A delivery with every attempt of it.' })

/** `requestHeaders` are not stored; they are rebuilt from the event and the attempt. */
export function viewAttempt(
  row: Row,
  requestHeaders: [string, string][],
): z.output<typeof Attempt> {
  const durationMs = milliseconds(row.durationMs) ?? 0
  return {
    id: encodeId('att', row.id),
    deliveryId: encodeId('dlv', row.deliveryId),
    number: row.number,
    trigger: row.trigger,
    startedAt: timestamp(row.startedAt.getTime()),
    durationMs,
    phases: {
      dnsMs: milliseconds(row.dnsMs),
      connectMs: milliseconds(row.connectMs),
      tlsMs: milliseconds(row.tlsMs),
      firstByteMs: milliseconds(row.firstByteMs),
      totalMs: durationMs,
    },
    requestUrl: row.url,
    requestHeaders,
    responseStatus: row.responseStatus,
    responseHeaders: asText(parseHeaders(row.responseHeaders ?? '[]')),
    responseBody: row.responseBody?.toString('utf8') ?? null,
    errorCode: row.errorCode,
    replicaId: row.replicaId === null ? null : encodeId('rpl', row.replicaId),
    outcome: row.outcome,
  }
}
