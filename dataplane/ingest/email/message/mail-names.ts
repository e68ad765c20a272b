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

/** Answers are kept for less than most records allow, and a server that does not answer is soon asked again. */
const KEPT_MS = 60_000
const FAILURE_KEPT_MS = 10_000
const ANSWERS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA'])

/** Printable, without the backslash that escapes. */
const NAME = /^[!-[\]-~]+$/

interface Kept {
  records: Promise<Records>
  until: number
}

/** Looks names up for the authentication of mail: each once at a time, whatever mails ask for it. */
export class MailNames {
  readonly #resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  readonly #kept = new Map<string, Kept>()

  /** `servers`: other ones than those of the machine. */
  constructor(servers?: readonly string[]) {
    if (servers !== undefined) this.#resolver.setServers(servers)
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
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear()
    const kept: Kept = { records, until: performance.now() + KEPT_MS }
    this.#kept.set(key, kept)
    records.catch((error: unknown) => {
      if (!ANSWERS.has(codeOf(error))) kept.until = performance.now() + FAILURE_KEPT_MS
    })
    return records
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
