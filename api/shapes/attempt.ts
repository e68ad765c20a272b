import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Attempt as Row } from '../../core/db/deliveries/attempts.ts'
import { encodeId } from '../../core/ids.ts'
import { Id, Timestamp } from '../fields.ts'
import { ErrorCode, milliseconds } from './delivery.ts'

/** Header names and values as they were on the wire, in order. */
export const Pairs = z.array(z.tuple([z.string(), z.string()])).meta({ id: 'Pairs' })

export const Attempt = z
  .object({
    id: Id('att'),
    deliveryId: Id('dlv'),
    number: z.int(),
    trigger: z.enum(['initial', 'automatic', 'manual', 'bulk']),
    startedAt: Timestamp,
    durationMs: z.number(),
    phases: z.object({
      dnsMs: z.number().nullable(),
      connectMs: z.number().nullable(),
      tlsMs: z.number().nullable(),
      firstByteMs: z.number().nullable(),
      totalMs: z.number(),
    }),
    requestUrl: z.string(),
    requestHeaders: Pairs,
    responseStatus: z.int().nullable(),
    responseHeaders: Pairs,
    responseBody: z.string().nullable(),
    errorCode: ErrorCode.nullable(),
    replicaId: Id('rpl').nullable(),
    outcome: z.enum(['succeeded', 'failed', 'busy']),
  })
  .meta({ id: 'Attempt' })

/** `requestHeaders` are not stored: they are made again from what they were made of. */
export function viewAttempt(
  row: Row,
  requestHeaders: [string, string][],
): z.output<typeof Attempt> {
  const durationMs = milliseconds(row.durationMs) ?? 0
  return Attempt.parse({
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
    responseHeaders: row.responseHeaders === null ? [] : JSON.parse(row.responseHeaders),
    responseBody: row.responseBody?.toString('utf8') ?? null,
    errorCode: row.errorCode,
    replicaId: row.replicaId === null ? null : encodeId('rpl', row.replicaId),
    outcome: row.outcome,
  })
}
