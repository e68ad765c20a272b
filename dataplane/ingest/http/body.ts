import type { IncomingMessage } from 'node:http'

import { invite } from '../../../core/http/edge.ts'
import {
  BODY_BYTES_PER_SECOND_MIN,
  BODY_RATE_SECONDS,
  READING_BYTES_MAX,
  READING_ORGANISATION_BYTES,
  READING_SOURCE_BYTES,
} from '../../../core/limits.ts'

export type Body =
  | { kind: 'read'; body: Buffer }
  | { kind: 'too_large' | 'overloaded' | 'too_slow' | 'aborted' }

/** Whose body it is. */
interface Owner {
  id: string
  organisationId: string
}

/** A body that comes in parts. */
interface Reading {
  owner: Owner
  bytes: number
  /** When it was last looked at, and how much of it there was. */
  seenAt: number
  seenBytes: number
  giveUp(): void
}

/** How often the rates are looked at. */
const LOOK_MS = 1_000

/** Only past this much are shares kept to: memory that nobody else wants may be anybody's. */
const CROWDED_BYTES = READING_BYTES_MAX / 2

/** Reads request bodies of at most `maxBytes`, and stops reading at the first byte past that. */
export class BodyReader {
  #bytes = 0
  /** By source and by organisation. */
  readonly #bytesOf = new Map<string, number>()
  readonly #readings = new Set<Reading>()
  #looking: NodeJS.Timeout | undefined

  read(request: IncomingMessage, owner: Owner, maxBytes: number): Promise<Body> {
    const announced = Number(request.headers['content-length'] ?? 0)
    if (announced > maxBytes) return Promise.resolve({ kind: 'too_large' })
    // Its sender left while its source was looked up, and nothing more is heard of it.
    if (request.destroyed) return Promise.resolve({ kind: 'aborted' })
    invite(request)
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let bytes = 0
      let reading: Reading | undefined
      let isSettled = false
      // Its listeners stay, and hear nothing any more: taking them off costs as much as putting them on.
      const settle = (body: Body): void => {
        if (isSettled) return
        isSettled = true
        if (reading !== undefined) this.#end(reading)
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
        reading ??= this.#begin(owner, () => settle({ kind: 'too_slow' }))
        if (!this.#grow(reading, chunk.length)) settle({ kind: 'overloaded' })
      }
      const end = (): void => settle({ kind: 'read', body: joined(chunks) })
      const close = (): void => settle({ kind: 'aborted' })
      request.on('data', take).on('end', end).on('close', close)
    })
  }

  #begin(owner: Owner, giveUp: () => void): Reading {
    const reading = { owner, bytes: 0, seenAt: performance.now(), seenBytes: 0, giveUp }
    this.#readings.add(reading)
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref()
    return reading
  }

  /** False: there is no room for it. */
  #grow(reading: Reading, bytes: number): boolean {
    const { owner } = reading
    reading.bytes += bytes
    this.#bytes += bytes
    const ofSource = this.#add(owner.id, bytes)
    const ofOrganisation = this.#add(owner.organisationId, bytes)
    if (this.#bytes <= CROWDED_BYTES) return true
    return (
      this.#bytes <= READING_BYTES_MAX &&
      ofSource <= READING_SOURCE_BYTES &&
      ofOrganisation <= READING_ORGANISATION_BYTES
    )
  }

  #end(reading: Reading): void {
    this.#readings.delete(reading)
    this.#bytes -= reading.bytes
    this.#add(reading.owner.id, -reading.bytes)
    this.#add(reading.owner.organisationId, -reading.bytes)
    if (this.#readings.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  #add(key: string, bytes: number): number {
    const sum = (this.#bytesOf.get(key) ?? 0) + bytes
    if (sum === 0) this.#bytesOf.delete(key)
    else this.#bytesOf.set(key, sum)
    return sum
  }

  /** Gives up those that hold memory and bring next to nothing. */
  #look(): void {
    const now = performance.now()
    for (const reading of this.#readings) {
      if (now - reading.seenAt < BODY_RATE_SECONDS * 1_000) continue
      const isSlow =
        reading.bytes - reading.seenBytes < BODY_RATE_SECONDS * BODY_BYTES_PER_SECOND_MIN
      if (isSlow) reading.giveUp()
      reading.seenAt = now
      reading.seenBytes = reading.bytes
    }
  }
}

function joined(chunks: Buffer[]): Buffer {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}
