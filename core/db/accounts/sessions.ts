import { sql } from 'kysely'

import { DAY_MS } from '../../clock.ts'
import {
  API_WINDOW_SECONDS,
  SESSION_DAYS,
  SESSION_DAYS_MAX,
  SESSIONS_PER_PERSON,
} from '../../limits.ts'
import type { Db } from '../connection/db.ts'

/** A session as one request found it, the request already counted. */
export interface SessionUse {
  id: string
  personId: string
  email: string
  name: string
  hasPassword: boolean
  /** Whether the person is known to own the address. */
  isVerified: boolean
  /** When the person last proved who they are. */
  authenticatedAt: Date
  /** Requests of the running window, this one included. */
  requests: number
  windowStartedAt: Date
  /** The organisation that was asked for, or that of the project, when the person is a member of it. */
  organisationId: string | null
  role: string | null
}

/** The organisation that a request is for, by its own id or by that of a project. */
export interface Place {
  organisationId?: string | undefined
  projectId?: string | undefined
}

export async function insertSession(
  db: Db,
  session: { id: string; tokenHash: Buffer; personId: string; now: Date; authenticatedAt: Date },
): Promise<void> {
  const { id, tokenHash, personId, now, authenticatedAt } = session
  await db
    .insertInto('session')
    .values({
      id,
      token_hash: tokenHash,
      person_id: personId,
      authenticated_at: authenticatedAt,
      expires_at: new Date(now.getTime() + SESSION_DAYS * DAY_MS),
      window_started_at: now,
      created_at: now,
    })
    .execute()
  await deleteOldSessions(db, personId, now)
}

/**
 * Reads a session that has not ended, counts the request and puts its end off, in one statement; beside it the role of
 * the person as it is now, so that a change of it acts on the next request. Nobody waits for the disk.
 */
export async function useSession(
  db: Db,
  tokenHash: Buffer,
  { nowMs, place }: { nowMs: number; place: Place },
): Promise<SessionUse | undefined> {
  const now = new Date(nowMs)
  const bornAfter = new Date(nowMs - SESSION_DAYS_MAX * DAY_MS)
  const expiresAt = new Date(nowMs + SESSION_DAYS * DAY_MS)
  const isRunning = sql`window_started_at > ${new Date(nowMs - API_WINDOW_SECONDS * 1_000)}
    and window_started_at < ${new Date(nowMs + API_WINDOW_SECONDS * 1_000)}`
  const { rows } = await sql<SessionUse>`
    with used as (
      update session set
        expires_at = ${expiresAt},
        window_requests = case when ${isRunning} then window_requests + 1 else 1 end,
        window_started_at = case when ${isRunning} then window_started_at else ${now} end
      where token_hash = ${tokenHash} and expires_at > ${now} and created_at > ${bornAfter}
      returning id, person_id, authenticated_at, window_requests, window_started_at
    ), place as (
      select organisation_id from project where id = ${place.projectId ?? null}::uuid and not is_internal
      union select ${place.organisationId ?? null}::uuid
    )
    select used.id, used.person_id as "personId", person.email, person.name,
      person.password_hash is not null as "hasPassword",
      person.email_verified_at is not null as "isVerified", used.authenticated_at as "authenticatedAt",
      used.window_requests as requests, used.window_started_at as "windowStartedAt",
      membership.organisation_id as "organisationId", membership.role,
      set_config('synchronous_commit', 'off', true)
    from used
    join person on person.id = used.person_id
    left join membership on membership.person_id = used.person_id
      and membership.organisation_id in (select organisation_id from place)`.execute(db)
  return rows[0]
}

/** Notes that the person of a session proved again who they are. */
export async function noteAuthenticated(db: Db, id: string, now: Date): Promise<void> {
  await db.updateTable('session').set({ authenticated_at: now }).where('id', '=', id).execute()
}

export async function deleteSession(db: Db, tokenHash: Buffer): Promise<void> {
  await db.deleteFrom('session').where('token_hash', '=', tokenHash).execute()
}

/** Ends all sessions of a person, or all but one. */
export async function deleteSessions(db: Db, personId: string, except?: string): Promise<void> {
  let query = db.deleteFrom('session').where('person_id', '=', personId)
  if (except !== undefined) query = query.where('id', '!=', except)
  await query.execute()
}

/** Drops the sessions of everybody that time has ended. */
export async function deleteExpiredSessions(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('session').where('expires_at', '<', now).execute()
}

async function deleteOldSessions(db: Db, personId: string, now: Date): Promise<void> {
  const kept = db
    .selectFrom('session')
    .select('id')
    .where('person_id', '=', personId)
    .where('expires_at', '>', now)
    .orderBy('id', 'desc')
    .limit(SESSIONS_PER_PERSON)
  await db
    .deleteFrom('session')
    .where('person_id', '=', personId)
    .where('id', 'not in', kept)
    .execute()
}
