import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ArrivingBytes } from '../../dataplane/ingest/budgets/arriving-bytes.ts'
import { collect } from '../../dataplane/ingest/email/arriving.ts'
import { contentOf, UndecodedMembers } from '../../dataplane/ingest/email/mime/mail-content.ts'
import { readParts } from '../../dataplane/ingest/email/mime/parts.ts'
import { startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { heapBytes, leastMs, longestTurnMs, turnMs } from './cost.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ mailDomain: 'mail.test' })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const MIB = 1_024 * 1_024
const HEAD = 'From: a@example.net\r\nSubject: x\r\n\r\n'
const GREETED = ['EHLO client.example.net', 'MAIL FROM:<a@example.net>']
const RUNS = 3

function filled(piece: string, bytes: number): string {
  return piece.repeat(Math.trunc(bytes / piece.length))
}

/** Sends `text` behind the commands, and resolves with the first answer to it once the connection has ended. */
async function send(commands: readonly string[], text: string): Promise<unknown> {
  const bytes = Buffer.from(`${text}QUIT\r\n`, 'latin1')
  const thread = new Worker(new URL('mail-sender.ts', import.meta.url), {
    workerData: { port: relay.ingest.smtpPort, commands, bytes },
  })
  const [said] = await once(thread, 'message')
  await thread.terminate()
  return said
}

/** The longest turn that a sender causes, in turns: the least of a few runs, since the machine may hold one up. */
async function turnsOf(act: () => Promise<unknown>): Promise<number> {
  const turn = turnMs()
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS && least >= 1; run++) {
    least = Math.min(least, (await longestTurnMs(act)) / turn)
  }
  return least
}

async function mailbox(fields: object): Promise<Resource> {
  return await relay.make('sources', { kind: 'email', ...fields })
}

test.for([
  ['dots that are doubled', '\r\n..', 4 * MIB],
  ['dots that are doubled behind bare line feeds', '\n..', 3 * MIB],
  ['bare line feeds', '\n', 5 * MIB],
  ['one line', 'x', 5 * MIB],
] as const)('a mail full of %s arrives in turns that are short', async ([, piece, bytes]) => {
  // Refused once it is there: what is made of it is measured below.
  const { ingestAddress } = await mailbox({ maxPayloadSizeKb: 1 })
  const begin = [...GREETED, `RCPT TO:<${ingestAddress}>`, 'DATA']
  const mail = `${HEAD}${filled(piece, bytes)}\r\n.\r\n`
  const turns = await turnsOf(async () => {
    expect(await send(begin, mail)).toMatchObject({ code: 552 })
  })
  expect(turns).toBeLessThan(1)
})

test('a mail for ten sources that read it is stored in two turns at most for each', async () => {
  const verifier = { type: 'email', allowedDomains: ['example.net'] }
  const sources = await Promise.all(
    Array.from({ length: 10 }, async () => await mailbox({ verifier, maxPayloadSizeKb: 5_120 })),
  )
  const recipients = sources.map(({ ingestAddress }) => `RCPT TO:<${ingestAddress}>`)
  const mail = `${HEAD}${filled(`${'"\\'.repeat(20)}\r\n`, 2 * MIB)}\r\n.\r\n`
  const turns = await turnsOf(async () => {
    expect(await send([...GREETED, ...recipients, 'DATA'], mail)).toMatchObject({ code: 250 })
  })
  // As long as a body of that size may take to be read.
  expect(turns).toBeLessThan(2)
})

test('a mail in pieces of three bytes takes three times its bytes at most while it arrives', async () => {
  const stream = new PassThrough()
  const arriving = new ArrivingBytes(4 * MIB)
  const wire = Buffer.alloc(MIB, 'a')
  const before = heapBytes()
  const arrived = collect(stream, { arriving, shares: [], bytesMax: MIB })
  for (let at = 0; at < wire.length; at += 3) {
    stream.write(wire.subarray(at, at + 3))
    if (at % 3_000 === 0) await nextTurn()
  }
  await nextTurn()
  expect(arriving.bytes).toBe(MIB)
  expect(heapBytes() - before).toBeLessThan(3 * MIB)
  stream.end()
  expect(await arrived).toMatchObject({ kind: 'message', mail: wire })
})

