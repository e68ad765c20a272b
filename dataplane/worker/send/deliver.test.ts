import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { expect, test } from 'vitest'

import { openClock } from '../../../core/clock.ts'
import { unsent, type Transport } from '../../../core/delivery/transport.ts'
import { newId } from '../../../core/ids.ts'
import { InFlight } from '../in-flight/in-flight.ts'
import { SAMPLE_DESTINATION, sampleWork } from '../in-flight/sample-work.fixture.ts'
import { AccessTokens } from './access-tokens.ts'
import { deliver } from './deliver.ts'
import { openReach } from './reach.ts'

/** Longer than an attempt that does not show as in flight. */
const LONG_MS = 1_100

test('the result of an attempt ends the row that may show it as in flight, though nobody heard that it was written', async () => {
  const clock = openClock()
  const slow: Transport = async () => {
    await sleep(LONG_MS)
    return unsent('timeout')
  }
  const work = { ...sampleWork(), body: Buffer.alloc(0) }
  let isWaiting: boolean | undefined
  await deliver(
    {
      clock,
      log: pino({ level: 'silent' }),
      reach: openReach(slow, () => slow),
      tokens: new AccessTokens({ send: slow, clock, isAllowed: () => true }),
      inFlight: new InFlight(),
      random: () => 0,
      results: {
        mark: async () => {
          throw new Error('Connection terminated unexpectedly')
        },
      },
      record: (recorded) => {
        isWaiting = recorded.isWaiting
      },
      disable: () => undefined,
    },
    work,
    { destination: { ...SAMPLE_DESTINATION, id: newId(0) }, isCurrent: () => true },
  )
  expect(isWaiting).toBe(true)
})
