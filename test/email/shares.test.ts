import { afterAll, beforeAll, expect, test } from 'vitest'

import { MAIL_ARRIVING_BYTES_MAX } from '../../core/limits.ts'
import { startRelay, type Relay } from '../kit/relay.ts'
import { deliver, RawSmtp } from './mailbox.ts'

let relay: Relay
let port: number
beforeAll(async () => {
  relay = await startRelay({ mailDomain: 'mail.test' })
  port = relay.ingest.smtpPort ?? 0
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const MIB = 1024 * 1024
const PLAIN = 'From: a@example.net\r\nSubject: x\r\n\r\nText.\r\n'

async function mailbox(fields: object = {}, key?: string): Promise<string> {
  return (await relay.make('sources', { kind: 'email', ...fields }, key)).ingestAddress
}

/** A client that sends all of a message but its end. */
async function unfinished(to: string, from: string, mail: string): Promise<RawSmtp> {
  const client = new RawSmtp(port, from)
  const begun = await client.begin(to)
  expect(begun).toMatchObject({ code: 354 })
  client.write(mail)
  return client
}

test('messages without an end use up the room of their source and senders, and no other', async () => {
  const [held, other] = [await mailbox({ maxPayloadSizeKb: 5_120 }), await mailbox()]
  const bytes = 4 * MIB - 1_024
  const mail = PLAIN + 'x'.repeat(bytes)
  const senders = Array.from({ length: 16 }, (_, at) => `127.0.0.${at < 10 ? 2 : 3}`)
  const clients = await Promise.all(senders.map(async (from) => await unfinished(held, from, mail)))
  // As many as there is room for, were it not for the shares.
  expect(MAIL_ARRIVING_BYTES_MAX - senders.length * bytes).toBeLessThan(100_000)
  const large = `${PLAIN}${`${'x'.repeat(76)}\r\n`.repeat(5_000)}`
  for (let n = 0; n < 5; n++) {
    expect(await deliver(port, other, large, '127.0.0.4')).toMatchObject({ code: 250 })
  }
  for (const client of clients) client.destroy()
}, 60_000)

test.for([
  ['4.7 MB in 66,000 lines', `${'x'.repeat(69)}\r\n`.repeat(66_000)],
  ['488 KB of blank lines', '\n'.repeat(488 * 1_024)],
] as const)(
  'a mail is answered beside six others of %s that came before it',
  { timeout: 120_000 },
  async ([, text]) => {
    const tenant = await relay.createTenant()
    const held = await mailbox({ maxPayloadSizeKb: 5_120 }, tenant.key)
    const hostile = await Promise.all(
      Array.from({ length: 6 }, async () => await unfinished(held, '127.0.0.2', PLAIN + text)),
    )
    using other = await unfinished(await mailbox(), '127.0.0.4', PLAIN)
    for (const client of hostile) client.write('\r\n.\r\n')
    other.write('.\r\n')
    expect(await other.answer()).toMatchObject({ code: 250 })
    for (const client of hostile) client.destroy()
  },
)
