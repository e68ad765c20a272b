import { timestamp } from '../clock.ts'
import type { ExplainedDelivery } from './facts.ts'

/** How a sentence names things, some of which may be gone. */

export function nameOf({ destination }: ExplainedDelivery): string {
  return destination?.name ?? 'a destination that is deleted now'
}

/** Describes the last attempt. */
export function lastOf({ lastAttempt }: ExplainedDelivery): string {
  if (lastAttempt === null) return 'no attempt'
  const result = lastAttempt.responseStatus ?? words(lastAttempt.errorCode ?? 'no answer')
  const took = lastAttempt.durationMs
  return took === null ? String(result) : `${result} in ${Math.round(took)} ms`
}

export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

export function words(code: string): string {
  return code.replaceAll('_', ' ')
}

/** To the second, in UTC. */
export function moment(ms: number): string {
  return timestamp(ms).replace(/\.\d+Z$/, 'Z')
}

export function span(ms: number): string {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1000))} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${Math.round(ms / 3_600_000)} h`
}
