import { afterAll, beforeAll, expect, test } from 'vitest'

import { DESTINATION_CONCURRENCY_DEFAULT } from '../../core/limits.ts'
import { watchCommits } from './commit-watch.ts'
import type { Arrival } from './destination.ts'
import { startLoad } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute } from './route.ts'
import { settle } from './settle.ts'
import { until } from './until.ts'

const PER_SECOND = 1_000
const HALF = 4 * PER_SECOND
const BACK_MS = 30_000
/** Ingest needs neither workers nor NATS; without PostgreSQL it still answers. */
const ALL_ACCEPTED = { refused: 0, unanswered: 0 }

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

/**
 * How long before the kill of its worker the oldest delivery that came twice may have arrived: 10 ms where a commit takes
 * 5 ms or less. Two commits can stand between an answer and its record, so that a busier machine leaves more. In time, not
 * in deliveries: what a machine held up for 30 ms comes in one.
 */
function unrecordedMs(slowestCommitMs: number): number {
  return Math.max(10, 2 * slowestCommitMs)
}

/** For each repeated request, the milliseconds from its first arrival to the kill; below 0 after it. */
function agesOfRepeated(
  arrivals: ReadonlyMap<number, readonly Arrival[]>,
  killedAtMs: number,
): number[] {
  const repeated = [...arrivals.values()].filter((same) => same.length > 1)
  return repeated.map(([first]) => killedAtMs - (first?.atMs ?? 0))
}

test.for([
  { name: 'ingest', answered: {}, duplicatesMax: 0, pid: () => relay.role('ingest') },
  {
    name: 'worker',
    answered: ALL_ACCEPTED,
    // Deliveries being sent; answered and unrecorded ones have a bound of their own.
    duplicatesMax: DESTINATION_CONCURRENCY_DEFAULT,
    pid: () => relay.role('worker'),
  },
  { name: 'nats', answered: ALL_ACCEPTED, duplicatesMax: 10, pid: () => relay.server('nats') },
  {
    name: 'postgres',
    answered: { unanswered: 0 },
    duplicatesMax: 10,
    pid: () => relay.server('postgres'),
  },
])(
  'kill -9 of $name under load loses nothing that was accepted',
  async ({ name, answered, duplicatesMax, pid }) => {
    await using route = await openRoute(relay, `kill ${name}`)
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(HALF / 2)
    await using commits = watchCommits(relay)
    await load.reached(HALF)
    const victim = pid()
    const killedAtMs = performance.now()
    process.kill(victim, 'SIGKILL')
    const commitMs = await commits.slowestMs()
    await until(`${name} runs again`, () => pid() !== victim, BACK_MS)
    await load.accepted(BACK_MS)
    await load.reached(2 * HALF)
    const title = `kill -9 of ${name}`
    const account = await settle(title, relay, { route, sent: await load.stop() })
    const ages = agesOfRepeated(route.destination.arrivals, killedAtMs)
    const oldestMs = Math.max(0, ...ages)
    const came = `${Math.round(oldestMs)} ms came twice`
    process.stdout.write(`${title}: ${came}, a commit took up to ${Math.round(commitMs)} ms\n`)
    expect(account).toMatchObject(answered)
    expect(oldestMs).toBeLessThanOrEqual(unrecordedMs(commitMs))
    const unrecorded = name === 'worker' ? ages.filter((age) => age > 0).length : 0
    expect(account.duplicated - unrecorded).toBeLessThanOrEqual(duplicatesMax)
  },
)
