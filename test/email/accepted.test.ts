import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { scratch } from '../kit/servers.ts'
import { makeCertificate } from './certificate.ts'
import { RawSmtp } from './mailbox.ts'

let relay: Relay
const directory = scratch()
beforeAll(async () => {
  relay = await startRelay({
    mailDomain: 'mail.test',
    certificate: makeCertificate(directory.path),
  })
})
afterAll(async () => {
  await relay[Symbol.asyncDispose]()
  directory[Symbol.dispose]()
})

const PLAIN = [
  'From: Ann <ann@example.net>',
  'To: orders@example.com',
  'Subject: Order 1',
  'Message-ID: <1@example.net>',
  '',
  'Two pairs.',
  '.hidden dot',
  '',
].join('\r\n')

async function mailbox(fields: object = {}): Promise<Resource> {
  return await relay.make('sources', { kind: 'email', ...fields })
}

function open(): RawSmtp {
  return new RawSmtp(relay.ingest.smtpPort ?? 0)
}

/** Sends a mail and returns the event that its answer names. */
async function sendMail(source: Resource, mail: string | Buffer = PLAIN): Promise<Resource> {
  using client = open()
  expect(await client.begin(source.ingestAddress)).toMatchObject({ code: 354 })
  const said = await client.message(mail)
  const [eventId] = /evt_\w+/.exec(said.text) ?? [said.text]
  return await relay.get(`/v1/events/${eventId}`)
}

test('a source of mail has an address of the domain, and one of webhooks has none', async () => {
  const source = await mailbox()
  expect(source).toMatchObject({
    ingestAddress: `${source.maskId}@mail.test`,
    verifier: { type: 'email', require: 'none' },
  })
  expect(await relay.make('sources', {})).toMatchObject({ ingestAddress: null })
})

test('a mail is stored byte for byte, with its parts as the payload', async () => {
  const source = await mailbox({ eventTypeField: 'body.subject' })
  const event = await sendMail(source)
  expect(event).toMatchObject({
    raw: PLAIN,
    rawBase64: Buffer.from(PLAIN).toString('base64'),
    isBinary: false,
    sizeBytes: PLAIN.length,
    contentType: 'message/rfc822',
    method: 'MAIL',
    verifiedWith: 'email',
    eventType: 'Order 1',
    remoteIp: '127.0.0.1',
    payload: {
      from: { name: 'Ann', address: 'ann@example.net' },
      to: [{ name: '', address: 'orders@example.com' }],
      cc: [],
      subject: 'Order 1',
      messageId: '<1@example.net>',
      text: 'Two pairs.\n.hidden dot\n',
      html: null,
      headers: { subject: 'Order 1', 'message-id': '<1@example.net>' },
      attachments: [],
      isAutomatic: false,
      recipientTag: null,
      envelope: {
        mailFrom: 'sender@example.net',
        rcptTo: [source.ingestAddress],
        helo: 'client.example.net',
        remoteIp: '127.0.0.1',
        tls: false,
      },
    },
  })
  expect(event.headers).toEqual(
    expect.arrayContaining([
      ['content-type', 'application/json'],
      ['Subject', 'Order 1'],
    ]),
  )
})

test('its destination gets the payload as JSON, and none of its headers', async () => {
  const { source, endpoint } = await relay.route({ source: { kind: 'email' } })
  const event = await sendMail(
    source,
    `Authorization: x\r\nX-Long: ${'y'.repeat(20_000)}\r\n${PLAIN}`,
  )
  await relay.reaches(event.id, { status: 'succeeded' })
  const [got] = endpoint.arrivals
  expect(JSON.parse(String(got?.body))).toEqual(event.payload)
  expect(got?.headers).toMatchObject({ 'content-type': 'application/json' })
  expect(Object.keys(got?.headers ?? {})).not.toContain('authorization')
  expect(Object.keys(got?.headers ?? {})).not.toContain('x-long')
  expect(Object.keys(got?.headers ?? {})).not.toContain('subject')
})

