import { timestamp } from '../../../core/clock.ts'
import type { Invitation } from '../../../core/db/configuration/invitations.ts'
import { encodeId } from '../../../core/ids.ts'
import { moment } from '../../http/fields.ts'

export function viewInvitation(invitation: Invitation): Record<string, unknown> {
  return {
    id: encodeId('inv', invitation.id),
    organisationId: encodeId('org', invitation.organisationId),
    email: invitation.email,
    role: invitation.role,
    expiresAt: timestamp(invitation.expiresAt.getTime()),
    revokedAt: moment(invitation.revokedAt),
    acceptedAt: moment(invitation.acceptedAt),
    createdAt: timestamp(invitation.createdAt.getTime()),
  }
}
