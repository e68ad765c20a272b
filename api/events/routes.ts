import { z } from 'zod'

import { deliveriesOfEvent } from '../../core/db/deliveries/read/deliveries.ts'
import { readBody, readBodyStart } from '../../core/db/events/bodies.ts'
import { findEvent, hasAnyEvent } from '../../core/db/events/events.ts'
import { firstIdAt } from '../../core/ids.ts'
import { BODY_START_BYTES_MAX, SMALL_BODY_BYTES_MAX, SEARCH_LENGTH_MAX } from '../../core/limits.ts'
import { wholeText } from '../answers/json-parts.ts'
import { JsonText } from '../answers/json-text.ts'
import { Delivery, viewDelivery } from '../deliveries/shape.ts'
import { readCursor, writeCursor } from '../http/cursor.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cursor, From, IdInput, Limit, NoMembers, SortDir, Timestamp, To } from '../http/fields.ts'
import { route } from '../http/route.ts'
import { findPage } from './event-page.ts'
import { eventText } from './event-text.ts'
import { replayEvent } from './replay.ts'
import type { EventPage } from './settling.ts'
import {
  Event,
  EventStatus,
  EventSummary,
  EventTypeFilter,
  viewEventStart,
  viewEventSummary,
} from './shape.ts'
import { Timeline } from './timeline-shape.ts'
import { SHOWN_DELIVERIES, timelineOf } from './timeline.ts'

const tag = 'Events'
const read = { resource: 'events', level: 'read' } as const
const noQuery = z.strictObject({})

const EventQuery = z.strictObject({
  sourceId: IdInput('src').optional().describe('Only events of this source.'),
  status: EventStatus.optional().describe('Only events in this status.'),
  eventType: EventTypeFilter,
  from: From,
  to: To,
  limit: Limit,
  cursor: Cursor,
  search: z
    .string()
    .min(1)
    .max(SEARCH_LENGTH_MAX)
    .optional()
    .describe(
      'Only events whose id, type, idempotency key or body contains this text, in upper or lower case.',
    ),
  sortBy: z.enum(['createdAt']).default('createdAt').describe('The time to sort by.'),
  sortDir: SortDir,
})

const OneEventQuery = z.strictObject({
  bodyBytes: z.coerce
    .number()
    .int()
    .min(0)
    .max(BODY_START_BYTES_MAX)
    .optional()
    .describe(
      'Shows at most so many bytes of the body, in `raw` and `rawBase64`; `payload` is then null. Without it the body is whole.',
    ),
})

const EventList = z
  .object({
    data: z.array(EventSummary).describe('The events of this page.'),
    nextCursor: z.string().nullable().describe('The cursor of the next page; null on the last.'),
    truncated: z
      .boolean()
      .optional()
      .describe(
        'Time was up before the page was full: always told with `search`, and only if so with `eventType`.',
      ),
    searchedThrough: Timestamp.optional().describe('With `truncated`: how far reading has come.'),
  })
  .meta({ id: 'EventList', description: 'A page of events.' })

const EventPresence = z
  .object({ hasAny: z.boolean().describe('The project has stored an event.') })
  .meta({ id: 'EventPresence', description: 'Whether the project has ever stored an event.' })

const Replay = z
  .object({ deliveries: z.array(Delivery).describe('The new deliveries; maybe none.') })
  .meta({ id: 'Replay', description: 'The new deliveries of a replay.' })

