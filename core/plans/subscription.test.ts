import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { DAY_MS } from '../clock.ts'
import { PLAN_NAMES } from './plans.ts'
import {
  advance,
  onPlan,
  subscribe,
  transition,
  type Boundary,
  type Outcome,
  type Subscription,
  type Transition,
} from './subscription.ts'

const START = Date.parse('2026-01-31T10:30:00.000Z')

const plan = fc.constantFrom(...PLAN_NAMES)
const wish: fc.Arbitrary<Transition> = fc.oneof(
  fc.constantFrom<Transition>(
    { kind: 'cancel' },
    { kind: 'resume' },
    { kind: 'revert_scheduled_change' },
  ),
  fc.record({
    kind: fc.constant('change_plan' as const),
    plan,
    when: fc.constantFrom('now' as const, 'period_end' as const, undefined),
  }),
)
const step = fc.oneof(
  wish,
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 100 * DAY_MS }) }),
)
const moment = fc.integer({
  min: Date.parse('2020-01-01T00:00:00Z'),
  max: Date.parse('2032-12-31T23:59:59Z'),
})

interface Life {
  plan: Subscription['plan']
  subscription: Subscription | undefined
  nowMs: number
}

/** Makes a step of a client or of the clock; returns the boundaries that it passed. */
function live(
  life: Life,
  taken: Transition | { kind: 'wait'; ms: number },
): Life & { passed: Boundary[] } {
  const nowMs = life.nowMs + (taken.kind === 'wait' ? taken.ms : 0)
  const advanced = life.subscription && advance(life.subscription, nowMs)
  const { passed = [], subscription } = advanced ?? {}
  const own = passed.length > 0 && subscription ? subscription.plan : life.plan
  if (taken.kind === 'wait') return { plan: own, subscription, nowMs, passed }
  const outcome = transition({ plan: own, subscription }, taken, nowMs)
  if (outcome.kind === 'refused') return { plan: own, subscription, nowMs, passed }
  return { plan: outcome.subscription.plan, subscription: outcome.subscription, nowMs, passed }
}

/** Impossible states of a subscription that are found in this one. */
function impossible({ plan: own, subscription, nowMs }: Life): string[] {
  if (subscription === undefined) return []
  const { status, cancelAtPeriodEnd, scheduledPlan } = subscription
  const { currentPeriodStartMs: startMs, currentPeriodEndMs: endMs } = subscription
  const isActive = status === 'active'
  const faults: [string, boolean][] = [
    ['a period that does not last', startMs >= endMs],
    ['a period before the first', startMs < subscription.anchorAtMs],
    ['a plan of its own', own !== subscription.plan],
    ['active outside its period', isActive && !(startMs <= nowMs && nowMs < endMs)],
    ['ending and changing', cancelAtPeriodEnd && scheduledPlan !== null],
    ['changing to what it is', scheduledPlan === subscription.plan],
    ['cancelled before its end', !isActive && endMs > nowMs],
    ['cancelled and going on', !isActive && (cancelAtPeriodEnd || scheduledPlan !== null)],
    ['cancelled on a paid plan', !isActive && subscription.plan !== 'hobby'],
  ]
  return faults.flatMap(([fault, isThere]) => (isThere ? [fault] : []))
}

test('no sequence of transitions and clock steps leads to an impossible state', () => {
  fc.assert(
    fc.property(plan, moment, fc.array(step, { maxLength: 30 }), (own, startMs, steps) => {
      let life: Life = { plan: own, subscription: undefined, nowMs: startMs }
      for (const taken of steps) {
        life = live(life, taken)
        expect(impossible(life)).toEqual([])
      }
    }),
    { numRuns: 500 },
  )
})

test('periods tile time: each begins where the one before ended, on the anchor day or the last of a shorter month', () => {
  fc.assert(
    fc.property(moment, fc.array(step, { maxLength: 20 }), (startMs, steps) => {
      let life: Life = {
        plan: 'launch',
        subscription: subscribe('launch', startMs),
        nowMs: startMs,
      }
      let startedAtMs = startMs
      for (const taken of steps) {
        const before = life.subscription
        const { passed, ...next } = live(life, taken)
        const starts = [startedAtMs, ...passed.map(({ endedAtMs }) => endedAtMs)]
        expect(passed.map((boundary) => boundary.startedAtMs)).toEqual(starts.slice(0, -1))
        expect(starts.toSorted((a, b) => a - b)).toEqual(starts)
        for (const ms of starts.slice(1)) expect(offAnchor(ms, before?.anchorAtMs ?? 0)).toEqual([])
        const isNew = next.subscription?.anchorAtMs !== before?.anchorAtMs
        startedAtMs = isNew ? next.nowMs : (starts.at(-1) ?? 0)
        const isActive = next.subscription?.status === 'active'
        expect(isActive ? next.subscription?.currentPeriodStartMs : startedAtMs).toBe(startedAtMs)
        life = next
      }
    }),
    { numRuns: 500 },
  )
})

