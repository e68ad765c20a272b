import { randomBytes } from 'node:crypto'

import type { FastifyRequest } from 'fastify'

import { timestamp } from '../../core/clock.ts'
import {
  deleteSession,
  insertSession,
  useSession,
  type Place,
  type SessionUse,
} from '../../core/db/accounts/sessions.ts'
import type { Db } from '../../core/db/connection/db.ts'
import type { Actor } from '../../core/db/requests/audit.ts'
import { refuse } from '../../core/errors.ts'
import { encodeId, newId } from '../../core/ids.ts'
import { hashSecret } from '../../core/keys/secret-text.ts'
import { API_WINDOW_SECONDS, PASSWORD_FRESH_MINUTES } from '../../core/limits.ts'
import { TooManyRequests, type RateWindow } from '../auth/rate-limit.ts'
import type { Deps } from '../deps.ts'
import { isOverTls, sessionCookie, sessionToken } from './cookie.ts'

const TOKEN_BYTES = 32

/** Reads the session of a request and counts the request. Refuses one without a session. */
export async function demandSession(
  { db, clock, accounts, requestsPerMinute }: Deps,
  request: FastifyRequest,
  place: Place,
): Promise<{ session: SessionUse; window: RateWindow }> {
  const token = sessionToken(accounts.apiUrl, request)
  const session =
    token === undefined
      ? undefined
      : await useSession(db, hashSecret(token), { nowMs: clock.now(), place })
  if (session === undefined) refuse('UNAUTHORIZED', 'Nobody is signed in, or the session has ended')
  const { requests, windowStartedAt } = session
  const endsAtMs = windowStartedAt.getTime() + API_WINDOW_SECONDS * 1_000
  const resetSeconds = Math.max(1, Math.ceil((endsAtMs - clock.now()) / 1_000))
  if (requests > requestsPerMinute) {
    const until = timestamp(endsAtMs)
    const message = `More than ${requestsPerMinute} requests in a minute: wait until ${until}`
    throw new TooManyRequests(message, resetSeconds)
  }
  const left = Math.max(0, requestsPerMinute - requests)
  return { session, window: { limit: requestsPerMinute, left, resetSeconds } }
}

/** The person whose session a request comes with; undefined: none, or it has ended. */
export async function findSignedIn(
  { db, clock, accounts }: Deps,
  request: FastifyRequest,
): Promise<string | undefined> {
  const token = sessionToken(accounts.apiUrl, request)
  if (token === undefined) return undefined
  const use = await useSession(db, hashSecret(token), { nowMs: clock.now(), place: {} })
  return use?.personId
}

/** Somebody who has proved who they are, some time ago. */
interface Proven {
  personId: string
  provedAgoSeconds?: number | undefined
}

/**
 * Begins a session with a token that nobody knew before, whatever the request came with: the session of the request ends.
 * Returns the cookie to set.
 */
export async function beginSession(
  tx: Db,
  { clock, accounts }: Deps,
  request: FastifyRequest,
  { personId, provedAgoSeconds = 0 }: Proven,
): Promise<string> {
  await endSession(tx, accounts.apiUrl, request)
  const now = new Date(clock.now())
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  await insertSession(tx, {
    id: newId(now.getTime()),
    tokenHash: hashSecret(token),
    personId,
    now,
    authenticatedAt: new Date(now.getTime() - Math.max(0, provedAgoSeconds) * 1_000),
  })
  return sessionCookie(token, isOverTls(accounts.apiUrl, request))
}

/** Ends the session that a request comes with, if any. */
export async function endSession(
  tx: Db,
  apiUrl: string | undefined,
  request: FastifyRequest,
): Promise<void> {
  const token = sessionToken(apiUrl, request)
  if (token !== undefined) await deleteSession(tx, hashSecret(token))
}

/** A person who acts by a request, as the audit has them. */
export function personAt(personId: string, request: FastifyRequest): Actor {
  return { name: `user:${encodeId('usr', personId)}`, address: request.clientAddress }
}

/** Before a secret is shown or made: whoever finds an unlocked computer must not get it. */
export function demandFresh({ authenticatedAt }: SessionUse, nowMs: number): void {
  if (nowMs - authenticatedAt.getTime() <= PASSWORD_FRESH_MINUTES * 60_000) return
  refuse(
    'PASSWORD_REQUIRED',
    `Cannot do this: it needs your password again, ${PASSWORD_FRESH_MINUTES} minutes after you last gave it`,
  )
}
