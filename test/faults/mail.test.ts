import { expect, test } from 'vitest'
import { z } from 'zod'

import { signal } from '../../standalone/processes/os-process.ts'
import { lostMails, startMails } from './mail-load.ts'
import { startRelay } from './relay.ts'
import { until } from './until.ts'

const Source = z.object({ id: z.string(), ingestUrl: z.string(), ingestAddress: z.string() })
const WAIT_MS = 60_000

test('no mail that was answered 250 is lost when ingest is killed under 200 mails a second', async () => {
  await using relay = await startRelay({ SMTP_PORT: '0', TRUSTED_PROXIES: '127.0.0.1/32' })
  const source = Source.parse(
    await relay.api('POST', '/v1/sources', { name: 'mail', kind: 'email' }),
  )
  const load = startMails({
    port: relay.smtpPort,
    address: source.ingestAddress,
    perSecond: 200,
    connections: 8,
  })
  for (let kills = 0; kills < 3; kills++) {
    const before = load.accepted.length
    await until('mails are accepted', () => load.accepted.length > before + 200, WAIT_MS)
    signal(relay.role('ingest'), 'SIGKILL')
  }
  const before = load.accepted.length
  await until('mails are accepted again', () => load.accepted.length > before + 200, WAIT_MS)
  await load.stop()
  expect(new Set(load.accepted).size).toBe(load.accepted.length)
  expect(await lostMails(relay, load)).toEqual([])
})
