import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { decodeId } from '../../core/ids.ts'
import { signal } from '../../standalone/processes/os-process.ts'
import { startMails } from './mail-load.ts'
import { startRelay, type Relay } from './relay.ts'
import { until } from './until.ts'

const Told = z.object({ smtpPort: z.int() })
const Source = z.object({ id: z.string(), ingestUrl: z.string(), ingestAddress: z.string() })
const WAIT_MS = 60_000

async function openMailRelay(): Promise<{ relay: Relay; port: number }> {
  const relay = await startRelay({ SMTP_PORT: '0', TRUSTED_PROXIES: '127.0.0.1/32' })
  const told = JSON.parse(readFileSync(join(relay.dataDir, 'standalone.json'), 'utf8'))
  return { relay, port: Told.parse(told).smtpPort }
}

test('no mail that was answered 250 is lost when ingest is killed under 200 mails a second', async () => {
  const { relay, port } = await openMailRelay()
  await using _ = relay
  const source = Source.parse(
    await relay.api('POST', '/v1/sources', { name: 'mail', kind: 'email' }),
  )
  const load = startMails({ port, address: source.ingestAddress, perSecond: 200, connections: 8 })
  for (let kills = 0; kills < 3; kills++) {
    const before = load.accepted.length
    await until('mails are accepted', () => load.accepted.length > before + 200, WAIT_MS)
    signal(relay.role('ingest'), 'SIGKILL')
  }
  const before = load.accepted.length
  await until('mails are accepted again', () => load.accepted.length > before + 200, WAIT_MS)
  await load.stop()
  const stored = z
    .array(z.object({ id: z.string() }))
    .parse(await relay.query(`select id::text from event where mail is not null`, []))
  expect(stored.length).toBeGreaterThanOrEqual(load.accepted.length)
  expect(new Set(load.accepted).size).toBe(load.accepted.length)
  // An id that was answered and is not there is a lost mail.
  const ids = new Set(stored.map(({ id }) => id))
  const lost = load.accepted.filter((id) => !ids.has(decodeId('evt', id) ?? ''))
  expect(lost).toEqual([])
})
