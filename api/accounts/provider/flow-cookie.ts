import type { FastifyRequest } from 'fastify'
import { z } from 'zod'

import { PROVIDER_FLOW_MINUTES } from '../../../core/limits.ts'
import { seal, unseal } from '../../../core/secrets/sealed.ts'
import type { Deps } from '../../deps.ts'
import { cookieOf, isOverTls, setCookie } from '../../sessions/cookie.ts'

const NAME = '-sign-in'
const PLACE = 'a sign-in with the provider'
const LENGTH_MAX = 4_000
const SECONDS = PROVIDER_FLOW_MINUTES * 60

/** A sign-in that went to the provider, as the browser that began it keeps it. */
const Begun = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** The page that was wanted. */
  next: z.string(),
  /** Whether the person was to prove anew who they are. */
  again: z.boolean(),
  endsAtMs: z.number(),
})
type Begun = z.infer<typeof Begun>

type CookieDeps = Pick<Deps, 'accounts' | 'clock' | 'keyring'>

/** The cookie of a sign-in that begins. It is sealed: nobody can plant one that they made. */
export function flowCookie(
  { accounts, clock, keyring }: CookieDeps,
  request: FastifyRequest,
  begun: Omit<Begun, 'endsAtMs'>,
): string {
  const whole = { ...begun, endsAtMs: clock.now() + SECONDS * 1_000 }
  const sealed = seal(keyring, whole, PLACE).toString('base64url')
  return setCookie(NAME, sealed, { isTls: isOverTls(accounts.apiUrl, request), seconds: SECONDS })
}

/** The sign-in that this browser began, unless it took too long. */
export function begunFlow(
  { accounts, clock, keyring }: CookieDeps,
  request: FastifyRequest,
): Begun | undefined {
  const text = cookieOf(NAME, accounts.apiUrl, request)
  if (text === undefined || text.length > LENGTH_MAX) return undefined
  try {
    const begun = Begun.parse(unseal(keyring, Buffer.from(text, 'base64url'), PLACE))
    return begun.endsAtMs > clock.now() ? begun : undefined
  } catch {
    return undefined
  }
}
