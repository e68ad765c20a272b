import { z } from 'zod'

import type { OperationPlan as Planned } from '../../core/actions/operation-plan.ts'
import { timestamp } from '../../core/clock.ts'
import {
  DeliverySelection,
  EventSelection,
  OPERATION_KINDS,
  OPERATION_STATUSES,
  type OperationKind,
  type Selected,
} from '../../core/db/operations/operation-kinds.ts'
import type { Operation as Row } from '../../core/db/operations/operations.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import { SEARCH_LENGTH_MAX } from '../../core/limits.ts'
import { DeliveryStatus, ErrorCode } from '../deliveries/shape.ts'
import { EventStatus, EventTypeFilter } from '../events/shape.ts'
import { From, Id, IdInput, Timestamp, To, moment } from '../http/fields.ts'

/** Nobody retries everything by accident. An invalid filter is not called empty as well. */
const NOT_EMPTY = {
  message: 'Expected at least one member: nothing is done to everything',
  when: ({ issues }: { issues: readonly unknown[] }) => issues.length === 0,
}

const ResponseStatus = z
  .union([
    z.int().min(100).max(599),
    z.string().regex(/^[1-5]xx$/, 'Expected a status as 503 or a class as 5xx'),
  ])
  .meta({
    id: 'ResponseStatus',
    description: 'A status such as 503 or a class such as `5xx`.',
    examples: ['5xx'],
  })

/** The filters of `GET /v1/deliveries`. */
const DeliveryFilter = z
  .strictObject({
    status: DeliveryStatus.optional(),
    eventId: IdInput('evt').optional().describe('Only deliveries of this event.'),
    connectionId: IdInput('con').optional().describe('Only deliveries of this connection.'),
    destinationId: IdInput('dst').optional().describe('Only deliveries to this destination.'),
    sourceId: IdInput('src').optional().describe('Only deliveries of events of this source.'),
    errorCode: ErrorCode.optional(),
    responseStatus: ResponseStatus.optional(),
    from: From,
    to: To,
  })
  .refine((filter) => Object.keys(filter).length > 0, NOT_EMPTY)
  .meta({
    id: 'OperationDeliveryFilter',
    description: 'Selects deliveries, like the filters of their list. Needs at least one member.',
    minProperties: 1,
  })

/** The filters of `GET /v1/events`. */
const EventFilter = z
  .strictObject({
    sourceId: IdInput('src').optional().describe('Only events of this source.'),
    status: EventStatus.optional(),
    eventType: EventTypeFilter,
    search: z
      .string()
      .min(1)
      .max(SEARCH_LENGTH_MAX)
      .optional()
      .describe('Only events that contain this text.'),
    from: From,
    to: To,
  })
  .refine((filter) => Object.keys(filter).length > 0, NOT_EMPTY)
  .meta({
    id: 'OperationEventFilter',
    description: 'Selects events, like the filters of their list. Needs at least one member.',
    minProperties: 1,
  })

export const NewOperation = z
  .discriminatedUnion('kind', [
    z
      .strictObject({
        kind: z.literal('retry').describe('Attempts deliveries now.'),
        filter: DeliveryFilter,
      })
      .meta({ id: 'RetryOperationCreate', description: 'Deliveries to attempt now.' }),
    z
      .strictObject({
        kind: z.literal('replay').describe('Sends events again.'),
        filter: EventFilter,
      })
      .meta({ id: 'ReplayOperationCreate', description: 'Events to send again.' }),
    z
      .strictObject({
        kind: z.literal('cancel').describe('Cancels waiting deliveries.'),
        filter: DeliveryFilter,
      })
      .meta({ id: 'CancelOperationCreate', description: 'Waiting deliveries to cancel.' }),
  ])
  .meta({
    id: 'OperationCreate',
    description: 'An action, and a filter that selects its deliveries or events.',
  })

const Kind = z.enum(OPERATION_KINDS).meta({
  id: 'OperationKind',
  description: '`retry` and `cancel` act on deliveries, `replay` on events.',
})
const Status = z.enum(OPERATION_STATUSES).meta({
  id: 'OperationStatus',
  description: '`running` until every match was processed or somebody cancels it.',
})
const matched = z
  .int()
  .meta({ description: 'The number of matches; a lower bound if `truncated`.' })
const truncated = z.boolean().meta({ description: 'There are more matches than were counted.' })

/** Destinations that a plan names. */
const PLANNED_DESTINATIONS_MAX = 100

const seconds = z.int().nullable()

const PlannedDestination = z
  .object({
    destinationId: Id('dst').describe('Where the deliveries go.'),
    deliveries: z.int().describe('The deliveries of the operation that go there.'),
    isEnabled: z.boolean().describe('False: they wait until it is enabled.'),
    seconds: seconds.describe('How long its rate limit takes for them; null without one.'),
  })
  .meta({ id: 'PlannedDestination', description: 'The part of an operation of one destination.' })

