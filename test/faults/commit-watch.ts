import { setTimeout as sleep } from 'node:timers/promises'

import type { Relay } from './relay.ts'

const PAUSE_MS = 5
/** Older commits say nothing about the ones at the end. */
const REMEMBERED = 10

/** Commits of our own, one after another, which write nothing but WAL. */
export interface CommitWatch extends AsyncDisposable {
  /** The slowest of the newest commits, the one under way included, in milliseconds. Ends the watch. */
  slowestMs(): Promise<number>
}

export function watchCommits(relay: Relay): CommitWatch {
  const times: number[] = []
  const signal = { isOver: false }
  const run = async (): Promise<void> => {
    while (!signal.isOver) {
      const startedAt = performance.now()
      await relay.query(`select pg_logical_emit_message(true, 'faults', '')`, [])
      times.push(performance.now() - startedAt)
      await sleep(PAUSE_MS)
    }
  }
  // Whoever is killed may be PostgreSQL: a commit that it did not make has no time.
  const running = run().catch(() => {})
  const end = async (): Promise<void> => {
    signal.isOver = true
    await running
  }
  return {
    slowestMs: async () => {
      await end()
      return Math.max(...times.slice(-REMEMBERED))
    },
    [Symbol.asyncDispose]: end,
  }
}
