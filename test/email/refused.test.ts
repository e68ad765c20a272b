import { afterAll, beforeAll, expect, test } from 'vitest'

import { overridePlan } from '../../api/accounts/organisations/organisations.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { openDatabaseLink } from '../kit/database-link.ts'
import { setRateLimit } from '../kit/limits.ts'
import { eventually, openIngestOn, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { TESTER } from '../kit/tester.ts'
import { deliver, RawSmtp } from './mailbox.ts'

let relay: Relay
let port: number
beforeAll(async () => {
  relay = await startRelay({ mailDomain: 'mail.test' })
  port = relay.ingest.smtpPort ?? 0
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const PLAIN = 'From: a@example.net\r\nSubject: x\r\n\r\nText.\r\n'

async function mailbox(fields: object = {}, key?: string): Promise<Resource> {
  return await relay.make('sources', { kind: 'email', ...fields }, key)
}

async function eventsOf(source: Resource, key?: string): Promise<Resource[]> {
  return (await relay.get(`/v1/events?sourceId=${source.id}`, key)).data
}

test('addresses that are none of a source of mail are refused alike', async () => {
  const http = await relay.make('sources', {})
  const disabled = await mailbox({ isEnabled: false })
  const addresses = [
    `${'a'.repeat(26)}@mail.test`,
    'postmaster@mail.test',
    'postmaster',
    'Postmaster',
    '"postmaster"@MAIL.test',
    `${http.maskId}@mail.test`,
    disabled.ingestAddress,
  ]
  using client = new RawSmtp(port)
  await client.answer()
  await client.say('EHLO c')
  await client.say('MAIL FROM:<>')
  for (const address of addresses) {
    expect(await client.say(`RCPT TO:<${address}>`)).toMatchObject({
      code: 550,
      text: expect.stringContaining('5.1.1'),
    })
  }
})

test('mail for another domain is not relayed', async () => {
  const { maskId } = await mailbox()
  expect(await deliver(port, `${maskId}@example.com`, PLAIN)).toMatchObject({
    code: 550,
    text: expect.stringContaining('5.7.1'),
  })
})

test('a connection with too many refused recipients is closed', async () => {
  using client = new RawSmtp(port)
  await client.answer()
  await client.say('EHLO c')
  await client.say('MAIL FROM:<>')
  let last = 0
  for (let n = 0; n < 30 && !client.isClosed; n++) {
    last = (await client.say(`RCPT TO:<nobody${n}@mail.test>`)).code
    if (last === 421) break
  }
  expect(last).toBe(421)
})

test('a message goes to ten sources, and once to each', async () => {
  const sources = await Promise.all(Array.from({ length: 11 }, async () => await mailbox()))
  using client = new RawSmtp(port)
  await client.answer()
  await client.say('EHLO c')
  await client.say('MAIL FROM:<a@example.net>')
  for (const { ingestAddress } of sources.slice(0, 10)) {
    expect(await client.say(`RCPT TO:<${ingestAddress}>`)).toMatchObject({ code: 250 })
  }
  expect(await client.say(`RCPT TO:<${sources[0].maskId}+tag@mail.test>`)).toMatchObject({
    code: 452,
  })
  expect(await client.say(`RCPT TO:<${sources[0].ingestAddress}>`)).toMatchObject({ code: 250 })
  expect(await client.say(`RCPT TO:<${sources[10].ingestAddress}>`)).toMatchObject({ code: 452 })
  await client.say('DATA')
  await client.message(PLAIN)
  const counts = await Promise.all(sources.map(async (source) => (await eventsOf(source)).length))
  expect(counts).toEqual([...Array.from({ length: 10 }, () => 1), 0])
})

test('a message larger than its source takes is refused by its announced size and by its real one', async () => {
  const source = await mailbox({ maxPayloadSizeKb: 1 })
  using client = new RawSmtp(port)
  await client.answer()
  expect((await client.say('EHLO c')).text).toMatch(/SIZE 5242880/)
  await client.say('MAIL FROM:<a@example.net> SIZE=2000')
  expect(await client.say(`RCPT TO:<${source.ingestAddress}>`)).toMatchObject({ code: 552 })
  const large = `${PLAIN}${'x'.repeat(998)}\r\n${'x'.repeat(100)}`
  expect(await deliver(port, source.ingestAddress, large)).toMatchObject({
    code: 552,
    text: expect.stringContaining('5.3.4'),
  })
  const exact = PLAIN.padEnd(1022, 'x')
  expect(await deliver(port, source.ingestAddress, exact)).toMatchObject({ code: 250 })
  expect(await eventsOf(source)).toMatchObject([{ sizeBytes: 1024 }])
})

test('a message larger than any source takes is read to its end and refused', async () => {
  const source = await mailbox({ maxPayloadSizeKb: 5120 })
  const large = `${PLAIN}${`${'x'.repeat(76)}\r\n`.repeat(70_000)}`
  expect(await deliver(port, source.ingestAddress, large)).toMatchObject({ code: 552 })
})

test('a source past its rate asks to try again', async () => {
  const source = await mailbox()
  await setRateLimit(relay, source, 1)
  const codes = []
  for (let n = 0; n < 4; n++) codes.push((await deliver(port, source.ingestAddress, PLAIN)).code)
  expect(codes).toContain(451)
  expect(codes[0]).toBe(250)
})

test('a used-up quota asks to try again, and leaves no event', async () => {
  const tenant = await relay.createTenant('hobby')
  const { source } = await relay.route({ source: { kind: 'email' }, key: tenant.key })
  const id = uuid('org', tenant.organisationId)
  await overridePlan({ ...relay.deps, actor: TESTER }, id, {
    clear: true,
    set: { deliveryQuota: 1 },
  })
  await announceChanges(relay, [{ kind: 'organisation', id }])
  expect(await deliver(port, source.ingestAddress, PLAIN)).toMatchObject({ code: 250 })
  expect(await deliver(port, source.ingestAddress, PLAIN)).toMatchObject({
    code: 452,
    text: expect.stringContaining('4.2.2'),
  })
  expect(await eventsOf(source, tenant.key)).toHaveLength(1)
})

test('without PostgreSQL a mail is refused for now, and none is lost', async () => {
  const source = await mailbox()
  await using link = await openDatabaseLink(relay.databaseUrl)
  const ingest = await openIngestOn(
    { ...relay, ...relay.deps, databaseUrl: link.url, trustedProxies: ['127.0.0.1'] },
    'cut-off',
  )
  try {
    const smtp = ingest.smtpPort ?? 0
    expect(await deliver(smtp, source.ingestAddress, PLAIN)).toMatchObject({ code: 250 })
    await link.cut()
    expect(await deliver(smtp, source.ingestAddress, PLAIN)).toMatchObject({ code: 451 })
    const unknown = await mailbox()
    expect(await deliver(smtp, unknown.ingestAddress, PLAIN)).toMatchObject({ code: 451 })
    await link.mend()
    await eventually(async () =>
      expect(await deliver(smtp, source.ingestAddress, PLAIN)).toMatchObject({ code: 250 }),
    )
    expect(await eventsOf(source)).toHaveLength(2)
  } finally {
    await ingest.stop()
  }
})

test('a mail of a sender that the source does not take is rejected, and kept', async () => {
  const source = await mailbox({ verifier: { type: 'email', allowedDomains: ['example.com'] } })
  expect(await deliver(port, source.ingestAddress, PLAIN)).toMatchObject({ code: 550 })
  expect(await eventsOf(source)).toMatchObject([
    { status: 'rejected', rejectionReason: 'signature_mismatch' },
  ])
  const from = PLAIN.replace('a@example.net', 'a@EXAMPLE.com')
  expect(await deliver(port, source.ingestAddress, from)).toMatchObject({ code: 250 })
})

test('a mail without DKIM is rejected where the source requires it', async () => {
  const source = await mailbox({ verifier: { type: 'email', require: 'dkim' } })
  expect(await deliver(port, source.ingestAddress, PLAIN)).toMatchObject({ code: 550 })
  expect(await eventsOf(source)).toMatchObject([{ rejectionReason: 'missing_signature_header' }])
})

test('the verifiers of mail and of webhooks stay with their kind', async () => {
  const verifier = { type: 'shared_token', token: { in: 'header', name: 'x' }, secret: 's' }
  const refusals = await Promise.all([
    relay.api('POST', '/v1/sources', { name: 'm1', kind: 'email', verifier }),
    relay.api('POST', '/v1/sources', { name: 'm2', verifier: { type: 'email' } }),
  ])
  for (const { status, body } of refusals) {
    expect({ status, path: body.data.fields[0].path }).toEqual({
      status: 400,
      path: 'body.verifier',
    })
  }
})

test('a mail that goes in a circle ends', async () => {
  const source = await mailbox()
  const received = (count: number): string =>
    `${'Received: from a by b; Thu, 1 Jan 2026 00:00:00 +0000\r\n'.repeat(count)}${PLAIN}`
  expect(await deliver(port, source.ingestAddress, received(30))).toMatchObject({ code: 250 })
  expect(await deliver(port, source.ingestAddress, received(31))).toMatchObject({
    code: 554,
    text: expect.stringContaining('5.4.6'),
  })
})

const nested = (depth: number): string => {
  const open = Array.from(
    { length: depth },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
  )
  return `From: a@example.net\r\n${open.join('')}\r\nx\r\n`
}
const attached = (count: number): string =>
  `From: a@example.net\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\nContent-Disposition: attachment\r\n\r\nx\r\n'.repeat(count)}--b--\r\n`

test.for([
  ['headers of 70 KiB', `X: ${'y'.repeat(70 * 1024)}\r\n${PLAIN}`, 552, '64 KiB'],
  ['501 lines of headers', `${'X: y\r\n'.repeat(501)}${PLAIN}`, 552, '500 lines'],
  ['parts 30 deep', nested(30), 554, '20 deep'],
  ['51 attachments', attached(51), 554, '50 attachments'],
  ['251 parts', attached(250), 554, '250 parts'],
  ['400,001 lines', `${PLAIN}${'\n'.repeat(400_001)}`, 554, '400000 lines'],
  ['11 signatures', `${'DKIM-Signature: v=1\r\n'.repeat(11)}${PLAIN}`, 554, '10 DKIM'],
  ['parts 15 deep', nested(15), 250, 'Stored'],
  ['50 attachments', attached(50), 250, 'Stored'],
] as const)(
  'a mail with %s is answered, by the name of the limit',
  async ([, mail, code, text]) => {
    const { ingestAddress } = await mailbox({ maxPayloadSizeKb: 1024 })
    expect(await deliver(port, ingestAddress, mail)).toMatchObject({
      code,
      text: expect.stringContaining(text),
    })
  },
)

test('half a message leaves nothing, and the listener goes on', async () => {
  const source = await mailbox()
  const client = new RawSmtp(port)
  await client.begin(source.ingestAddress)
  client.write(PLAIN)
  client.destroy()
  expect(await deliver(port, source.ingestAddress, PLAIN)).toMatchObject({ code: 250 })
  expect(await eventsOf(source)).toHaveLength(1)
})

test('only CRLF, a dot and CRLF end a message', async () => {
  const source = await mailbox()
  const other = await mailbox()
  const smuggled = `MAIL FROM:<x@example.net>\r\nRCPT TO:<${other.ingestAddress}>\r\nDATA\r\n${PLAIN}`
  for (const end of ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r\n\0.\r\n', '\r.\r\n', '\n.\r']) {
    using client = new RawSmtp(port)
    await client.begin(source.ingestAddress)
    client.write(`${PLAIN}one${end}${smuggled}\r\n.\r\n`)
    expect(await client.answer()).toMatchObject({ code: 250 })
    expect(await client.say('NOOP')).toMatchObject({ code: 250 })
  }
  expect(await eventsOf(source)).toHaveLength(7)
  expect(await eventsOf(other)).toHaveLength(0)
})

test('a client that speaks too soon, or speaks HTTP, is turned away', async () => {
  using early = new RawSmtp(port)
  early.write('EHLO x\r\n')
  expect(await early.answer()).toMatchObject({ code: 421 })
  using web = new RawSmtp(port)
  await web.answer()
  expect(await web.say('POST / HTTP/1.1')).toMatchObject({ code: 421 })
  using long = new RawSmtp(port)
  await long.answer()
  expect(await long.say('X'.repeat(20_000))).toMatchObject({ code: 421 })
})

test('there is no login, no TLS without a certificate, and none of the jokes of old servers', async () => {
  using client = new RawSmtp(port)
  await client.answer()
  const { text } = await client.say('EHLO c')
  expect(text).not.toMatch(/AUTH|STARTTLS|XCLIENT/)
  for (const command of [
    'AUTH PLAIN AAAA',
    'STARTTLS',
    'WIZ',
    'SHELL',
    'KILL',
    'XCLIENT ADDR=1.2.3.4',
  ]) {
    expect((await client.say(command)).code, command).toBeGreaterThanOrEqual(500)
  }
})

test('an address has ten connections at most, and finds room when it closes one', async () => {
  const clients = Array.from({ length: 10 }, () => new RawSmtp(port))
  for (const client of clients) expect(await client.answer()).toMatchObject({ code: 220 })
  using late = new RawSmtp(port)
  expect(await late.answer()).toMatchObject({ code: 421 })
  for (const client of clients) client[Symbol.dispose]()
  await eventually(async () => {
    using next = new RawSmtp(port)
    expect(await next.answer()).toMatchObject({ code: 220 })
  })
})
