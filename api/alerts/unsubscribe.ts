import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'

import { ALERT_TYPES, RECOVERY_TYPES } from '../../core/alerts/alert-types.ts'
import { endMails } from '../../core/db/alerts/alert-mails.ts'
import { recipientOf } from '../../core/secrets/unsubscribe-token.ts'
import type { Deps } from '../deps.ts'

const Query = z.object({ token: z.string().min(1).max(1_000) })

/** `List-Unsubscribe=One-Click` as a form, of either type. */
const BODY_BYTES_MAX = 4_096

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/**
 * The end of mails about alerts, for the person who got one and has no session. A mail program posts to the address of the
 * header List-Unsubscribe; a person opens it, and a GET changes nothing, because programs that check links open it as well.
 * (RFC 8058)
 */
export function mountUnsubscribe(app: FastifyInstance, deps: Deps): void {
  app.get('/unsubscribe', async (_request, reply) => await reply.headers(HEADERS).send(ASK))
  const onRequest = async (request: FastifyRequest): Promise<void> =>
    await deps.callers.take(deps.db, 'address', request.clientAddress)
  const options = { onRequest, bodyLimit: BODY_BYTES_MAX, config: { isPublic: true } }
  app.post('/unsubscribe', options, async (request, reply) => {
    const { data } = Query.safeParse(request.query)
    const recipient = data && recipientOf(deps.keyring, data.token)
    if (recipient === undefined) return await reply.code(404).headers(HEADERS).send(UNKNOWN)
    await endMails(deps.db, recipient, [...ALERT_TYPES, ...RECOVERY_TYPES])
    return await reply.headers(HEADERS).send(DONE)
  })
}

// A form without an address posts to that of the page, with its token.
const ASK = page(
  'End these mails?',
  '<p>You get no more mails about the alerts of this organisation.</p><form method="post"><button>End them</button></form>',
)
const DONE = page(
  'The mails have ended',
  '<p>You get no more mails about the alerts of this organisation. The page Alerts of the dashboard turns them on again.</p>',
)
const UNKNOWN = page(
  'This link is not valid',
  '<p>The page Alerts of the dashboard has the mails that you get.</p>',
)

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head><body><h1>${title}</h1>${body}</body></html>`
}
