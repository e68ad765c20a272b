import { nextPlanRows } from '../db/billing/subscriptions.ts'
import { readWatermark } from '../db/deliveries/upkeep/sweep.ts'
import { expireWaiting } from '../db/retention/expiry.ts'
import { deleteAudit, deletePacing, projectsOf } from '../db/retention/leftovers.ts'
import { undatedPartitions } from '../db/retention/past-days.ts'
import {
  purgeOrphanEvents,
  purgeProjectEvents,
  purgeTestDeliveries,
  type PurgedStep,
} from '../db/retention/purge.ts'
import { recordRun, withRunLock } from '../db/retention/runs.ts'
import { firstIdAt } from '../ids.ts'
import { RETENTION_GRACE_DAYS } from '../limits.ts'
import { standingAt } from '../plans/standing.ts'
import { dropPastDays } from './days.ts'
import { cutoffId } from './keep.ts'
import {
  pause,
  STEP_ROWS,
  walk,
  type RetentionDeps,
  type RetentionReport,
  type Run,
} from './step.ts'

/**
 * Waiting rows of one step, some 6 ms of PostgreSQL, and how many times what it took it rests: all that waits is looked at,
 * and others are delivered to meanwhile. Ours.
 */
const EXPIRE_ROWS = 500
const EXPIRE_RESTS = 9

/** Organisations whose plans one statement reads. */
const ORGANISATIONS_PAGE = 1_000

/** How long changes of configuration stay in the audit. Ours. */
const AUDIT_DAYS = 365

/**
 * Purges what is past retention at `asOfMs`: first what waited too long fails, then whole days are dropped, then the
 * rest goes row by row. Every step can be repeated, so that a run that was killed is simply run again. Undefined when
 * another process is at it. (spec: Events 4; decisions: Billing and plans, Retention)
 */
export async function runRetention(
  deps: RetentionDeps,
  asOfMs: number,
): Promise<RetentionReport | undefined> {
  return await withRunLock(deps.db, async () => {
    const run = await begin(deps, asOfMs)
    await expire(run)
    await dropPastDays(run)
    for (const organisation of run.organisations) await purgeOrganisation(run, organisation)
    await purgeOrphans(run)
    await deletePacing(deps.db)
    const { report } = run
    if (report.daysLeft.length === 0) {
      await recordRun(deps.db, { asOfMs, finishedAtMs: deps.clock.now(), report })
    }
    return report
  })
}

async function begin(deps: RetentionDeps, asOfMs: number): Promise<Run> {
  const { db, plans, clock } = deps
  const nowMs = clock.now()
  const organisations: { id: string; retentionDays: number; projectIds: readonly string[] }[] = []
  for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
    const page = await nextPlanRows(db, { afterId, limit: ORGANISATIONS_PAGE })
    const projects = await projectsOf(
      db,
      page.map(({ organisationId }) => organisationId),
    )
    for (const { organisationId: id, rows } of page) {
      const { retentionDays } = standingAt(plans, rows, nowMs).entitlements
      organisations.push({ id, retentionDays, projectIds: projects.get(id) ?? [] })
    }
    afterId = page.length < ORGANISATIONS_PAGE ? undefined : page.at(-1)?.organisationId
  }
  return {
    ...deps,
    asOfMs,
    organisations,
    watermark: await readWatermark(db),
    report: {
      asOf: new Date(asOfMs).toISOString(),
      expired: 0,
      events: 0,
      deliveries: 0,
      attempts: 0,
      moved: 0,
      auditRows: 0,
      daysDropped: [],
      daysLeft: [],
    },
  }
}

async function expire(run: Run): Promise<void> {
  const { db, asOfMs, watermark, clock } = run
  const untilIds = new Map(
    run.organisations.flatMap(({ retentionDays, projectIds }) => {
      const untilId = cutoffId(asOfMs, retentionDays + RETENTION_GRACE_DAYS)
      return projectIds.map((id) => [id, untilId] as const)
    }),
  )
  const step = async (afterId: string): Promise<PurgedStep> => {
    const of = { untilIds, afterId, watermark, now: new Date(clock.now()) }
    const { expired, lastId } = await expireWaiting(db, of, EXPIRE_ROWS)
    run.report.expired += expired
    return { purged: { events: 0, deliveries: 0, attempts: 0 }, lastId }
  }
  await walk(run, step, EXPIRE_RESTS)
}

async function purgeOrganisation(run: Run, of: Run['organisations'][number]): Promise<void> {
  const { db, asOfMs } = run
  const untilId = cutoffId(asOfMs, of.retentionDays)
  for (const projectId of of.projectIds) {
    await walk(
      run,
      async (afterId) => await purgeProjectEvents(db, { projectId, untilId, afterId }, STEP_ROWS),
    )
    await walk(
      run,
      async (afterId) => await purgeTestDeliveries(db, { projectId, untilId, afterId }, STEP_ROWS),
    )
  }
  const audit = { organisationId: of.id, cutoffId: untilId, untilId: cutoffId(asOfMs, AUDIT_DAYS) }
  for (let deleted = STEP_ROWS; deleted === STEP_ROWS;) {
    const beganAt = performance.now()
    deleted = await deleteAudit(db, audit, STEP_ROWS)
    run.report.auditRows += deleted
    await pause(run, beganAt)
  }
}

/** A deleted project's events go with the days of their class; those that have no day go here. */
async function purgeOrphans(run: Run): Promise<void> {
  for (const { partition, retentionClass: days } of undatedPartitions()) {
    const untilId = cutoffId(run.asOfMs, days)
    await walk(
      run,
      async (afterId) =>
        await purgeOrphanEvents(run.db, { partition, untilId, afterId }, STEP_ROWS),
    )
  }
}
