import { BODY_BYTES_PER_SECOND_MIN, BODY_RATE_SECONDS } from '../../../core/limits.ts'

/** Bytes that one holder may have of those that arrive, once they are crowded. */
export interface ByteShare {
  holder: string
  bytesMax: number
}

/** How often the rates are looked at. */
const LOOK_MS = 1_000

/** A body or a message whose bytes are in memory. */
export interface Arrival {
  /** Counts bytes that came. False: there is no room for them. */
  grow(bytes: number): boolean
  /** Gives its room back and needs none from now on; its rate is looked at as before. */
  discard(): void
  /** Its last byte has come: it is no longer given up for its rate. */
  complete(): void
  /** Gives its room back. */
  release(): void
}

interface Rated {
  bytes: number
  /** When it was last looked at, and how much of it there was. */
  seenAt: number
  seenBytes: number
  giveUp: () => void
}

/**
 * Bytes of bodies that arrive, at most `bytesMax`. Shares are kept to only past half of that: memory that no other sender
 * needs may be anybody's. An arrival slower than `BODY_BYTES_PER_SECOND_MIN` is given up.
 */
export class ArrivingBytes {
  readonly #bytesMax: number
  #bytes = 0
  readonly #bytesOf = new Map<string, number>()
  readonly #rated = new Set<Rated>()
  #looking: NodeJS.Timeout | undefined

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  begin(shares: readonly ByteShare[], giveUp: () => void): Arrival {
    const rated: Rated = { bytes: 0, seenAt: performance.now(), seenBytes: 0, giveUp }
    this.#rated.add(rated)
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref()
    let isKept = true
    const discard = (): void => {
      if (isKept) this.#add(shares, -rated.bytes)
      isKept = false
    }
    return {
      grow: (bytes) => {
        rated.bytes += bytes
        return !isKept || this.#add(shares, bytes)
      },
      discard,
      complete: () => this.#forget(rated),
      release: () => {
        this.#forget(rated)
        discard()
      },
    }
  }

  /** Whether all of it, and each share of it, is within its bound. */
  #add(shares: readonly ByteShare[], bytes: number): boolean {
    this.#bytes += bytes
    let isWithin = true
    for (const { holder, bytesMax } of shares) {
      const sum = (this.#bytesOf.get(holder) ?? 0) + bytes
      if (sum === 0) this.#bytesOf.delete(holder)
      else this.#bytesOf.set(holder, sum)
      if (sum > bytesMax) isWithin = false
    }
    return this.#bytes <= this.#bytesMax / 2 || (isWithin && this.#bytes <= this.#bytesMax)
  }

  #forget(rated: Rated): void {
    this.#rated.delete(rated)
    if (this.#rated.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  /** Gives up those that hold memory and bring next to nothing. */
  #look(): void {
    const now = performance.now()
    for (const rated of this.#rated) {
      if (now - rated.seenAt < BODY_RATE_SECONDS * 1_000) continue
      const isSlow = rated.bytes - rated.seenBytes < BODY_RATE_SECONDS * BODY_BYTES_PER_SECOND_MIN
      rated.seenAt = now
      rated.seenBytes = rated.bytes
      if (isSlow) rated.giveUp()
    }
  }
}
