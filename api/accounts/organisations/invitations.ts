import { z } from 'zod'

import { ROLES } from '../../../core/accounts/role.ts'
import { countMembers, findMemberByEmail } from '../../../core/db/accounts/memberships.ts'
import {
  findInvitation,
  insertInvitation,
  openInvitations,
  revokeInvitation,
  type Invitation,
} from '../../../core/db/configuration/invitations.ts'
import { findOrganisation, lockOrganisation } from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { writeAudit, type Actor } from '../../../core/db/requests/audit.ts'
import { refuse } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import { INVITATION_DAYS } from '../../../core/limits.ts'
import { entitlementsOf } from '../../../core/plans/plans.ts'
import type { Deps } from '../../deps.ts'
import { refuseMissing } from '../../http/failure.ts'
import { invitationLetter } from '../../mail/letters.ts'
import { linkUrl, newToken } from '../people/links.ts'
import type { Tenancy } from './organisations.ts'

const VALID_MS = INVITATION_DAYS * 86_400_000

/** (decisions: Accounts, dashboard, agents) */
export const Role = z.enum(ROLES)

export const Email = z.email().max(254).toLowerCase()

export interface InvitationWish {
  organisationId: string
  email: string
  role: z.infer<typeof Role>
}

/**
 * Asks somebody to join an organisation; an earlier invitation of the same address ends. Returns it with, this once,
 * its token. Past the plan's seats `INVITATION_LIMIT_REACHED`, exact however many invite at once. (spec: Codes)
 */
export async function invite(
  { db, clock, plans, actor }: Tenancy,
  wish: InvitationWish,
): Promise<{ invitation: Invitation; token: string }> {
  const now = new Date(clock.now())
  const token = newToken()
  const tokenHash = hashSecret(token)
  const invitation: Invitation = {
    ...wish,
    id: newId(now.getTime()),
    expiresAt: new Date(now.getTime() + VALID_MS),
    revokedAt: null,
    acceptedAt: null,
    createdAt: now,
  }
  await db.transaction().execute(async (tx) => {
    const { organisationId } = wish
    const organisation =
      (await lockOrganisation(tx, organisationId)) ?? refuseMissing('org', organisationId)
    const { seats } = entitlementsOf(plans, organisation.plan, organisation.overrides)
    const open = await openInvitations(tx, organisationId, now)
    const former = open.filter(({ email }) => email === wish.email)
    const isMember = await findMemberByEmail(tx, organisationId, wish.email)
    if (isMember !== undefined) {
      refuse('CONFLICT', `Cannot invite "${wish.email}": they are a member already`)
    }
    const taken = (await countMembers(tx, organisationId)) + open.length - former.length
    if (seats !== null && taken >= seats) {
      refuse(
        'INVITATION_LIMIT_REACHED',
        `Cannot invite "${wish.email}": the plan has ${seats} seats and all are taken`,
      )
    }
    for (const one of former) await end(tx, one, { actor, now })
    await insertInvitation(tx, { ...invitation, tokenHash })
    await audit(tx, invitation, { actor, action: 'invitation.create', now })
  })
  return { invitation, token }
}

/** Mails an invitation that was made, where mail is sent. Whether the mail server has taken it. */
export async function mailInvitation(
  { db, post }: Pick<Deps, 'db' | 'post'>,
  { invitation, token }: { invitation: Invitation; token: string },
  inviter: string,
): Promise<boolean> {
  if (post === undefined) return false
  const { email, role, organisationId } = invitation
  const organisation = (await findOrganisation(db, organisationId))?.name ?? ''
  const sending = { to: email, kind: 'invitation', by: organisationId } as const
  return await post.send(sending, (origin) => {
    const url = linkUrl(origin, 'invite', token)
    return invitationLetter({ organisation, inviter, role, url })
  })
}

/**
 * Revokes an invitation for good and frees its seat. Does nothing if it is revoked or accepted already. With an
 * organisation, those of others are not found.
 */
export async function endInvitation(
  { db, clock, actor }: Tenancy,
  id: string,
  organisationId?: string,
): Promise<Invitation> {
  const now = new Date(clock.now())
  return await db.transaction().execute(async (tx) => {
    const place = (await findInvitation(tx, id)) ?? refuseMissing('inv', id)
    if (organisationId !== undefined && place.organisationId !== organisationId) {
      refuseMissing('inv', id)
    }
    // Whoever accepts it holds the same lock.
    await lockOrganisation(tx, place.organisationId)
    const found = (await findInvitation(tx, id)) ?? refuseMissing('inv', id)
    if (found.revokedAt !== null || found.acceptedAt !== null) return found
    await end(tx, found, { actor, now })
    return { ...found, revokedAt: now }
  })
}

async function end(
  tx: Db,
  invitation: Invitation,
  { actor, now }: { actor: Actor; now: Date },
): Promise<void> {
  await revokeInvitation(tx, invitation.id, now)
  await audit(tx, invitation, { actor, action: 'invitation.revoke', now })
}

async function audit(
  tx: Db,
  { id, organisationId, email, role }: Invitation,
  { actor, action, now }: { actor: Actor; action: string; now: Date },
): Promise<void> {
  await writeAudit(
    tx,
    {
      organisationId,
      projectId: null,
      actor,
      action,
      subjectKind: 'invitation',
      subjectId: id,
      changes: { email, role },
    },
    now.getTime(),
  )
}