test.for([
  ['NOOP', [], 'NOOP\r\n'.repeat(100_000)],
  ['recipients', GREETED, 'RCPT TO:<a@example.com>\r\n'.repeat(100_000)],
  ['messages that never begin', [], `EHLO c\r\n${'MAIL FROM:<>\r\nRSET\r\n'.repeat(50_000)}`],
  ['parameters', GREETED, `RCPT TO:<a@example.com> ${'a=b '.repeat(240)}\r\n`.repeat(5_000)],
  ['long names', [], `EHLO ${'a'.repeat(990)}\r\n`.repeat(5_000)],
  ['one long line', [], `EHLO ${'a'.repeat(16_000)}\r\n`.repeat(300)],
  ['a line that does not end', [], filled('x', 5 * MIB)],
] as const)('commands of %s are answered in turns that are short', async ([, commands, text]) => {
  const turns = await turnsOf(async () => await send(commands, text))
  expect(turns).toBeLessThan(1)
})

const part = (type: string, body: string, encoding = '8bit'): string =>
  `Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`
const divided = (piece: string): string =>
  part('multipart/mixed; boundary=b', filled(piece, 5 * MIB))

test.for([
  ['newlines', `${HEAD}${filled('\n', 5 * MIB)}`],
  ['as many newlines as a mail may have', `${HEAD}${'\n'.repeat(399_000)}`],
  ['lines of 72 columns', `${HEAD}${filled(`${'x'.repeat(72)}\r\n`, 5 * MIB)}`],
  ['short lines', `${HEAD}${filled(`${'x'.repeat(12)}\r\n`, 5 * MIB)}`],
  ['blanks', `${HEAD}${filled(' ', 5 * MIB)}`],
  ['carriage returns', `${HEAD}${filled('\r', 5 * MIB)}`],
  ['flowed lines', part('text/plain; format=flowed', filled('words of text \r\n', 5 * MIB))],
  [
    'quoted-printable',
    part('text/plain', filled('=C3=A4=20   =\r\n', 5 * MIB), 'quoted-printable'),
  ],
  ['equals signs', part('text/plain', filled('=   ', 5 * MIB), 'quoted-printable')],
  ['base64', part('text/plain', filled('QUFB', 5 * MIB), 'base64')],
  ['uuencode', part('a/b', filled(`begin 644 ${'x'.repeat(9)}\n`, 5 * MIB), 'x-uuencode')],
  ['utf-7', part('text/plain; charset=utf-7', filled('+APY- ', 5 * MIB))],
  ['iso-2022-jp', part('text/plain; charset=iso-2022-jp', filled('\x1b$B\x1b(B', 5 * MIB))],
  ['meta elements', part('text/html', filled('<meta ', 5 * MIB))],
  ['parts', divided('--b\r\n\r\nx\r\n')],
  ['parts of 50 KiB', divided(`--b\r\n\r\n${filled('-- \r\nx\r\n', 50 * 1024)}`)],
  ['lines that look like delimiters', divided('--b---------\r\n')],
  ['delimiters and blanks', divided(`--b${' '.repeat(900)}x\n`)],
  ['headers of parts', divided(`--b\r\n${'X: y\r\n'.repeat(490)}\r\n`)],
  [
    'parts within parts',
    filled('Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n', 5 * MIB),
  ],
  ['encoded words', `Subject: ${filled('=?utf-8?q?a?= ', 60_000)}\r\n\r\n`],
  ['comments', part(`a/b; x=${filled('( ', 60_000)}`, 'x')],
  ['parameters', part(`a/b${filled('; x*1*=%41', 60_000)}`, 'x')],
] as const)('5 MiB of %s are read or refused in six turns', ([, text]) => {
  const mail = Buffer.from(text, 'latin1')
  const spent = leastMs(() => {
    const parts = readParts(mail)
    return typeof parts === 'string' ? parts : contentOf(parts, new UndecodedMembers())
  })
  expect(spent / turnMs()).toBeLessThan(6)
})
