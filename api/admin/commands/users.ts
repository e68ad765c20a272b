import { timestamp } from '../../../core/clock.ts'
import { listInvitations, type Invitation } from '../../../core/db/configuration/invitations.ts'
import { encodeId } from '../../../core/ids.ts'
import { Email, endInvitation, invite as inviteUser, Role } from '../../accounts/invitations.ts'
import { moment } from '../../deliveries/shape.ts'
import { idArgument, textArgument } from '../arguments.ts'
import { organisationArgument, type Command } from '../command.ts'

const invite: Command = {
  positionals: ['email'],
  options: ['role', 'organisation'],
  help: {
    usage: '<email> [--role <owner|admin|member>] [--organisation <org_…>]',
    text: 'Invites somebody into an organisation for 7 days, as a member unless told otherwise. Its token is printed this once; accounts, which accept it, come with the dashboard. Each open invitation takes a seat of the plan; a second one for an address replaces the first.',
    example: 'users invite ada@example.com --role admin',
  },
  read({ positionals: [text], options }) {
    const email = textArgument('email', Email, text)
    const role = textArgument('role', Role, options.role ?? 'member')
    const organisation = organisationArgument(options.organisation)
    return async (context) => {
      const organisationId = await organisation(context)
      const { invitation, token } = await inviteUser(context, { organisationId, email, role })
      return { ...view(invitation), token }
    }
  },
}

const list: Command = {
  positionals: [],
  options: ['organisation'],
  help: {
    usage: '[--organisation <org_…>]',
    text: 'All invitations of an organisation, without their tokens.',
    example: 'users list',
  },
  read: ({ options }) => {
    const organisation = organisationArgument(options.organisation)
    return async (context) =>
      (await listInvitations(context.db, await organisation(context))).map(view)
  },
}

const revoke: Command = {
  positionals: ['inv_…'],
  options: [],
  help: {
    usage: '<inv_…>',
    text: 'Ends an invitation for good; its seat is free again.',
    example: 'users revoke inv_01h455vb4pex5vsknk084sn02q',
  },
  read({ positionals: [id = ''] }) {
    const invitationId = idArgument('inv', id)
    return async (context) => view(await endInvitation(context, invitationId))
  },
}

export const USER_COMMANDS: Readonly<Record<string, Command>> = { invite, list, revoke }

function view(invitation: Invitation): Record<string, unknown> {
  return {
    id: encodeId('inv', invitation.id),
    organisationId: encodeId('org', invitation.organisationId),
    email: invitation.email,
    role: invitation.role,
    expiresAt: timestamp(invitation.expiresAt.getTime()),
    revokedAt: moment(invitation.revokedAt),
    createdAt: timestamp(invitation.createdAt.getTime()),
  }
}
