const BASE_MS = 1_000
const CAP_MS = 60_000
const DOUBLINGS_MAX = 6

/**
 * Full jitter: anything up to the step of this failure, so that agents that lost the same gateway do not come back as
 * one. The first failure is number 0.
 */
export function backoffMs(failures: number, random: () => number): number {
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(failures, DOUBLINGS_MAX))
}

/** The same behind what the other side asked to wait: many are told the same. */
export function waitMs(
  failures: number,
  retryAfterMs: number | undefined,
  random: () => number,
): number {
  return (retryAfterMs ?? 0) + backoffMs(failures, random)
}