export const EVENT_ROUTES = [
  route({
    method: 'GET',
    path: '/events',
    operationId: 'listEvents',
    tag,
    summary: 'List events',
    description:
      '`search` reads the id, the event type, the idempotency key and the body (with JSON and form escapes decoded) for about a second. If it stops early, `truncated` is true, `searchedThrough` says how far it has come, and `nextCursor` continues from there. `eventType` reads back as long for a page of a type that is rare, and says so in the same way.',
    permission: read,
    scope: 'project',
    params: {},
    query: EventQuery,
    body: null,
    responses: { 200: EventList },
    errors: [],
    async handle({ deps, principal, project, query }) {
      const { cursor, limit, from, to, ...filters } = query
      const binding = { kind: 'events', projectId: project(), from, to, ...filters }
      const page = await findPage(
        { ...deps, organisationId: principal.organisationId },
        query.search,
        {
          projectId: project(),
          sourceId: query.sourceId,
          status: query.status,
          eventType: query.eventType,
          fromId: from === undefined ? undefined : firstIdAt(from),
          // `to` is included, down to its last millisecond.
          untilId: to === undefined ? undefined : firstIdAt(to + 1),
          sortDir: query.sortDir,
          afterId: readCursor(binding, cursor)?.id,
          limit,
        },
      )
      return { status: 200, body: viewPage(page, (id) => writeCursor(binding, { value: '', id })) }
    },
  }),
  route({
    method: 'GET',
    path: '/events/has-any',
    operationId: 'hasAnyEvent',
    tag,
    summary: 'Tell whether the project has ever stored an event',
    permission: read,
    scope: 'project',
    params: {},
    query: noQuery,
    body: null,
    responses: { 200: EventPresence },
    errors: [],
    async handle({ deps, project }) {
      return { status: 200, body: { hasAny: await hasAnyEvent(deps.lists, project()) } }
    },
  }),
  route({
    method: 'GET',
    path: '/events/:id',
    operationId: 'getEvent',
    tag,
    summary: 'Read an event with its newest deliveries',
    permission: read,
    scope: 'reach',
    params: { id: 'evt' },
    query: OneEventQuery,
    body: null,
    responses: { 200: Event },
    errors: [],
    async handle({ deps, principal, reach, params, query, hasLeft }) {
      const missing = (): never => refuseMissing('evt', params.id)
      const row = (await findEvent(deps.db, reach, params.id)) ?? missing()
      const rows = await deliveriesOfEvent(deps.lists, row, SHOWN_DELIVERIES)
      const deliveries = rows.map(viewDelivery)
      if (query.bodyBytes !== undefined) {
        const start = (await readBodyStart(deps.db, row.id, query.bodyBytes)) ?? missing()
        return { status: 200, body: viewEventStart(row, start, deliveries) }
      }
      const write = async (): Promise<AsyncGenerator<Buffer>> =>
        await eventText({ row, deliveries }, (await readBody(deps.db, row.id)) ?? missing())
      const text =
        row.sizeBytes > SMALL_BODY_BYTES_MAX
          ? await deps.largeAnswers.open(principal.organisationId, write, hasLeft)
          : await wholeText(await write())
      return { status: 200, body: new JsonText(text) }
    },
  }),
  route({
    method: 'GET',
    path: '/events/:id/timeline',
    operationId: 'getEventTimeline',
    tag,
    summary: 'Read the timeline of an event, with every attempt',
    isLong: true,
    permission: read,
    scope: 'reach',
    params: { id: 'evt' },
    query: noQuery,
    body: null,
    responses: { 200: Timeline },
    errors: [],
    async handle({ deps, reach, params }) {
      const event = (await findEvent(deps.db, reach, params.id)) ?? refuseMissing('evt', params.id)
      return { status: 200, body: await timelineOf(deps, event) }
    },
  }),
  route({
    method: 'POST',
    path: '/events/:id/replay',
    operationId: 'replayEvent',
    tag,
    summary: 'Send an event again',
    description:
      'Creates new deliveries for the enabled connections whose filters match the event. They count against the quota.',
    permission: { resource: 'events', level: 'write' },
    scope: 'reach',
    params: { id: 'evt' },
    query: noQuery,
    body: NoMembers,
    responses: { 202: Replay },
    errors: ['QUOTA_EXCEEDED'],
    async handle({ deps, principal, reach, params }) {
      const event = (await findEvent(deps.db, reach, params.id)) ?? refuseMissing('evt', params.id)
      const deliveries = await replayEvent(deps, principal, event)
      return { status: 202, body: { deliveries: deliveries.map(viewDelivery) } }
    },
  }),
]

function viewPage(page: EventPage, cursor: (id: string) => string): z.input<typeof EventList> {
  return {
    data: page.events.map(viewEventSummary),
    nextCursor: page.nextId === undefined ? null : cursor(page.nextId),
    ...(page.search && {
      truncated: page.search.isTruncated,
      searchedThrough: page.search.searchedThrough,
    }),
  }
}
