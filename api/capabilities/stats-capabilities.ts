import { z } from 'zod'

import { HOUR_MS, timestamp } from '../../core/clock.ts'
import { Id, Timestamp } from '../http/fields.ts'
import { WaitingDeliveries } from '../statistics/routes.ts'
import { Dashboard } from '../statistics/shape.ts'
import { reads } from './capability.ts'
import { From, When } from './inputs.ts'

const DAY_HOURS = 24

/** Longer ranges are counted by the day. */
const HOURLY_MAX = 7 * DAY_HOURS

/** Destinations that a summary names. */
const FAILING_MAX = 10

type Bucket = z.output<typeof Dashboard>['data'][number]

const Summary = z.object({
  from: Timestamp.describe('When the first bucket that was counted begins.'),
  to: Timestamp.describe('When the range ends.'),
  events: Dashboard.shape.data.element.shape.events,
  deliveries: Dashboard.shape.data.element.shape.deliveries,
  attempts: z.int().describe('Attempts that ended.'),
  retried: z.int().describe('Attempts after a delivery’s first.'),
  waiting: WaitingDeliveries,
  failing: z
    .array(
      z.object({
        destinationId: Id('dst').describe('The destination.'),
        failed: z.int().describe('Deliveries to it that failed for good.'),
        succeeded: z.int().describe('Deliveries to it that succeeded.'),
      }),
    )
    .describe('Destinations with failed deliveries in the range, the worst first.'),
})

export const STATS_CAPABILITIES = [
  reads({
    name: 'stats.summary',
    title: 'Summarise the traffic',
    description:
      'Counts the events and deliveries of a time, 24 hours unless told, those that wait now, and the destinations that fail most. Start here to find out whether something is wrong.',
    permission: { resource: 'deliveries', level: 'read' },
    input: z.strictObject({
      from: From,
      to: When.optional().describe('When the range ends; now by default.'),
    }),
    output: Summary,
    async run({ deps, input, ask }) {
      const toMs = input.to === undefined ? deps.clock.now() : Date.parse(input.to)
      const fromMs = input.from === undefined ? toMs - DAY_HOURS * HOUR_MS : Date.parse(input.from)
      const [from, to] = [timestamp(fromMs), timestamp(toMs)]
      const granularity = toMs - fromMs <= HOURLY_MAX * HOUR_MS ? 'hour' : 'day'
      const query = { from, to, granularity }
      const [{ data }, grouped, waiting] = await Promise.all([
        ask('getDashboard', { query }, Dashboard),
        ask('getDashboard', { query: { ...query, groupBy: 'destination' } }, Dashboard),
        ask('getWaitingDeliveries', {}, WaitingDeliveries),
      ])
      return {
        from: data[0]?.start ?? from,
        to,
        ...sumOf(data),
        waiting,
        failing: failingOf(grouped.data),
      }
    },
  }),
]

function sumOf(buckets: readonly Bucket[]) {
  const sum = (of: (bucket: Bucket) => number): number =>
    buckets.reduce((all, bucket) => all + of(bucket), 0)
  return {
    events: {
      received: sum(({ events }) => events.received),
      filtered: sum(({ events }) => events.filtered),
      unmatched: sum(({ events }) => events.unmatched),
      rejected: sum(({ events }) => events.rejected),
    },
    deliveries: {
      succeeded: sum(({ deliveries }) => deliveries.succeeded),
      failed: sum(({ deliveries }) => deliveries.failed),
      throttled: sum(({ deliveries }) => deliveries.throttled),
    },
    attempts: sum(({ attempts }) => attempts),
    retried: sum(({ retried }) => retried),
  }
}

function failingOf(buckets: readonly Bucket[]) {
  return [...Map.groupBy(buckets, ({ group = '' }) => group)]
    .map(([destinationId, own]) => {
      const { failed, succeeded } = sumOf(own).deliveries
      return { destinationId, failed, succeeded }
    })
    .filter(({ failed }) => failed > 0)
    .toSorted((a, b) => b.failed - a.failed)
    .slice(0, FAILING_MAX)
}
