import { setTimeout as sleep } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { newId } from '../../core/ids.ts'
import { INGEST_COUNTS } from '../../core/notices/notice-subjects.ts'
import { IngestLimits } from '../../dataplane/ingest/budgets/limits.ts'
import { SOON_MS, eventually } from '../kit/relay.ts'
import { startWorld, type World } from '../kit/world.ts'

const LIMITS_MAX = 100_000
const EXCHANGE_MS = 100

function openLimits({ nats, clock, deps: { log } }: World): IngestLimits {
  return new IngestLimits({ nats, clock, log, processId: newId(clock.now()) })
}

/** As long as an id: the counts of so many are more than NATS takes in a message by default. */
const scope = (n: number): string => `new ${n}`.padEnd(36, '-')
const SCOPES = 30_000

test('the counts of 30,000 scopes arrive, and that of a limit that gave way to another', async () => {
  await using world = await startWorld()
  using first = openLimits(world)
  first.take('evicted', 1_000)
  for (let n = 1; n < LIMITS_MAX; n++) first.take(`old ${n}`, 1_000)
  await sleep(3 * EXCHANGE_MS)
  using second = openLimits(world)
  let messages = ''
  let largestBytes = 0
  world.nats.subscribe(INGEST_COUNTS, {
    callback: (_, message) => {
      messages += message.string()
      largestBytes = Math.max(largestBytes, message.data.length)
    },
  })
  await world.nats.flush()
  first.take('evicted', 1)
  for (let n = 0; n < SCOPES; n++) first.take(scope(n), 1)
  await eventually(() => expect(messages.includes(scope(SCOPES - 1))).toBe(true), SOON_MS)
  expect(largestBytes).toBeLessThan(1024 * 1024)
  expect(second.take('evicted', 1).allowed).toBe(false)
  expect(second.take(scope(SCOPES - 1), 1).allowed).toBe(false)
  expect(second.take('other', 1).allowed).toBe(true)
})
