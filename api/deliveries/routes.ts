import { z } from 'zod'

import { findDelivery } from '../../core/db/deliveries/read/deliveries.ts'
import type { DeliveryFilter } from '../../core/db/deliveries/read/delivery-indexes.ts'
import { listDeliveries, type DeliveryPlace } from '../../core/db/deliveries/read/delivery-lists.ts'
import { isMicros } from '../../core/db/lists/page.ts'
import { refuseField } from '../../core/errors.ts'
import { firstIdAt } from '../../core/ids.ts'
import { PAGE_READ_ROWS } from '../../core/limits.ts'
import { readCursor, refuseCursor, writeCursor, type Place } from '../http/cursor.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cursor, From, IdInput, Limit, NoMembers, SortDir, To } from '../http/fields.ts'
import { listOf } from '../http/list.ts'
import { route } from '../http/route.ts'
import { DeliveryWithAttempts } from './attempt-shape.ts'
import { attemptsWithHeaders } from './attempts.ts'
import { cancelDelivery } from './cancel.ts'
import { retryDelivery } from './retry.ts'
import { Delivery, DeliveryStatus, ErrorCode, viewDelivery } from './shape.ts'

const tag = 'Deliveries'
const read = { resource: 'deliveries', level: 'read' } as const
const noQuery = z.strictObject({})

const ResponseStatus = z
  .string()
  .regex(/^[1-5](?:\d\d|xx)$/, 'Expected a status as 503 or a class as 5xx')
  .describe(
    'Only deliveries whose last answer had this status, such as `503`, or this class, such as `5xx`.',
  )

const DeliveryQuery = z.strictObject({
  status: DeliveryStatus.optional().describe('Only deliveries in this status.'),
  eventId: IdInput('evt').optional().describe('Only deliveries of this event.'),
  connectionId: IdInput('con').optional().describe('Only deliveries of this connection.'),
  destinationId: IdInput('dst').optional().describe('Only deliveries to this destination.'),
  sourceId: IdInput('src').optional().describe('Only deliveries of events of this source.'),
  errorCode: ErrorCode.optional().describe(
    'Only deliveries whose last attempt failed with this code.',
  ),
  responseStatus: ResponseStatus.optional(),
  from: From,
  to: To,
  limit: Limit,
  cursor: Cursor,
  sortBy: z
    .enum(['createdAt', 'nextAttemptAt'])
    .default('createdAt')
    .describe('The time to sort by; `nextAttemptAt` only for waiting deliveries.'),
  sortDir: SortDir,
})

