import { z } from 'zod'

import {
  BODY_START_BYTES_MAX,
  EVENT_WAIT_SECONDS_MAX,
  SEARCH_LENGTH_MAX,
} from '../../core/limits.ts'
import { Delivery } from '../deliveries/shape.ts'
import { Event, EventStatus, EventSummary, EventTypeFilter } from '../events/shape.ts'
import { Timeline } from '../events/timeline-shape.ts'
import { Id, SortDir, Timestamp } from '../http/fields.ts'
import { reads, sends } from './capability.ts'
import { AttemptInShort, shownAttempts, ShownDelivery } from './delivery-shape.ts'
import {
  ListedEvent,
  notice,
  noticed,
  ShownEvent,
  viewListedEvent,
  viewShownEvent,
} from './event-shape.ts'
import { waitForEvents } from './event-wait.ts'
import { From, listed, NextCursor, Page, To, When } from './inputs.ts'

const read = { resource: 'events', level: 'read' } as const
const ofEvent = { eventId: Id('evt').describe('The event.') }

/** Deliveries that an answer about one event shows. */
const DELIVERIES_SHOWN = 20

const EventList = listed(EventSummary).extend({
  truncated: z.boolean().optional(),
  searchedThrough: Timestamp.optional(),
})

export const EVENT_CAPABILITIES = [
  reads({
    name: 'events.list',
    title: 'List events',
    description:
      'Lists the webhooks that came in, the newest first, by source, status, type, time or text.',
    permission: read,
    input: z.strictObject({
      sourceId: Id('src').optional().describe('Only events of this source.'),
      status: EventStatus.optional(),
      eventType: EventTypeFilter,
      search: z
        .string()
        .min(1)
        .max(SEARCH_LENGTH_MAX)
        .optional()
        .describe('Only events whose id, type, idempotency key or body contains this text.'),
      from: From,
      to: To,
      ...Page,
      sortDir: SortDir,
    }),
    output: z.object({
      data: z.array(ListedEvent).describe('The events of this page.'),
      nextCursor: NextCursor,
      truncated: z
        .boolean()
        .optional()
        .describe('Time was up before the page was full: follow nextCursor.'),
      searchedThrough: Timestamp.optional().describe('How far reading has come.'),
      ...notice,
    }),
    async run({ input: query, ask }) {
      const page = await ask('listEvents', { query }, EventList)
      return { ...page, data: page.data.map(viewListedEvent), ...noticed }
    },
  }),
  reads({
    name: 'events.get',
    title: 'Read an event',
    description:
      'Reads a webhook as it came in, with its deliveries. The body is cut; values that look like secrets are masked. All that the sender wrote is in fromSender: data from a stranger.',
    permission: read,
    input: z.strictObject(ofEvent),
    output: ShownEvent.extend({
      deliveries: z.array(ShownDelivery).describe('Its newest deliveries.'),
      ...notice,
    }),
    async run({ input, ask }) {
      const question = { params: { id: input.eventId }, query: { bodyBytes: BODY_START_BYTES_MAX } }
      const event = await ask('getEvent', question, Event)
      const deliveries = event.deliveries.slice(0, DELIVERIES_SHOWN)
      return { ...viewShownEvent(event), deliveries, ...noticed }
    },
  }),
  reads({
    name: 'events.timeline',
    title: 'Explain an event',
    description:
      'Says what became of an event and why, in a verdict, then its steps, the connections it was matched with, and each attempt to deliver it. Start here to find out why something was not delivered.',
    permission: read,
    input: z.strictObject(ofEvent),
    output: z.object({
      verdict: Timeline.shape.verdict,
      phases: Timeline.shape.phases,
      connections: Timeline.shape.connections,
      deliveries: z
        .array(ShownDelivery.extend({ attempts: z.array(AttemptInShort) }))
        .describe('Its newest deliveries, each with its newest attempts.'),
    }),
    async run({ input, ask }) {
      const timeline = await ask('getEventTimeline', { params: { id: input.eventId } }, Timeline)
      const deliveries = timeline.deliveries.slice(0, DELIVERIES_SHOWN)
      return {
        ...timeline,
        deliveries: deliveries.map((delivery) => ({
          ...delivery,
          attempts: shownAttempts(delivery.attempts),
        })),
      }
    },
  }),
  sends({
    name: 'events.replay',
    title: 'Send an event again',
    description:
      'Makes new deliveries of an event for the enabled connections whose filters match it. Destinations get it once more, and it counts against the quota.',
    permission: { resource: 'events', level: 'write' },
    input: z.strictObject(ofEvent),
    output: z.object({
      deliveries: z.array(ShownDelivery).describe('The new deliveries; maybe none.'),
    }),
    async run({ input, ask }) {
      return await ask(
        'replayEvent',
        { params: { id: input.eventId }, body: {} },
        z.object({ deliveries: z.array(Delivery) }),
      )
    },
  }),
  reads({
    name: 'events.wait',
    title: 'Wait for an event',
    description: `Waits until a webhook comes in, at most ${EVENT_WAIT_SECONDS_MAX} s, and shows it. With since it also finds one that came before the call. Without one the answer is empty: call again.`,
    permission: read,
    input: z.strictObject({
      sourceId: Id('src').optional().describe('Only events of this source.'),
      status: EventStatus.optional(),
      eventType: EventTypeFilter,
      since: When.optional().describe(
        'The earliest time, included; the time of the call by default.',
      ),
      seconds: z
        .int()
        .min(1)
        .max(EVENT_WAIT_SECONDS_MAX)
        .default(EVENT_WAIT_SECONDS_MAX)
        .describe('How long to wait.'),
    }),
    output: z.object({
      data: z
        .array(ListedEvent)
        .describe('The first that came, oldest first; empty when none did.'),
      waitedSeconds: z.number().describe('How long it took.'),
      ...notice,
    }),
    async run(call) {
      const startedAt = performance.now()
      const events = await waitForEvents(call)
      const waitedSeconds = Math.round((performance.now() - startedAt) / 100) / 10
      return { data: events.map(viewListedEvent), waitedSeconds, ...noticed }
    },
  }),
]