/** In which ways a boundary is not where its anchor puts it. */
function offAnchor(ms: number, anchorMs: number): string[] {
  const [at, anchor] = [new Date(ms), new Date(anchorMs)]
  const isLastDay = new Date(ms + DAY_MS).getUTCDate() === 1
  const isShort = isLastDay && at.getUTCDate() < anchor.getUTCDate()
  const faults: [string, boolean][] = [
    ['time', at.toISOString().slice(11) !== anchor.toISOString().slice(11)],
    ['day', at.getUTCDate() !== anchor.getUTCDate() && !isShort],
  ]
  return faults.flatMap(([fault, isThere]) => (isThere ? [fault] : []))
}

test('advance() in steps is advance() at once', () => {
  const waits = fc.array(fc.integer({ min: 0, max: 70 * DAY_MS }), { maxLength: 12 })
  fc.assert(
    fc.property(plan, moment, fc.option(wish), waits, (own, startMs, given, steps) => {
      const begun = live(
        { plan: own, subscription: subscribe(own, startMs), nowMs: startMs },
        given ?? { kind: 'wait', ms: 0 },
      )
      if (begun.subscription === undefined) throw new Error('It was subscribed')
      const endMs = steps.reduce((sum, ms) => sum + ms, startMs)
      const whole = advance(begun.subscription, endMs)
      let nowMs = startMs
      let inSteps = { subscription: begun.subscription, passed: [] as Boundary[] }
      for (const ms of steps) {
        nowMs += ms
        const next = advance(inSteps.subscription, nowMs)
        inSteps = { ...next, passed: [...inSteps.passed, ...next.passed] }
      }
      expect(inSteps).toEqual(whole)
    }),
  )
})

test('a period that began on the 31st ends on the last day of a shorter month and returns to the 31st', () => {
  const { passed } = advance(subscribe('scale', START), Date.parse('2027-03-31T10:30:00.000Z'))
  expect(passed.map(({ endedAtMs }) => new Date(endedAtMs).toISOString().slice(0, 10))).toEqual([
    '2026-02-28',
    '2026-03-31',
    '2026-04-30',
    '2026-05-31',
    '2026-06-30',
    '2026-07-31',
    '2026-08-31',
    '2026-09-30',
    '2026-10-31',
    '2026-11-30',
    '2026-12-31',
    '2027-01-31',
    '2027-02-28',
    '2027-03-31',
  ])
  const leap = advance(
    subscribe('scale', Date.parse('2028-01-30T00:00:00Z')),
    Date.parse('2028-03-01T00:00:00Z'),
  )
  expect(new Date(leap.subscription.currentPeriodStartMs).toISOString()).toBe(
    '2028-02-29T00:00:00.000Z',
  )
})

test('a boundary belongs to the period that it begins', () => {
  const begun = subscribe('launch', START)
  expect(advance(begun, begun.currentPeriodEndMs - 1)).toEqual({ subscription: begun, passed: [] })
  expect(advance(begun, begun.currentPeriodEndMs).subscription.currentPeriodStartMs).toBe(
    begun.currentPeriodEndMs,
  )
})

