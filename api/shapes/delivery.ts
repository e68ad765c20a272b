import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Delivery as Row } from '../../core/db/deliveries/deliveries.ts'
import { ATTEMPT_ERROR_CODES } from '../../core/delivery/attempt-error.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import { Id, Timestamp } from '../fields.ts'

export const DELIVERY_STATUSES = [
  'pending',
  'throttled',
  'in_flight',
  'succeeded',
  'failed',
  'cancelled',
] as const

export const ErrorCode = z.enum(ATTEMPT_ERROR_CODES).meta({ id: 'AttemptErrorCode' })

export const Delivery = z
  .object({
    id: Id('dlv'),
    eventId: Id('evt').nullable(),
    connectionId: Id('con').nullable(),
    destinationId: Id('dst'),
    sourceId: Id('src').nullable(),
    projectId: Id('prj'),
    status: z.enum(DELIVERY_STATUSES),
    trigger: z.enum(['ingest', 'replay', 'test']),
    attemptCount: z.int(),
    maxAttempts: z.int(),
    nextAttemptAt: Timestamp.nullable(),
    throttledReason: z.enum(['rate_limit', 'destination_busy']).nullable(),
    throttledAt: Timestamp.nullable(),
    lastError: z.string().nullable(),
    lastAttempt: z
      .object({
        at: Timestamp,
        responseStatus: z.int().nullable(),
        errorCode: ErrorCode.nullable(),
        durationMs: z.number().nullable(),
      })
      .nullable(),
    completedAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: 'Delivery' })

/** The states of a delivery in which a time for the next attempt means something. */
const WAITS: ReadonlySet<string> = new Set(['pending', 'throttled'])

export function viewDelivery(row: Row): z.output<typeof Delivery> {
  return Delivery.parse({
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
            at: moment(row.lastAttemptAt),
            responseStatus: row.lastResponseStatus,
            errorCode: row.lastErrorCode,
            durationMs: milliseconds(row.lastDurationMs),
          },
    completedAt: moment(row.completedAt),
    createdAt: timestamp(timeOfId(row.id)),
  })
}

export function moment(date: Date | null): string | null {
  return date === null ? null : timestamp(date.getTime())
}

/** Microseconds are as fine as the measurement is. */
export function milliseconds(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1000) / 1000
}
