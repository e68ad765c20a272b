import type { Arrival } from './destination.ts'
import type { Sent } from './load.ts'

/** The tally of a load, end to end. */
export interface Account {
  sent: number
  /** Answered with a 200: stored now, or before. */
  accepted: number
  refused: number
  unanswered: number
  /** Numbers that reached the destination at least once. */
  delivered: number
  /** Arrivals beyond the first of their number. */
  duplicated: number
  /** Accepted and never delivered. */
  lost: number
  /** From sending an accepted one to its first arrival. */
  longestMs: number
}

export function accountOf(
  sent: readonly Sent[],
  arrivals: ReadonlyMap<number, readonly Arrival[]>,
): Account {
  const accepted = sent.filter(isAccepted)
  const waits = accepted.map(
    ({ number, sentAtMs }) => (arrivals.get(number)?.[0]?.atMs ?? Number.NaN) - sentAtMs,
  )
  const arrived = waits.filter((wait) => !Number.isNaN(wait))
  const total = [...arrivals.values()].reduce((sum, same) => sum + same.length, 0)
  return {
    sent: sent.length,
    accepted: accepted.length,
    refused: sent.filter(({ answer }) => answer.kind === 'refused').length,
    unanswered: sent.filter(({ answer }) => answer.kind === 'unanswered').length,
    delivered: arrivals.size,
    duplicated: total - arrivals.size,
    lost: new Set(accepted.map(({ number }) => number)).difference(arrivals).size,
    longestMs: Math.round(arrived.reduce((longest, wait) => Math.max(longest, wait), 0)),
  }
}

export function isAccepted({ answer }: Sent): boolean {
  return answer.kind === 'accepted' || answer.kind === 'duplicate'
}

/** Printed by every test: what a run showed is worth more than that it passed. */
export function printAccount(name: string, account: Account): void {
  const figures = Object.entries(account).map(([figure, value]) => `${figure} ${value}`)
  process.stdout.write(`${name}: ${figures.join(', ')}\n`)
}
