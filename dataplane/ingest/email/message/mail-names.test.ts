import { createSocket } from 'node:dgram'
import { once } from 'node:events'

import { expect, test } from 'vitest'

import { MailNames } from './mail-names.ts'

const TXT = 16
const TEXT = 'v=spf1 -all '.repeat(10)

/** A name server on loopback whose every name has a record of `TEXT`. */
async function openNameServer(
  stack: AsyncDisposableStack,
): Promise<{ port: number; asked: string[] }> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, from) => {
    const end = query.indexOf(0, 12) + 5
    asked.push(query.toString('latin1', 13, 13 + (query[12] ?? 0)))
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(1, 6)
    head.writeUInt32BE(0, 8)
    const record = Buffer.alloc(13)
    record.writeUInt16BE(0xc00c, 0)
    record.writeUInt16BE(TXT, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(TEXT.length + 1, 10)
    record.writeUInt8(TEXT.length, 12)
    const answer = [head, query.subarray(12, end), record, Buffer.from(TEXT)]
    socket.send(Buffer.concat(answer), from.port)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  stack.defer(() => void socket.close())
  return { port: socket.address().port, asked }
}

test('MailNames asks once for a name and forgets the oldest past its bytes', async () => {
  await using stack = new AsyncDisposableStack()
  const { port, asked } = await openNameServer(stack)
  const names = new MailNames([`127.0.0.1:${port}`], 3 * (TEXT.length + 10))
  const lookUp = names.lookUpWithin(AbortSignal.timeout(20_000))
  for (const name of ['one', 'one', 'two', 'three', 'four', 'three', 'four']) {
    expect(await lookUp(`${name}.example`, 'TXT')).toEqual([[TEXT]])
  }
  expect(asked).toEqual(['one', 'two', 'three', 'four'])
  await lookUp('one.example', 'TXT')
  expect(asked.at(-1)).toBe('one')
})
