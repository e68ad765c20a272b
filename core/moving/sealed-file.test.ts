import { randomBytes } from 'node:crypto'

import { expect, test } from 'vitest'

import { newFileKey, openChunks, readFileKey, sealChunks, UnreadableFile } from './sealed-file.ts'

const KEY = readFileKey(newFileKey())
const CHUNK = 64 * 1024

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function joined(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all)
}

const seal = async (plain: Buffer, size = 1_000): Promise<Buffer> =>
  await joined(sealChunks(KEY, pieces(plain, size)))
const open = async (sealed: Buffer, key = KEY, size = 7_919): Promise<Buffer> =>
  await joined(openChunks(key, pieces(sealed, size)))

test.for([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 200_000])(
  'openChunks() returns the %i bytes that sealChunks() sealed',
  async (length) => {
    const plain = randomBytes(length)
    expect((await open(await seal(plain))).equals(plain)).toBe(true)
    expect((await open(await seal(plain, CHUNK), KEY, CHUNK)).equals(plain)).toBe(true)
  },
)

test('openChunks() refuses another key, and a file that was cut, lengthened, changed or put together anew', async () => {
  const sealed = await seal(randomBytes(3 * CHUNK))
  const other = await seal(randomBytes(3 * CHUNK))
  const head = sealed.indexOf('\n') + 1 + 32
  const chunk = CHUNK + 16
  const changed = (at: number): Buffer => {
    const copy = Buffer.from(sealed)
    copy[at] = (copy[at] ?? 0) ^ 1
    return copy
  }
  const swapped = Buffer.concat([
    sealed.subarray(0, head),
    sealed.subarray(head + chunk, head + 2 * chunk),
    sealed.subarray(head, head + chunk),
    sealed.subarray(head + 2 * chunk),
  ])
  const files = [
    sealed.subarray(0, -1),
    sealed.subarray(0, head + chunk),
    sealed.subarray(0, head + 2 * chunk),
    sealed.subarray(0, head),
    sealed.subarray(0, 10),
    Buffer.concat([sealed, Buffer.from('x')]),
    Buffer.concat([sealed, sealed.subarray(head)]),
    Buffer.concat([sealed.subarray(0, head + chunk), other.subarray(head + chunk)]),
    swapped,
    changed(head - 1),
    changed(head),
    changed(head + chunk),
    changed(sealed.length - 1),
    Buffer.from('something else\n'),
    Buffer.alloc(0),
  ]
  for (const file of files) await expect(open(file)).rejects.toThrow(UnreadableFile)
  await expect(open(sealed, readFileKey(newFileKey()))).rejects.toThrow('another key')
  expect(await open(sealed)).toHaveLength(3 * CHUNK)
})

test('openChunks() names the version of a file that a newer version wrote', async () => {
  const sealed = await seal(Buffer.from('x'))
  const newer = Buffer.concat([
    Buffer.from('postern organisation 2\n'),
    sealed.subarray(sealed.indexOf('\n') + 1),
  ])
  await expect(open(newer)).rejects.toThrow('format 2')
})

test('sealChunks() seals the same bytes differently each time', async () => {
  const plain = Buffer.from('the same')
  const [one, two] = [await seal(plain), await seal(plain)]
  expect(one.equals(two)).toBe(false)
  expect(one.includes(plain)).toBe(false)
})

test('readFileKey() refuses what is no key, without showing it', () => {
  expect(() => readFileKey('c2VjcmV0')).toThrow('base64 of 32 bytes, it holds 6')
})
