import { timestamp } from '../core/clock.ts'
import { connectionsOf, type Connection } from '../core/db/connections.ts'
import type { Db } from '../core/db/db.ts'
import { findDelivery, type Delivery } from '../core/db/deliveries.ts'
import { findDestinations } from '../core/db/destinations.ts'
import type { Event } from '../core/db/events.ts'
import {
  countCappedUsage,
  countUsage,
  insertReplay,
  type ReplayDelivery,
} from '../core/db/replays.ts'
import { monthOf } from '../core/db/usage.ts'
import { RetryPolicy } from '../core/delivery/retry.ts'
import { refuse } from '../core/errors.ts'
import { encodeId, newId, timeOfId } from '../core/ids.ts'
import { compileFilter, Filter, matchFilter } from '../core/match/filter.ts'
import { isPaced, type Entitlements } from '../core/plans/plans.ts'
import { partitionOf, WAITING_DUE } from '../core/stream/subjects.ts'
import { audit } from './change.ts'
import type { Deps } from './deps.ts'
import { entitlementsFor } from './grants.ts'
import { matchableOf } from './matchable.ts'
import type { Principal } from './principal.ts'
import { Pairs } from './shapes/attempt.ts'

const DAY_MS = 86_400_000

/** Why an event of this status is never sent again. (spec: Event status, rules 1 and 2) */
const NOT_REPLAYED: Readonly<Record<string, string>> = {
  rejected: 'it was rejected',
  duplicate: 'it is a duplicate',
}

/** Makes new deliveries of an event and tells the workers. Throws the refusals of the replay route. */
export async function replayEvent(
  deps: Deps,
  principal: Principal,
  event: Event,
): Promise<Delivery[]> {
  const name = encodeId('evt', event.id)
  const because = NOT_REPLAYED[event.status]
  if (because !== undefined) refuseReplay(`Cannot replay event "${name}": ${because}`)
  const now = new Date(deps.clock.now())
  const made = await deps.db.transaction().execute(async (tx) => {
    const plan = await entitlementsFor(tx, event.organisationId)
    const keptMs = plan.retentionDays * DAY_MS
    if (timeOfId(event.id) < now.getTime() - keptMs) {
      refuseReplay(`Cannot replay event "${name}": it is past retention`)
    }
    const deliveries = await deliveriesFor(tx, event, plan, now)
    await insertReplay(tx, deliveries, now)
    await audit(tx, deps, {
      principal,
      projectId: event.projectId,
      kind: 'event',
      verb: 'replay',
      id: event.id,
      changes: { deliveries: deliveries.map((delivery) => encodeId('dlv', delivery.id)) },
    })
    await countReplay(tx, { plan, organisationId: event.organisationId, now }, deliveries.length)
    return deliveries
  })
  if (made.length > 0 && !deps.nats.isClosed()) deps.nats.publish(WAITING_DUE)
  const reach = { organisationId: event.organisationId, projectId: event.projectId }
  const found = await Promise.all(made.map(({ id }) => findDelivery(deps.db, reach, id)))
  return found.filter((delivery) => delivery !== undefined)
}

/** One delivery for each active connection whose filter lets the event pass. */
async function deliveriesFor(
  tx: Db,
  event: Event,
  plan: Entitlements,
  now: Date,
): Promise<ReplayDelivery[]> {
  const connections = (await connectionsOf(tx, 'source_id', event.sourceId)).filter(passes(event))
  const destinations = await findDestinations(
    tx,
    connections.map(({ destinationId }) => destinationId),
  )
  return connections.flatMap(({ id, destinationId }) => {
    const destination = destinations.get(destinationId)
    if (destination === undefined) return []
    return [
      {
        class: event.class,
        id: newId(now.getTime()),
        eventId: event.id,
        connectionId: id,
        destinationId,
        sourceId: event.sourceId,
        organisationId: event.organisationId,
        projectId: event.projectId,
        maxAttempts: RetryPolicy.parse(destination.retryPolicy).maxAttempts,
        partition: partitionOf(event.organisationId, destinationId, isPaced(plan)),
      },
    ]
  })
}

function passes(event: Event): (connection: Connection) => boolean {
  const matchable = matchableOf({ ...event, headers: Pairs.parse(JSON.parse(event.headers)) })
  return ({ isEnabled, filter }) =>
    isEnabled &&
    (filter === null || matchFilter(compileFilter(Filter.parse(filter)), matchable).matched)
}

/** Last in the transaction: a hard-capped organisation's row stays locked from here on. (spec: Delivery quota) */
async function countReplay(
  tx: Db,
  to: { plan: Entitlements; organisationId: string; now: Date },
  deliveries: number,
): Promise<void> {
  const { organisationId, now } = to
  const { isHardCapped, deliveryQuota } = to.plan
  if (!isHardCapped || deliveryQuota === null) {
    if (deliveries > 0) await countUsage(tx, organisationId, deliveries, now)
    return
  }
  const month = monthOf(now.getTime())
  const startedAt = new Date(month.startedAtMs)
  const current = await countCappedUsage(tx, organisationId, deliveries, startedAt)
  if (current >= deliveryQuota) {
    refuse('QUOTA_EXCEEDED', 'Cannot replay: the delivery quota of this month is used up', {
      limit: deliveryQuota,
      current,
      resetAt: timestamp(month.endsAtMs),
    })
  }
}

function refuseReplay(message: string): never {
  refuse('BAD_REQUEST', message, { fields: [{ path: 'params.id', message }] })
}
