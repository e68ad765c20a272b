import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'

import { openClock } from '../../../core/clock.ts'
import { directTransport } from '../../../core/delivery/direct/exchange.ts'
import { Connections } from '../../../core/delivery/direct/http-connections.ts'
import { guardedLookup } from '../../../core/egress/connect.ts'
import { Names } from '../../../core/egress/names.ts'
import { newId } from '../../../core/ids.ts'
import { SAMPLE_DESTINATION, sampleWork } from '../in-flight/sample-work.fixture.ts'
import { AccessTokens } from './access-tokens.ts'
import { makeAttempt } from './make-attempt.ts'
import { openReach } from './reach.ts'

test('an event whose headers cannot be read is not sent: the attempt failed for a fault of ours', async () => {
  const clock = openClock()
  const isAllowed = (): boolean => true
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => lines.push(line) })
  const connections = new Connections(() => guardedLookup(isAllowed, new Names()))
  onTestFinished(async () => await connections.close())
  const direct = directTransport(connections)
  const tokens = new AccessTokens({ send: direct, clock, isAllowed })
  const destination = { ...SAMPLE_DESTINATION, id: newId(0) }
  const work = sampleWork()
  const outgoing = { ...work, body: Buffer.from('{}'), event: { ...work.event, headers: '[["cut' } }
  const { made, response } = await makeAttempt(
    { clock, log, reach: openReach(direct, () => direct), tokens },
    outgoing,
    destination,
  )
  expect(response).toMatchObject({ status: null, error: 'internal' })
  expect(made).toMatchObject({ errorCode: 'internal', responseStatus: null, number: 1 })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, msg: 'Cannot make an attempt', err: { type: 'SyntaxError' } },
  ])
})
