import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'

import { openClock } from '../../../core/clock.ts'
import { openPool } from '../../../core/db/connection/db.ts'
import { openResults } from './results.ts'

/** Nobody listens there. */
const NOWHERE = 'postgres://127.0.0.1:1/none'

/** A few times as long as a write waits for its next try. */
const TRIES_MS = 800

test('when its worker ends, a write is tried no more, and nobody hears that it was made', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => lines.push(line) })
  const pool = openPool({ url: NOWHERE, max: 1, log })
  onTestFinished(async () => await pool.end())
  const results = openResults({ pool, clock: openClock(), log, name: '', expectDue: () => {} })
  let hasEnded = false
  const delivery = {
    retentionClass: 90,
    deliveryId: '01890a5d-ac96-774b-bcce-b302099a8057',
    hold: { partition: 0, epoch: 1 },
    because: 'destination_deleted' as const,
  }
  void results.cancel(delivery).finally(() => {
    hasEnded = true
  })
  await vi.waitFor(() => expect(lines.length).toBeGreaterThan(1), 4_000)
  await results.close(0)
  await sleep(TRIES_MS)
  const tried = lines.length
  await sleep(TRIES_MS)
  expect(lines).toHaveLength(tried)
  expect(hasEnded).toBe(false)
})