export const DELIVERY_ROUTES = [
  route({
    method: 'GET',
    path: '/deliveries',
    operationId: 'listDeliveries',
    tag,
    summary: 'List deliveries',
    description:
      'Sorting by `nextAttemptAt` needs `status` `pending` or `throttled`. `errorCode` and a `responseStatus` that is no success find deliveries that failed, were cancelled or wait. A filter without an index scans a bounded number of rows, so a page can be short or empty while `nextCursor` is set. Keep following `nextCursor` until it is null.',
    permission: read,
    scope: 'project',
    params: {},
    query: DeliveryQuery,
    body: null,
    responses: { 200: listOf(Delivery, 'DeliveryList') },
    errors: [],
    async handle({ deps, project, query }) {
      const { cursor, limit, from, to, sortBy, sortDir, ...filters } = query
      if (sortBy === 'nextAttemptAt' && !['pending', 'throttled'].includes(query.status ?? '')) {
        refuseField('query.sortBy', 'nextAttemptAt needs status=pending or status=throttled')
      }
      const projectId = project()
      const binding = { kind: 'deliveries', projectId, from, to, sortBy, sortDir, ...filters }
      const { rows, next } = await listDeliveries(
        deps.lists,
        {
          projectId,
          status: query.status,
          eventId: query.eventId,
          connectionId: query.connectionId,
          destinationId: query.destinationId,
          sourceId: query.sourceId,
          errorCode: query.errorCode,
          ...responseOf(query.responseStatus),
          fromId: from === undefined ? undefined : firstIdAt(from),
          // `to` is included, down to its last millisecond.
          untilId: to === undefined ? undefined : firstIdAt(to + 1),
        },
        {
          limit,
          sortBy,
          sortDir,
          after: placeOf(readCursor(binding, cursor)),
          nowMs: deps.clock.now(),
          readRows: PAGE_READ_ROWS,
        },
      )
      const nextCursor = next === undefined ? null : writeCursor(binding, endOf(next))
      return { status: 200, body: { data: rows.map(viewDelivery), nextCursor } }
    },
  }),
  route({
    method: 'GET',
    path: '/deliveries/:id',
    operationId: 'getDelivery',
    tag,
    summary: 'Read a delivery with its attempts',
    isLong: true,
    permission: read,
    scope: 'reach',
    params: { id: 'dlv' },
    query: noQuery,
    body: null,
    responses: { 200: DeliveryWithAttempts },
    errors: [],
    async handle({ deps, reach, params }) {
      const row = (await findDelivery(deps.db, reach, params.id)) ?? refuseMissing('dlv', params.id)
      const sent = await attemptsWithHeaders(deps, [row])
      const attempts = sent.flatMap((delivery) => delivery.attempts.map(({ shown }) => shown))
      return { status: 200, body: { ...viewDelivery(row), attempts } }
    },
  }),
  route({
    method: 'POST',
    path: '/deliveries/:id/retry',
    operationId: 'retryDelivery',
    tag,
    summary: 'Attempt a delivery now',
    description:
      'Makes an extra attempt, outside `maxAttempts`, also for a delivery that succeeded or was cancelled. If the attempt fails, the delivery goes back to its former status, and a pending delivery keeps its `nextAttemptAt`. The attempt does not wait for the busy window of its destination. Returns 409 for a delivery that is in flight or throttled.',
    permission: { resource: 'deliveries', level: 'write' },
    scope: 'reach',
    params: { id: 'dlv' },
    query: noQuery,
    body: NoMembers,
    responses: { 202: Delivery },
    errors: ['CONFLICT'],
    async handle({ deps, principal, reach, params }) {
      const row = await retryDelivery(deps, principal, reach, params.id)
      return { status: 202, body: viewDelivery(row) }
    },
  }),
  route({
    method: 'POST',
    path: '/deliveries/:id/cancel',
    operationId: 'cancelDelivery',
    tag,
    summary: 'Cancel a waiting delivery',
    description:
      'No attempt begins afterwards. Only a pending or throttled delivery can be cancelled; returns 409 if an attempt is under way or the delivery has ended.',
    permission: { resource: 'deliveries', level: 'write' },
    scope: 'reach',
    params: { id: 'dlv' },
    query: noQuery,
    body: NoMembers,
    responses: { 202: Delivery },
    errors: ['CONFLICT'],
    async handle({ deps, principal, reach, params }) {
      const row = await cancelDelivery(deps, principal, reach, params.id)
      return { status: 202, body: viewDelivery(row) }
    },
  }),
]

function responseOf(
  text: string | undefined,
): Pick<DeliveryFilter, 'responseStatus' | 'responseClass'> {
  return {
    responseStatus: text === undefined || text.endsWith('xx') ? undefined : Number(text),
    responseClass: text?.endsWith('xx') === true ? Number(text[0]) : undefined,
  }
}

/** An empty value means that no attempt is due; it sorts last. */
function endOf({ nextAtMicros, id }: DeliveryPlace): Place {
  return { value: nextAtMicros ?? '', id }
}

function placeOf(place: Place | undefined): DeliveryPlace | undefined {
  if (place === undefined) return undefined
  if (place.value === '') return { nextAtMicros: null, id: place.id }
  if (!isMicros(place.value)) refuseCursor()
  return { nextAtMicros: place.value, id: place.id }
}
