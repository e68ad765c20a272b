import { expect, test } from 'vitest'

import type { AttemptErrorCode } from './attempt-error.ts'
import { retryAfterMs } from './retry-after.ts'
import { DEFAULT_RETRY_POLICY, planRetry, RetryPolicy, type RetryQuestion } from './retry.ts'

const NOW = Date.parse('2026-11-20T09:00:00Z')
/** The whole time of the default policy. */
const SPAN_MS = 99_305_000

function planned({
  retryAfter = null,
  ...question
}: Partial<RetryQuestion> & { retryAfter?: string | null }) {
  return planRetry({
    policy: DEFAULT_RETRY_POLICY,
    errorCode: 'bad_response',
    responseStatus: 500,
    isTokenEndpoint: false,
    askedMs: retryAfter === null ? undefined : retryAfterMs(retryAfter, NOW),
    attemptCount: 1,
    attemptNumber: 1,
    firstAttemptAtMs: NOW,
    nowMs: NOW,
    random: 0,
    ...question,
  })
}

/** Seconds of every wait until the policy is used up. */
function waits(input: unknown, random = 0): number[] {
  const policy = RetryPolicy.parse(input)
  const seconds: number[] = []
  for (let attemptCount = 1; ; attemptCount++) {
    const plan = planned({ policy, attemptCount, attemptNumber: attemptCount, random })
    if (plan.kind !== 'retry') return seconds
    seconds.push((plan.atMs - NOW) / 1_000)
  }
}

test.for<[policy: object, seconds: number[]]>([
  [DEFAULT_RETRY_POLICY, [5, 300, 1800, 7200, 18_000, 36_000, 36_000]],
  [{}, [5, 300, 1800, 7200, 18_000, 36_000, 36_000]],
  [{ strategy: 'schedule', scheduleSeconds: [1, 2, 4], maxAttempts: 4 }, [1, 2, 4]],
  [{ strategy: 'schedule', scheduleSeconds: [1, 2, 4] }, [1, 2, 4]],
  [{ strategy: 'schedule', scheduleSeconds: [1, 2, 4], maxAttempts: 2 }, [1]],
  [{ strategy: 'schedule', scheduleSeconds: [1, 2], maxAttempts: 5 }, [1, 2, 2, 2]],
  [{ strategy: 'schedule', scheduleSeconds: [0], maxAttempts: 2 }, [0]],
  [{ strategy: 'schedule', maxAttempts: 1 }, []],
  [{ strategy: 'linear', initialDelaySeconds: 10, maxAttempts: 4 }, [10, 20, 30]],
  [
    { strategy: 'linear', initialDelaySeconds: 10, maxDelaySeconds: 15, maxAttempts: 4 },
    [10, 15, 15],
  ],
  [{ strategy: 'exponential', initialDelaySeconds: 10, maxAttempts: 5 }, [10, 20, 40, 80]],
  [
    { strategy: 'exponential', initialDelaySeconds: 10, maxDelaySeconds: 30, maxAttempts: 5 },
    [10, 20, 30, 30],
  ],
])('planRetry() under %j waits %j', ([policy, seconds]) => {
  expect(waits(policy)).toEqual(seconds)
})

test('planRetry() only ever adds jitter, up to a fifth', () => {
  expect(waits({ scheduleSeconds: [10, 100] }, 0.5)).toEqual([11, 110])
  expect(waits({ scheduleSeconds: [10, 100] }, 1)).toEqual([12, 120])
})

test('an attempt made by hand before any was spent waits as the first one does', () => {
  expect(planned({ attemptCount: 0 })).toEqual({ kind: 'retry', atMs: NOW + 5_000 })
})

test.for<[retryOn: string[] | undefined, answer: number | AttemptErrorCode, kind: string]>([
  [undefined, 500, 'retry'],
  [undefined, 404, 'retry'],
  [undefined, 302, 'retry'],
  [undefined, 'timeout', 'retry'],
  [undefined, 429, 'busy'],
  [undefined, 502, 'busy'],
  [undefined, 504, 'busy'],
  [undefined, 503, 'retry'],
  [['5xx'], 500, 'retry'],
  [['5xx'], 599, 'retry'],
  [['5xx'], 404, 'failed'],
  [['5xx'], 'timeout', 'failed'],
  [['503'], 503, 'retry'],
  [['503'], 500, 'failed'],
  [['timeout', 'dns_error'], 'dns_error', 'retry'],
  [['timeout'], 'connection_reset', 'failed'],
  [['timeout'], 500, 'failed'],
  [['bad_response'], 404, 'retry'],
  [[], 500, 'failed'],
  [['timeout'], 429, 'busy'],
  [['4xx'], 410, 'gone'],
  [undefined, 410, 'gone'],
])('planRetry() with retryOn %j after %j is %s', ([retryOn, answer, kind]) => {
  const policy = retryOn === undefined ? DEFAULT_RETRY_POLICY : RetryPolicy.parse({ retryOn })
  const plan =
    typeof answer === 'number'
      ? planned({ policy, responseStatus: answer })
      : planned({ policy, responseStatus: null, errorCode: answer })
  expect(plan.kind).toBe(kind)
})

test('planRetry() calls a destination gone also after the last attempt', () => {
  expect(planned({ responseStatus: 410, attemptCount: 8 })).toEqual({ kind: 'gone' })
})

