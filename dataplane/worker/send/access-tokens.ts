import { createHash } from 'node:crypto'

import { z } from 'zod'

import type { Clock } from '../../../core/clock.ts'
import { unsent, type AttemptResponse, type Transport } from '../../../core/delivery/transport.ts'
import { checkUrl, type IsAllowed } from '../../../core/egress/connect.ts'
import { RESPONSE_KEPT_BYTES } from '../../../core/limits.ts'
import type { ClientCredentials } from './destination.ts'

/** `expires_in` is optional and often wrong: null, 0 or a text says no more than its absence. */
const TokenAnswer = z.object({
  // Only characters that a header can carry.
  access_token: z
    .string()
    .max(16_384)
    .regex(/^[\x21-\x7e]+$/),
  expires_in: z.coerce.number().positive().finite().optional().catch(undefined),
})

const FETCH_TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024

/** A token is not used in the last part of its life, and never longer than an hour. */
const EARLY_MS = 30_000
const LIFE_MS_MAX = 3_600_000
/** How long one is used whose life is not known. */
const UNKNOWN_LIFE_MS = 60_000
const KEPT_MAX = 10_000

/** A token, or what came of asking for one. */
export type TokenOutcome = { token: string } | { failure: AttemptResponse }

interface Kept {
  outcome: Promise<TokenOutcome>
  untilMs: number
}

/** OAuth 2.0 client credentials (RFC 6749, section 4.4): one token for a set of credentials, fetched once and kept. */
export class AccessTokens {
  readonly #deps: { send: Transport; clock: Clock; isAllowed: IsAllowed }
  readonly #kept = new Map<string, Kept>()

  constructor(deps: { send: Transport; clock: Clock; isAllowed: IsAllowed }) {
    this.#deps = deps
  }

  /** Never throws. Whoever asks while it is fetched gets the same. */
  get(credentials: ClientCredentials, tenant: string): Promise<TokenOutcome> {
    const key = keyOf(credentials)
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.untilMs > this.#deps.clock.now()) return kept.outcome
    const entry: Kept = {
      outcome: this.#fetch(credentials, { key, tenant }).then((fetched) => {
        if ('failure' in fetched) this.#drop(key, entry)
        else entry.untilMs = fetched.untilMs
        return fetched
      }),
      untilMs: this.#deps.clock.now() + FETCH_TIMEOUT_MS,
    }
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear()
    this.#kept.set(key, entry)
    return entry.outcome
  }

  /** The destination refused the token: it may have been revoked before its time. */
  forget(credentials: ClientCredentials): void {
    this.#kept.delete(keyOf(credentials))
  }

  #drop(key: string, entry: Kept): void {
    if (this.#kept.get(key) === entry) this.#kept.delete(key)
  }

  async #fetch(
    credentials: ClientCredentials,
    { key, tenant }: { key: string; tenant: string },
  ): Promise<{ token: string; untilMs: number } | { failure: AttemptResponse }> {
    const url = new URL(credentials.tokenUrl)
    if (checkUrl(url, this.#deps.isAllowed) !== undefined) {
      return { failure: unsent('address_blocked') }
    }
    const answer = await this.#deps.send({
      holder: `tokens ${key}`,
      tenant,
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      ...requestOf(credentials),
      timeoutMs: FETCH_TIMEOUT_MS,
      keptBytes: ANSWER_BYTES_MAX,
    })
    if (answer.error !== null) return { failure: { ...answer, body: shown(answer.body) } }
    const read = read200(answer.body)
    if (read === undefined) return { failure: unusable(answer) }
    return { token: read.token, untilMs: this.#deps.clock.now() + read.lifeMs }
  }
}

function requestOf(credentials: ClientCredentials): { headers: string[]; body: Buffer } {
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  if (credentials.scope !== undefined) form.set('scope', credentials.scope)
  const basic = [credentials.clientId, credentials.clientSecret].map(encodeURIComponent).join(':')
  return {
    headers: [
      ['content-type', 'application/x-www-form-urlencoded'],
      ['accept', 'application/json'],
      ['authorization', `Basic ${Buffer.from(basic).toString('base64')}`],
    ].flat(),
    body: Buffer.from(form.toString()),
  }
}

function read200(body: Buffer | null): { token: string; lifeMs: number } | undefined {
  const { success, data } = TokenAnswer.safeParse(jsonOf(body))
  if (!success) return undefined
  const { access_token: token, expires_in: seconds } = data
  if (seconds === undefined) return { token, lifeMs: UNKNOWN_LIFE_MS }
  const lifeMs = Math.min(seconds * 1_000, LIFE_MS_MAX)
  return { token, lifeMs: Math.max(lifeMs - EARLY_MS, lifeMs / 2) }
}

/** A 2xx in which no token was found may hold one all the same: of JSON only the names are shown. */
function unusable(answer: AttemptResponse): AttemptResponse {
  const json = jsonOf(answer.body)
  const body =
    typeof json === 'object' && json !== null
      ? Buffer.from(JSON.stringify(json, (_, value: unknown) => masked(value)))
      : answer.body
  return { ...answer, body: shown(body), error: 'bad_response' }
}

function masked(value: unknown): unknown {
  return typeof value === 'string' ? '***' : value
}

function shown(body: Buffer | null): Buffer | null {
  return body && body.subarray(0, RESPONSE_KEPT_BYTES)
}

function jsonOf(body: Buffer | null): unknown {
  try {
    return JSON.parse(body?.toString('utf8') ?? '')
  } catch {
    return undefined
  }
}

function keyOf(credentials: ClientCredentials): string {
  return createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
}
