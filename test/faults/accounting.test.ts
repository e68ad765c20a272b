import { expect, test } from 'vitest'

import { runChaos } from './chaos-run.ts'
import { KINDS, planFaults } from './fault-plan.ts'
import { PARTS, startRelay } from './relay.ts'
import { printAccount } from './tally.ts'

const SEED = 20
const SECONDS = 150
const PER_SECOND = 400
const GAP_MS = { min: 3_000, max: 8_000 }
/** The faults, the start, and what waits for leases and retries afterwards. */
const TIMEOUT_MS = 720_000

test('planFaults() gives the same faults for a seed, and the run below has each kind to each part', () => {
  const options = { seed: SEED, durationMs: SECONDS * 1_000, gapMs: GAP_MS }
  const faults = planFaults(options)
  expect(planFaults(options)).toEqual(faults)
  expect(planFaults({ ...options, seed: SEED + 1 })).not.toEqual(faults)
  const all = PARTS.flatMap((part) => KINDS.map((kind) => `${kind} ${part}`))
  const first = faults.slice(0, all.length).map(({ part, kind }) => `${kind} ${part}`)
  expect(first.toSorted()).toEqual(all.toSorted())
})

test(
  'minutes of kills, freezes and restarts lose nothing that was accepted',
  async () => {
    await using relay = await startRelay()
    const { accounts, duplicatesMax } = await runChaos(relay, {
      seed: SEED,
      durationMs: SECONDS * 1_000,
      perSecond: PER_SECOND,
      gapMs: GAP_MS,
    })
    for (const [name, account] of Object.entries(accounts)) {
      printAccount(`minutes of faults, ${name}`, account)
      expect(account).toMatchObject({ lost: 0, unsettled: 0 })
      // With keys too: no event is stored twice, and what was stored is delivered whether its sender heard so or not.
      expect(account.stored).toBe(account.delivered)
    }
    const duplicated = Object.values(accounts).reduce((sum, one) => sum + one.duplicated, 0)
    expect(duplicated).toBeLessThanOrEqual(duplicatesMax)
  },
  TIMEOUT_MS,
)
