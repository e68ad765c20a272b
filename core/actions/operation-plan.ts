import type { Db } from '../db/connection/db.ts'
import type { OperationKind, Selected } from '../db/operations/operation-kinds.ts'
import {
  findConnections,
  findTargets,
  waysFrom,
  type Target,
  type Way,
} from '../db/operations/plan-targets.ts'
import { destinationPace, planPace, type Pace } from '../pacing/gcra.ts'
import type { Entitlements } from '../plans/plans.ts'
import { refusalOfReplay } from './replay.ts'
import { countSelected, type Mark } from './selection.ts'

/** The deliveries of an operation that one destination would get. */
interface PlannedDestination {
  destinationId: string
  deliveries: number
  isEnabled: boolean
  /** How long its pace takes for them; null when nothing paces it, or none of them goes out now. */
  seconds: number | null
}

/** How far an operation would reach now, as far as it was counted. */
export interface OperationPlan {
  matched: number
  isTruncated: boolean
  oldestId: string | undefined
  newestId: string | undefined
  /** Matches that the action would refuse, by reason. */
  refused: Record<string, number>
  deliveries: number
  /** Filters of connections may keep some of them back. */
  isUpperBound: boolean
  /** Most deliveries first. */
  destinations: PlannedDestination[]
  seconds: number | null
}

/** How many of each. */
type Counts = Map<string, number>

interface Tally {
  /** Events that the action allows, by source. */
  events: Counts
  /** Deliveries that it allows, by destination and connection. */
  deliveries: Map<string, Counts>
  /** Other matches, by reason. */
  refused: Counts
  oldestId: string | undefined
  newestId: string | undefined
}

/** The deliveries of a plan, by destination. */
interface Fan {
  byDestination: Counts
  isUpperBound: boolean
}

/** Reads no bodies: filters of connections are not asked, and what they keep back is in the count. */
export async function planSelected(
  db: Db,
  selected: Selected,
  { projectId, nowMs, plan }: { projectId: string; nowMs: number; plan: Entitlements },
): Promise<OperationPlan> {
  const { kind } = selected
  const tally: Tally = {
    events: new Map(),
    deliveries: new Map(),
    refused: new Map(),
    oldestId: undefined,
    newestId: undefined,
  }
  const counted = await countSelected(db, selected, { projectId, nowMs }, (marks) =>
    addTo(tally, marks, (mark) => refusalOf(kind, mark, plan, nowMs)),
  )
  const { events, deliveries } = tally
  const fan =
    kind === 'replay'
      ? fanOut(events, await waysFrom(db, projectId, [...events.keys()]))
      : { byDestination: totals(deliveries), isUpperBound: false }
  const targets = await findTargets(db, projectId, [...fan.byDestination.keys()])
  if (kind === 'retry') {
    const ids = new Set([...deliveries.values()].flatMap((counts) => [...counts.keys()]))
    fan.byDestination = retried(tally, targets, await findConnections(db, projectId, [...ids]))
  }
  return { ...counted, ...planOf(kind, tally, fan, { targets, pace: planPace(plan) }) }
}

function addTo(
  tally: Tally,
  marks: readonly Mark[],
  refusal: (mark: Mark) => string | undefined,
): void {
  tally.oldestId ??= marks[0]?.id
  tally.newestId = marks.at(-1)?.id ?? tally.newestId
  for (const mark of marks) {
    const reason = refusal(mark)
    if (reason !== undefined) add(tally.refused, reason, 1)
    else if ('sourceId' in mark) add(tally.events, mark.sourceId, 1)
    else {
      const { destinationId, connectionId } = mark
      const counts = tally.deliveries.get(destinationId) ?? new Map()
      tally.deliveries.set(destinationId, counts)
      add(counts, connectionId ?? '', 1)
    }
  }
}

