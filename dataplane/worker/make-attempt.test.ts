import { expect, onTestFinished, test } from 'vitest'

import { openClock } from '../../core/clock.ts'
import { guardedLookup } from '../../core/egress/connect.ts'
import { AccessTokens } from './access-tokens.ts'
import { openDispatcher } from './dispatcher.ts'
import { makeAttempt } from './make-attempt.ts'
import { SAMPLE_DESTINATION, sampleWork } from './sample-work.ts'

test('an event whose headers cannot be read is not sent: the attempt failed for a fault of ours', async () => {
  const clock = openClock()
  const isAllowed = (): boolean => true
  const dispatcher = openDispatcher(guardedLookup(isAllowed))
  onTestFinished(async () => await dispatcher.agent.close())
  const tokens = new AccessTokens({ dispatcher: dispatcher.agent, clock, isAllowed })
  const work = sampleWork()
  const outgoing = { ...work, body: Buffer.from('{}'), event: { ...work.event, headers: '[["cut' } }
  const { made, response } = await makeAttempt(
    { clock, dispatcher, tokens },
    outgoing,
    SAMPLE_DESTINATION,
  )
  expect(response).toMatchObject({ status: null, error: 'internal' })
  expect(made).toMatchObject({ errorCode: 'internal', responseStatus: null, number: 1 })
})
