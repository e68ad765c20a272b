import { createHash } from 'node:crypto'

import { request, type Dispatcher } from 'undici'
import { z } from 'zod'

import type { Clock } from '../../core/clock.ts'
import { checkUrl, type IsAllowed } from '../../core/egress/connect.ts'
import type { ClientCredentials } from './destinations.ts'

const TokenResponse = z.object({
  access_token: z.string().min(1).max(16_384),
  expires_in: z.coerce.number().positive().optional(),
})

const FETCH_TIMEOUT_MS = 10_000
const RESPONSE_BYTES_MAX = 64 * 1024

/** A token is not used in the last part of its life, and never longer than an hour. */
const EARLY_MS = 30_000
const LIFE_MS_DEFAULT = 300_000
const LIFE_MS_MAX = 3_600_000
const KEPT_MAX = 10_000

interface Kept {
  token: Promise<string>
  untilMs: number
}

/** OAuth 2.0 client credentials (RFC 6749, section 4.4): one token for a set of credentials, fetched once and kept. */
export class AccessTokens {
  readonly #deps: { dispatcher: Dispatcher; clock: Clock; isAllowed: IsAllowed }
  readonly #kept = new Map<string, Kept>()

  constructor(deps: { dispatcher: Dispatcher; clock: Clock; isAllowed: IsAllowed }) {
    this.#deps = deps
  }

  /** Rejects when the token endpoint does not hand one over. */
  get(credentials: ClientCredentials): Promise<string> {
    const key = keyOf(credentials)
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.untilMs > this.#deps.clock.now()) return kept.token
    const fetching = this.#fetch(credentials)
    const entry: Kept = {
      token: fetching.then(({ token }) => token),
      untilMs: this.#deps.clock.now() + FETCH_TIMEOUT_MS,
    }
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear()
    this.#kept.set(key, entry)
    fetching
      .then(({ untilMs }) => {
        entry.untilMs = untilMs
        return undefined
      })
      .catch(() => this.#kept.delete(key))
    return entry.token
  }

  /** The destination refused the token: it may have been revoked before its time. */
  forget(credentials: ClientCredentials): void {
    this.#kept.delete(keyOf(credentials))
  }

  async #fetch(credentials: ClientCredentials): Promise<{ token: string; untilMs: number }> {
    const url = new URL(credentials.tokenUrl)
    const fault = checkUrl(url, this.#deps.isAllowed)
    if (fault !== undefined) throw Object.assign(new Error(fault), { code: 'ADDRESS_BLOCKED' })
    const form = new URLSearchParams({ grant_type: 'client_credentials' })
    if (credentials.scope !== undefined) form.set('scope', credentials.scope)
    const basic = [credentials.clientId, credentials.clientSecret].map(encodeURIComponent).join(':')
    const { statusCode, body } = await request(url, {
      dispatcher: this.#deps.dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(basic).toString('base64')}`,
      },
      body: form.toString(),
      signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    })
    const text = await readAtMost(body, RESPONSE_BYTES_MAX)
    if (statusCode !== 200) throw new Error(`The token endpoint answered ${statusCode}`)
    const { access_token: token, expires_in: seconds } = TokenResponse.parse(JSON.parse(text))
    const lifeMs = Math.min((seconds ?? LIFE_MS_DEFAULT / 1_000) * 1_000, LIFE_MS_MAX)
    return { token, untilMs: this.#deps.clock.now() + Math.max(lifeMs - EARLY_MS, lifeMs / 2) }
  }
}

function keyOf(credentials: ClientCredentials): string {
  return createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
}

async function readAtMost(
  body: Dispatcher.ResponseData['body'],
  maxBytes: number,
): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error('The token endpoint answered too much')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