test('a filter reads the parts of a mail', async () => {
  const { source } = await relay.route({
    source: { kind: 'email' },
    connection: { filter: { body: { 'from.address': 'bob@example.net' } } },
  })
  expect(await sendMail(source)).toMatchObject({ status: 'filtered' })
})

test('a mail that is sent again is a duplicate by its Message-ID', async () => {
  const source = await mailbox({ idempotencyKeys: ['header.message-id'] })
  await sendMail(source)
  using client = open()
  await client.begin(source.ingestAddress)
  expect(await client.message(PLAIN)).toEqual({
    code: 250,
    text: '250 2.0.0 The message was stored before',
  })
})

test('nodemailer delivers over TLS, with what a person sees of attachments', async () => {
  const source = await mailbox()
  const transport = createTransport({
    host: '127.0.0.1',
    port: relay.ingest.smtpPort ?? 0,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
  })
  const sent = await transport.sendMail({
    from: 'Zoë <zoe@example.net>',
    to: source.ingestAddress,
    cc: 'Team: a@example.com, b@example.com;',
    subject: 'Grüße',
    text: 'Hallo',
    html: '<p>Hallo <img src="cid:logo"></p>',
    attachments: [
      { filename: 'žluťoučký.pdf', content: Buffer.from('%PDF-1.4 \0\xff', 'latin1') },
      { cid: 'logo', filename: 'logo.png', content: Buffer.from('png') },
    ],
  })
  const [eventId] = /evt_\w+/.exec(sent.response) ?? []
  const event = await relay.get(`/v1/events/${eventId}`)
  expect(event.payload).toMatchObject({
    from: { name: 'Zoë', address: 'zoe@example.net' },
    cc: [{ address: 'a@example.com' }, { address: 'b@example.com' }],
    subject: 'Grüße',
    envelope: { tls: true },
    attachments: expect.arrayContaining([
      expect.objectContaining({
        filename: 'žluťoučký.pdf',
        contentType: 'application/pdf',
        disposition: 'attachment',
        sizeBytes: 11,
        contentBase64: Buffer.from('%PDF-1.4 \0\xff', 'latin1').toString('base64'),
      }),
      expect.objectContaining({ filename: 'logo.png', contentId: '<logo>', disposition: 'inline' }),
    ]),
  })
  expect(event.payload.text.trim()).toBe('Hallo')
})

test('a tag behind the mask is in the payload, and the mask is read in any case', async () => {
  const source = await mailbox()
  using client = open()
  await client.begin(`${source.maskId.toUpperCase()}+Returns@MAIL.test`)
  const { text } = await client.message(PLAIN)
  const [eventId] = /evt_\w+/.exec(text) ?? []
  expect(await relay.get(`/v1/events/${eventId}`)).toMatchObject({
    payload: { recipientTag: 'Returns' },
  })
})

test('addresses of the envelope are read by the grammar of SMTP', async () => {
  const source = await mailbox()
  using client = open()
  await client.answer()
  await client.say('EHLO client.example.net')
  for (const [path, mailFrom] of [
    ['"a b"@example.net', '"a b"@example.net'],
    ['ann@exa_mple.net', 'ann@exa_mple.net'],
    ['"ann"@example.net.', 'ann@example.net'],
    ['@relay.test:a..b@example.net', 'a..b@example.net'],
  ]) {
    expect(await client.say(`MAIL FROM:<${path}> SIZE=500`)).toMatchObject({ code: 250 })
    const [mask, domain] = source.ingestAddress.split('@')
    expect(await client.say(`RCPT TO:<"${mask}+x"@${domain}>`)).toMatchObject({ code: 250 })
    await client.say('DATA')
    const { text } = await client.message(PLAIN)
    const [eventId] = /evt_\w+/.exec(text) ?? []
    const { payload } = await relay.get(`/v1/events/${eventId}`)
    expect(payload).toMatchObject({
      envelope: { mailFrom, rcptTo: [`${mask}+x@${domain}`] },
      recipientTag: 'x',
    })
  }
  for (const path of ['a b@example.net', 'a@b@example.net', 'postmaster', 'ann']) {
    expect(await client.say(`MAIL FROM:<${path}>`)).toMatchObject({ code: 501 })
  }
})

