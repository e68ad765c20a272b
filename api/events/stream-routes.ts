import { Readable } from 'node:stream'

import { z } from 'zod'

import { compileFilter } from '../../core/match/filter.ts'
import { IdInput } from '../http/fields.ts'
import { route } from '../http/route.ts'
import { EventStatus, EventTypeFilter } from './shape.ts'

const StreamQuery = z.strictObject({
  sourceId: IdInput('src').optional().describe('Only events of this source.'),
  status: EventStatus.optional().describe('Only events in this status.'),
  eventType: EventTypeFilter,
})

const EventStream = z.instanceof(Readable).meta({
  id: 'EventStream',
  type: 'string',
  examples: ['event: ready\nid: 1042-0.0\ndata: {}\n\n'],
  description:
    'Messages of Server-Sent Events. The `data` of `event.created` is an `EventSummary`.',
})

export const EVENT_STREAM_ROUTES = [
  route({
    method: 'GET',
    path: '/events/stream',
    operationId: 'streamEvents',
    tag: 'Events',
    summary: 'Follow new events as they are stored',
    description: [
      'Sends Server-Sent Events until the client leaves, the server stops, or the API key is revoked, expires or is rescoped. `eventType` may end with `*`.',
      '- `event.created`: `data` is the event as in a list.\n- `ready`: from here on events come as they are stored.\n- `ping`: every 15 seconds.\n- `gap`: `data` is `{ reason, from, until }`; events of that time may be missing here, the list has them. `expired` (older than the retention) and `unknown` (a position of other filters or another database): the stream goes on in the present. `slow`: the client did not keep up, and the stream ends.',
      'Every `id` is a position: sent as `Last-Event-ID` to any server it resumes behind it. No event is missed; one may come twice across a resume. An open stream counts as one request; too many at once are refused with 429.',
    ].join('\n\n'),
    permission: { resource: 'events', level: 'read' },
    scope: 'project',
    params: {},
    headers: { 'last-event-id': 'The `id` of the last message that was received.' },
    query: StreamQuery,
    body: null,
    contentType: 'text/event-stream',
    responses: { 200: EventStream },
    errors: [],
    async handle({ deps, principal, project, headers, query }) {
      const { sourceId, status, eventType } = query
      const body = await deps.eventStreams.open({
        principal,
        projectId: project(),
        filter: {
          sourceId,
          status,
          eventType:
            eventType === undefined
              ? undefined
              : compileFilter({ eventTypes: [eventType] }).eventTypes?.accepts,
        },
        written: [sourceId ?? null, status ?? null, eventType ?? null],
        // An empty one is none: that is how a client says that it has had no id.
        lastEventId: headers['last-event-id'] || undefined,
      })
      return {
        status: 200,
        body,
        headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
      }
    },
  }),
]
