import { DAY_MS, timestamp, type Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  deleteEndedRuns,
  endBusyRuns,
  listRecoveries,
  listRuns,
  markFailing,
  markRecovered,
  markTold,
  type DestinationRun,
  type Recovery,
} from '../../../core/db/deliveries/upkeep/destination-failures.ts'
import { disableFailing } from '../../../core/db/deliveries/work/delivery-destinations.ts'
import {
  deleteOldOperationalEvents,
  recordOperationalEvents,
  type OperationalEvent,
} from '../../../core/db/processes/operational-events.ts'
import { disablesAtMs, judgeRun } from '../../../core/delivery/failing.ts'
import { encodeId } from '../../../core/ids.ts'
import { OPERATIONAL_EVENT_DAYS } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { announceChanges } from '../../../core/notices/config-changes.ts'

export interface FailingDeps {
  db: Db
  nats: NatsConnection
  clock: Clock
  log: Logger
}

/** How long a success is remembered against failures before it that come to be known late. */
const SUCCESS_KEPT_MS = 3_600_000

/** Rows of one statement, and statements of one run. */
const PAGE = 500
const PAGES_MAX = 100

/**
 * Tells owners of destinations that fail and recover, and disables those that have failed for too long. Two processes
 * may do it at once: what the first has told or disabled, the second finds told. (decisions: Delivery, "failing")
 */
export async function judgeDestinations(deps: FailingDeps): Promise<void> {
  const { db, clock } = deps
  await endBusyRuns(db)
  await tellRecoveries(deps)
  await judgeRuns(deps)
  await deleteEndedRuns(db, new Date(clock.now() - SUCCESS_KEPT_MS))
  await deleteOldOperationalEvents(db, clock.now() - OPERATIONAL_EVENT_DAYS * DAY_MS)
}

async function judgeRuns(deps: FailingDeps): Promise<void> {
  const { db, log } = deps
  const disabled: string[] = []
  for (let page = 0, afterId: string | undefined; page < PAGES_MAX; page++) {
    const runs = await listRuns(db, { afterId, limit: PAGE })
    for (const run of runs) {
      if (await applyJudgement(deps, run)) disabled.push(run.destinationId)
    }
    afterId = runs.at(-1)?.destinationId
    if (runs.length < PAGE) break
  }
  if (disabled.length === 0) return
  const destinationIds = disabled.map((id) => encodeId('dst', id))
  log.info({ destinationIds }, 'Disabled destinations that failed every attempt')
  await announceChanges(
    deps,
    disabled.map((id) => ({ kind: 'destination', id })),
  )
}

/** Returns whether the destination was disabled. */
async function applyJudgement({ db, clock }: FailingDeps, run: DestinationRun): Promise<boolean> {
  const nowMs = clock.now()
  const { isFailing, percents } = judgeRun(run, nowMs)
  if (isFailing && !run.isJudged) await markFailing(db, run)
  const last = percents.at(-1)
  if (last === undefined) return false
  const notices = percents.map((percent) => noticeOf(run, percent, nowMs))
  return await db.transaction().execute(async (tx) => {
    const isDisabled = last === 100 && (await disableFailing(tx, run, nowMs))
    // It succeeded, or somebody changed it, since it was read: the next run judges it again.
    if (last === 100 && !isDisabled) return false
    await recordOperationalEvents(tx, notices)
    await markTold(tx, run, last)
    return isDisabled
  })
}

function noticeOf(run: DestinationRun, percent: number, nowMs: number): OperationalEvent {
  const { destinationId, organisationId, projectId, name, failingSinceMs } = run
  const failingSince = timestamp(failingSinceMs)
  const told = { name, failingSince, percent }
  return {
    organisationId,
    projectId,
    subjectId: destinationId,
    occasion: `${failingSince} ${percent}`,
    atMs: nowMs,
    ...(percent === 100
      ? { kind: 'destination.disabled', details: { ...told, reason: 'failing' } }
      : {
          kind: 'destination.failing',
          details: { ...told, disablesAt: timestamp(disablesAtMs(run)) },
        }),
  }
}

async function tellRecoveries({ db, clock }: FailingDeps): Promise<void> {
  for (const recovery of await listRecoveries(db, PAGE)) {
    await db.transaction().execute(async (tx) => {
      if (await markRecovered(tx, recovery)) {
        await recordOperationalEvents(tx, [recoveryOf(recovery, clock.now())])
      }
    })
  }
}

function recoveryOf(recovery: Recovery, nowMs: number): OperationalEvent {
  const { destinationId, organisationId, projectId, name, toldSince, recoveredAt } = recovery
  const failingSince = timestamp(toldSince.getTime())
  return {
    organisationId,
    projectId,
    kind: 'destination.recovered',
    subjectId: destinationId,
    occasion: failingSince,
    details: { name, failingSince, recoveredAt: timestamp(recoveredAt.getTime()) },
    atMs: nowMs,
  }
}
