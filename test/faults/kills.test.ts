import { afterAll, beforeAll, expect, test } from 'vitest'

import { commitTime } from './commit-time.ts'
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
 * Answers of a killed worker that were not recorded: 10 ms of traffic where a commit takes 5 ms or less. Two commits
 * can stand between an answer and its record, so that a busier machine leaves more.
 */
function unrecorded(commitMs: number): number {
  return Math.ceil((PER_SECOND / 1_000) * Math.max(10, 2 * commitMs))
}

test.for([
  { name: 'ingest', answered: {}, duplicatesMax: () => 0, pid: () => relay.role('ingest') },
  {
    name: 'worker',
    answered: ALL_ACCEPTED,
    duplicatesMax: unrecorded,
    pid: () => relay.role('worker'),
  },
  {
    name: 'nats',
    answered: ALL_ACCEPTED,
    duplicatesMax: () => 10,
    pid: () => relay.server('nats'),
  },
  {
    name: 'postgres',
    answered: { unanswered: 0 },
    duplicatesMax: () => 10,
    pid: () => relay.server('postgres'),
  },
])(
  'kill -9 of $name under load loses nothing that was accepted',
  async ({ name, answered, duplicatesMax, pid }) => {
    await using route = await openRoute(relay, `kill ${name}`)
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(HALF / 2)
    const commitMs = await commitTime(relay)
    await load.reached(HALF)
    const victim = pid()
    process.kill(victim, 'SIGKILL')
    await until(`${name} runs again`, () => pid() !== victim, BACK_MS)
    await load.accepted(BACK_MS)
    await load.reached(2 * HALF)
    const title = `kill -9 of ${name} (a commit took ${Math.round(commitMs)} ms)`
    const account = await settle(title, relay, { route, sent: await load.stop() })
    expect(account).toMatchObject(answered)
    expect(account.duplicated).toBeLessThanOrEqual(duplicatesMax(commitMs))
  },
)
