import { z } from 'zod'

import { hashPassword } from '../../../core/accounts/password.ts'
import { deleteLinks, findLink, takeLink } from '../../../core/db/accounts/links.ts'
import { hasOwner } from '../../../core/db/accounts/memberships.ts'
import { findPerson, setPassword } from '../../../core/db/accounts/people.ts'
import { deleteSessions } from '../../../core/db/accounts/sessions.ts'
import { ensurePartitions } from '../../../core/db/connection/day-partitions.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import { callerNetwork } from '../../auth/client-address.ts'
import { Name } from '../../http/fields.ts'
import { beginSession, personAt } from '../../sessions/session.ts'
import { accountRoute } from '../account-route.ts'
import { Email } from '../organisations/invitations.ts'
import { auditPerson } from '../organisations/members.ts'
import { knownBrowser, rememberBrowser } from '../people/known-browser.ts'
import { mailResetLink, mailSignUpLink, refuseLink } from '../people/links.ts'
import { demandFree, GivenPassword, newPerson, NewPassword, viewSession } from '../people/people.ts'
import { acceptInvitation, joinerOf } from './accept.ts'
import { setUp } from './setup.ts'
import { takeSignUp } from './sign-up-limit.ts'
import { beginAnew, demandOpen, demandSignUpLink, signUp, useSignUpLink } from './sign-up.ts'

const nothing = { params: {}, query: z.strictObject({}) } as const

const Token = z.string().min(1).max(100)

/** How a person comes to have an account, or gets back into it. */
export const JOIN_ROUTES = [
  accountRoute({
    ...nothing,
    method: 'GET',
    path: '/options',
    who: 'anybody',
    body: null,
    async handle({ deps }) {
      const isSetUp = await hasOwner(deps.db)
      const { signUp: who, hasPasswords, hasSelfServicePlans } = deps.accounts
      const provider = deps.provider?.name ?? null
      const isMailing = deps.post !== undefined
      const ways = { isSetUp, signUp: who, isMailing, hasPasswords, provider }
      return { status: 200, body: { ...ways, hasSelfServicePlans } }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/setup',
    who: 'anybody',
    body: z.strictObject({ token: Token, email: Email, name: Name, password: NewPassword }),
    async handle({ deps, request, body: { token, ...wish } }) {
      const now = new Date(deps.clock.now())
      if ((await findLink(deps.db, 'setup', hashSecret(token), now)) === undefined) refuseLink()
      const asked = { nowMs: now.getTime(), by: callerNetwork(request) }
      // The link is the operator's, who vouches for the address.
      const person = await newPerson({ ...wish, isVerified: true }, asked)
      const actor = { name: 'setup', address: request.clientAddress }
      const tenancy = { ...deps, actor }
      const plan = deps.accounts.defaultPlan
      const cookie = await deps.db.transaction().execute(async (tx) => {
        await setUp(tx, tenancy, { token, person, plan })
        return await beginSession(tx, deps, request, { personId: person.id })
      })
      await ensurePartitions(deps.db, deps.clock.now())
      const session = await viewSession(deps.db, { personId: person.id, ...wish, isVerified: true })
      const known = rememberBrowser(deps, request, person)
      return { status: 201, headers: { 'set-cookie': [cookie, known] }, body: session }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/sign-up',
    isOfPasswords: true,
    who: 'anybody',
    body: z.strictObject({
      email: Email,
      name: Name,
      password: NewPassword,
      organisationName: Name,
      token: Token.optional(),
    }),
    async handle({ deps, request, body: { organisationName, token, ...wish } }) {
      demandOpen(deps)
      if (token === undefined && deps.post !== undefined) {
        mailSignUpLink(deps, wish.email, callerNetwork(request))
        return { status: 202 }
      }
      if (token === undefined) await demandFree(deps.db, wish.email)
      else await demandSignUpLink(deps, token, wish.email)
      await takeSignUp(deps.db, deps, request.clientAddress)
      const isVerified = token !== undefined
      const asked = { nowMs: deps.clock.now(), by: callerNetwork(request) }
      const person = await newPerson({ ...wish, isVerified }, asked)
      const entrance = { ...deps, address: request.clientAddress }
      const cookie = await deps.db.transaction().execute(async (tx) => {
        if (token !== undefined) await useSignUpLink(tx, entrance, token, person.email)
        await signUp(tx, entrance, { person, organisationName })
        return await beginSession(tx, deps, request, { personId: person.id })
      })
      await ensurePartitions(deps.db, deps.clock.now())
      const session = await viewSession(deps.db, { personId: person.id, ...wish, isVerified })
      const known = rememberBrowser(deps, request, person)
      return { status: 201, headers: { 'set-cookie': [cookie, known] }, body: session }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/invitations/accept',
    isOfPasswords: true,
    who: 'anybody',
    body: z.strictObject({
      token: Token,
      email: Email,
      name: Name.optional(),
      password: GivenPassword,
    }),
    async handle({ deps, request, body }) {
      const joiner = await joinerOf(deps, request, { ...body, name: body.name })
      const cookie = await deps.db.transaction().execute(async (tx) => {
        await acceptInvitation(tx, { ...deps, address: request.clientAddress }, body.token, joiner)
        return await beginSession(tx, deps, request, joiner)
      })
      const session = await viewSession(deps.db, joiner)
      const known = rememberBrowser(deps, request, joiner)
      return { status: 201, headers: { 'set-cookie': [cookie, known] }, body: session }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/forgot-password',
    isOfPasswords: true,
    who: 'anybody',
    isSignIn: true,
    body: z.strictObject({ email: Email }),
    async handle({ deps, request, body: { email } }) {
      mailResetLink(deps, email, {
        network: callerNetwork(request),
        knownAs: (person) => knownBrowser(deps, request, person),
      })
      return { status: 202 }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/reset',
    isOfPasswords: true,
    who: 'anybody',
    body: z.strictObject({ token: Token, password: NewPassword }),
    async handle({ deps, request, body: { token, password } }) {
      const now = new Date(deps.clock.now())
      const tokenHash = hashSecret(token)
      if ((await findLink(deps.db, 'reset', tokenHash, now)) === undefined) refuseLink()
      const hash = await hashPassword(password, callerNetwork(request))
      const email = await deps.db.transaction().execute(async (tx) => {
        const link = (await takeLink(tx, 'reset', tokenHash, now)) ?? refuseLink()
        const person = link.personId === null ? undefined : await findPerson(tx, link.personId)
        if (person === undefined) refuseLink()
        // The link came to the address: its owner is here for the first time.
        if (link.email === person.email && person.emailVerifiedAt === null) {
          const entrance = { ...deps, address: request.clientAddress }
          await beginAnew(tx, entrance, person, hash)
          return person.email
        }
        await setPassword(tx, person.id, hash, now)
        await deleteLinks(tx, 'reset', person.id)
        await deleteSessions(tx, person.id)
        const actor = personAt(person.id, request)
        const entry = { actor, action: 'user.reset-password', now: now.getTime() }
        await auditPerson(tx, { personId: person.id, email: person.email }, entry)
        return person.email
      })
      await ensurePartitions(deps.db, now.getTime())
      const known = rememberBrowser(deps, request, { email, passwordHash: hash })
      return { status: 204, headers: { 'set-cookie': known } }
    },
  }),
]
