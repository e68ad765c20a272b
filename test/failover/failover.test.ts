import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, test } from 'vitest'

import { DEBIAN_BIN } from '../faults/backups.ts'
import { openInstallation, type Installation } from './installation.ts'
import { expectWithin, SCENARIOS } from './scenarios.ts'
import { openTraffic, type Measured, type Traffic } from './traffic.ts'

const HEAD = `
| scenario | accepted | unanswered | s without a 200 | slowest answer, s | deliveries stood, s (public, paced, private) | slowest delivery, s | lost | repeated (the same) | at once (the same) | of 20 a second |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |`

/** Traffic before a fault and after all flows again. */
const BEFORE_MS = 3_000
const AFTER_MS = 2_000
const FLOWS_MS = 60_000
const TIMEOUT_MS = 180_000

const missing = DEBIAN_BIN === undefined
if (missing) process.stdout.write('No fail-over: Debian’s PostgreSQL is not installed\n')

const stack = new AsyncDisposableStack()
const rows: string[] = []
let installation: Installation
let traffic: Traffic
beforeAll(async () => {
  if (missing) return
  installation = stack.use(await openInstallation())
  traffic = stack.use(await openTraffic(installation))
}, TIMEOUT_MS)
afterAll(async () => {
  await stack.disposeAsync()
  process.stdout.write(`${[HEAD, ...rows].join('\n')}\n`)
}, TIMEOUT_MS)

test.skipIf(missing).for(SCENARIOS)('$name', { timeout: TIMEOUT_MS }, async (scenario) => {
  const { name, strike } = scenario
  await using _whole = { [Symbol.asyncDispose]: async () => await installation.postgres.restore() }
  await using running = traffic.start()
  await sleep(BEFORE_MS)
  await strike(installation)
  await running.flows(FLOWS_MS)
  await sleep(AFTER_MS)
  const measured = await running.measure()
  rows.push(rowOf(name, measured))
  process.stdout.write(`${rows.at(-1)}\n`)
  expectWithin(scenario, measured)
})

function rowOf(
  name: string,
  { without200Ms, slowestMs, stoodMs, arrivedMs, ...counts }: Measured,
): string {
  const s = (ms: number): string => (ms / 1_000).toFixed(1)
  const cells = [
    name,
    `${counts.accepted} of ${counts.sent}`,
    String(counts.unanswered),
    s(without200Ms),
    s(slowestMs),
    Object.values(stoodMs).map(s).join(', '),
    s(arrivedMs),
    String(counts.lost),
    Object.values(counts.duplicates).join(', '),
    Object.values(counts.atOnce).join(', '),
    String(counts.inASecond),
  ]
  return `| ${cells.join(' | ')} |`
}
