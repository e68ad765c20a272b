import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { scratch } from '../kit/servers.ts'
import { makeCertificate } from './certificate.ts'
import { makeCorpus } from './corpus.ts'
import { RawSmtp } from './mailbox.ts'

let relay: Relay
const directory = scratch()
beforeAll(async () => {
  const certificate = makeCertificate(directory.path)
  relay = await startRelay({ mailDomain: 'mail.test', certificate, worker: false })
})
afterAll(async () => {
  await relay[Symbol.asyncDispose]()
  directory[Symbol.dispose]()
})

test('200 mails in the forms of the usual programs: each is stored byte for byte, with a payload', async () => {
  const source = await relay.make('sources', { kind: 'email', maxPayloadSizeKb: 1024 })
  const corpus = await makeCorpus()
  expect(corpus.length).toBeGreaterThanOrEqual(200)
  using client = new RawSmtp(relay.ingest.smtpPort ?? 0)
  await client.answer()
  await client.say('EHLO c')
  await client.startTls()
  await client.say('EHLO c')
  const faults: string[] = []
  for (const { name, mail, mailFrom } of corpus) {
    await client.again(source.ingestAddress, mailFrom)
    const said = await client.message(mail)
    const [eventId] = /evt_\w+/.exec(said.text) ?? []
    if (eventId === undefined) {
      faults.push(`${name}: ${said.text}`)
      continue
    }
    const event: Resource = await relay.get(`/v1/events/${eventId}`)
    const whole = mail.length === 0 || mail.subarray(-2).equals(Buffer.from('\r\n'))
    const expected = whole ? mail : Buffer.concat([mail, Buffer.from('\r\n')])
    if (event.rawBase64 !== expected.toString('base64')) faults.push(`${name}: other bytes`)
    const { payload } = event
    if (!Array.isArray(payload?.attachments) || payload.envelope.mailFrom !== mailFrom) {
      faults.push(`${name}: no payload`)
    }
    if (mailFrom === '' && payload?.isAutomatic !== true) faults.push(`${name}: not automatic`)
  }
  expect(faults).toEqual([])
  const { data } = await relay.get(`/v1/events?sourceId=${source.id}&limit=100`)
  expect(data).toHaveLength(100)
})

const { stdout } = spawnSync('swaks', ['--support'], { encoding: 'utf8' })
const hasSwaks = (stdout ?? '').includes('TLS supported')

test.skipIf(!hasSwaks)('swaks delivers over TLS', async () => {
  const source = await relay.make('sources', { kind: 'email' })
  const said = await promisify(execFile)('swaks', [
    `--server=127.0.0.1:${relay.ingest.smtpPort}`,
    `--to=${source.ingestAddress}`,
    '--from=sender@example.net',
    '--helo=client.example.net',
    '--tls',
  ])
  const [eventId] = /evt_\w+/.exec(said.stdout) ?? []
  expect(await relay.get(`/v1/events/${eventId}`)).toMatchObject({
    payload: { envelope: { tls: true } },
  })
})
