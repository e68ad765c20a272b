import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Delivery as Row } from '../../core/db/deliveries/read/deliveries.ts'
import { ATTEMPT_ERROR_CODES } from '../../core/delivery/attempt-error.ts'
import {
  DELIVERY_STATUSES,
  DELIVERY_TRIGGERS,
  THROTTLED_REASONS,
} from '../../core/delivery/states.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import { Id, Timestamp, moment } from '../http/fields.ts'

export const DeliveryStatus = z.enum(DELIVERY_STATUSES).meta({
  id: 'DeliveryStatus',
  description:
    'State of the delivery: waiting (`pending`), waiting because of pacing or a busy destination (`throttled`), with an attempt under way (`in_flight`), or ended.',
})

export const ErrorCode = z
  .enum(ATTEMPT_ERROR_CODES)
  .meta({ id: 'AttemptErrorCode', description: 'Why an attempt failed.' })

const LastAttempt = z
  .object({
    at: Timestamp.describe('When it began.'),
    responseStatus: z.int().nullable().describe('The status of the answer; null without one.'),
    errorCode: ErrorCode.nullable().describe('Why it failed; null when it did not.'),
    durationMs: z.number().nullable().describe('How long it took, in milliseconds.'),
  })
  .meta({ id: 'LastAttempt', description: 'The newest attempt of a delivery, in short.' })

export const Delivery = z
  .object({
    id: Id('dlv').describe('The id of the delivery, which destinations get as `webhook-id`.'),
    eventId: Id('evt').nullable().describe('The event; null for a test delivery.'),
    connectionId: Id('con').nullable().describe('The connection; null for a test delivery.'),
    destinationId: Id('dst').describe('The destination that it is sent to.'),
    sourceId: Id('src').nullable().describe('The source of the event; null for a test delivery.'),
    projectId: Id('prj').describe('The project of its destination.'),
    status: DeliveryStatus,
    trigger: z
      .enum(DELIVERY_TRIGGERS)
      .describe('Why it was created: an event, a replay or a test.'),
    attemptCount: z.int().describe('Attempts that were spent; a busy answer spends none.'),
    maxAttempts: z
      .int()
      .describe('Attempts that it may spend, by the retry policy that applies to it.'),
    nextAttemptAt: Timestamp.nullable().describe('When the next attempt is due; null if none is.'),
    throttledReason: z
      .enum(THROTTLED_REASONS)
      .nullable()
      .describe('Why it is throttled; null when it is not.'),
    throttledAt: Timestamp.nullable().describe(
      'When pacing or a busy destination first held it back; stays when it goes on. Null if nothing ever did.',
    ),
    lastError: z
      .string()
      .nullable()
      .describe(
        'Why it waits or failed: an error code of attempts, `destination_disabled`, or `connector_full` while all replicas of the connector have as many requests as they take.',
      ),
    lastAttempt: LastAttempt.nullable().describe('Its newest attempt; null before the first.'),
    completedAt: Timestamp.nullable().describe('When it ended; null before.'),
    createdAt: Timestamp.describe('When it was created.'),
  })
  .meta({ id: 'Delivery', description: 'An event on its way to a destination over a connection.' })

/** The states of a delivery in which a time for the next attempt means something. */
const WAITS: ReadonlySet<string> = new Set(['pending', 'throttled'])

export function viewDelivery(row: Row): z.output<typeof Delivery> {
  return {
    id: encodeId('dlv', row.id),
    eventId: row.eventId === null ? null : encodeId('evt', row.eventId),
    connectionId: row.connectionId === null ? null : encodeId('con', row.connectionId),
    destinationId: encodeId('dst', row.destinationId),
    sourceId: row.sourceId === null ? null : encodeId('src', row.sourceId),
    projectId: encodeId('prj', row.projectId),
    status: row.status,
    trigger: row.trigger,
    attemptCount: row.attemptCount,
    maxAttempts: row.maxAttempts,
    nextAttemptAt: WAITS.has(row.status) ? moment(row.nextAt) : null,
    throttledReason: row.throttledReason,
    throttledAt: moment(row.throttledAt),
    lastError: row.lastError,
    lastAttempt:
      row.lastAttemptAt === null
        ? null
        : {
            at: timestamp(row.lastAttemptAt.getTime()),
            responseStatus: row.lastResponseStatus,
            errorCode: row.lastErrorCode,
            durationMs: milliseconds(row.lastDurationMs),
          },
    completedAt: moment(row.completedAt),
    createdAt: timestamp(timeOfId(row.id)),
  }
}

/** Microseconds are as fine as the measurement is. */
export function milliseconds(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1000) / 1000
}
