import type { Finding } from '../../../core/alerts/alert-types.ts'
import { timestamp } from '../../../core/clock.ts'
import type { Alert } from '../../../core/db/alerts/alerts.ts'
import type { AlertStanding } from '../../../core/db/alerts/signals/alert-standing.ts'
import {
  countedWindows,
  type CountedWindow,
} from '../../../core/db/alerts/signals/usage-signals.ts'
import { QUOTA_NOTICE_PERCENTS } from '../../../core/limits.ts'
import type { Plans } from '../../../core/plans/plans.ts'
import { standingAt } from '../../../core/plans/standing.ts'
import type { SignalDeps } from './signal.ts'

/** Organisations that have used up a part of their quota that is told of. Levels are percents. */
export async function findOverQuota(deps: SignalDeps, nowMs: number): Promise<Finding[]> {
  const windows = await countedWindows(deps.db, boundsOf(deps.plans))
  return windows.flatMap((window) => {
    const used = usageOf(deps.plans, window, nowMs)
    if (used === undefined || used.level === 0) return []
    const { level, limit, resetAtMs, isHardCapped } = used
    const { organisationId, name, deliveries } = window
    const end =
      isHardCapped && level === 100 ? 'Events are refused until then' : 'It begins anew then'
    return {
      type: 'quota.threshold',
      organisationId,
      projectId: null,
      subjectId: organisationId,
      name,
      level,
      summary: `Organisation "${name}" has used ${level} % of its ${limit} deliveries until ${timestamp(resetAtMs)}. ${end}.`,
      evidence: { deliveries, limit, resetAt: timestamp(resetAtMs), isHardCapped },
    }
  })
}

/** Well are organisations whose present window is below every part that is told of. */
export async function standingOfQuota(
  { db, plans }: SignalDeps,
  alerts: readonly Alert[],
  nowMs: number,
): Promise<Map<string, AlertStanding>> {
  const among = alerts.map(({ subjectId }) => subjectId)
  const windows = await countedWindows(db, { ...boundsOf(plans), among })
  const over = new Set(
    windows
      .filter((window) => (usageOf(plans, window, nowMs)?.level ?? 0) > 0)
      .map(({ organisationId }) => organisationId),
  )
  return new Map(alerts.flatMap(({ id, subjectId }) => (over.has(subjectId) ? [] : [[id, 'well']])))
}

/** Undefined for a window that is over, and without a quota. */
function usageOf(
  plans: Plans,
  window: CountedWindow,
  nowMs: number,
): { level: number; limit: number; resetAtMs: number; isHardCapped: boolean } | undefined {
  const { entitlements, window: present } = standingAt(plans, window, nowMs)
  const { deliveryQuota: limit, isHardCapped } = entitlements
  if (limit === null || window.windowStartedAtMs !== present.startedAtMs) return undefined
  const level = QUOTA_NOTICE_PERCENTS.findLast(
    (percent) => window.deliveries * 100 >= limit * percent,
  )
  return { level: level ?? 0, limit, resetAtMs: present.endsAtMs, isHardCapped }
}

/** The plans without a quota, and the deliveries below which no other plan has anything to tell. */
function boundsOf(plans: Plans): { unlimitedPlans: string[]; atLeast: number } {
  const unlimitedPlans: string[] = []
  let least = Number.MAX_SAFE_INTEGER
  for (const [name, { deliveryQuota }] of Object.entries(plans)) {
    if (deliveryQuota === null) unlimitedPlans.push(name)
    else least = Math.min(least, deliveryQuota)
  }
  return { unlimitedPlans, atLeast: Math.ceil((least / 100) * QUOTA_NOTICE_PERCENTS[0]) }
}
