import { z } from 'zod'

import { ownPage } from '../../../core/accounts/own-page.ts'
import { ensurePartitions } from '../../../core/db/connection/day-partitions.ts'
import { refuse } from '../../../core/errors.ts'
import { PROVIDER_FLOW_MINUTES } from '../../../core/limits.ts'
import type { Deps } from '../../deps.ts'
import type { Answer } from '../../http/route.ts'
import { beginSession, findSignedIn } from '../../sessions/session.ts'
import type { Provider } from '../../sign-on/provider.ts'
import { accountRoute } from '../account-route.ts'
import { arrive } from './arrive.ts'
import { begunFlow, flowCookie } from './flow-cookie.ts'
import { problemOf, Unwelcome } from './problems.ts'

/** Where the provider sends people back to; it is registered there. */
const CALLBACK = '/callback/oidc'

/** A page of the dashboard: nothing leads away from here. */
const Page = z
  .string()
  .catch('/')
  .transform((text) => ownPage(text) ?? '/')

/** Signing in with the OpenID Connect provider. Browsers come here as pages, and are led to the sign-in page when it fails. */
export const PROVIDER_ROUTES = [
  accountRoute({
    params: {},
    query: z.object({ next: Page, again: z.literal('true').optional() }),
    method: 'GET',
    path: '/oidc',
    who: 'anybody',
    body: null,
    onRefusal: toSignIn,
    async handle({ deps, request, origin, query }) {
      const again = query.again !== undefined
      const provider = demandProvider(deps)
      const { url, flow } = await provider.begin(`${origin}/auth${CALLBACK}`, { again })
      return redirectTo(url, flowCookie(deps, request, { ...flow, next: query.next, again }))
    },
  }),
  accountRoute({
    params: {},
    query: z.looseObject({}),
    method: 'GET',
    path: CALLBACK,
    who: 'anybody',
    isSignIn: true,
    body: null,
    onRefusal: toSignIn,
    async handle({ deps, request, origin }) {
      const provider = demandProvider(deps)
      const address = new URL(request.url, origin)
      const begun = begunFlow(deps, request)
      if (begun === undefined || address.searchParams.get('state') !== begun.state) {
        throw new Unwelcome('expired', 'This browser did not begin the sign-in, or too long ago')
      }
      const who = await provider.finish(address, begun)
      // A provider that does not say when it asked is believed.
      if (begun.again && (who.provedAgoSeconds ?? 0) > PROVIDER_FLOW_MINUTES * 60) {
        throw new Unwelcome('failed', 'The provider did not ask the person again')
      }
      const entrance = { ...deps, address: request.clientAddress }
      const signedInId = await findSignedIn(deps, request)
      const cookie = await deps.db.transaction().execute(async (tx) => {
        const personId = await arrive(tx, entrance, who, signedInId)
        const { provedAgoSeconds } = who
        return await beginSession(tx, deps, request, { personId, provedAgoSeconds })
      })
      await ensurePartitions(deps.db, deps.clock.now())
      return redirectTo(begun.next, cookie)
    },
  }),
]

function demandProvider({ provider }: Deps): Provider {
  if (provider === undefined) refuse('NOT_FOUND', 'Nobody signs in with a provider here')
  return provider
}

/** The page where the person reads what was wrong; whoever operates the installation reads it in the log. */
function toSignIn({ log }: Deps, error: unknown): Answer {
  const problem = problemOf(error)
  // The error itself may hold codes and tokens.
  const reason = error instanceof Error ? error.message : String(error)
  log.warn({ problem, reason }, 'The identity provider signed nobody in')
  return redirectTo(`/sign-in?problem=${problem}`)
}

function redirectTo(location: string, cookie?: string): Answer {
  return {
    status: 303,
    headers: { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) },
  }
}
