import { createHash } from 'node:crypto'

import { z } from 'zod'

import { hashPassword, isPassword } from '../../core/accounts/password.ts'
import { findPerson, findPersonByEmail, setPassword } from '../../core/db/accounts/people.ts'
import { deleteSessions, noteAuthenticated } from '../../core/db/accounts/sessions.ts'
import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { forgetAllowance, takeAllowance } from '../../core/db/connectors/public-limits.ts'
import { refuse, refuseField } from '../../core/errors.ts'
import { SIGN_IN_SECONDS_PER_ACCOUNT, SIGN_INS_PER_ACCOUNT } from '../../core/limits.ts'
import type { Deps } from '../deps.ts'
import { Name } from '../http/fields.ts'
import { isOverTls, noCookie } from '../sessions/cookie.ts'
import { beginSession, endSession } from '../sessions/session.ts'
import { accountRoute } from './account-route.ts'
import { Email } from './invitations.ts'
import { GivenPassword, newPerson, NewPassword, viewSession } from './people.ts'
import { setUp } from './setup.ts'

const nothing = { params: {}, query: z.strictObject({}) } as const

const Token = z.string().min(1).max(100)

/** How a person comes and goes. */
export const SIGN_IN_ROUTES = [
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/setup',
    who: 'anybody',
    body: z.strictObject({ token: Token, email: Email, name: Name, password: NewPassword }),
    async handle({ deps, request, body: { token, ...wish } }) {
      const person = await newPerson(wish, deps.clock.now())
      const tenancy = { ...deps, actor: 'setup' }
      const plan = deps.accounts.defaultPlan
      const cookie = await deps.db.transaction().execute(async (tx) => {
        await setUp(tx, tenancy, { token, person, plan })
        return await beginSession(tx, deps, request, person.id)
      })
      await ensurePartitions(deps.db, deps.clock.now())
      const session = await viewSession(deps.db, { personId: person.id, ...wish })
      return { status: 201, headers: { 'set-cookie': cookie }, body: session }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/sign-in',
    who: 'anybody',
    isSignIn: true,
    body: z.strictObject({ email: Email, password: GivenPassword }),
    async handle({ deps, request, body: { email, password } }) {
      const person = await provePassword(deps, email, password)
      const cookie = await deps.db
        .transaction()
        .execute(async (tx) => await beginSession(tx, deps, request, person.personId))
      return {
        status: 200,
        headers: { 'set-cookie': cookie },
        body: await viewSession(deps.db, person),
      }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/sign-out',
    who: 'session',
    body: z.strictObject({ everywhere: z.boolean().default(false) }),
    async handle({ deps, request, session, body: { everywhere } }) {
      const { apiUrl } = deps.accounts
      if (everywhere) await deleteSessions(deps.db, session.personId)
      else await endSession(deps.db, apiUrl, request)
      return { status: 204, headers: { 'set-cookie': noCookie(isOverTls(apiUrl, request)) } }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'GET',
    path: '/session',
    who: 'session',
    body: null,
    handle: async ({ deps, session }) => ({
      status: 200,
      body: await viewSession(deps.db, session),
    }),
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/password',
    who: 'session',
    isSignIn: true,
    body: z.strictObject({ currentPassword: GivenPassword, newPassword: NewPassword }),
    async handle({ deps, session, body: { currentPassword, newPassword } }) {
      await proveOwn(deps, session.personId, currentPassword, 'currentPassword')
      const hash = await hashPassword(newPassword)
      const now = new Date(deps.clock.now())
      await deps.db.transaction().execute(async (tx) => {
        await setPassword(tx, session.personId, hash, now)
        await deleteSessions(tx, session.personId, session.id)
        await noteAuthenticated(tx, session.id, now)
      })
      return { status: 204 }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/confirm-password',
    who: 'session',
    isSignIn: true,
    body: z.strictObject({ password: GivenPassword }),
    async handle({ deps, session, body: { password } }) {
      await proveOwn(deps, session.personId, password, 'password')
      await noteAuthenticated(deps.db, session.id, new Date(deps.clock.now()))
      return { status: 204 }
    },
  }),
]

/** The person whose address and password these are. Takes as long when there is no such person. */
async function provePassword(
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

async function proveOwn(
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
