import type { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { connectionNames } from '../../core/db/configuration/connections.ts'
import { findDestinations, type Destination } from '../../core/db/configuration/destinations.ts'
import { findSource } from '../../core/db/configuration/sources.ts'
import type { Attempt as AttemptRow } from '../../core/db/deliveries/read/attempts.ts'
import {
  deliveriesOfEvent,
  type Delivery as Row,
} from '../../core/db/deliveries/read/deliveries.ts'
import { countUnderWay } from '../../core/db/deliveries/read/under-way.ts'
import { findBusyWindows, type BusyWindow } from '../../core/db/deliveries/work/busy-windows.ts'
import type { Event } from '../../core/db/events/events.ts'
import { encodeId, timeOfId } from '../../core/ids.ts'
import { DESTINATION_CONCURRENCY_DEFAULT } from '../../core/limits.ts'
import { explain } from '../../core/verdict/explain.ts'
import type { ExplainedDelivery, ExplainedEvent } from '../../core/verdict/facts.ts'
import { attemptsWithHeaders, type SentDelivery } from '../deliveries/attempts.ts'
import { milliseconds, viewDelivery } from '../deliveries/shape.ts'
import type { Deps } from '../deps.ts'
import { Outcomes, type Outcome, type Timeline } from './timeline-shape.ts'

/** Deliveries of one event that are shown, here and with the event. (decisions: Answers of actions) */
export const SHOWN_DELIVERIES = 100

type Shown = z.output<typeof Timeline>

/** The journey of an event: what ingest measured, what matching said, every attempt, and what it comes to. */
export async function timelineOf(deps: Deps, event: Event): Promise<Shown> {
  const rows = await deliveriesOfEvent(deps.lists, event, SHOWN_DELIVERIES)
  const outcomes = outcomesOf(event, rows)
  const destinationIds = [...new Set(rows.map(({ destinationId }) => destinationId))]
  const connectionIds = new Set(rows.map(({ connectionId }) => connectionId))
  const [sent, destinations, names, source, busy, underWay] = await Promise.all([
    attemptsWithHeaders(deps, rows),
    findDestinations(deps.db, destinationIds),
    connectionNames(deps.db, [...new Set([...outcomes.keys(), ...connectionIds])].filter(isId)),
    findSource(deps.db, { ...event, projectId: undefined }, event.sourceId),
    findBusyWindows(deps.db, destinationIds),
    countUnderWay(deps.db, event.projectId, destinationIds),
  ])
  const lastHosts = new Map(sent.map((one) => [one.row.id, lastHostOf(one)]))
  const verdict = explain({
    nowMs: deps.clock.now(),
    status: event.status,
    rejectionReason: event.rejectionReason,
    rejectionDetail: event.rejectionDetail,
    verifiedWith: event.verifiedWith,
    sourceName: source?.name,
    createdAtMs: timeOfId(event.id),
    method: event.method,
    hasBody: event.sizeBytes > 0,
    hasQuery: event.query !== '',
    excluded: [...outcomes.values()]
      .filter(({ connectionId }) => !connectionIds.has(connectionId))
      .flatMap((outcome) => excludedOf(outcome, names)),
    deliveries: newestByConnection(rows).map((row) =>
      explained(row, {
        connectionName: names.get(row.connectionId ?? ''),
        destination: destinations.get(row.destinationId),
        busy: busy.get(row.destinationId) ?? null,
        underWay: underWay.get(row.destinationId) ?? 0,
        lastHost: lastHosts.get(row.id),
      }),
    ),
    hasOlder: rows.length === SHOWN_DELIVERIES,
  })
  return {
    verdict: {
      cause: verdict.cause,
      sentence: verdict.sentence,
      since: timestamp(verdict.sinceMs),
      nextAt: verdict.nextAtMs === null ? null : timestamp(verdict.nextAtMs),
      action: verdict.action,
    },
    phases: phasesOf(event, sent),
    connections: [...outcomes.values()].map(({ connectionId, ...rest }) => ({
      connectionId: encodeId('con', connectionId),
      ...rest,
    })),
    deliveries: sent.map(({ row, attempts }) => ({
      ...viewDelivery(row),
      attempts: attempts.map(({ shown }) => shown),
    })),
  }
}

/** Ingest writes down what it excluded; a connection that got a delivery of its own has that for its outcome. */
function outcomesOf(event: Event, rows: readonly Row[]): Map<string, Outcome> {
  const written = event.outcomes === null ? [] : Outcomes.parse(JSON.parse(event.outcomes))
  const outcomes = new Map(written.map((outcome) => [outcome.connectionId, outcome]))
  for (const { connectionId, trigger } of rows.toReversed()) {
    if (connectionId !== null && trigger === 'ingest' && !outcomes.has(connectionId)) {
      outcomes.set(connectionId, { connectionId, outcome: 'delivered_to' })
    }
  }
  return outcomes
}

/** `rows` are the newest first. */
function newestByConnection(rows: readonly Row[]): Row[] {
  const newest = new Map<string, Row>()
  for (const row of rows) {
    const key = row.connectionId ?? row.id
    if (!newest.has(key)) newest.set(key, row)
  }
  return [...newest.values()]
}

function isId(id: string | null): id is string {
  return id !== null
}

/** Where the last attempt went. */
function lastHostOf({ row, attempts }: SentDelivery): string | undefined {
  const last = attempts.find((one) => one.row.startedAt.getTime() === row.lastAttemptAt?.getTime())
  return last === undefined ? undefined : URL.parse(last.row.url)?.host
}

function excludedOf(
  { connectionId, outcome, failedPart }: Outcome,
  names: ReadonlyMap<string, string>,
): ExplainedEvent['excluded'] {
  return outcome === 'delivered_to' ? [] : [{ name: names.get(connectionId), outcome, failedPart }]
}

interface Surroundings {
  connectionName: string | undefined
  destination: Destination | undefined
  busy: BusyWindow | null
  underWay: number
  lastHost: string | undefined
}

function explained(
  row: Row,
  { connectionName, destination, busy, underWay, lastHost }: Surroundings,
): ExplainedDelivery {
  return {
    connectionName,
    status: row.status,
    createdAtMs: timeOfId(row.id),
    attemptCount: row.attemptCount,
    maxAttempts: row.maxAttempts,
    nextAttemptAtMs: row.nextAt?.getTime() ?? null,
    isParked: row.isParked,
    isByHand: row.isByHand,
    throttledReason: row.throttledReason,
    throttledAtMs: row.throttledAt?.getTime() ?? null,
    lastError: row.lastError,
    lastAttempt:
      row.lastAttemptAt === null
        ? null
        : {
            atMs: row.lastAttemptAt.getTime(),
            host: lastHost,
            responseStatus: row.lastResponseStatus,
            errorCode: row.lastErrorCode,
            durationMs: row.lastDurationMs,
          },
    completedAtMs: row.completedAt?.getTime() ?? null,
    destination: destination && {
      ...destination,
      concurrency: destination.maxConcurrency ?? DESTINATION_CONCURRENCY_DEFAULT,
      busy,
      underWay,
    },
  }
}

/** Verification and matching happen in memory before the event is stored; their times follow from their durations. */
function phasesOf(event: Event, sent: readonly SentDelivery[]): Shown['phases'] {
  const receivedMs = timeOfId(event.id)
  const verifiedMs = receivedMs + event.verifiedUs / 1000
  const matchedMs = verifiedMs + event.matchedUs / 1000
  const starts = sent.flatMap(({ attempts }) => attempts.map(({ row }) => startOf(row)))
  const phases: Shown['phases'] = [
    { name: 'received', at: timestamp(receivedMs), durationMs: 0 },
    {
      name: 'verified',
      at: timestamp(verifiedMs),
      durationMs: milliseconds(event.verifiedUs / 1000),
    },
    { name: 'stored', at: timestamp(event.storedAt.getTime()), durationMs: null },
  ]
  if (event.status !== 'rejected') {
    const durationMs = milliseconds(event.matchedUs / 1000)
    phases.push({ name: 'matched', at: timestamp(matchedMs), durationMs })
  }
  if (starts.length > 0) {
    phases.push({ name: 'dispatched', at: timestamp(Math.min(...starts)), durationMs: null })
  }
  return phases
}

function startOf(row: AttemptRow): number {
  return row.startedAt.getTime()
}
