import { setTimeout as sleep } from 'node:timers/promises'

import type { Finding } from '../../../core/alerts/alert-types.ts'
import { HOUR_MS, MINUTE_MS, timestamp } from '../../../core/clock.ts'
import {
  agedBacklogs,
  type AgedBacklog,
  standingOfBacklogs,
} from '../../../core/db/alerts/signals/backlog-signals.ts'
import {
  offlineConnectors,
  standingOfOffline,
} from '../../../core/db/alerts/signals/connector-signals.ts'
import {
  standingOfDisabled,
  standingOfFailing,
} from '../../../core/db/alerts/signals/destination-signals.ts'
import {
  floodedSources,
  standingOfFlooded,
} from '../../../core/db/alerts/signals/rejection-signals.ts'
import {
  endingRotations,
  standingOfRotations,
} from '../../../core/db/alerts/signals/rotation-signals.ts'
import { encodeId, timeOfId } from '../../../core/ids.ts'
import {
  ALERT_FINDINGS_MAX,
  BACKLOG_MINUTES,
  BACKLOG_WELL_MINUTES,
  CONNECTOR_OFFLINE_MINUTES,
  CONNECTOR_ONLINE_SECONDS,
  PARTITIONS,
  REJECTIONS_MIN,
  REJECTIONS_MINUTES,
  REJECTIONS_PERCENT,
  REJECTIONS_WELL_MINUTES,
  REJECTIONS_WELL_PERCENT,
  ROTATION_NOTICE_HOURS,
  ROTATION_USED_HOURS,
} from '../../../core/limits.ts'
import { findOverQuota, standingOfQuota } from './quota-signal.ts'
import type { Signal, SignalDeps } from './signal.ts'

/** How often a signal is looked at that moves slowly, or takes more than a glance. */
const SLOW_MS = 60_000
const QUICK_MS = 15_000

/** Partitions whose lanes one statement looks through; as long as it takes, PostgreSQL is left to others. */
const PARTITIONS_AT_ONCE = 8

/** Operational events open these: see `followEvents`. */
const nothing = async (): Promise<Finding[]> => await Promise.resolve([])

/** (dashboard: Alerts, Signals) */
export const SIGNALS: readonly Signal[] = [
  {
    type: 'destination.failing',
    everyMs: QUICK_MS,
    looks: 1,
    wellMs: 0,
    find: nothing,
    look: async ({ db }, alerts) => await standingOfFailing(db, alerts),
  },
  {
    type: 'destination.disabled',
    everyMs: QUICK_MS,
    looks: 1,
    wellMs: 0,
    find: nothing,
    look: async ({ db }, alerts) => await standingOfDisabled(db, alerts),
  },
  {
    type: 'connector.offline',
    everyMs: QUICK_MS,
    // A gateway that restarts, or a clock that is set ahead, makes a connector look silent for a moment.
    looks: 2,
    wellMs: CONNECTOR_ONLINE_SECONDS * 1_000,
    find: findOffline,
    look: async ({ db }, alerts) => await standingOfOffline(db, alerts),
  },
  {
    type: 'quota.threshold',
    everyMs: SLOW_MS,
    looks: 1,
    wellMs: 0,
    find: findOverQuota,
    look: standingOfQuota,
  },
  {
    type: 'source.rejections',
    everyMs: QUICK_MS,
    looks: 1,
    wellMs: 0,
    find: findFlooded,
    look: async ({ db }, alerts, nowMs) =>
      await standingOfFlooded(db, alerts, {
        since: new Date(nowMs - REJECTIONS_WELL_MINUTES * MINUTE_MS),
        percent: REJECTIONS_WELL_PERCENT,
      }),
  },
  {
    type: 'backlog.age',
    everyMs: SLOW_MS,
    looks: 1,
    wellMs: 0,
    find: findBacklogs,
    look: async ({ db }, alerts, nowMs) =>
      await standingOfBacklogs(db, alerts, new Date(nowMs - BACKLOG_WELL_MINUTES * MINUTE_MS)),
  },
  {
    type: 'rotation.unused',
    everyMs: SLOW_MS,
    looks: 1,
    wellMs: 0,
    find: findRotations,
    look: async ({ db }, alerts, nowMs) =>
      await standingOfRotations(db, alerts, {
        now: new Date(nowMs),
        endBefore: new Date(nowMs + ROTATION_NOTICE_HOURS * HOUR_MS),
      }),
  },
]

