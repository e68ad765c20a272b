import { z } from 'zod'

import { DAY_MS } from '../../core/clock.ts'
import { COUNTED_MAX, readWaiting } from '../../core/db/deliveries/read/waiting-counts.ts'
import { readBacklog } from '../../core/db/statistics/backlog.ts'
import {
  readDeliveryCounts,
  readEventCounts,
  ROWS_OF_BUCKET,
  type DashboardFilter,
  type DashboardGroup,
} from '../../core/db/statistics/dashboard.ts'
import { refuseField } from '../../core/errors.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import {
  DASHBOARD_BUCKETS_MAX,
  DASHBOARD_ROWS_MAX,
  ROLLUP_DAYS_OF_DAYS,
  ROLLUP_DAYS_OF_HOURS,
  ROLLUP_DAYS_OF_MINUTES,
} from '../../core/limits.ts'
import {
  bucketsOver,
  countOf,
  fromBefore,
  GRANULARITIES,
  startsOf,
  type Buckets,
  type Granularity,
} from '../../core/statistics/granularity.ts'
import { IdInput, Moment } from '../http/fields.ts'
import { route } from '../http/route.ts'
import { BacklogHistory, Dashboard, groupsOf, viewBacklog, viewDashboard } from './shape.ts'

const tag = 'Deliveries'
const read = { resource: 'deliveries', level: 'read' } as const

const GROUPS = ['source', 'destination', 'connection', 'rejectionReason'] as const
const PREFIX = { source: 'src', destination: 'dst', connection: 'con' } as const

const RangeQuery = z.strictObject({
  from: Moment.optional().describe('When the range begins; its bucket is included.'),
  to: Moment.optional().describe('When the range ends, not included; now by default.'),
  granularity: z.enum(GRANULARITIES).default('hour').describe('How long a bucket is.'),
})

const DashboardQuery = RangeQuery.extend({
  sourceId: IdInput('src').optional().describe('Counts of this source.'),
  destinationId: IdInput('dst').optional().describe('Counts of this destination.'),
  connectionId: IdInput('con').optional().describe('Counts of this connection.'),
  groupBy: z.enum(GROUPS).optional().describe('Counts each value of this member apart.'),
})

export const WaitingDeliveries = z
  .object({
    pending: z.int().min(0).describe('Deliveries that wait for an attempt.'),
    throttled: z
      .int()
      .min(0)
      .describe('Deliveries that wait because of pacing or a busy destination.'),
    oldestPendingAgeSeconds: z.int().min(0).nullable().meta({
      description: 'Age of the oldest pending delivery; null when none is pending.',
    }),
  })
  .meta({ id: 'WaitingDeliveries', description: 'How many deliveries wait now.' })

