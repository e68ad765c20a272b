import { z } from 'zod'

import { deleteLinks, takeLink } from '../../../core/db/accounts/links.ts'
import { setVerified } from '../../../core/db/accounts/people.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import { callerNetwork } from '../../auth/client-address.ts'
import { personAt } from '../../sessions/session.ts'
import { accountRoute } from '../account-route.ts'
import { Email } from '../organisations/invitations.ts'
import { auditPerson } from '../organisations/members.ts'
import { mailSignUpLink, mailVerifyLink, refuseLink } from '../people/links.ts'
import { viewSession } from '../people/people.ts'
import { demandOpen } from './sign-up.ts'

const nothing = { params: {}, query: z.strictObject({}) } as const

/** How people prove that an address is theirs: before they have an account, and after. */
export const VERIFY_ROUTES = [
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/sign-up/link',
    isOfPasswords: true,
    who: 'anybody',
    isSignIn: true,
    body: z.strictObject({ email: Email }),
    async handle({ deps, request, body: { email } }) {
      demandOpen(deps)
      mailSignUpLink(deps, email, callerNetwork(request))
      return { status: 202 }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/verify/link',
    who: 'session',
    isSignIn: true,
    body: z.strictObject({}),
    async handle({ deps, session }) {
      if (!session.isVerified) mailVerifyLink(deps, session)
      return { status: 202 }
    },
  }),
  accountRoute({
    ...nothing,
    method: 'POST',
    path: '/verify',
    who: 'session',
    body: z.strictObject({ token: z.string().min(1).max(100) }),
    async handle({ deps, request, session, body: { token } }) {
      const now = new Date(deps.clock.now())
      await deps.db.transaction().execute(async (tx) => {
        const link = (await takeLink(tx, 'verify', hashSecret(token), now)) ?? refuseLink()
        // A link proves the address of the person who requested it: another session must not use it.
        if (link.personId !== session.personId || link.email !== session.email) refuseLink()
        await deleteLinks(tx, 'verify', session.personId)
        await setVerified(tx, session.personId, now)
        const actor = personAt(session.personId, request)
        const entry = { actor, action: 'user.verify-email', now: now.getTime() }
        await auditPerson(tx, session, entry)
      })
      return { status: 200, body: await viewSession(deps.db, { ...session, isVerified: true }) }
    },
  }),
]
