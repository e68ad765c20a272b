/** A status line up to its class: shorter than this, what came may still become one. */
const LINE_START_BYTES = 'HTTP/1.1 1'.length
const STATUS_END_BYTES = LINE_START_BYTES + 2
const ONE = '1'.charCodeAt(0)
const END = '\r\n\r\n'

const EMPTY = Buffer.alloc(0)

/**
 * Leaves interim answers (100 to 199) out of what a connection brings, whatever their number: they say nothing of the
 * request, servers send them unasked, and undici takes "100 Continue" for a broken connection. (RFC 9110, section 15.2)
 */
export class InterimAnswers {
  readonly #maxBytes: number
  #held = EMPTY
  #bytes = 0
  #isHead = true

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Starts over: the next bytes answer another request. */
  restart(): void {
    this.#held = EMPTY
    this.#bytes = 0
    this.#isHead = true
  }

  /** The chunk without interim answers; null when more has to come. Throws a RangeError when they have no end. */
  pass(chunk: Buffer): Buffer | null {
    if (!this.#isHead) return chunk
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    this.#held = EMPTY
    for (;;) {
      if (!mayBeInterim(rest)) {
        this.#isHead = false
        return rest
      }
      const end = rest.length < STATUS_END_BYTES ? -1 : rest.indexOf(END)
      const taken = end === -1 ? rest.length : end + END.length
      if (this.#bytes + taken > this.#maxBytes) throw new RangeError('Too many interim answers')
      if (end === -1) {
        // A copy: the chunk may be a view of the socket's buffer.
        this.#held = Buffer.from(rest)
        return null
      }
      this.#bytes += taken
      rest = rest.subarray(taken)
    }
  }
}

function mayBeInterim(bytes: Buffer): boolean {
  if (bytes.length >= LINE_START_BYTES && bytes[LINE_START_BYTES - 1] !== ONE) return false
  const start = bytes.toString('latin1', 0, STATUS_END_BYTES)
  return bytes.length < LINE_START_BYTES
    ? 'HTTP/1.1 '.startsWith(start) || 'HTTP/1.0 '.startsWith(start)
    : /^HTTP\/1\.[01] 1\d{0,2}$/.test(start)
}
