import type { Db } from '../db/connection/db.ts'
import type { OperationKind, Selected } from '../db/operations/operation-kinds.ts'
import { findTargets, waysFrom, type Target, type Way } from '../db/operations/plan-targets.ts'
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

/** Matches that the action allows, by their source (of events) or destination, and the others by reason. */
interface Tally {
  allowed: Map<string, number>
  refused: Map<string, number>
  oldestId: string | undefined
  newestId: string | undefined
}

/** The deliveries of a plan, by destination. */
interface Fan {
  byDestination: Map<string, number>
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
    allowed: new Map(),
    refused: new Map(),
    oldestId: undefined,
    newestId: undefined,
  }
  const counted = await countSelected(db, selected, { projectId, nowMs }, (marks) =>
    addTo(tally, marks, (mark) => refusalOf(kind, mark, plan, nowMs)),
  )
  const fan =
    kind === 'replay'
      ? fanOut(tally.allowed, await waysFrom(db, projectId, [...tally.allowed.keys()]))
      : { byDestination: tally.allowed, isUpperBound: false }
  const targets = await findTargets(db, projectId, [...fan.byDestination.keys()])
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
    else add(tally.allowed, 'sourceId' in mark ? mark.sourceId : mark.destinationId, 1)
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
      return status === 'in_flight' || status === 'throttled' ? status : undefined
    case 'cancel':
      return isWaiting ? undefined : status
  }
}

/** Each connection of an event's source makes a delivery of it. */
function fanOut(bySource: ReadonlyMap<string, number>, ways: readonly Way[]): Fan {
  const byDestination = new Map<string, number>()
  for (const { sourceId, destinationId, connections } of ways) {
    add(byDestination, destinationId, connections * (bySource.get(sourceId) ?? 0))
  }
  return { byDestination, isUpperBound: ways.some(({ filtered }) => filtered > 0) }
}

function planOf(
  kind: OperationKind,
  tally: Tally,
  { byDestination, isUpperBound }: Fan,
  { targets, pace }: { targets: ReadonlyMap<string, Target>; pace: Pace | undefined },
): Omit<OperationPlan, 'matched' | 'isTruncated'> {
  const refused = new Map(tally.refused)
  const destinations: PlannedDestination[] = []
  for (const [destinationId, deliveries] of byDestination) {
    const target = targets.get(destinationId)
    if (target === undefined && kind === 'retry') add(refused, 'destination_deleted', deliveries)
    else {
      const isEnabled = target?.isEnabled ?? false
      const seconds = target && isEnabled ? secondsOf(deliveries, paceOf(target)) : null
      destinations.push({
        destinationId,
        deliveries,
        isEnabled,
        seconds: kind === 'cancel' ? null : seconds,
      })
    }
  }
  return {
    oldestId: tally.oldestId,
    newestId: tally.newestId,
    refused: Object.fromEntries(refused),
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

function add(counts: Map<string, number>, key: string, count: number): void {
  if (count > 0) counts.set(key, (counts.get(key) ?? 0) + count)
}