test('a message for two sources is an event of each, and neither sees the address of the other', async () => {
  const [one, other] = [await mailbox(), await mailbox()]
  using client = open()
  await client.begin([one.ingestAddress, other.ingestAddress])
  const { text } = await client.message(PLAIN)
  const ids = text.match(/evt_\w+/g) ?? []
  const events = await Promise.all(ids.map(async (id) => await relay.get(`/v1/events/${id}`)))
  expect(new Set(events.map(({ sourceId }) => sourceId))).toEqual(new Set([one.id, other.id]))
  for (const { sourceId, payload } of events) {
    const foreign = sourceId === one.id ? other.maskId : one.maskId
    expect(JSON.stringify(payload)).not.toContain(foreign)
  }
})

test('a mail in another charset is kept as it came and shown as text', async () => {
  const mail = Buffer.from(
    'From: a@example.net\r\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\nContent-Type: text/plain; charset=iso-8859-1\r\n' +
      'Content-Transfer-Encoding: 8bit\r\n\r\nSch\xf6ne Gr\xfc\xdfe\r\n',
    'latin1',
  )
  const event = await sendMail(await mailbox(), mail)
  expect(event).toMatchObject({
    isBinary: true,
    rawBase64: mail.toString('base64'),
    payload: { subject: 'Grüße', text: 'Schöne Grüße\n' },
  })
})

test('a file of a mail is the bytes that were sent, and undecoded members are listed', async () => {
  const part = (headers: string, body: string): string => `--b\r\n${headers}\r\n\r\n${body}`
  const mail = [
    'From: J\xfcrgen <j@example.net>\r\nSubject: Forma\xe7\xe3o =?x-none?q?a?=',
    'Date: Tue Jul 24 18:55:07 2007\r\nContent-Type: multipart/mixed; boundary=b\r\n',
    part('Content-Type: text/plain', 'See the file.'),
    part('Content-Type: text/plain\r\nContent-Disposition: inline; filename=a.txt', 'a\r\nb'),
    part('Content-Type: text/calendar; method=CANCEL; charset=iso-8859-1', 'Z\xfcrich\r\n'),
    '--b--\r\n',
  ].join('\r\n')
  const { payload } = await sendMail(await mailbox(), Buffer.from(mail, 'latin1'))
  expect(payload).toMatchObject({
    from: { name: 'Jürgen' },
    subject: 'Formação =?x-none?q?a?=',
    date: '2007-07-24T18:55:07.000Z',
    text: 'See the file.',
    undecoded: [{ member: 'subject', cause: 'unknown_charset', label: 'x-none' }],
    attachments: [
      { filename: 'a.txt', disposition: 'inline', sizeBytes: 4, contentBase64: btoa('a\r\nb') },
      {
        filename: null,
        contentType: 'text/calendar',
        charset: 'iso-8859-1',
        parameters: { method: 'CANCEL', charset: 'iso-8859-1' },
        contentBase64: btoa('Z\xfcrich\r\n'),
      },
    ],
  })
})

test('a replay delivers the same payload again, and a search finds words of the mail', async () => {
  const { source, endpoint } = await relay.route({ source: { kind: 'email' } })
  const event = await sendMail(source, PLAIN.replace('pairs', 'quokkas'))
  await relay.reaches(event.id, { status: 'succeeded' })
  expect((await relay.api('POST', `/v1/events/${event.id}/replay`, {})).status).toBeLessThan(300)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  expect(endpoint.arrivals[1]?.body).toEqual(endpoint.arrivals[0]?.body)
  await eventually(async () => {
    const found = await relay.get('/v1/events?search=quokkas')
    expect(found.data.map(({ id }: Resource) => id)).toEqual([event.id])
  })
})

test('HTTP to a source of mail is a bad request', async () => {
  const { status, body } = await relay.send(await mailbox(), { body: '{}' })
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'BAD_REQUEST' })
})