describe('transition()', () => {
  const active = subscribe('launch', START)
  const cancelling = { ...active, cancelAtPeriodEnd: true }
  const scheduled = { ...active, scheduledPlan: 'hobby' as const }
  const over = advance(cancelling, cancelling.currentPeriodEndMs).subscription
  const laterMs = START + 5 * DAY_MS
  const to = (target: Subscription['plan'], when?: 'now' | 'period_end'): Transition => ({
    kind: 'change_plan',
    plan: target,
    when,
  })
  const on = (subscription: Subscription | undefined, wanted: Transition): Outcome =>
    transition(
      { plan: subscription?.plan ?? 'enterprise', subscription },
      wanted,
      subscription === over ? over.currentPeriodEndMs : laterMs,
    )

  test.for<[string, Subscription | undefined, Transition, Partial<Subscription>]>([
    [
      'cancel ends it at the period end',
      active,
      { kind: 'cancel' },
      { cancelAtPeriodEnd: true, status: 'active' },
    ],
    [
      'cancel drops a scheduled change',
      scheduled,
      { kind: 'cancel' },
      { cancelAtPeriodEnd: true, scheduledPlan: null },
    ],
    [
      'resume takes the cancellation back',
      cancelling,
      { kind: 'resume' },
      { cancelAtPeriodEnd: false },
    ],
    ['an upgrade takes effect now', active, to('scale'), { plan: 'scale', scheduledPlan: null }],
    [
      'an upgrade can wait for the period end',
      active,
      to('scale', 'period_end'),
      { plan: 'launch', scheduledPlan: 'scale' },
    ],
    [
      'a downgrade waits for the period end',
      active,
      to('hobby'),
      { plan: 'launch', scheduledPlan: 'hobby' },
    ],
    [
      'a downgrade can take effect now',
      active,
      to('hobby', 'now'),
      { plan: 'hobby', scheduledPlan: null },
    ],
    [
      'a change now overtakes a scheduled one',
      scheduled,
      to('scale', 'now'),
      { plan: 'scale', scheduledPlan: null },
    ],
    [
      'a scheduled change replaces another',
      scheduled,
      to('scale', 'period_end'),
      { scheduledPlan: 'scale' },
    ],
    [
      'a scheduled change can be reverted',
      scheduled,
      { kind: 'revert_scheduled_change' },
      { scheduledPlan: null, plan: 'launch' },
    ],
    [
      'a first change starts a subscription',
      undefined,
      to('launch'),
      { ...subscribe('launch', laterMs) },
    ],
    [
      'a first change at the period end starts one on the present plan',
      undefined,
      to('launch', 'period_end'),
      { ...subscribe('enterprise', laterMs), scheduledPlan: 'launch' },
    ],
    [
      'a change after the end starts a new one',
      over,
      to('scale'),
      { ...subscribe('scale', over.currentPeriodEndMs) },
    ],
  ])('%s', ([, subscription, wanted, expected]) => {
    expect(on(subscription, wanted)).toMatchObject({ kind: 'changed', subscription: expected })
  })

  test.for<[Subscription | undefined, Transition, string]>([
    [undefined, { kind: 'cancel' }, 'cancel: there is no subscription'],
    [undefined, { kind: 'resume' }, 'resume: there is no subscription'],
    [
      undefined,
      { kind: 'revert_scheduled_change' },
      'revert a scheduled change: there is no subscription',
    ],
    [over, { kind: 'cancel' }, 'cancel: the subscription ended'],
    [over, { kind: 'resume' }, 'resume: the subscription ended'],
    [
      cancelling,
      { kind: 'cancel' },
      'cancel: the subscription ends on 2026-02-28T10:30:00.000Z already',
    ],
    [active, { kind: 'resume' }, 'resume: the subscription is not being cancelled'],
    [active, { kind: 'revert_scheduled_change' }, 'revert a scheduled change: none is scheduled'],
    [active, to('launch', 'now'), 'change plan: the organisation is on "launch" already'],
    [
      undefined,
      to('enterprise', 'period_end'),
      'change plan: the organisation is on "enterprise" already',
    ],
    [
      cancelling,
      to('scale', 'now'),
      'change plan: the subscription ends on 2026-02-28T10:30:00.000Z, resume it first',
    ],
  ])('refuses what cannot be: %#', ([subscription, wanted, reason]) => {
    expect(on(subscription, wanted)).toEqual({ kind: 'refused', reason })
  })

  test('the end of a cancelled subscription is the free plan; a scheduled plan begins with its period', () => {
    expect(over).toMatchObject({ status: 'cancelled', plan: 'hobby', cancelAtPeriodEnd: false })
    expect(advance(scheduled, scheduled.currentPeriodEndMs).passed).toMatchObject([
      { plan: 'launch', nextPlan: 'hobby' },
    ])
    expect(onPlan(scheduled, 'scale')).toMatchObject({ plan: 'scale', scheduledPlan: null })
  })
})
