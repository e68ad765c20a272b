import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { Provider } from 'oidc-provider'

export const CLIENT = { id: 'postern', secret: 'secret-of-the-client' }

/** Claims of somebody whom the provider knows. */
interface Known {
  email?: string
  email_verified?: boolean
  name?: string
}

/** An OpenID Connect provider on loopback, at which somebody signs in without a page. */
export interface TestProvider extends AsyncDisposable {
  issuer: string
  people: Map<string, Known>
  /** Who sits at the browser; null is somebody who turns back. */
  person: string | null
  /** For how long they had been signed in there when they came. */
  signedInSeconds: number
  /** Sends people back to this address alone. */
  sendBackTo(redirectUri: string): void
  /** Parameters of each request to begin. */
  begun: URLSearchParams[]
}

/** `inUserinfo`: the ID token says nothing but the subject. */
export async function startProvider({ inUserinfo = false, port = 0 } = {}): Promise<TestProvider> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, Known>()
  const test: TestProvider = {
    issuer,
    people,
    person: null,
    signedInSeconds: 0,
    begun: [],
    sendBackTo(redirectUri) {
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: CLIENT.id,
            client_secret: CLIENT.secret,
            redirect_uris: [redirectUri],
            require_auth_time: true,
          },
        ],
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
        conformIdTokenClaims: inUserinfo,
        cookies: { keys: ['a key of a test'] },
        features: { devInteractions: { enabled: false } },
        pkce: { required: () => true },
        findAccount: (_context, accountId) => ({
          accountId,
          claims: () => ({ sub: accountId, ...people.get(accountId) }),
        }),
      })
      const answer = provider.callback()
      server.removeAllListeners('request')
      server.on('request', (request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? '/', issuer)
        if (pathname === '/auth') test.begun.push(searchParams)
        if (pathname.startsWith('/interaction/')) {
          void answerFor(test, { provider, request, response })
        } else void answer(request, response)
      })
    },
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close').catch(() => undefined)
    },
  }
  return test
}

async function answerFor(
  { person: accountId, signedInSeconds }: TestProvider,
  {
    provider,
    request,
    response,
  }: { provider: Provider; request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  if (accountId === null) {
    const turned = { error: 'access_denied', error_description: 'The person turned back' }
    await provider.interactionFinished(request, response, turned)
    return
  }
  const grant = new provider.Grant({ accountId, clientId: CLIENT.id })
  grant.addOIDCScope('openid email profile')
  const grantId = await grant.save()
  await provider.interactionFinished(request, response, {
    login: { accountId, ts: Math.floor(Date.now() / 1_000) - signedInSeconds },
    consent: { grantId },
  })
}
