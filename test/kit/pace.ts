import type { Resource } from './relay.ts'

/**
 * When the attempts of done deliveries began, by the clock of the worker, which sets their pace: a machine that stands
 * still brings arrivals closer together than they were sent.
 */
export function timesOf(deliveries: readonly Resource[]): number[] {
  return deliveries.map(({ lastAttempt }) => Date.parse(lastAttempt.at))
}

export function mostInASecond(times: readonly number[]): number {
  return Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length),
  )
}

export function secondsBetween(times: readonly number[]): number {
  return (Math.max(...times) - Math.min(...times)) / 1_000
}