/** Why the action would refuse it, by what a list knows. */
function refusalOf(
  kind: OperationKind,
  mark: Mark,
  plan: Entitlements,
  nowMs: number,
): string | undefined {
  const { status } = mark
  const isWaiting = status === 'pending' || status === 'throttled'
  switch (kind) {
    case 'replay':
      return refusalOfReplay(mark, plan, nowMs)
    case 'retry':
      if (status === 'in_flight' || status === 'throttled') return status
      return 'connectionId' in mark && mark.connectionId === null ? 'test_delivery' : undefined
    case 'cancel':
      return isWaiting ? undefined : status
  }
}

/** Each connection of an event's source makes a delivery of it. */
function fanOut(bySource: ReadonlyMap<string, number>, ways: readonly Way[]): Fan {
  const byDestination: Counts = new Map()
  for (const { sourceId, destinationId, connections } of ways) {
    add(byDestination, destinationId, connections * (bySource.get(sourceId) ?? 0))
  }
  return { byDestination, isUpperBound: ways.some(({ filtered }) => filtered > 0) }
}

/** An attempt needs the destination and the connection of its delivery; the others are refused. */
function retried(
  { deliveries, refused }: Tally,
  targets: ReadonlyMap<string, Target>,
  connections: ReadonlySet<string>,
): Counts {
  const byDestination: Counts = new Map()
  for (const [destinationId, counts] of deliveries) {
    for (const [connectionId, count] of counts) {
      if (!targets.has(destinationId)) add(refused, 'destination_deleted', count)
      else if (!connections.has(connectionId)) add(refused, 'connection_deleted', count)
      else add(byDestination, destinationId, count)
    }
  }
  return byDestination
}

function totals(deliveries: ReadonlyMap<string, Counts>): Counts {
  const byDestination: Counts = new Map()
  for (const [destinationId, counts] of deliveries) {
    for (const count of counts.values()) add(byDestination, destinationId, count)
  }
  return byDestination
}

function planOf(
  kind: OperationKind,
  tally: Tally,
  { byDestination, isUpperBound }: Fan,
  { targets, pace }: { targets: ReadonlyMap<string, Target>; pace: Pace | undefined },
): Omit<OperationPlan, 'matched' | 'isTruncated'> {
  const destinations = [...byDestination].map(([destinationId, deliveries]): PlannedDestination => {
    const target = targets.get(destinationId)
    const isEnabled = target?.isEnabled ?? false
    const isPaced = isEnabled && kind !== 'cancel'
    const seconds = target && isPaced ? secondsOf(deliveries, paceOf(target)) : null
    return { destinationId, deliveries, isEnabled, seconds }
  })
  return {
    oldestId: tally.oldestId,
    newestId: tally.newestId,
    refused: Object.fromEntries(tally.refused),
    deliveries: sum(destinations),
    isUpperBound,
    destinations: destinations.toSorted((one, other) => other.deliveries - one.deliveries),
    seconds: kind === 'cancel' ? null : wholeSeconds(destinations, pace),
  }
}

/** Destinations are sent to side by side, all of them within the pace of the plan. */
function wholeSeconds(
  destinations: readonly PlannedDestination[],
  pace: Pace | undefined,
): number | null {
  const going = destinations.filter(({ isEnabled }) => isEnabled)
  const times = [secondsOf(sum(going), pace), ...going.map(({ seconds }) => seconds)]
  const known = times.filter((seconds) => seconds !== null)
  return known.length === 0 ? null : Math.max(...known)
}

function paceOf({ rateLimit, rateLimitPeriod }: Target): Pace | undefined {
  return rateLimit === null ? undefined : destinationPace(rateLimit, rateLimitPeriod)
}

/** Until the last of so many may go, if nothing else went before or beside them. */
function secondsOf(deliveries: number, pace: Pace | undefined): number | null {
  if (pace === undefined) return null
  return Math.ceil((Math.max(0, deliveries - pace.burst) * pace.intervalMs) / 1_000)
}

function sum(destinations: readonly PlannedDestination[]): number {
  return destinations.reduce((total, { deliveries }) => total + deliveries, 0)
}

function add(counts: Counts, key: string, count: number): void {
  if (count > 0) counts.set(key, (counts.get(key) ?? 0) + count)
}
