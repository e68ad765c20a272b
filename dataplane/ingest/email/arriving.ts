import type { Readable } from 'node:stream'

import {
  MAIL_ARRIVING_BYTES_MAX,
  PAYLOAD_KB_MAX,
  SMTP_MESSAGE_SECONDS,
} from '../../../core/limits.ts'

const BYTES_MAX = PAYLOAD_KB_MAX * 1_024

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
  const chunks: Buffer[] = []
  let bytes = 0
  let refusal: 'tooLarge' | 'busy' | 'slow' | undefined
  const release = (): void => {
    arriving.bytes -= bytes
    bytes = 0
    chunks.length = 0
  }
  const giveUp = (why: 'tooLarge' | 'busy' | 'slow'): void => {
    refusal ??= why
    release()
  }
  const timer = setTimeout(() => {
    giveUp('slow')
    stream.destroy()
  }, SMTP_MESSAGE_SECONDS * 1_000)
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (refusal !== undefined) continue
      bytes += chunk.length
      arriving.bytes += chunk.length
      chunks.push(chunk)
      if (bytes > BYTES_MAX) giveUp('tooLarge')
      else if (arriving.bytes > MAIL_ARRIVING_BYTES_MAX) giveUp('busy')
    }
  } catch {
    // Its sender went away, or was given up.
    giveUp('slow')
  } finally {
    clearTimeout(timer)
  }
  if (refusal !== undefined) return { kind: refusal }
  return { kind: 'message', mail: Buffer.concat(chunks, bytes), release }
}
