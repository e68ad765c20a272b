import type { Relay } from './relay.ts'

const COMMITS = 100

/** How long a commit takes on this machine now, in milliseconds: the 95th of a hundred that write nothing but WAL. */
export async function commitTime(relay: Relay): Promise<number> {
  const waits: number[] = []
  while (waits.length < COMMITS) {
    const startedAt = performance.now()
    await relay.query(`select pg_logical_emit_message(true, 'faults', '')`, [])
    waits.push(performance.now() - startedAt)
  }
  return waits.toSorted((one, other) => one - other)[COMMITS * 0.95] ?? 0
}
