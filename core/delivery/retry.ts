import { z } from 'zod'

import { ATTEMPT_ERROR_CODES, type AttemptErrorCode } from './attempt-error.ts'

/** Bounds of a retry policy. Ours: decisions fix the shape and the default only. */
const ATTEMPTS_MAX = 50
const DELAY_SECONDS_MAX = 7 * 86_400
const RETRY_ON_MAX = 50

const DEFAULT_SCHEDULE_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]
const DEFAULT_ATTEMPTS = DEFAULT_SCHEDULE_SECONDS.length + 1
const DEFAULT_INITIAL_DELAY_SECONDS = 30
const DEFAULT_MAX_DELAY_SECONDS = 36_000

const JITTER = 0.2

/** The destination is overwhelmed: no failure, and no time to try the next. (spec: Delivery) */
export const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 502, 504])
/** 503 means busy here: every delivery that needs a token depends on the token endpoint. */
const BUSY_TOKEN_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])
const RETRY_AFTER_MS_MIN = 1_000
const RETRY_AFTER_MS_MAX = 3_600_000
const BUSY_MS_FIRST = 30_000
const BUSY_MS_MAX = 900_000

const delaySeconds = z.number().min(0).max(DELAY_SECONDS_MAX)
const errorCodes: ReadonlySet<string> = new Set(ATTEMPT_ERROR_CODES)

const Policy = z
  .strictObject({
    strategy: z
      .enum(['schedule', 'exponential', 'linear'])
      .default('schedule')
      .describe('How the waiting times grow.'),
    scheduleSeconds: z
      .array(delaySeconds)
      .min(1)
      .max(ATTEMPTS_MAX)
      .optional()
      .describe('With `schedule`: the wait after each failure; the last one repeats.'),
    initialDelaySeconds: delaySeconds
      .optional()
      .describe(
        `With \`linear\` and \`exponential\`: the wait after the first failure, ${DEFAULT_INITIAL_DELAY_SECONDS} by default.`,
      ),
    maxDelaySeconds: delaySeconds
      .optional()
      .describe(
        `With \`linear\` and \`exponential\`: the longest wait, ${DEFAULT_MAX_DELAY_SECONDS} by default.`,
      ),
    maxAttempts: z
      .int()
      .min(1)
      .max(ATTEMPTS_MAX)
      .default(DEFAULT_ATTEMPTS)
      .describe(
        'Attempts before the delivery has failed; one more than `scheduleSeconds` has when only that is given.',
      ),
    retryOn: z
      .array(
        z.string().refine((item) => errorCodes.has(item) || /^[1-5](?:xx|\d\d)$/.test(item), {
          error: 'must be an error code of attempts, a status such as 503 or a class such as 5xx',
        }),
      )
      .max(RETRY_ON_MAX)
      .optional()
      .describe(
        'Failures to retry: error codes, statuses such as `503`, classes such as `5xx`. If absent, every failure is retried.',
      ),
  })
  .superRefine((policy, context) => {
    for (const name of misplaced(policy)) {
      const message = `has no meaning with strategy "${policy.strategy}"`
      context.addIssue({ code: 'custom', path: [name], message })
    }
  })

/**
 * 1 to 50 attempts with delays of 0 to 7 days. A schedule without `maxAttempts` makes one attempt more than it has
 * delays; `linear` and `exponential` start at 30 s and end at 10 h unless they say otherwise.
 * (decisions: Resources, RetryPolicy)
 */
export const RetryPolicy = z.preprocess(countAttempts, Policy)

/** A policy that a client gives: what in it can never work is refused. (decisions: Configuration) */
export const RetryPolicyInput = RetryPolicy.superRefine((policy, context) => {
  for (const { path, message } of faultsOf(policy)) {
    context.addIssue({ code: 'custom', path, message })
  }
}).meta({ id: 'RetryPolicyInput', description: 'When a failed attempt is tried again.' })

export type RetryPolicy = z.infer<typeof Policy>

/** 8 attempts over about 28 hours. (decisions: Resources, RetryPolicy) */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  strategy: 'schedule',
  scheduleSeconds: DEFAULT_SCHEDULE_SECONDS,
  maxAttempts: DEFAULT_ATTEMPTS,
}

export interface RetryQuestion {
  policy: RetryPolicy
  errorCode: AttemptErrorCode
  /** Null when no answer came. */
  responseStatus: number | null
  /** The destination's token endpoint answered, and not the destination. */
  isTokenEndpoint: boolean
  /** The wait that the answer's `Retry-After` asks for. */
  askedMs: number | undefined
  /** Attempts spent, with this one counted as if it were spent too. */
  attemptCount: number
  /** Number of this attempt among all that were made; those that were answered busy have one and are not spent. */
  attemptNumber: number
  firstAttemptAtMs: number
  nowMs: number
  /** From 0 to below 1. */
  random: number
}

/** `busy` waits as `throttled` and spends no attempt; `gone` is `failed` and disables the destination. */
export type RetryPlan =
  | { kind: 'retry' | 'busy'; atMs: number }
  | { kind: 'failed' }
  | { kind: 'gone' }

