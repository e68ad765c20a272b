import { z } from 'zod'

import { DAY_MS } from '../clock.ts'
import { connectionsOf } from '../db/configuration/connections.ts'
import { findDestinations } from '../db/configuration/destinations.ts'
import type { Db } from '../db/connection/db.ts'
import {
  countCappedUsage,
  countUsage,
  type ReplayableEvent,
  type ReplayDelivery,
} from '../db/events/replays.ts'
import { partitionOf } from '../delivery/partition-of.ts'
import { newId, timeOfId } from '../ids.ts'
import { giveWay } from '../loop/turn.ts'
import { compileFilter, matchFilters, type CompiledFilter } from '../match/filter.ts'
import { matchableOf, storedRequest } from '../match/matchable.ts'
import { isPaced, type Entitlements } from '../plans/plans.ts'
import { hardCapOf, type Standing } from '../plans/standing.ts'

/** Why an event is not sent again. (spec: Event status, rules 1 and 2; Retention; Delivery quota) */
export type ReplayRefusal = 'rejected' | 'duplicate' | 'past_retention' | 'quota_exceeded'

const Headers = z.array(z.tuple([z.string(), z.string()]))

/** Why the event itself forbids it; the quota is `countReplays`'s. */
export function refusalOfReplay(
  event: { id: string; status: string },
  plan: Entitlements,
  nowMs: number,
): Exclude<ReplayRefusal, 'quota_exceeded'> | undefined {
  if (event.status === 'rejected' || event.status === 'duplicate') return event.status
  return timeOfId(event.id) < nowMs - plan.retentionDays * DAY_MS ? 'past_retention' : undefined
}

/** A way out of a source that is open now. */
interface OpenRoute {
  connectionId: string
  filter: CompiledFilter | null
  destinationId: string
  maxAttempts: number
}

/** By source. */
export type OpenRoutes = ReadonlyMap<string, readonly OpenRoute[]>

/** The active connections of sources, with their destinations and compiled filters. */
export async function routesOf(tx: Db, sourceIds: ReadonlySet<string>): Promise<OpenRoutes> {
  const routes = new Map<string, readonly OpenRoute[]>()
  for (const sourceId of sourceIds) {
    const active = (await connectionsOf(tx, 'source_id', sourceId)).filter(
      ({ isEnabled }) => isEnabled,
    )
    const destinations = await findDestinations(
      tx,
      active.map(({ destinationId }) => destinationId),
    )
    const open: OpenRoute[] = []
    for (const { id, destinationId, filter } of active) {
      const destination = destinations.get(destinationId)
      if (destination === undefined) continue
      await giveWay()
      const compiled = filter === null ? null : compileFilter(filter)
      const { maxAttempts } = destination.retryPolicy
      open.push({ connectionId: id, filter: compiled, destinationId, maxAttempts })
    }
    routes.set(sourceId, open)
  }
  return routes
}

/** Whether some filter looks at bodies: they are large, and read for that alone. */
export function needBodies(routes: OpenRoutes): boolean {
  return [...routes.values()].flat().some(({ filter }) => filter?.body !== undefined)
}

/** Returns a delivery for each connection whose filter matches the event. */
export function deliveriesFor(
  event: ReplayableEvent,
  routes: OpenRoutes,
  { plan, now }: { plan: Entitlements; now: Date },
): ReplayDelivery[] {
  const headers = Headers.parse(JSON.parse(event.headers))
  const matchable = matchableOf(storedRequest({ ...event, headers }), event.eventType)
  const open = routes.get(event.sourceId) ?? []
  const filters = open.flatMap(({ filter }) => filter ?? [])
  const matches = filters.length === 0 ? [] : matchFilters(filters, matchable)
  let filtered = 0
  return open
    .filter(({ filter }) => filter === null || matches[filtered++]?.matched === true)
    .map(({ connectionId, destinationId, maxAttempts }) => ({
      retentionClass: event.retentionClass,
      id: newId(now.getTime()),
      eventId: event.id,
      connectionId,
      destinationId,
      sourceId: event.sourceId,
      organisationId: event.organisationId,
      projectId: event.projectId,
      maxAttempts,
      partition: partitionOf(event.organisationId, destinationId, isPaced(plan)),
    }))
}

/** The use of a hard-capped quota, before what is refused. */
export interface QuotaUse {
  limit: number
  current: number
  resetAtMs: number
}

/**
 * Counts the deliveries of replays, one replay after the other, and says which of them the quota lets through: below
 * it a replay's whole fan-out. A hard-capped organisation's row stays locked to the end of the transaction, so that two
 * never pass on one count: decide everything else before. (spec: Limits, "Delivery quota"; decisions: Ingest)
 */
export async function countReplays(
  tx: Db,
  to: { organisationId: string; standing: Standing; now: Date },
  fanOuts: readonly number[],
): Promise<{ areAdmitted: boolean[]; quota: QuotaUse | null }> {
  const { organisationId, standing, now } = to
  const limit = hardCapOf(standing.entitlements)
  if (limit === null) {
    const sum = fanOuts.reduce((total, fanOut) => total + fanOut, 0)
    if (sum > 0) await countUsage(tx, organisationId, sum, now)
    return { areAdmitted: fanOuts.map(() => true), quota: null }
  }
  const startedAt = new Date(standing.window.startedAtMs)
  const before = await countCappedUsage(tx, organisationId, 0, startedAt)
  let current = before
  const areAdmitted = fanOuts.map((fanOut) => {
    if (current >= limit) return false
    current += fanOut
    return true
  })
  if (current > before) await countCappedUsage(tx, organisationId, current - before, startedAt)
  return { areAdmitted, quota: { limit, current, resetAtMs: standing.window.endsAtMs } }
}