test.for<[retryAfter: string | null, seconds: number]>([
  ['0', 1],
  ['7', 7],
  [' 7 ', 7],
  ['1.5', 1.5],
  ['3600', 3600],
  ['86400', 3600],
  ['99999999999999999999999', 3600],
  ['Fri, 20 Nov 2026 09:02:00 GMT', 120],
  ['Friday, 20-Nov-26 09:02:00 GMT', 120],
  ['Fri Nov 20 09:02:00 2026', 120],
  ['Fri, 20 Nov 2026 08:00:00 GMT', 1],
  ['Sun, 20 Dec 2026 09:00:00 GMT', 3600],
  ['-5', 30],
  ['soon', 30],
  ['', 30],
  ['2026', 2026],
  ['20 Nov 2026', 30],
  ['Fri, 99 Nov 2026 08:00:00 GMT', 30],
  ['Fri, 31 Nov 2026 09:02:00 GMT', 30],
  ['Fri, 20 Now 2026 09:02:00 GMT', 30],
  ['Fri, 20 Nov 2026 24:02:00 GMT', 30],
  ['Fri, 20 Nov 2026 09:01:60 GMT', 120],
  ['Friday, 20-Nov-76 09:02:00 GMT', 3600],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 1],
  ['Sun Nov  6 08:49:37 1994', 1],
  [null, 30],
])('a busy answer with Retry-After %j waits %f s', ([retryAfter, seconds]) => {
  const plan = planned({ responseStatus: 429, retryAfter, random: 0.9 })
  expect(plan).toEqual({ kind: 'busy', atMs: NOW + seconds * 1_000 })
})

test.for<[retryAfter: string, seconds: number]>([
  ['7', 30],
  ['31', 31],
  ['0', 30],
  ['86400', 3_600],
  ['Fri, 20 Nov 2026 09:02:00 GMT', 120],
  ['Fri, 20 Nov 2026 08:00:00 GMT', 30],
  ['soon', 30],
])('a failed attempt with Retry-After %j waits %f s under a schedule of 30 s', (asked) => {
  const [retryAfter, seconds] = asked
  const policy = RetryPolicy.parse({ scheduleSeconds: [30, 30] })
  for (const responseStatus of [503, 408, 500, 401, 302]) {
    const plan = planned({ policy, responseStatus, retryAfter })
    expect(plan).toEqual({ kind: 'retry', atMs: NOW + seconds * 1_000 })
  }
})

test('Retry-After gives no attempt beyond the policy', () => {
  const spent = { responseStatus: 503, retryAfter: '60', attemptCount: 8 }
  expect(planned(spent)).toEqual({ kind: 'failed' })
})

test.for([
  [429, 'busy'],
  [502, 'busy'],
  [503, 'busy'],
  [504, 'busy'],
  [410, 'retry'],
  [401, 'retry'],
  [200, 'retry'],
] as const)('a token endpoint that answers %i makes the delivery %s', ([responseStatus, kind]) => {
  expect(planned({ responseStatus, isTokenEndpoint: true }).kind).toBe(kind)
})

test('a status counts whatever became of the rest of its answer', () => {
  const errorCode = 'connection_reset'
  expect(planned({ errorCode, responseStatus: 429 }).kind).toBe('busy')
  expect(planned({ errorCode, responseStatus: 410 }).kind).toBe('gone')
})

test('a busy answer without Retry-After waits 30 s, doubling to 15 min', () => {
  const seconds = [0, 1, 2, 3, 4, 5, 6, 2_000].map((busyBefore) => {
    const plan = planned({ responseStatus: 502, attemptCount: 3, attemptNumber: 3 + busyBefore })
    return plan.kind === 'busy' ? (plan.atMs - NOW) / 1_000 : undefined
  })
  expect(seconds).toEqual([30, 60, 120, 240, 480, 900, 900, 900])
})

test('a busy delivery spends no attempt and fails when the span of its policy is over', () => {
  const busy = { responseStatus: 504, attemptCount: 8, attemptNumber: 99 }
  expect(planned({ ...busy, firstAttemptAtMs: NOW - SPAN_MS + 1 }).kind).toBe('busy')
  expect(planned({ ...busy, firstAttemptAtMs: NOW - SPAN_MS }).kind).toBe('failed')
})

test('the first busy answer is retried even under a policy of one attempt', () => {
  const busy = { policy: RetryPolicy.parse({ maxAttempts: 1 }), responseStatus: 429 }
  expect(planned({ ...busy, attemptNumber: 1 }).kind).toBe('busy')
  expect(planned({ ...busy, attemptNumber: 2 }).kind).toBe('failed')
})

test.for<[policy: unknown, path: string]>([
  [{ strategy: 'random' }, 'strategy'],
  [{ maxAttempts: 0 }, 'maxAttempts'],
  [{ maxAttempts: 51 }, 'maxAttempts'],
  [{ maxAttempts: 1.5 }, 'maxAttempts'],
  [{ scheduleSeconds: [] }, 'scheduleSeconds'],
  [{ scheduleSeconds: [-1] }, 'scheduleSeconds.0'],
  [{ scheduleSeconds: [604_801] }, 'scheduleSeconds.0'],
  [{ scheduleSeconds: Array.from({ length: 51 }, () => 1) }, 'scheduleSeconds'],
  [{ strategy: 'linear', scheduleSeconds: [1] }, 'scheduleSeconds'],
  [{ strategy: 'schedule', initialDelaySeconds: 1 }, 'initialDelaySeconds'],
  [{ maxDelaySeconds: 1 }, 'maxDelaySeconds'],
  [{ retryOn: ['6xx'] }, 'retryOn.0'],
  [{ retryOn: ['timeout', 'tiemout'] }, 'retryOn.1'],
  [{ retryOn: ['5XX'] }, 'retryOn.0'],
  [{ attempts: 3 }, ''],
  [[], ''],
  ['default', ''],
  [null, ''],
])('RetryPolicy refuses %j at "%s"', ([policy, path]) => {
  const { error } = RetryPolicy.safeParse(policy)
  expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
})
