import type { IncomingMessage } from 'node:http'

import { invite } from '../../core/http/edge.ts'

/** Bodies being read at once, all together: past that the answer is 503, whatever the senders do. */
const READING_BYTES_MAX = 256 * 1024 * 1024

export type Body = { kind: 'read'; body: Buffer } | { kind: 'too_large' | 'overloaded' | 'aborted' }

/** Reads request bodies of at most `maxBytes`, and stops reading at the first byte past that. */
export class BodyReader {
  #reading = 0

  read(request: IncomingMessage, maxBytes: number): Promise<Body> {
    const announced = Number(request.headers['content-length'] ?? 0)
    if (announced > maxBytes) return Promise.resolve({ kind: 'too_large' })
    invite(request)
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let bytes = 0
      let isSettled = false
      // Its listeners stay, and hear nothing any more: taking them off costs as much as putting them on.
      const settle = (body: Body): void => {
        if (isSettled) return
        isSettled = true
        this.#reading -= bytes
        // Not destroyed: the answer still has to go out on this socket.
        if (body.kind !== 'read') request.pause()
        resolve(body)
      }
      const take = (chunk: Buffer): void => {
        if (isSettled) return
        bytes += chunk.length
        this.#reading += chunk.length
        chunks.push(chunk)
        if (bytes > maxBytes) settle({ kind: 'too_large' })
        else if (this.#reading > READING_BYTES_MAX) settle({ kind: 'overloaded' })
      }
      const end = (): void => settle({ kind: 'read', body: joined(chunks) })
      const close = (): void => settle({ kind: 'aborted' })
      request.on('data', take).on('end', end).on('close', close)
    })
  }
}

function joined(chunks: Buffer[]): Buffer {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}