export const OperationPlan = z
  .object({
    kind: Kind,
    matched,
    truncated,
    oldestAt: Timestamp.nullable().describe('When the oldest match was created; null without any.'),
    newestAt: Timestamp.nullable().describe(
      'When the newest match was created, of those that were counted; null without any.',
    ),
    refused: z
      .record(z.string(), z.int())
      .describe(
        'The matches that the action would refuse now, counted by reason: `past_retention`, `rejected`, `duplicate`, `test_delivery`, `destination_deleted`, `connection_deleted` or the status of a delivery.',
      ),
    deliveries: z.int().describe('The deliveries that it would attempt, make or cancel.'),
    isUpperBound: z
      .boolean()
      .describe('Filters of connections may keep some of the `deliveries` back.'),
    quotaDeliveries: z
      .int()
      .describe('How many of them count against the quota: all of a replay, none of the others.'),
    destinations: z
      .array(PlannedDestination)
      .describe(
        `Where they go, most of them first: at most ${PLANNED_DESTINATIONS_MAX} of \`destinationCount\`.`,
      ),
    destinationCount: z.int().describe('The number of destinations that they go to.'),
    seconds: seconds.describe(
      'How long the rate limits of destinations and plan take, if nothing else is sent; null if nothing is paced.',
    ),
  })
  .meta({
    id: 'OperationPlan',
    description:
      'How far an operation would reach if it began now, as far as it was counted: with `truncated`, every count is a lower bound.',
  })

const ShownFilter = z
  .object({
    status: z.string().optional().describe('The status of the deliveries or events.'),
    eventId: Id('evt').optional().describe('The event of the deliveries.'),
    connectionId: Id('con').optional().describe('The connection of the deliveries.'),
    destinationId: Id('dst').optional().describe('The destination of the deliveries.'),
    sourceId: Id('src').optional().describe('The source of the deliveries or events.'),
    errorCode: z.string().optional().describe('The error code of the deliveries.'),
    responseStatus: ResponseStatus.optional(),
    eventType: z.string().optional().describe('The type of the events; may end with `*`.'),
    search: z.string().optional().describe('The text that the events contain.'),
    from: Timestamp.optional().describe('The earliest time of creation, included.'),
    to: Timestamp.optional().describe('The latest time of creation, included.'),
  })
  .meta({
    id: 'OperationFilter',
    description:
      'The filter of the request; `to` is never later than the creation of the operation.',
  })

export const Operation = z
  .object({
    id: Id('opr').describe('Begins with `opr_`; poll it under `GET /v1/operations/{id}`.'),
    projectId: Id('prj').describe('The project whose deliveries or events it acts on.'),
    kind: Kind,
    status: Status,
    filter: ShownFilter,
    matched,
    truncated,
    processed: z.int().meta({ description: 'Items processed so far, failed ones included.' }),
    failed: z.int().meta({ description: 'Processed items whose action was refused.' }),
    failures: z
      .record(z.string(), z.int())
      .meta({ description: 'The failed items, counted by reason.' }),
    createdAt: Timestamp.describe('When it was created.'),
    finishedAt: Timestamp.nullable().describe('When it ended; null before.'),
  })
  .meta({ id: 'Operation', description: 'An action on everything that a filter matches.' })

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

export function viewPlan(kind: OperationKind, planned: Planned): z.output<typeof OperationPlan> {
  const { isTruncated, oldestId, newestId, destinations, ...plan } = planned
  return {
    kind,
    truncated: isTruncated,
    oldestAt: madeAt(oldestId),
    newestAt: madeAt(newestId),
    ...plan,
    quotaDeliveries: kind === 'replay' ? plan.deliveries : 0,
    destinations: destinations
      .slice(0, PLANNED_DESTINATIONS_MAX)
      .map((one) => ({ ...one, destinationId: encodeId('dst', one.destinationId) })),
    destinationCount: destinations.length,
  }
}

function madeAt(id: string | undefined): string | null {
  return id === undefined ? null : timestamp(timeOfId(id))
}

export function viewOperation(row: Row): z.output<typeof Operation> {
  return {
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
  }
}

function viewFilter(
  selection: Partial<DeliverySelection & EventSelection>,
): z.output<typeof ShownFilter> {
  const { eventId, connectionId, destinationId, sourceId, responseClass, fromMs, toMs, ...rest } =
    selection
  return {
    ...rest,
    ...(eventId !== undefined && { eventId: encodeId('evt', eventId) }),
    ...(connectionId !== undefined && { connectionId: encodeId('con', connectionId) }),
    ...(destinationId !== undefined && { destinationId: encodeId('dst', destinationId) }),
    ...(sourceId !== undefined && { sourceId: encodeId('src', sourceId) }),
    ...(responseClass !== undefined && { responseStatus: `${responseClass}xx` }),
    ...(fromMs !== undefined && { from: timestamp(fromMs) }),
    ...(toMs !== undefined && { to: timestamp(toMs) }),
  }
}
