import { createHash } from 'node:crypto'

import type { FastifyRequest } from 'fastify'
import { z } from 'zod'

import type { Person } from '../../../core/db/accounts/people.ts'
import { newId } from '../../../core/ids.ts'
import { KNOWN_BROWSER_DAYS } from '../../../core/limits.ts'
import { seal, unseal } from '../../../core/secrets/sealed.ts'
import type { Deps } from '../../deps.ts'
import { cookieOf, isOverTls, setCookie } from '../../sessions/cookie.ts'

const PLACE = 'a browser that signed in'
const LENGTH_MAX = 1_000
const SECONDS = KNOWN_BROWSER_DAYS * 86_400

const Known = z.object({
  id: z.string(),
  email: z.string(),
  /** Derived from the password that it signed in with: after a change of it all browsers are strangers. */
  stamp: z.string(),
  endsAtMs: z.number(),
})

type KnownDeps = Pick<Deps, 'accounts' | 'clock' | 'keyring'>

/** The account that a browser is known to. */
export type KnownTo = Pick<Person, 'email' | 'passwordHash'>

/**
 * The cookie of a browser that proved the password of an account, so that strangers who try passwords do not shut it out. A
 * browser that is known already keeps its id. (OWASP, "Slow down online guessing attacks with device cookies")
 */
export function rememberBrowser(deps: KnownDeps, request: FastifyRequest, person: KnownTo): string {
  const nowMs = deps.clock.now()
  const known = {
    id: knownBrowser(deps, request, person) ?? newId(nowMs),
    email: person.email,
    stamp: stampOf(person),
    endsAtMs: nowMs + SECONDS * 1_000,
  }
  const sealed = seal(deps.keyring, known, PLACE).toString('base64url')
  const isTls = isOverTls(deps.accounts.apiUrl, request)
  return setCookie(nameFor(person.email), sealed, { isTls, seconds: SECONDS })
}

/** The id of the browser, if it signed in to this account with its present password. */
export function knownBrowser(
  { accounts, clock, keyring }: KnownDeps,
  request: FastifyRequest,
  person: KnownTo,
): string | undefined {
  const text = cookieOf(nameFor(person.email), accounts.apiUrl, request)
  if (text === undefined || text.length > LENGTH_MAX) return undefined
  try {
    const known = Known.parse(unseal(keyring, Buffer.from(text, 'base64url'), PLACE))
    const isOfPerson = known.email === person.email && known.stamp === stampOf(person)
    return isOfPerson && known.endsAtMs > clock.now() ? known.id : undefined
  } catch {
    return undefined
  }
}

/** A name for each account, so that people who share a browser are all known in it. */
function nameFor(email: string): string {
  return `-known-${createHash('sha256').update(email).digest('hex').slice(0, 12)}`
}

function stampOf({ passwordHash }: KnownTo): string {
  return createHash('sha256')
    .update(passwordHash ?? '')
    .digest('base64url')
}
