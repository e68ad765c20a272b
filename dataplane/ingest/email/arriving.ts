import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'

import {
  MAIL_ARRIVING_BYTES_MAX,
  PAYLOAD_KB_MAX,
  SMTP_MESSAGE_SECONDS,
} from '../../../core/limits.ts'

const BYTES_MAX = PAYLOAD_KB_MAX * 1_024
const BLOCK_BYTES = 16 * 1_024

/** Bytes of messages in memory that are not answered yet. */
export class ArrivingMails {
  bytes = 0
}

/** A message as it came, or why it did not. `release` it once it is answered. */
export type Arrived =
  | { kind: 'message'; mail: Buffer; release: () => void }
  | { kind: 'tooLarge' | 'busy' | 'slow' }

/** Collects a message. The rest of one that is refused is read and thrown away, so that its sender hears why. */
export async function collect(stream: Readable, arriving: ArrivingMails): Promise<Arrived> {
  const message = new Pieces()
  let refusal: 'tooLarge' | 'busy' | 'slow' | undefined
  const release = (): void => {
    arriving.bytes -= message.bytes
    message.clear()
  }
  const giveUp = (why: 'tooLarge' | 'busy' | 'slow'): void => {
    refusal ??= why
    release()
  }
  const timer = setTimeout(() => {
    giveUp('slow')
    stream.destroy()
  }, SMTP_MESSAGE_SECONDS * 1_000)
  stream.on('data', (chunk: Buffer) => {
    if (refusal !== undefined) return
    message.add(chunk)
    arriving.bytes += chunk.length
    if (message.bytes > BYTES_MAX) giveUp('tooLarge')
    else if (arriving.bytes > MAIL_ARRIVING_BYTES_MAX) giveUp('busy')
  })
  try {
    await finished(stream)
  } catch {
    // Its sender went away, or was given up.
    giveUp('slow')
  } finally {
    clearTimeout(timer)
  }
  if (refusal !== undefined) return { kind: refusal }
  return { kind: 'message', mail: message.joined(), release }
}

/** Bytes that come in any pieces, kept in blocks: a buffer for each piece of a few bytes would take fifty times its bytes. */
class Pieces {
  bytes = 0
  readonly #blocks: Buffer[] = []

  add(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      const used = this.bytes % BLOCK_BYTES
      if (used === 0) this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES))
      const copied = piece.copy(this.#blocks.at(-1) ?? piece, used, at)
      at += copied
      this.bytes += copied
    }
  }

  joined(): Buffer {
    return Buffer.concat(this.#blocks, this.bytes)
  }

  clear(): void {
    this.#blocks.length = 0
    this.bytes = 0
  }
}
