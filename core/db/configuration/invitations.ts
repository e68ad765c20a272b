import type { Selectable } from 'kysely'

import type { Db } from '../connection/db.ts'
import type { Tables } from '../tables.ts'

export interface Invitation {
  id: string
  organisationId: string
  /** In lower case. */
  email: string
  role: string
  expiresAt: Date
  revokedAt: Date | null
  acceptedAt: Date | null
  createdAt: Date
}

export async function insertInvitation(
  db: Db,
  invitation: Invitation & { tokenHash: Buffer },
): Promise<void> {
  await db
    .insertInto('invitation')
    .values({
      id: invitation.id,
      organisation_id: invitation.organisationId,
      email: invitation.email,
      role: invitation.role,
      token_hash: invitation.tokenHash,
      expires_at: invitation.expiresAt,
      created_at: invitation.createdAt,
    })
    .execute()
}

/** The invitations of an organisation, oldest first, revoked and expired ones included. */
export async function listInvitations(db: Db, organisationId: string): Promise<Invitation[]> {
  const rows = await db
    .selectFrom('invitation')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('id')
    .execute()
  return rows.map(toInvitation)
}

/** Reads the invitations that can still be accepted: each takes a seat. */
export async function openInvitations(
  db: Db,
  organisationId: string,
  now: Date,
): Promise<Invitation[]> {
  const rows = await acceptable(db, now)
    .where('organisation_id', '=', organisationId)
    .orderBy('id')
    .execute()
  return rows.map(toInvitation)
}

/** Reads the invitations of an address, in whatever organisation, that can still be accepted, oldest first. */
export async function openInvitationsOf(db: Db, email: string, now: Date): Promise<Invitation[]> {
  const rows = await acceptable(db, now).where('email', '=', email).orderBy('id').execute()
  return rows.map(toInvitation)
}

export async function findInvitation(db: Db, id: string): Promise<Invitation | undefined> {
  const row = await db.selectFrom('invitation').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toInvitation(row)
}

/** Reads the invitation of a token if it can still be accepted. */
export async function findOpenInvitation(
  db: Db,
  tokenHash: Buffer,
  now: Date,
): Promise<Invitation | undefined> {
  const row = await acceptable(db, now).where('token_hash', '=', tokenHash).executeTakeFirst()
  return row && toInvitation(row)
}

export async function noteAccepted(db: Db, id: string, now: Date): Promise<void> {
  await db.updateTable('invitation').set({ accepted_at: now }).where('id', '=', id).execute()
}

export async function revokeInvitation(db: Db, id: string, now: Date): Promise<void> {
  await db
    .updateTable('invitation')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .where('accepted_at', 'is', null)
    .execute()
}

/** Invitations that can still be accepted. */
function acceptable(db: Db, now: Date) {
  return db
    .selectFrom('invitation')
    .selectAll()
    .where('revoked_at', 'is', null)
    .where('accepted_at', 'is', null)
    .where('expires_at', '>', now)
}

function toInvitation(row: Selectable<Tables['invitation']>): Invitation {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    email: row.email,
    role: row.role,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    acceptedAt: row.accepted_at,
    createdAt: row.created_at,
  }
}
