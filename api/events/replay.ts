import {
  countReplays,
  deliveriesFor,
  needBodies,
  refusalOfReplay,
  routesOf,
  type ReplayRefusal,
} from '../../core/actions/replay.ts'
import { timestamp } from '../../core/clock.ts'
import { findDelivery, type Delivery } from '../../core/db/deliveries/read/deliveries.ts'
import { readBody } from '../../core/db/events/bodies.ts'
import { lockEvent, type Event } from '../../core/db/events/events.ts'
import { insertReplay } from '../../core/db/events/replays.ts'
import { refuse } from '../../core/errors.ts'
import { encodeId } from '../../core/ids.ts'
import { wakeWorkers } from '../../core/notices/wake.ts'
import type { Principal } from '../auth/principal.ts'
import { standingFor } from '../billing/standing.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../http/failure.ts'
import { audit } from '../writes/transact.ts'

const BECAUSE: Record<Exclude<ReplayRefusal, 'quota_exceeded'>, string> = {
  rejected: 'it was rejected',
  duplicate: 'it is a duplicate',
  past_retention: 'it is past retention',
}

const NO_BODY = { raw: Buffer.alloc(0) }

/** Makes new deliveries of an event and tells the workers. Throws the refusals of the replay route. */
export async function replayEvent(
  deps: Deps,
  principal: Principal,
  event: Event,
): Promise<Delivery[]> {
  const now = new Date(deps.clock.now())
  const { organisationId, projectId } = event
  const made = await deps.db.transaction().execute(async (tx) => {
    const standing = await standingFor(deps, tx, organisationId)
    const plan = standing.entitlements
    const refusal = refusalOfReplay(event, plan, now.getTime())
    if (refusal !== undefined) refuseReplay(event, BECAUSE[refusal])
    const routes = await routesOf(tx, new Set([event.sourceId]))
    const missing = (): never => refuseMissing('evt', event.id)
    const retentionClass = (await lockEvent(tx, event.id)) ?? missing()
    const { raw } = needBodies(routes) ? ((await readBody(tx, event.id)) ?? missing()) : NO_BODY
    const deliveries = deliveriesFor({ ...event, retentionClass, raw }, routes, { plan, now })
    const fanOut = deliveries.length
    const counted = { organisationId, standing, now }
    const { areAdmitted, quota } = await countReplays(tx, counted, [fanOut])
    if (areAdmitted[0] !== true && quota !== null) {
      const { limit, current, resetAtMs } = quota
      refuse('QUOTA_EXCEEDED', 'Cannot replay: the delivery quota of this window is used up', {
        limit,
        current,
        resetAt: timestamp(resetAtMs),
      })
    }
    await insertReplay(tx, deliveries, { now, operationId: null })
    await audit(tx, deps, {
      principal,
      projectId,
      kind: 'event',
      verb: 'replay',
      id: event.id,
      changes: { deliveries: deliveries.map((delivery) => encodeId('dlv', delivery.id)) },
    })
    return deliveries
  })
  if (made.length > 0) wakeWorkers(deps.nats)
  const reach = { organisationId, projectId }
  const found = await Promise.all(made.map(({ id }) => findDelivery(deps.db, reach, id)))
  return found.filter((delivery) => delivery !== undefined)
}

function refuseReplay(event: Event, because: string): never {
  const message = `Cannot replay event "${encodeId('evt', event.id)}": ${because}`
  refuse('BAD_REQUEST', message, { fields: [{ path: 'params.id', message }] })
}
