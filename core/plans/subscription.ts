import assert from 'node:assert/strict'

import { FREE_PLAN, PLAN_NAMES, type PlanName } from './plans.ts'

/**
 * A subscription is `active` from its start until a cancellation takes effect at the end of a period; then it is
 * `cancelled` for good. Active periods are calendar months from the anchor and follow one another without a gap. What
 * is wanted for the end of the current period is one of: nothing, the end, another plan.
 */
export interface Subscription {
  plan: PlanName
  status: 'active' | 'cancelled'
  /** Its first moment: day of the month and time of every renewal. */
  anchorAtMs: number
  /** The last one, once it is cancelled. */
  currentPeriodStartMs: number
  currentPeriodEndMs: number
  cancelAtPeriodEnd: boolean
  /** The plan from the end of the current period on. */
  scheduledPlan: PlanName | null
}

/** The end of one period: what it was, and the plan of the next; null where the subscription ended. */
export interface Boundary {
  startedAtMs: number
  endedAtMs: number
  plan: PlanName
  nextPlan: PlanName | null
}

/** The subscription as it is now, and the boundaries that time has carried it over, oldest first. */
export interface Advanced {
  subscription: Subscription
  passed: Boundary[]
}

export type Transition =
  | { kind: 'cancel' }
  | { kind: 'resume' }
  | { kind: 'change_plan'; plan: PlanName; when: 'now' | 'period_end' | undefined }
  | { kind: 'revert_scheduled_change' }

export type Outcome =
  | { kind: 'changed'; subscription: Subscription }
  | { kind: 'refused'; reason: string }

/** Lets time act: every boundary at or before `nowMs` is passed. */
export function advance(subscription: Subscription, nowMs: number): Advanced {
  const passed: Boundary[] = []
  let current = subscription
  while (current.status === 'active' && current.currentPeriodEndMs <= nowMs) {
    const nextPlan = current.cancelAtPeriodEnd ? null : (current.scheduledPlan ?? current.plan)
    passed.push({
      startedAtMs: current.currentPeriodStartMs,
      endedAtMs: current.currentPeriodEndMs,
      plan: current.plan,
      nextPlan,
    })
    current = nextPlan === null ? ended(current) : renewed(current, nextPlan)
  }
  return { subscription: current, passed }
}

/**
 * Applies a client's wish to the subscription. `plan` is the organisation's own; the subscription is undefined when
 * there never was one, and must have been advanced to `nowMs`. A reason completes the sentence "Cannot …".
 */
export function transition(
  { plan, subscription }: { plan: PlanName; subscription: Subscription | undefined },
  wish: Transition,
  nowMs: number,
): Outcome {
  const active = subscription?.status === 'active' ? subscription : undefined
  assert(active === undefined || active.currentPeriodEndMs > nowMs)
  if (wish.kind === 'change_plan') return changePlan(plan, active, wish, nowMs)
  if (active === undefined) {
    const why = subscription === undefined ? 'there is no subscription' : 'the subscription ended'
    return { kind: 'refused', reason: `${TEXT[wish.kind]}: ${why}` }
  }
  return PERIOD_END[wish.kind](active)
}

/** A subscription that starts now. */
export function subscribe(plan: PlanName, nowMs: number): Subscription {
  return {
    plan,
    status: 'active',
    anchorAtMs: nowMs,
    currentPeriodStartMs: nowMs,
    currentPeriodEndMs: monthAfter(nowMs, nowMs),
    cancelAtPeriodEnd: false,
    scheduledPlan: null,
  }
}

/** Another plan from now on; the period goes on, and a change that was scheduled is overtaken. */
export function onPlan(subscription: Subscription, plan: PlanName): Subscription {
  return { ...subscription, plan, scheduledPlan: null }
}

const TEXT = {
  cancel: 'cancel',
  resume: 'resume',
  revert_scheduled_change: 'revert a scheduled change',
} as const

/** Wishes that change the end of the current period, from every state that it can be in. */
const PERIOD_END: Record<keyof typeof TEXT, (active: Subscription) => Outcome> = {
  cancel: (active) =>
    active.cancelAtPeriodEnd
      ? refused(`cancel: the subscription ends on ${endOf(active)} already`)
      : changed({ ...active, cancelAtPeriodEnd: true, scheduledPlan: null }),
  resume: (active) =>
    active.cancelAtPeriodEnd
      ? changed({ ...active, cancelAtPeriodEnd: false })
      : refused('resume: the subscription is not being cancelled'),
  revert_scheduled_change: (active) =>
    active.scheduledPlan === null
      ? refused('revert a scheduled change: none is scheduled')
      : changed({ ...active, scheduledPlan: null }),
}

/** More takes effect at once, less when what is paid for is over, unless the client says. */
function changePlan(
  plan: PlanName,
  active: Subscription | undefined,
  wish: Extract<Transition, { kind: 'change_plan' }>,
  nowMs: number,
): Outcome {
  if (wish.plan === plan) return refused(`change plan: the organisation is on "${plan}" already`)
  if (active?.cancelAtPeriodEnd === true) {
    return refused(`change plan: the subscription ends on ${endOf(active)}, resume it first`)
  }
  const isMore = PLAN_NAMES.indexOf(wish.plan) > PLAN_NAMES.indexOf(plan)
  const when = wish.when ?? (isMore || active === undefined ? 'now' : 'period_end')
  const from = active ?? subscribe(plan, nowMs)
  return changed(when === 'now' ? onPlan(from, wish.plan) : { ...from, scheduledPlan: wish.plan })
}

function changed(subscription: Subscription): Outcome {
  return { kind: 'changed', subscription }
}

function refused(reason: string): Outcome {
  return { kind: 'refused', reason }
}

function endOf({ currentPeriodEndMs }: Subscription): string {
  return new Date(currentPeriodEndMs).toISOString()
}

function ended(subscription: Subscription): Subscription {
  return { ...subscription, plan: FREE_PLAN, status: 'cancelled', cancelAtPeriodEnd: false }
}

function renewed(subscription: Subscription, plan: PlanName): Subscription {
  const startMs = subscription.currentPeriodEndMs
  return {
    ...subscription,
    plan,
    currentPeriodStartMs: startMs,
    currentPeriodEndMs: monthAfter(subscription.anchorAtMs, startMs),
    scheduledPlan: null,
  }
}

/** The boundary after the one at `boundaryMs`: the anchor's day and time in UTC, or the last day of a shorter month. */
function monthAfter(anchorMs: number, boundaryMs: number): number {
  const anchor = new Date(anchorMs)
  const boundary = new Date(boundaryMs)
  const year = boundary.getUTCFullYear()
  const month = boundary.getUTCMonth() + 1
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const dayMs = Date.UTC(year, month, Math.min(anchor.getUTCDate(), lastDay))
  return (
    dayMs +
    (anchorMs - Date.UTC(anchor.getUTCFullYear(), anchor.getUTCMonth(), anchor.getUTCDate()))
  )
}