export const STATISTICS_ROUTES = [
  route({
    method: 'GET',
    path: '/stats/dashboard',
    operationId: 'getDashboard',
    tag,
    summary: 'Count events and outcomes over time',
    description: `The buckets that the range touches, from the one that holds \`from\` (24 hours before \`to\` unless given) up to \`to\` (now unless given), which is not included; buckets begin at whole minutes, hours and days in UTC. At most ${DASHBOARD_BUCKETS_MAX} of them, and ${DASHBOARD_ROWS_MAX} with their groups; a default range is as long as that allows. Buckets without counts are zero; groups without counts in the range are left out. Events know no destination: filtered or grouped by destination or connection they are zero, as deliveries are by rejection reason. Minutes are kept for ${ROLLUP_DAYS_OF_MINUTES} days, hours for ${ROLLUP_DAYS_OF_HOURS}, days for ${ROLLUP_DAYS_OF_DAYS}. Test deliveries are not counted.`,
    permission: read,
    scope: 'project',
    params: {},
    query: DashboardQuery,
    body: null,
    responses: { 200: Dashboard },
    errors: [],
    async handle({ deps, principal, project, query }) {
      const { groupBy, sourceId, destinationId, connectionId } = query
      const buckets = bucketsFor(query, deps.clock.now())
      const limit = ROWS_OF_BUCKET * DASHBOARD_ROWS_MAX + 1
      const projectId = project()
      const filter: DashboardFilter = {
        projectId,
        buckets,
        sourceId,
        destinationId,
        connectionId,
        groupBy,
        limit,
      }
      const [events, deliveries] = await deps.reads.run(
        principal.organisationId,
        async (db) =>
          [await readEventCounts(db, filter), await readDeliveryCounts(db, filter)] as const,
      )
      const groups = groupsOf([...events, ...deliveries], groupBy !== undefined)
      const rows = Math.max(
        events.length / ROWS_OF_BUCKET,
        deliveries.length / ROWS_OF_BUCKET,
        groups.length * countOf(buckets),
      )
      if (rows > DASHBOARD_ROWS_MAX) {
        const message = `Buckets times groups are more than ${DASHBOARD_ROWS_MAX}: shorten the range or filter`
        refuseField('query.groupBy', message)
      }
      const axes = { starts: startsOf(buckets), groups }
      const data = viewDashboard({ events, deliveries }, axes, nameOf(groupBy))
      return { status: 200, body: { data } }
    },
  }),
  route({
    method: 'GET',
    path: '/stats/backlog',
    operationId: 'getBacklog',
    tag,
    summary: 'Show how much waited over time',
    description: `The same buckets as \`/v1/stats/dashboard\`. Each has the most deliveries that waited at once in it, pending and throttled, and the greatest age of the oldest pending one. Looked at every 10 s while something waits, so that what waits for a shorter time can be missed; first attempts count once they have waited for a second.`,
    permission: read,
    scope: 'project',
    params: {},
    query: RangeQuery,
    body: null,
    responses: { 200: BacklogHistory },
    errors: [],
    async handle({ deps, principal, project, query }) {
      const buckets = bucketsFor(query, deps.clock.now())
      const projectId = project()
      const seen = await deps.reads.run(
        principal.organisationId,
        async (db) => await readBacklog(db, projectId, buckets),
      )
      return { status: 200, body: { data: viewBacklog(startsOf(buckets), seen) } }
    },
  }),
  route({
    method: 'GET',
    path: '/deliveries/stats',
    operationId: 'getWaitingDeliveries',
    tag,
    summary: 'Count the deliveries that wait now',
    description: `\`pending\` deliveries wait for an attempt; \`throttled\` deliveries wait because of pacing or a busy destination. Deliveries in flight are in neither count. Counts are exact up to ${COUNTED_MAX}; beyond that, and for first attempts that no worker has begun, they can be some seconds old.`,
    permission: read,
    scope: 'project',
    params: {},
    query: z.strictObject({}),
    body: null,
    responses: { 200: WaitingDeliveries },
    errors: [],
    async handle({ deps, project }) {
      const { oldestPendingId, ...counts } = await readWaiting(deps.lists, project())
      const ageMs = oldestPendingId === null ? null : deps.clock.now() - timeOfId(oldestPendingId)
      const oldestPendingAgeSeconds = ageMs === null ? null : Math.max(0, Math.floor(ageMs / 1_000))
      return { status: 200, body: { ...counts, oldestPendingAgeSeconds } }
    },
  }),
]

function bucketsFor(
  query: { from?: number | undefined; to?: number | undefined; granularity: Granularity },
  nowMs: number,
): Buckets {
  const { granularity, to = nowMs } = query
  const from =
    query.from ?? fromBefore(granularity, to, { ms: DAY_MS, buckets: DASHBOARD_BUCKETS_MAX })
  if (from >= to) refuseField('query.from', 'Expected a time before query.to')
  const buckets = bucketsOver(granularity, from, to)
  if (countOf(buckets) > DASHBOARD_BUCKETS_MAX) {
    const message = `The range has more than ${DASHBOARD_BUCKETS_MAX} buckets: shorten it or choose a wider granularity`
    refuseField('query.from', message)
  }
  return buckets
}

/** How a group is shown; without groups there is nothing to show. */
function nameOf(groupBy: DashboardGroup | undefined): (group: string) => string | undefined {
  if (groupBy === undefined) return () => undefined
  if (groupBy === 'rejectionReason') return (group) => group
  return (group) => encodeId(PREFIX[groupBy], group)
}
