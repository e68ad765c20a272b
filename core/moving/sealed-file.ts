import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** First line of a file; the number is the version of what stands here and of the lines inside. */
const MAGIC = 'postern organisation '
const VERSION = 1
const MAGIC_BYTES_MAX = 64

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const SALT_BYTES = 32
const TAG_BYTES = 16
const CHUNK_BYTES = 64 * 1024
const SEALED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES

/** A file that is not what its key sealed, or that a newer version wrote. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile'
}

/** A new key for a file, as text: base64 of 32 bytes. */
export function newFileKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

/** Throws without showing the key. */
export function readFileKey(text: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length === KEY_BYTES) return key
  throw new UnreadableFile(
    `The key file must hold base64 of ${KEY_BYTES} bytes, it holds ${key.length}`,
  )
}

/**
 * Seals a stream: the first line and a salt, then chunks of 64 KiB under AES-256-GCM with a key of this file alone. The nonce
 * is the chunk's number and whether it is the last (the STREAM construction): a file that was cut, changed or put together
 * anew does not open.
 */
export async function* sealChunks(
  key: Buffer,
  plain: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const head = Buffer.concat([Buffer.from(`${MAGIC}${VERSION}\n`), randomBytes(SALT_BYTES)])
  const fileKey = keyOf(key, head)
  yield head
  let number = 0
  for await (const { bytes, isLast } of chunksOf(plain, CHUNK_BYTES)) {
    const cipher = createCipheriv(ALGORITHM, fileKey, nonceOf(number++, isLast))
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()])
    yield Buffer.concat([sealed, cipher.getAuthTag()])
  }
}

/** Opens what `sealChunks` sealed. Throws an UnreadableFile at the first fault; only its end says that there is none. */
export async function* openChunks(
  key: Buffer,
  sealed: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const [head, rest] = await headOf(sealed)
  const fileKey = keyOf(key, head)
  let number = 0
  for await (const { bytes, isLast } of chunksOf(rest, SEALED_CHUNK_BYTES)) {
    if (bytes.length < TAG_BYTES) throw broken()
    const decipher = createDecipheriv(ALGORITHM, fileKey, nonceOf(number++, isLast))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const opened = decipher.update(bytes.subarray(0, -TAG_BYTES))
    try {
      decipher.final()
    } catch (cause) {
      throw broken({ cause })
    }
    yield opened
  }
}

function broken(options?: ErrorOptions): UnreadableFile {
  return new UnreadableFile(
    'The file does not open: another key sealed it, or it was cut or changed',
    options,
  )
}

function keyOf(key: Buffer, head: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, head, 'postern organisation file', KEY_BYTES))
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** The first line with the salt, and the rest of the bytes. */
async function headOf(
  sealed: AsyncIterable<Buffer>,
): Promise<[head: Buffer, rest: AsyncIterable<Buffer>]> {
  const iterator = sealed[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  while (start.length < MAGIC_BYTES_MAX + SALT_BYTES) {
    const { value, done } = await iterator.next()
    if (done === true) break
    start = Buffer.concat([start, value])
  }
  const line = start.indexOf('\n')
  const [, version] = /^postern organisation (\d{1,9})$/.exec(start.toString('utf8', 0, line)) ?? []
  if (version === undefined) throw new UnreadableFile('The file is no export of an organisation')
  if (Number(version) > VERSION) {
    throw new UnreadableFile(
      `The file has format ${version}, this version of Postern reads ${VERSION}: bring this installation up to date first`,
    )
  }
  const end = line + 1 + SALT_BYTES
  if (start.length < end) throw broken()
  return [start.subarray(0, end), restOf(start.subarray(end), iterator)]
}

async function* restOf(start: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield start
  for (;;) {
    const { value, done } = await iterator.next()
    if (done === true) return
    yield value
  }
}

/** The bytes in pieces of `size`; the last may be shorter and is always there. */
async function* chunksOf(
  source: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let parts: Buffer[] = []
  let length = 0
  for await (const part of source) {
    parts.push(part)
    length += part.length
    if (length <= size) continue
    const joined = Buffer.concat(parts)
    let from = 0
    // Something is always left: a chunk is known not to be the last when another one follows.
    for (; length - from > size; from += size) {
      yield { bytes: joined.subarray(from, from + size), isLast: false }
    }
    parts = [joined.subarray(from)]
    length -= from
  }
  yield { bytes: Buffer.concat(parts), isLast: true }
}
