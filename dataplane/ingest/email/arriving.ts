import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'

import {
  MAIL_ARRIVING_ORGANISATION_BYTES,
  MAIL_ARRIVING_SENDER_BYTES,
  MAIL_ARRIVING_SOURCE_BYTES,
  PAYLOAD_KB_MAX,
  SMTP_MESSAGE_SECONDS,
} from '../../../core/limits.ts'
import type { ArrivingBytes, ByteShare } from '../budgets/arriving-bytes.ts'
import type { Transaction } from './receive.ts'

const BLOCK_BYTES = 16 * 1_024

/** A message as it came, or why it did not. `release` it once it is answered. */
export type Arrived =
  | { kind: 'message'; mail: Buffer; release: () => void }
  | { kind: 'tooLarge' | 'busy' | 'slow' }

interface Room {
  arriving: ArrivingBytes
  shares: readonly ByteShare[]
  /** Bytes of the message at most. */
  bytesMax: number
}

/** Collects a message. The rest of one that is refused is read and thrown away, so that its sender reads the answer. */
export async function collect(
  stream: Readable,
  { arriving, shares, bytesMax }: Room,
): Promise<Arrived> {
  const message = new Pieces()
  let refusal: 'tooLarge' | 'busy' | 'slow' | undefined
  const endSlow = (): void => {
    refusal = 'slow'
    stream.destroy()
  }
  const arrival = arriving.begin(shares, endSlow)
  const release = (): void => {
    message.clear()
    arrival.release()
  }
  const refuse = (why: 'tooLarge' | 'busy'): void => {
    refusal = why
    message.clear()
    arrival.discard()
  }
  const timer = setTimeout(endSlow, SMTP_MESSAGE_SECONDS * 1_000)
  stream.on('data', (chunk: Buffer) => {
    const hasRoom = arrival.grow(chunk.length)
    if (refusal !== undefined) return
    message.add(chunk)
    if (message.bytes > bytesMax) refuse('tooLarge')
    else if (!hasRoom) refuse('busy')
  })
  try {
    await finished(stream)
  } catch {
    // Its sender went away, or was given up.
    refusal ??= 'slow'
  } finally {
    clearTimeout(timer)
    arrival.complete()
  }
  if (refusal === undefined) return { kind: 'message', mail: message.joined(), release }
  release()
  return { kind: refusal }
}

/** The shares that a message takes of the bytes that arrive, and the size at which one of its sources refuses it. */
export function roomFor({ addressed, sender }: Transaction): Omit<Room, 'arriving'> {
  const sources = [...addressed.values()].map(({ source }) => source)
  const organisations = new Set(sources.map(({ organisationId }) => organisationId))
  return {
    bytesMax: Math.min(PAYLOAD_KB_MAX * 1_024, ...sources.map(({ maxBytes }) => maxBytes)),
    shares: [
      ...sources.map(({ id }) => ({ holder: id, bytesMax: MAIL_ARRIVING_SOURCE_BYTES })),
      ...[...organisations].map((id) => ({
        holder: id,
        bytesMax: MAIL_ARRIVING_ORGANISATION_BYTES,
      })),
      ...(sender === undefined ? [] : [{ holder: sender, bytesMax: MAIL_ARRIVING_SENDER_BYTES }]),
    ],
  }
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
