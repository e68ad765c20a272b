import { expect, test } from 'vitest'

import { conclude, type AttemptEnd, type BeforeAttempt, type Conclusion } from './conclusion.ts'
import { DEFAULT_RETRY_POLICY } from './retry.ts'

const NOW = 1_800_000_000_000
const STARTED = NOW - 100

const FRESH: BeforeAttempt = {
  attemptTrigger: 'initial',
  attemptCount: 0,
  attemptNumber: 0,
  firstAttemptAtMs: null,
  throttled: null,
  resumes: null,
}

const SUCCESS = {
  status: 200,
  headers: [],
  body: null,
  error: null,
  durationMs: 100,
  firstByteMs: 90,
  connect: null,
} satisfies AttemptEnd['response']

/** An answer that is no success. */
function answer(status: number, headers: [string, string][] = []): AttemptEnd['response'] {
  return { ...SUCCESS, status, headers, error: 'bad_response' }
}

function after(
  response: AttemptEnd['response'],
  delivery: Partial<BeforeAttempt> = {},
  isCurrent = true,
): Conclusion {
  const end = { response, isCurrent, startedAtMs: STARTED, nowMs: NOW, random: 0 }
  return conclude({ ...FRESH, ...delivery }, { ...end, policy: DEFAULT_RETRY_POLICY })
}

test.for<[string, Conclusion, Partial<Conclusion>]>([
  ['2xx', after(SUCCESS), { outcome: 'succeeded', status: 'succeeded', attemptCount: 1 }],
  ['500', after(answer(500)), { outcome: 'failed', status: 'pending', nextAtMs: NOW + 5_000 }],
  ['the eighth 500', after(answer(500), { attemptCount: 7 }), { status: 'failed', nextAtMs: null }],
  ['410', after(answer(410)), { outcome: 'failed', status: 'failed', isGone: true }],
])('conclude() after %s', ([, conclusion, expected]) => {
  expect(conclusion).toMatchObject({ throttledReason: null, busy: null, ...expected })
})

test('conclude() after a busy answer spends no attempt, throttles the delivery and names the window of its lane', () => {
  const busy = answer(429, [['retry-after', '60']])
  const untilMs = NOW + 60_000

  expect(after(busy)).toEqual({
    outcome: 'busy',
    status: 'throttled',
    attemptCount: 0,
    maxAttempts: DEFAULT_RETRY_POLICY.maxAttempts,
    throttledReason: 'destination_busy',
    throttledAtMs: STARTED,
    nextAtMs: untilMs,
    completedAtMs: null,
    busy: { untilMs, responseStatus: 429 },
    isGone: false,
  })
  expect(after(busy, { throttled: { atMs: 500, isStored: false } }).throttledAtMs).toBe(500)
  expect(after(busy, { throttled: { atMs: 500, isStored: true } }).throttledAtMs).toBeNull()
})

test('conclude() asks a destination that has changed again soon, whatever the former one asked for', () => {
  const { nextAtMs } = after(answer(503), {}, false)
  const busy = after(answer(429, [['retry-after', '60']]), {}, false)

  expect(nextAtMs).toBe(NOW + 5_000)
  expect(busy).toMatchObject({ nextAtMs: NOW + 1_000, busy: { untilMs: NOW + 1_000 } })
})

test.for<[NonNullable<BeforeAttempt['resumes']>['status'], Partial<Conclusion>]>([
  ['failed', { status: 'failed', nextAtMs: null, completedAtMs: 700 }],
  ['succeeded', { status: 'succeeded', nextAtMs: null, completedAtMs: 700 }],
  ['cancelled', { status: 'cancelled', nextAtMs: null, completedAtMs: 700 }],
  ['pending', { status: 'pending', nextAtMs: 700, completedAtMs: null }],
])('conclude() leaves a delivery that was %s as it was when a manual attempt fails', (row) => {
  const [status, expected] = row
  const byHand = { attemptTrigger: 'manual', resumes: { status, atMs: 700 } } as const

  for (const response of [answer(500), answer(429)]) {
    const conclusion = after(response, byHand)
    expect(conclusion).toMatchObject({ ...expected, attemptCount: 0, maxAttempts: null })
    expect(conclusion.throttledReason).toBeNull()
  }
  expect(after(SUCCESS, byHand)).toMatchObject({ status: 'succeeded', completedAtMs: null })
})

test('conclude() ends a waiting delivery whose manual attempt is answered 410', () => {
  const byHand = { attemptTrigger: 'manual', resumes: { status: 'pending', atMs: 700 } } as const
  expect(after(answer(410), byHand)).toMatchObject({ status: 'failed', nextAtMs: null })
})
