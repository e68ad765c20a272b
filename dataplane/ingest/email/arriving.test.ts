import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { ArrivingBytes } from '../budgets/arriving-bytes.ts'
import { collect } from './arriving.ts'

test('a message past the size of its source takes no memory while the rest of it arrives', async () => {
  const stream = new PassThrough()
  const arriving = new ArrivingBytes(1_000_000)
  const arrived = collect(stream, { arriving, shares: [], bytesMax: 1_024 })
  stream.write(Buffer.alloc(1_024, 'x'))
  await nextTurn()
  expect(arriving.bytes).toBe(1_024)
  stream.write('x')
  await nextTurn()
  expect(arriving.bytes).toBe(0)
  stream.end('x'.repeat(5_000))
  expect(await arrived).toEqual({ kind: 'tooLarge' })
  expect(arriving.bytes).toBe(0)
})

test('a message keeps its room until it is released', async () => {
  const stream = new PassThrough()
  const arriving = new ArrivingBytes(1_000_000)
  const arrived = collect(stream, { arriving, shares: [], bytesMax: 1_024 })
  stream.end('text')
  const message = await arrived
  expect(arriving.bytes).toBe(4)
  if (message.kind === 'message') message.release()
  expect(arriving.bytes).toBe(0)
})