async function findOffline({ db }: SignalDeps, nowMs: number): Promise<Finding[]> {
  const before = new Date(nowMs - CONNECTOR_OFFLINE_MINUTES * MINUTE_MS)
  const connectors = await offlineConnectors(db, before)
  return connectors.map(({ id, organisationId, projectId, name, lastSeenAt }) => ({
    type: 'connector.offline',
    organisationId,
    projectId,
    subjectId: id,
    name,
    level: 1,
    summary: `Connector "${name}" has had no replica since ${timestamp(lastSeenAt.getTime())}.`,
    evidence: { since: timestamp(lastSeenAt.getTime()) },
  }))
}

async function findFlooded({ db }: SignalDeps, nowMs: number): Promise<Finding[]> {
  const sources = await floodedSources(db, {
    since: new Date(nowMs - REJECTIONS_MINUTES * MINUTE_MS),
    atLeast: REJECTIONS_MIN,
    percent: REJECTIONS_PERCENT,
  })
  return sources.map(({ id, organisationId, projectId, name, requests, rejected, reason }) => ({
    type: 'source.rejections',
    organisationId,
    projectId,
    subjectId: id,
    name,
    level: 1,
    summary: `Source "${name}" rejected ${rejected} of ${requests} requests in ${REJECTIONS_MINUTES} minutes, most as ${reason}.`,
    evidence: { requests, rejected, reason, minutes: REJECTIONS_MINUTES },
  }))
}

async function findBacklogs({ db }: SignalDeps, nowMs: number): Promise<Finding[]> {
  const before = new Date(nowMs - BACKLOG_MINUTES * MINUTE_MS)
  const backlogs = new Map<string, AgedBacklog>()
  for (let from = 0; from < PARTITIONS; from += PARTITIONS_AT_ONCE) {
    const beganAt = performance.now()
    const partitions = Array.from({ length: PARTITIONS_AT_ONCE }, (_, n) => from + n)
    const found = await agedBacklogs(db, before, partitions)
    for (const backlog of found) backlogs.set(backlog.id, backlog)
    if (backlogs.size >= ALERT_FINDINGS_MAX) break
    await sleep(performance.now() - beganAt)
  }
  return [...backlogs.values()].map(({ id, organisationId, projectId, name, deliveryId }) => ({
    type: 'backlog.age',
    organisationId,
    projectId,
    subjectId: id,
    name,
    level: 1,
    summary: `Destination "${name}" has deliveries that have been due for more than ${BACKLOG_MINUTES} minutes.`,
    evidence: {
      sampleDeliveryId: encodeId('dlv', deliveryId),
      waitingSince: timestamp(timeOfId(deliveryId)),
    },
  }))
}

/** A rotation of a day is told of when half of it is over: before that its senders have had no time. */
async function findRotations({ db }: SignalDeps, nowMs: number): Promise<Finding[]> {
  const rotations = await endingRotations(db, {
    now: new Date(nowMs),
    endBefore: new Date(nowMs + ROTATION_NOTICE_HOURS * HOUR_MS),
    usedSince: new Date(nowMs - ROTATION_USED_HOURS * HOUR_MS),
  })
  return rotations
    .filter(({ startedAtMs, endsAt }) => nowMs - startedAtMs >= endsAt.getTime() - nowMs)
    .map(({ id, organisationId, projectId, name, endsAt, usedAt, uses }) => ({
      type: 'rotation.unused',
      organisationId,
      projectId,
      subjectId: id,
      name,
      level: 1,
      summary: `Source "${name}" still gets requests signed with its previous secret, which ends at ${timestamp(endsAt.getTime())}.`,
      evidence: {
        previousExpiresAt: timestamp(endsAt.getTime()),
        previousLastUsedAt: timestamp(usedAt.getTime()),
        previousUses: uses,
      },
    }))
}
