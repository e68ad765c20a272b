import { z } from 'zod'

import { hashPassword } from '../../../core/accounts/password.ts'
import { deleteLinks } from '../../../core/db/accounts/links.ts'
import { setPassword, setPersonName } from '../../../core/db/accounts/people.ts'
import { deleteSessions, noteAuthenticated } from '../../../core/db/accounts/sessions.ts'
import { callerNetwork } from '../../auth/client-address.ts'
import { Name } from '../../http/fields.ts'
import { isOverTls, noCookie } from '../../sessions/cookie.ts'
import { beginSession, endSession, personAt } from '../../sessions/session.ts'
import { accountRoute } from '../account-route.ts'
import { Email } from '../organisations/invitations.ts'
import { auditPerson } from '../organisations/members.ts'
import { rememberBrowser } from '../people/known-browser.ts'
import { GivenPassword, NewPassword, viewSession } from '../people/people.ts'
import { proveOwn, provePassword } from '../people/prove-password.ts'

const nothing = { params: {}, query: z.strictObject({}) } as const

/** How a person comes and goes. */
export const SIGN_IN_ROUTES = [
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/sign-in',
    isOfPasswords: true,
    who: 'anybody',
    isSignIn: true,
    body: z.strictObject({ email: Email, password: GivenPassword }),
    async handle({ deps, request, body: { email, password } }) {
      const person = await provePassword(deps, request, { email, password })
      const cookie = await deps.db
        .transaction()
        .execute(async (tx) => await beginSession(tx, deps, request, person))
      return {
        status: 200,
        headers: { 'set-cookie': [cookie, rememberBrowser(deps, request, person)] },
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
    method: 'PATCH',
    path: '/session',
    who: 'session',
    body: z.strictObject({ name: Name }),
    async handle({ deps, session, body: { name } }) {
      await setPersonName(deps.db, session.personId, name, new Date(deps.clock.now()))
      return { status: 200, body: await viewSession(deps.db, { ...session, name }) }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/password',
    isOfPasswords: true,
    who: 'session',
    isSignIn: true,
    body: z.strictObject({ currentPassword: GivenPassword, newPassword: NewPassword }),
    async handle({ deps, request, session, body: { currentPassword, newPassword } }) {
      const given = { session, password: currentPassword, member: 'currentPassword' }
      await proveOwn(deps, request, given)
      const hash = await hashPassword(newPassword, callerNetwork(request))
      const now = new Date(deps.clock.now())
      await deps.db.transaction().execute(async (tx) => {
        await setPassword(tx, session.personId, hash, now)
        // Whoever reads the person's mail would undo the change.
        await deleteLinks(tx, 'reset', session.personId)
        await deleteSessions(tx, session.personId, session.id)
        await noteAuthenticated(tx, session.id, now)
        const actor = personAt(session.personId, request)
        const entry = { actor, action: 'user.change-password', now: now.getTime() }
        await auditPerson(tx, session, entry)
      })
      const known = rememberBrowser(deps, request, { email: session.email, passwordHash: hash })
      return { status: 204, headers: { 'set-cookie': known } }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/confirm-password',
    isOfPasswords: true,
    who: 'session',
    isSignIn: true,
    body: z.strictObject({ password: GivenPassword }),
    async handle({ deps, request, session, body: { password } }) {
      await proveOwn(deps, request, { session, password, member: 'password' })
      await noteAuthenticated(deps.db, session.id, new Date(deps.clock.now()))
      return { status: 204 }
    },
  }),
]
