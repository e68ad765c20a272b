import {
  countReplays,
  deliveriesFor,
  needBodies,
  refusalOfReplay,
  routesOf,
} from '../../../core/actions/replay.ts'
import { retryDeliveries } from '../../../core/actions/retry-deliveries.ts'
import { nextDeliveries, nextEvents } from '../../../core/actions/selection.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { lockDeliveries } from '../../../core/db/deliveries/act/delivery-locks.ts'
import type { EventSummary } from '../../../core/db/events/events.ts'
import {
  insertReplay,
  readReplayable,
  type ReplayDelivery,
} from '../../../core/db/events/replays.ts'
import type {
  DeliveryOperation,
  EventOperation,
  Operation,
  Progress,
} from '../../../core/db/operations/operations.ts'
import { giveWay } from '../../../core/loop/turn.ts'
import type { Standing } from '../../../core/plans/standing.ts'
import { countsOf } from './reasons.ts'

/** The limits of a chunk, and the standing of the organisation. */
interface Chunk {
  standing: Standing
  now: Date
  /** Deliveries or events. */
  limit: number
}

/** Bodies read for one chunk, and the time spent on filters: both may be slow. */
const BODY_BYTES_MAX = 16 * 1024 * 1024
const MATCHING_MS = 100

/** Retries or replays the next of what the operation selects, in the order of their ids. */
export async function workChunk(tx: Db, operation: Operation, chunk: Chunk): Promise<Progress> {
  return operation.kind === 'replay'
    ? await replayChunk(tx, operation, chunk)
    : await retryChunk(tx, operation, chunk)
}

async function retryChunk(
  tx: Db,
  operation: DeliveryOperation,
  { standing, now, limit }: Chunk,
): Promise<Progress> {
  const place = { ...operation, nowMs: now.getTime() }
  const { found, afterId, isLast } = await nextDeliveries(tx, operation.selection, place, limit)
  const { status } = operation.selection
  // A delivery that changed its status since it was read no longer matches.
  const locked = (await lockDeliveries(tx, found)).filter(
    (delivery) => status === undefined || delivery.status === status,
  )
  const refusals = await retryDeliveries(tx, locked, {
    plan: standing.entitlements,
    organisationId: operation.organisationId,
    operationId: operation.id,
    now,
  })
  const failures = countsOf(refusals.values())
  return { processed: locked.length, failures, afterId, leftOver: [], isLast }
}

/** The outcome of an event of a chunk. */
type Outcome = { refusal: string } | { deliveries: ReplayDelivery[] }

async function replayChunk(tx: Db, operation: EventOperation, chunk: Chunk): Promise<Progress> {
  const { standing, now } = chunk
  const { organisationId } = operation
  const place = { ...operation, nowMs: now.getTime() }
  const step = await nextEvents(tx, operation.selection, place, chunk.limit)
  const outcomes = await outcomesOf(tx, step.found, chunk)
  const replays = outcomes.flatMap((outcome) =>
    'deliveries' in outcome ? [outcome.deliveries] : [],
  )
  const to = { organisationId, standing, now }
  const { areAdmitted } = await countReplays(
    tx,
    to,
    replays.map(({ length }) => length),
  )
  const admitted = replays.filter((_, at) => areAdmitted[at] === true)
  await insertReplay(tx, admitted.flat(), { now, operationId: operation.id })
  const isWhole = outcomes.length === step.found.length
  return {
    processed: outcomes.length,
    failures: countsOf([
      ...outcomes.flatMap((outcome) => ('refusal' in outcome ? [outcome.refusal] : [])),
      ...replays.slice(admitted.length).map(() => 'quota_exceeded'),
    ]),
    afterId: isWhole ? step.afterId : (step.found[outcomes.length - 1]?.id ?? operation.afterId),
    leftOver: [],
    isLast: isWhole && step.isLast,
  }
}

/** Outcomes of the first events, as many as fit the chunk and at least one. */
async function outcomesOf(
  tx: Db,
  events: readonly EventSummary[],
  { standing, now, limit }: Chunk,
): Promise<Outcome[]> {
  const plan = standing.entitlements
  const routes = await routesOf(tx, new Set(events.map(({ sourceId }) => sourceId)))
  const withBodies = needBodies(routes)
  const some = withBodies ? withinBytes(events) : events
  const read = await readReplayable(tx, some, { withBodies })
  const endsAt = performance.now() + MATCHING_MS
  const outcomes: Outcome[] = []
  let made = 0
  for (const summary of some) {
    if (outcomes.length > 0 && (made >= limit || performance.now() > endsAt)) break
    const event = read.get(summary.id)
    const refusal = refusalOfReplay(summary, plan, now.getTime())
    if (event === undefined || refusal !== undefined) {
      outcomes.push({ refusal: refusal ?? 'past_retention' })
      continue
    }
    await giveWay()
    const deliveries = deliveriesFor(event, routes, { plan, now })
    made += deliveries.length
    outcomes.push({ deliveries })
  }
  return outcomes
}

function withinBytes(events: readonly EventSummary[]): EventSummary[] {
  let bytes = 0
  const end = events.findIndex((event, at) => {
    bytes += event.sizeBytes
    return at > 0 && bytes > BODY_BYTES_MAX
  })
  return events.slice(0, end === -1 ? events.length : end)
}
