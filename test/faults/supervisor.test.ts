import { expect, test } from 'vitest'

import { DESTINATION_CONCURRENCY_DEFAULT } from '../../core/limits.ts'
import { isGone } from '../../standalone/processes/os-process.ts'
import { startLoad } from './load.ts'
import { startRelay } from './relay.ts'
import { openRoute } from './route.ts'
import { settle } from './settle.ts'

const PER_SECOND = 1_000
const BACK_MS = 60_000
/** Roles end in order unless a busy machine lets them take too long: then what was under way is sent again. */
const DUPLICATES_MAX = 10 + DESTINATION_CONCURRENCY_DEFAULT

test('kill -9 of the supervisor and a new start lose nothing that was accepted', async () => {
  await using relay = await startRelay()
  await using route = await openRoute(relay, 'supervisor')
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  await load.reached(3 * PER_SECOND)
  const ingest = relay.role('ingest')
  const supervisor = relay.supervisor()
  const postgres = relay.server('postgres')
  process.kill(supervisor, 'SIGKILL')
  await relay.startAgain()
  await load.accepted(BACK_MS)
  expect(await isGone(ingest, BACK_MS)).toBe(true)
  expect(relay.role('ingest')).not.toBe(ingest)
  // The servers ran on and were taken over.
  expect(relay.server('postgres')).toBe(postgres)
  const account = await settle('kill -9 of the supervisor', relay, {
    route,
    sent: await load.stop(),
  })
  expect(account.duplicated).toBeLessThanOrEqual(DUPLICATES_MAX)
})
