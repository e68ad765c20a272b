import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'
import { z } from 'zod'

const LOOK_MS = 250
const Counted = z.object({ count: z.number() })

/**
 * Waits until PostgreSQL holds `count` waiting deliveries, at most `timeoutMs`: what is accepted goes through the
 * stream and a worker before it waits there. Returns how many it holds.
 */
export async function awaitWaiting(
  databaseUrl: string,
  count: number,
  timeoutMs: number,
): Promise<number> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const { rows } = await client.query('select count(*)::int4 as count from delivery_waiting')
      const waiting = Counted.parse(rows[0]).count
      if (waiting >= count || performance.now() > deadline) return waiting
      await sleep(LOOK_MS)
    }
  } finally {
    await client.end()
  }
}
