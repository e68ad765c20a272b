import type { Schemas } from '../../../api/client.ts'
import { span } from '../../../parts/words/numbers.ts'

type Destination = Schemas['Destination']

export function paceOf({ rateLimit, rateLimitPeriod, maxConcurrency }: Destination): string {
  const pace = rateLimit === null ? 'no limit' : `${rateLimit} a ${rateLimitPeriod}`
  return maxConcurrency === null ? pace : `${pace}, ${maxConcurrency} at once`
}

/** The delays before each retry, in seconds, as the policy makes them. */
function delaysOf(policy: Schemas['RetryPolicy']): number[] {
  const {
    strategy,
    scheduleSeconds = [],
    initialDelaySeconds = 0,
    maxDelaySeconds = Infinity,
  } = policy
  if (strategy === 'schedule') return scheduleSeconds
  const retries = Math.max(0, policy.maxAttempts - 1)
  return Array.from({ length: retries }, (_, index) =>
    Math.min(
      maxDelaySeconds,
      strategy === 'linear' ? initialDelaySeconds * (index + 1) : initialDelaySeconds * 2 ** index,
    ),
  )
}

/** When each attempt is made, from the first on. */
export function attemptTimes(policy: Schemas['RetryPolicy']): number[] {
  let at = 0
  return [0, ...delaysOf(policy).map((delay) => (at += delay))]
}

export const spanOfSeconds = (seconds: number): string =>
  seconds === 0 ? 'at once' : span(seconds * 1000)
