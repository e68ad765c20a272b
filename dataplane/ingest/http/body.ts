import type { IncomingMessage } from 'node:http'

import { invite } from '../../../core/http/edge.ts'
import {
  READING_BYTES_MAX,
  READING_ORGANISATION_BYTES,
  READING_SOURCE_BYTES,
} from '../../../core/limits.ts'
import { ArrivingBytes, type Arrival } from '../budgets/arriving-bytes.ts'

export type Body =
  | { kind: 'read'; body: Buffer }
  | { kind: 'too_large' | 'overloaded' | 'too_slow' | 'aborted' }

/** Whose body it is. */
interface Owner {
  id: string
  organisationId: string
}

/** Reads request bodies of at most `maxBytes`, and stops reading at the first byte past that. */
export class BodyReader {
  readonly #arriving = new ArrivingBytes(READING_BYTES_MAX)

  read(request: IncomingMessage, owner: Owner, maxBytes: number): Promise<Body> {
    const announced = Number(request.headers['content-length'] ?? 0)
    if (announced > maxBytes) return Promise.resolve({ kind: 'too_large' })
    // Its sender left while its source was looked up, and nothing more is heard of it.
    if (request.destroyed) return Promise.resolve({ kind: 'aborted' })
    invite(request)
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let bytes = 0
      let arrival: Arrival | undefined
      let isSettled = false
      // Its listeners stay, and hear nothing any more: taking them off costs as much as putting them on.
      const settle = (body: Body): void => {
        if (isSettled) return
        isSettled = true
        arrival?.release()
        // Not destroyed: the answer still has to go out on this socket.
        if (body.kind !== 'read') request.pause()
        resolve(body)
      }
      const take = (chunk: Buffer): void => {
        if (isSettled) return
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > maxBytes) return settle({ kind: 'too_large' })
        // Its end follows at once, as for most bodies with their first part: nothing waits in memory.
        if (bytes === announced) return
        arrival ??= this.#arriving.begin(sharesOf(owner), () => settle({ kind: 'too_slow' }))
        if (!arrival.grow(chunk.length)) settle({ kind: 'overloaded' })
      }
      const end = (): void => settle({ kind: 'read', body: joined(chunks) })
      const close = (): void => settle({ kind: 'aborted' })
      request.on('data', take).on('end', end).on('close', close)
    })
  }
}

function sharesOf({ id, organisationId }: Owner) {
  return [
    { holder: id, bytesMax: READING_SOURCE_BYTES },
    { holder: organisationId, bytesMax: READING_ORGANISATION_BYTES },
  ]
}

function joined(chunks: Buffer[]): Buffer {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}
