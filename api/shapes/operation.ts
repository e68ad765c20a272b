import { z } from 'zod'

import {
  DeliverySelection,
  EventSelection,
  OPERATION_KINDS,
  OPERATION_STATUSES,
  type Selected,
} from '../../core/actions/operation.ts'
import { timestamp } from '../../core/clock.ts'
import type { Operation as Row } from '../../core/db/operations/operations.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import { SEARCH_LENGTH_MAX } from '../../core/limits.ts'
import { Id, IdInput, Moment, Timestamp } from '../fields.ts'
import { DELIVERY_STATUSES, ErrorCode, moment } from './delivery.ts'
import { EVENT_STATUSES } from './event.ts'

/** Nobody retries everything by accident. What has other faults is not called empty. */
const NOT_EMPTY = {
  message: 'Expected at least one member: nothing is done to everything',
  when: ({ issues }: { issues: readonly unknown[] }) => issues.length === 0,
}

/** The filters of `GET /v1/deliveries`. */
const DeliveryFilter = z
  .strictObject({
    status: z.enum(DELIVERY_STATUSES).optional(),
    eventId: IdInput('evt').optional(),
    connectionId: IdInput('con').optional(),
    destinationId: IdInput('dst').optional(),
    sourceId: IdInput('src').optional(),
    errorCode: ErrorCode.optional(),
    responseStatus: z
      .union([
        z.int().min(100).max(599),
        z.string().regex(/^[1-5]xx$/, 'Expected a status as 503 or a class as 5xx'),
      ])
      .optional(),
    from: Moment.optional(),
    to: Moment.optional(),
  })
  .refine((filter) => Object.keys(filter).length > 0, NOT_EMPTY)
  .meta({ id: 'OperationDeliveryFilter' })

/** The filters of `GET /v1/events`. */
const EventFilter = z
  .strictObject({
    sourceId: IdInput('src').optional(),
    status: z.enum(EVENT_STATUSES).optional(),
    search: z.string().min(1).max(SEARCH_LENGTH_MAX).optional(),
    from: Moment.optional(),
    to: Moment.optional(),
  })
  .refine((filter) => Object.keys(filter).length > 0, NOT_EMPTY)
  .meta({ id: 'OperationEventFilter' })

export const NewOperation = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('retry'), filter: DeliveryFilter }),
    z.strictObject({ kind: z.literal('replay'), filter: EventFilter }),
    z.strictObject({ kind: z.literal('cancel'), filter: DeliveryFilter }),
  ])
  .meta({ id: 'NewOperation' })

const Kind = z.enum(OPERATION_KINDS)
const Status = z.enum(OPERATION_STATUSES)
const matched = z
  .int()
  .meta({ description: 'How many it is about; at least so many if truncated.' })
const truncated = z.boolean().meta({ description: 'There are more than were counted.' })

export const OperationPlan = z
  .object({ kind: Kind, matched, truncated })
  .meta({ id: 'OperationPlan' })

export const Operation = z
  .object({
    id: Id('opr'),
    projectId: Id('prj'),
    kind: Kind,
    status: Status,
    filter: z
      .record(z.string(), z.union([z.string(), z.int()]))
      .meta({ description: 'As it was given; `to` is when the operation was made, or earlier.' }),
    matched,
    truncated,
    processed: z.int().meta({ description: 'How many it has come to, failed ones included.' }),
    failed: z.int().meta({ description: 'Of those processed: what could not be done.' }),
    failures: z
      .record(z.string(), z.int())
      .meta({ description: 'The failed ones, counted by why they failed.' }),
    createdAt: Timestamp,
    finishedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Operation' })

/** `to` ends no later than now, so that what an operation makes is never part of it. */
export function selectedOfBody(wish: z.output<typeof NewOperation>, nowMs: number): Selected {
  const { from, to } = wish.filter
  const bounds = {
    ...(from !== undefined && { fromMs: from }),
    toMs: Math.min(to ?? nowMs, nowMs),
  }
  if (wish.kind === 'replay') {
    const { from: _from, to: _to, ...members } = wish.filter
    return { kind: wish.kind, selection: EventSelection.parse({ ...members, ...bounds }) }
  }
  const { from: _from, to: _to, responseStatus, ...members } = wish.filter
  const response = {
    ...(typeof responseStatus === 'string' && { responseClass: Number(responseStatus[0]) }),
    ...(typeof responseStatus === 'number' && { responseStatus }),
  }
  const given = { ...members, ...response, ...bounds }
  return { kind: wish.kind, selection: DeliverySelection.parse(given) }
}

export function viewOperation(row: Row): z.output<typeof Operation> {
  return Operation.parse({
    id: encodeId('opr', row.id),
    projectId: encodeId('prj', row.projectId),
    kind: row.kind,
    status: row.status,
    filter: viewFilter(row.selection),
    matched: row.matched,
    truncated: row.isTruncated,
    processed: row.processed,
    failed: Object.values(row.failures).reduce((sum, count) => sum + count, 0),
    failures: row.failures,
    createdAt: timestamp(timeOfId(row.id)),
    finishedAt: moment(row.finishedAt),
  })
}

/** The members of a filter that are ids, by what they name. */
const PREFIX = {
  eventId: 'evt',
  connectionId: 'con',
  destinationId: 'dst',
  sourceId: 'src',
} as const

function viewFilter(selection: Record<string, unknown>): Record<string, unknown> {
  const { fromMs, toMs, responseClass, ...rest } = selection
  const ids = Object.entries(PREFIX).flatMap(([member, prefix]) => {
    const id = rest[member]
    return typeof id === 'string' ? [[member, encodeId(prefix, id)] as const] : []
  })
  return {
    ...rest,
    ...Object.fromEntries(ids),
    ...(typeof responseClass === 'number' && { responseStatus: `${responseClass}xx` }),
    ...(typeof fromMs === 'number' && { from: timestamp(fromMs) }),
    ...(typeof toMs === 'number' && { to: timestamp(toMs) }),
  }
}
