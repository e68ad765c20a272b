import { createHash } from 'node:crypto'

import { isPassword } from '../../../core/accounts/password.ts'
import { findPerson, findPersonByEmail } from '../../../core/db/accounts/people.ts'
import { forgetAllowance, takeAllowance } from '../../../core/db/connectors/public-limits.ts'
import { refuse, refuseField } from '../../../core/errors.ts'
import { SIGN_IN_SECONDS_PER_ACCOUNT, SIGN_INS_PER_ACCOUNT } from '../../../core/limits.ts'
import type { Deps } from '../../deps.ts'

/** The person whose address and password these are. Takes as long when there is no such person. */
export async function provePassword(
  deps: Deps,
  email: string,
  password: string,
): Promise<{ personId: string; email: string; name: string }> {
  const scope = await takeAttempt(deps, email)
  const person = await findPersonByEmail(deps.db, email)
  const isRight = await isPassword(password, person?.passwordHash ?? null)
  if (person === undefined || !isRight) refuse('UNAUTHORIZED', 'Email or password is wrong')
  await forgetAllowance(deps.db, scope)
  return { personId: person.id, email: person.email, name: person.name }
}

/** Refuses a password that is not the person's own; `member` is where the body has it. */
export async function proveOwn(
  deps: Deps,
  personId: string,
  password: string,
  member: string,
): Promise<void> {
  const person = await findPerson(deps.db, personId)
  const scope = await takeAttempt(deps, person?.email ?? personId)
  if (!(await isPassword(password, person?.passwordHash ?? null))) {
    refuseField(`body.${member}`, 'Is not your password')
  }
  await forgetAllowance(deps.db, scope)
}

/** So that one account is not guessed at from many addresses. The addresses of nobody are counted as well. */
async function takeAttempt({ db }: Deps, email: string): Promise<string> {
  const scope = `account:${createHash('sha256').update(email).digest('base64url')}`
  const waitMs = await takeAllowance(db, scope, {
    burst: SIGN_INS_PER_ACCOUNT,
    intervalMs: SIGN_IN_SECONDS_PER_ACCOUNT * 1_000,
  })
  if (waitMs === 0) return scope
  const retryAfterSeconds = Math.ceil(waitMs / 1_000)
  return refuse(
    'RATE_LIMITED',
    `Too many attempts to sign in to this account: come again in ${retryAfterSeconds} s`,
    { limit: SIGN_INS_PER_ACCOUNT, remaining: 0, retryAfterSeconds },
  )
}
