import { Resolver } from 'node:dns/promises'

/** A failure as name servers have them: `ENOTFOUND` and `ENODATA` are answers, all others may pass. */
class LookupFailure extends Error {
  override readonly name = 'LookupFailure'
  readonly code: string

  constructor(code: string) {
    super(`The name could not be looked up: ${code}`)
    this.code = code
  }
}

type Records = string[] | string[][]

const TRY_MS = 1_000
const TRIES = 2
const KEPT_MAX = 10_000

/** Senders choose the records of their names, of 64 KiB each, and the heap of the thread is small. */
const KEPT_BYTES_MAX = 16 * 1_024 * 1_024

/** Answers are kept for less than most records allow, and a server that does not answer is soon asked again. */
const KEPT_MS = 60_000
const FAILURE_KEPT_MS = 10_000
const ANSWERS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA'])

/** Printable, without the backslash that escapes. */
const NAME = /^[!-[\]-~]+$/

interface Kept {
  records: Promise<Records>
  until: number
  /** 0 until they have come. */
  bytes: number
}

/**
 * Looks names up for the authentication of mail: each once at a time, whatever mails ask for it. Past `bytesMax` of records
 * the oldest are forgotten.
 */
export class MailNames {
  readonly #resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  readonly #bytesMax: number
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  /** `servers`: other ones than those of the machine. */
  constructor(servers?: readonly string[], bytesMax = KEPT_BYTES_MAX) {
    if (servers !== undefined) this.#resolver.setServers(servers)
    this.#bytesMax = bytesMax
  }

  /** A way to look names up that fails once `signal` is aborted. */
  lookUpWithin(signal: AbortSignal): (name: string, type: string) => Promise<Records> {
    const late = new Promise<never>((_, fail) => {
      signal.addEventListener('abort', () => fail(new LookupFailure('ETIMEOUT')), { once: true })
    })
    late.catch(() => {})
    return async (name, type) => await Promise.race([this.#recordsOf(name, type), late])
  }

  async #recordsOf(name: string, type: string): Promise<Records> {
    // The resolver would cut the name at a NUL, and ask a domain that the sender owns for the key of another.
    if (type !== 'PTR' && !NAME.test(name)) throw new LookupFailure('ENOTFOUND')
    return await this.#freshOf(name, type)
  }

  #freshOf(name: string, type: string): Promise<Records> {
    const key = `${type} ${name.toLowerCase()}`
    const known = this.#kept.get(key)
    if (known !== undefined && known.until > performance.now()) return known.records
    const records = this.#ask(name, type)
    const kept: Kept = { records, until: performance.now() + KEPT_MS, bytes: 0 }
    this.#forget(key)
    this.#kept.set(key, kept)
    records.then(
      (found) => this.#weigh(key, kept, found),
      (error: unknown) => {
        if (!ANSWERS.has(codeOf(error))) kept.until = performance.now() + FAILURE_KEPT_MS
      },
    )
    return records
  }

  #weigh(key: string, kept: Kept, found: Records): void {
    if (this.#kept.get(key) !== kept) return
    kept.bytes = JSON.stringify(found).length
    this.#bytes += kept.bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX && this.#bytes <= this.#bytesMax) return
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }

  async #ask(name: string, type: string): Promise<Records> {
    switch (type) {
      case 'TXT':
        return await this.#resolver.resolveTxt(name)
      case 'A':
        return await this.#resolver.resolve4(name)
      case 'AAAA':
        return await this.#resolver.resolve6(name)
      case 'MX': {
        const hosts = await this.#resolver.resolveMx(name)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- mailauth reads MX records as Node gives them
        return hosts as unknown as Records
      }
      case 'PTR':
        return await this.#resolver.reverse(name)
      default:
        throw new LookupFailure('ENODATA')
    }
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
