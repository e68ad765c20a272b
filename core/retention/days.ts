import { setTimeout as sleep } from 'node:timers/promises'

import { ensureDay } from '../db/connection/day-partitions.ts'
import { eventsKept, eventsWaiting, moveEvents } from '../db/retention/moves.ts'
import {
  deleteFailures,
  dropDay,
  eventPartition,
  pastDays,
  type PastDay,
} from '../db/retention/past-days.ts'
import { freeDedupeKeys, purgeLaterDeliveries } from '../db/retention/purge.ts'
import { firstIdAt } from '../ids.ts'
import { OVERDUE_CLASS, RETENTION_GRACE_DAYS } from '../limits.ts'
import { classAbove, cutoffId } from './keep.ts'
import { pause, STEP_ROWS, walk, type Run } from './step.ts'

/** Events moved by one transaction: each brings its deliveries and attempts. Ours. */
const MOVE_ROWS = 100

/** How often a day is tried when a worker or a lock holds it, and the pause between. Ours. */
const TRIES = 10
const TRY_AGAIN_MS = 300

/**
 * Drops the days that lie wholly before the retention of their class. Events that must stay move out first, with all their
 * rows; rows of the day's events in other partitions are deleted first. The days of a class go in order, because
 * deliveries of an older day's events may lie in a younger day.
 */
export async function dropPastDays(run: Run): Promise<void> {
  const left = new Set<number>()
  for (const day of await pastDays(run.db, run.asOfMs)) {
    const name = `${day.retentionClass}/${day.name}`
    if (!left.has(day.retentionClass) && (await dropPastDay(run, day))) {
      run.report.daysDropped.push(name)
    } else {
      left.add(day.retentionClass)
      run.report.daysLeft.push(name)
    }
  }
}

async function dropPastDay(run: Run, day: PastDay): Promise<boolean> {
  // Older events of the class that have no day of their own may have deliveries in this one.
  const events = { ...day, fromId: firstIdAt(0) }
  for (let tries = 1; ; tries++) {
    await keepLonger(run, events)
    const isFree = (await keepWaiting(run, events)) && (await emptyDay(run, day))
    if (isFree && (await dropDay(run.db, day))) return true
    if (tries === TRIES) return false
    run.signal.throwIfAborted()
    await sleep(TRY_AGAIN_MS)
  }
}

/** Moves the events of organisations whose retention is longer than the class. */
async function keepLonger(run: Run, day: PastDay): Promise<void> {
  for (const { retentionDays, projectIds } of run.organisations) {
    if (retentionDays <= day.retentionClass) continue
    const cutoff = cutoffId(run.asOfMs, retentionDays)
    for (const projectId of projectIds) {
      for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
        const of = { projectId, cutoffId: cutoff, afterId, limit: MOVE_ROWS }
        const ids = await eventsKept(run.db, day, of)
        await move(run, day, { ids, to: classAbove(day.retentionClass, retentionDays) })
        afterId = ids.length === MOVE_ROWS ? ids.at(-1) : undefined
      }
    }
  }
}

/** Moves events with a waiting delivery; false while one of these is in flight. */
async function keepWaiting(run: Run, day: PastDay): Promise<boolean> {
  const retention = new Map(run.organisations.map(({ id, retentionDays }) => [id, retentionDays]))
  for (;;) {
    const waiting = await eventsWaiting(run.db, day, { watermark: run.watermark, limit: STEP_ROWS })
    if (waiting.length === 0) return true
    const byClass = Map.groupBy(waiting, ({ organisationId }) =>
      classAbove(
        day.retentionClass,
        (retention.get(organisationId) ?? day.retentionClass) + RETENTION_GRACE_DAYS,
      ),
    )
    let moved = 0
    for (const [to, events] of byClass) {
      moved += await move(run, day, { ids: events.map(({ id }) => id), to })
    }
    if (moved === 0) return false
  }
}

async function move(
  run: Run,
  day: PastDay,
  { ids, to }: { ids: readonly string[]; to: number },
): Promise<number> {
  if (ids.length === 0) return 0
  if (to !== OVERDUE_CLASS) await ensureDay(run.db, to, day.dayMs)
  let moved = 0
  for (let at = 0; at < ids.length; at += MOVE_ROWS) {
    const beganAt = performance.now()
    const now = new Date(run.clock.now())
    const some = ids.slice(at, at + MOVE_ROWS)
    moved += await moveEvents(run.db, some, { from: day.retentionClass, to, now })
    await pause(run, beganAt)
  }
  run.report.moved += moved
  return moved
}

/** Deletes rows of the day's events in other partitions; false if one of their deliveries still waits. */
async function emptyDay(run: Run, day: PastDay): Promise<boolean> {
  let isFree = true
  await walk(run, async () => {
    const step = await purgeLaterDeliveries(run.db, day, STEP_ROWS)
    isFree = step !== undefined
    return step ?? { purged: { events: 0, deliveries: 0, attempts: 0 }, lastId: undefined }
  })
  if (!isFree) return false
  await freeDay(run, day)
  for (let hasMore = true; hasMore;) {
    const beganAt = performance.now()
    hasMore = await deleteFailures(run.db, day, STEP_ROWS)
    await pause(run, beganAt)
  }
  return true
}

async function freeDay(run: Run, day: PastDay): Promise<void> {
  const partition = await eventPartition(run.db, day)
  if (partition === undefined) return
  for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
    const beganAt = performance.now()
    afterId = await freeDedupeKeys(run.db, { partition, afterId }, STEP_ROWS)
    await pause(run, beganAt)
  }
}
