import { createHash } from 'node:crypto'

import type { FastifyRequest } from 'fastify'

import { isPassword } from '../../../core/accounts/password.ts'
import { findPerson, findPersonByEmail } from '../../../core/db/accounts/people.ts'
import type { SessionUse } from '../../../core/db/accounts/sessions.ts'
import { forgetAllowance, takeAllowance } from '../../../core/db/connectors/public-limits.ts'
import { refuse, refuseField } from '../../../core/errors.ts'
import { SIGN_IN_SECONDS_PER_ACCOUNT, SIGN_INS_PER_ACCOUNT } from '../../../core/limits.ts'
import { callerNetwork } from '../../auth/client-address.ts'
import type { Deps } from '../../deps.ts'
import { knownBrowser } from './known-browser.ts'

/** A person whose password was given. */
export interface Proved {
  personId: string
  email: string
  name: string
  isVerified: boolean
  passwordHash: string | null
}

/**
 * The person whose address and password these are. Takes as long when there is no such person. A browser that is known to
 * the account has attempts of its own, and those of strangers once they are used up.
 */
export async function provePassword(
  deps: Deps,
  request: FastifyRequest,
  { email, password }: { email: string; password: string },
): Promise<Proved> {
  const person = await findPersonByEmail(deps.db, email)
  const browser = person && knownBrowser(deps, request, person)
  const strangers = `account:${createHash('sha256').update(email).digest('base64url')}`
  const scopes = [...(browser === undefined ? [] : [`browser:${browser}`]), strangers]
  const scope = await takeAttempt(deps, scopes)
  const { passwordHash = null } = person ?? {}
  const isRight = await isPassword(password, passwordHash, callerNetwork(request))
  if (person === undefined || !isRight) refuse('UNAUTHORIZED', 'Email or password is wrong')
  await forgetAllowance(deps.db, scope)
  const isVerified = person.emailVerifiedAt !== null
  return { personId: person.id, email: person.email, name: person.name, isVerified, passwordHash }
}

/** Refuses a password that is not the session's person's own; `member` is where the body has it. */
export async function proveOwn(
  deps: Deps,
  request: FastifyRequest,
  { session, password, member }: { session: SessionUse; password: string; member: string },
): Promise<void> {
  const scope = await takeAttempt(deps, [`session:${session.id}`])
  const person = await findPerson(deps.db, session.personId)
  if (!(await isPassword(password, person?.passwordHash ?? null, callerNetwork(request)))) {
    refuseField(`body.${member}`, 'Is not your password')
  }
  await forgetAllowance(deps.db, scope)
}

/**
 * Takes an attempt of the first scope that has one left, and returns that scope; so one account is not guessed at from many
 * addresses. Addresses without an account are counted as well.
 */
async function takeAttempt({ db }: Deps, scopes: readonly string[]): Promise<string> {
  let waitMs = 0
  for (const scope of scopes) {
    waitMs = await takeAllowance(db, scope, {
      burst: SIGN_INS_PER_ACCOUNT,
      intervalMs: SIGN_IN_SECONDS_PER_ACCOUNT * 1_000,
    })
    if (waitMs === 0) return scope
  }
  const retryAfterSeconds = Math.ceil(waitMs / 1_000)
  return refuse(
    'RATE_LIMITED',
    `Too many attempts to sign in to this account: come again in ${retryAfterSeconds} s`,
    { limit: SIGN_INS_PER_ACCOUNT, remaining: 0, retryAfterSeconds },
  )
}
