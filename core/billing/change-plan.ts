import type { Clock } from '../clock.ts'
import type { Ledger } from '../db/billing/ledger.ts'
import { lockPlanRows, writeSubscription } from '../db/billing/subscriptions.ts'
import { boundWindow } from '../db/billing/usage.ts'
import { setPlan } from '../db/configuration/organisations.ts'
import type { Db } from '../db/connection/db.ts'
import { writeAudit, type Actor } from '../db/requests/audit.ts'
import { refuse } from '../errors.ts'
import {
  entitlementsOf,
  planOf,
  retentionClassOf,
  type EntitlementOverrides,
  type PlanName,
  type Plans,
} from '../plans/plans.ts'
import { standingAt, type PlanRows } from '../plans/standing.ts'
import { advance, onPlan, transition, type Transition } from '../plans/subscription.ts'
import { factsOfBoundaries, factsOfChange } from './billing-facts.ts'

export interface BillingDeps {
  plans: Plans
  ledger: Ledger
  clock: Clock
}

/** Who changes the plan of which organisation. */
export interface PlanChange {
  organisationId: string
  /** Recorded in the audit. */
  actor: Actor
}

/** The actor of what time does by itself. */
const SYSTEM: Actor = { name: 'system', address: null }

/** An organisation's plan, held to the end of the transaction, and the moment it was settled at. */
interface Settled {
  rows: PlanRows
  nowMs: number
  /** Its events may be kept in other partitions now. */
  isOnNewPlan: boolean
}

/** Writes what time has made of an organisation's subscription. Undefined when there is no such organisation. */
export async function settle(
  tx: Db,
  deps: BillingDeps,
  organisationId: string,
): Promise<Settled | undefined> {
  const before = await lockPlanRows(tx, organisationId)
  if (before === undefined) return undefined
  // Read once the lock is held: whoever held it before has settled at an earlier moment.
  const nowMs = deps.clock.now()
  const unchanged = { rows: before, nowMs, isOnNewPlan: false }
  if (before.subscription === undefined) return unchanged
  const { subscription, passed } = advance(before.subscription, nowMs)
  if (passed.length === 0) return unchanged
  const after = { ...before, plan: subscription.plan, subscription }
  for (const { startedAtMs, endedAtMs, plan } of passed) {
    await boundWindow(tx, organisationId, { startedAtMs, endsAtMs: endedAtMs, plan })
  }
  const change = { before, after, nowMs }
  await writeRows(tx, deps.plans, organisationId, change)
  if (after.plan !== before.plan || subscription.status !== before.subscription.status) {
    const action = 'billing.period_end'
    await audit(tx, { organisationId, actor: SYSTEM }, { ...change, action })
  }
  await deps.ledger(tx, factsOfBoundaries(organisationId, passed))
  return { rows: after, nowMs, isOnNewPlan: after.plan !== before.plan }
}

/** Applies the change that a client asks for. Refuses an impossible change with CONFLICT and the reason. */
export async function changeSubscription(
  tx: Db,
  deps: BillingDeps,
  change: PlanChange,
  wish: Transition,
): Promise<Settled> {
  const settled = await settle(tx, deps, change.organisationId)
  if (settled === undefined) throw new Error('A key has no organisation')
  const { rows: before, nowMs } = settled
  if (Object.keys(before.overrides).length > 0) {
    refuse('CONFLICT', 'Cannot change billing: the organisation is on a negotiated plan')
  }
  const outcome = transition(
    { plan: planOf(before.plan), subscription: before.subscription },
    wish,
    nowMs,
  )
  if (outcome.kind === 'refused') refuse('CONFLICT', `Cannot ${outcome.reason}`)
  const { subscription } = outcome
  const after = { ...before, plan: subscription.plan, subscription }
  await write(tx, deps, change, { before, after, nowMs, action: `billing.${wish.kind}` })
  const isOnNewPlan = settled.isOnNewPlan || after.plan !== before.plan
  return { rows: after, nowMs, isOnNewPlan }
}

/** Applies the plan that an administrator sets; it overrides a change that the client scheduled. */
export async function administerPlan(
  tx: Db,
  deps: BillingDeps,
  change: PlanChange,
  wish: { plan: PlanName } | { overrides: EntitlementOverrides },
): Promise<void> {
  const settled = await settle(tx, deps, change.organisationId)
  if (settled === undefined) throw new Error('There is no organisation to administer')
  const { rows: before, nowMs } = settled
  const isOverride = 'overrides' in wish
  const after = isOverride ? { ...before, ...wish } : administered(before, wish.plan)
  const action = isOverride ? 'organisation.override' : 'organisation.set-plan'
  await write(tx, deps, change, { before, after, nowMs, action })
}

function administered(before: PlanRows, plan: PlanName): PlanRows {
  const { subscription } = before
  return {
    ...before,
    plan,
    subscription: subscription?.status === 'active' ? onPlan(subscription, plan) : subscription,
  }
}

interface Step {
  before: PlanRows
  after: PlanRows
  nowMs: number
}

async function write(
  tx: Db,
  deps: BillingDeps,
  change: PlanChange,
  step: Step & { action: string },
): Promise<void> {
  const { organisationId } = change
  const { before, after, nowMs } = step
  await writeRows(tx, deps.plans, organisationId, step)
  await audit(tx, change, step)
  await deps.ledger(tx, factsOfChange({ organisationId, before, after, atMs: nowMs }))
}

/** The subscription, the plan that follows from it, and the windows that deliveries are counted in. */
async function writeRows(
  tx: Db,
  plans: Plans,
  organisationId: string,
  { before, after, nowMs }: Step,
): Promise<void> {
  const now = new Date(nowMs)
  const { subscription } = after
  if (subscription?.status === 'active') {
    const { currentPeriodStartMs, currentPeriodEndMs, plan } = subscription
    if (before.subscription?.status !== 'active') {
      // Deliveries counted in the month so far stay in a window of their own.
      const { window } = standingAt(plans, before, nowMs)
      const cut = { startedAtMs: window.startedAtMs, endsAtMs: currentPeriodStartMs }
      if (cut.startedAtMs < cut.endsAtMs) {
        await boundWindow(tx, organisationId, { ...cut, plan: before.plan })
      }
    }
    const period = { startedAtMs: currentPeriodStartMs, endsAtMs: currentPeriodEndMs, plan }
    await boundWindow(tx, organisationId, period)
  }
  if (subscription !== undefined) await writeSubscription(tx, organisationId, subscription, now)
  const { retentionDays } = entitlementsOf(plans, after.plan, after.overrides)
  await setPlan(tx, organisationId, {
    plan: after.plan,
    overrides: after.overrides,
    retentionClass: retentionClassOf(retentionDays),
    updatedAt: now,
  })
}

async function audit(
  tx: Db,
  { organisationId, actor }: PlanChange,
  { action, after, nowMs }: Step & { action: string },
): Promise<void> {
  const { plan, overrides, subscription } = after
  await writeAudit(
    tx,
    {
      organisationId,
      projectId: null,
      actor,
      action,
      subjectKind: 'organisation',
      subjectId: organisationId,
      changes: {
        plan,
        overrides,
        ...(subscription && {
          subscription: subscription.status,
          cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
          scheduledPlan: subscription.scheduledPlan,
        }),
      },
    },
    nowMs,
  )
}