/** Decides what follows an attempt that did not succeed. (decisions: Resources, RetryPolicy; Delivery) */
export function planRetry(question: RetryQuestion): RetryPlan {
  const { policy, responseStatus, isTokenEndpoint, attemptCount, nowMs, random } = question
  if (responseStatus === 410 && !isTokenEndpoint) return { kind: 'gone' }
  if (isBusyAnswer(responseStatus, isTokenEndpoint)) return planBusy(question)
  if (attemptCount >= policy.maxAttempts || !isRetried(question)) return { kind: 'failed' }
  // Nothing is spent yet when the first attempt was made by hand.
  const delayMs = delayMsAfter(policy, Math.max(attemptCount, 1)) * (1 + JITTER * random)
  return { kind: 'retry', atMs: nowMs + Math.max(delayMs, grantedMs(question) ?? 0) }
}

/** Whether an answer says "later": such an attempt is not spent. */
export function isBusyAnswer(status: number | null, isTokenEndpoint: boolean): boolean {
  return status !== null && (isTokenEndpoint ? BUSY_TOKEN_STATUSES : BUSY_STATUSES).has(status)
}

/**
 * Left alone for what `Retry-After` asks for, else 30 s doubling to 15 min. Busy spends no attempt, so time ends it; one
 * retry is always made, also under a policy of a single attempt.
 */
function planBusy(question: RetryQuestion): RetryPlan {
  const { policy, attemptCount, attemptNumber, firstAttemptAtMs, nowMs } = question
  const busyBefore = Math.max(0, attemptNumber - Math.max(attemptCount, 1))
  if (busyBefore > 0 && nowMs - firstAttemptAtMs >= spanMs(policy)) return { kind: 'failed' }
  const backOffMs = Math.min(BUSY_MS_FIRST * 2 ** busyBefore, BUSY_MS_MAX)
  const waitMs = Math.max(grantedMs(question) ?? backOffMs, RETRY_AFTER_MS_MIN)
  return { kind: 'busy', atMs: nowMs + waitMs }
}

/** The wait that the answer asks for, an hour at most. */
function grantedMs({ askedMs }: RetryQuestion): number | undefined {
  return askedMs === undefined ? undefined : Math.min(askedMs, RETRY_AFTER_MS_MAX)
}

function isRetried({ policy: { retryOn }, errorCode, responseStatus }: RetryQuestion): boolean {
  if (retryOn === undefined || retryOn.includes(errorCode)) return true
  if (responseStatus === null) return false
  const status = String(responseStatus)
  return retryOn.includes(status) || retryOn.includes(`${status[0]}xx`)
}

/** From the first attempt of a policy to its last, without jitter. */
function spanMs(policy: RetryPolicy): number {
  let sum = 0
  for (let failures = 1; failures < policy.maxAttempts; failures++) {
    sum += delayMsAfter(policy, failures)
  }
  return sum
}

/** The wait after the n-th failure, from 1, without jitter. */
function delayMsAfter(policy: RetryPolicy, failures: number): number {
  if (policy.strategy === 'schedule') {
    const schedule = policy.scheduleSeconds ?? DEFAULT_SCHEDULE_SECONDS
    return 1_000 * (schedule[Math.min(failures, schedule.length) - 1] ?? 0)
  }
  const initial = policy.initialDelaySeconds ?? DEFAULT_INITIAL_DELAY_SECONDS
  const factor = policy.strategy === 'linear' ? failures : 2 ** (failures - 1)
  return 1_000 * Math.min(initial * factor, policy.maxDelaySeconds ?? DEFAULT_MAX_DELAY_SECONDS)
}

function faultsOf(policy: RetryPolicy): { path: (string | number)[]; message: string }[] {
  const { initialDelaySeconds, maxDelaySeconds, retryOn = [] } = policy
  const faults = retryOn.flatMap((item, at) => {
    const message = neverRetried(item)
    return message === undefined ? [] : [{ path: ['retryOn', at], message }]
  })
  if ((initialDelaySeconds ?? 0) <= (maxDelaySeconds ?? DELAY_SECONDS_MAX)) return faults
  return [
    ...faults,
    { path: ['maxDelaySeconds'], message: 'must not be below initialDelaySeconds' },
  ]
}

/** Why nothing that failed can be this. */
function neverRetried(item: string): string | undefined {
  if (item.startsWith('1')) return 'is no answer: a 1xx comes before one'
  if (item.startsWith('2')) return 'is a success, which is never tried again'
  if (item === '410') return 'says that the endpoint is gone, which is never tried again'
  return item === 'expired' ? 'says that the event is past retention' : undefined
}

function misplaced(policy: z.infer<typeof Policy>): string[] {
  const names =
    policy.strategy === 'schedule'
      ? (['initialDelaySeconds', 'maxDelaySeconds'] as const)
      : (['scheduleSeconds'] as const)
  return names.filter((name) => policy[name] !== undefined)
}

function countAttempts(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || 'maxAttempts' in input) return input
  if (!('scheduleSeconds' in input) || !Array.isArray(input.scheduleSeconds)) return input
  return { ...input, maxAttempts: Math.min(input.scheduleSeconds.length + 1, ATTEMPTS_MAX) }
}
