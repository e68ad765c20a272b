import { timestamp } from '../../../core/clock.ts'
import { findPersonByEmail } from '../../../core/db/accounts/people.ts'
import { listInvitations } from '../../../core/db/configuration/invitations.ts'
import { viewInvitation } from '../../accounts/organisations/invitation-shape.ts'
import {
  Email,
  endInvitation,
  invite as inviteUser,
  Role,
} from '../../accounts/organisations/invitations.ts'
import { linkUrl, makeResetLink, makeSetupLink } from '../../accounts/people/links.ts'
import { dashboardUrlOf, idArgument, textArgument } from '../arguments.ts'
import { organisationArgument, type Command } from '../command.ts'

const invite: Command = {
  positionals: ['email'],
  options: ['role', 'organisation'],
  help: {
    usage: '<email> [--role <owner|admin|member>] [--organisation <org_…>]',
    text: 'Invites somebody into an organisation for 7 days, as a member unless told otherwise. The link to accept it is printed this once. Each member and each open invitation takes a seat of the plan; a second invitation for an address replaces the first.',
    example: 'users invite ada@example.com --role admin',
  },
  read({ positionals: [text], options }) {
    const email = textArgument('email', Email, text)
    const role = textArgument('role', Role, options.role ?? 'member')
    const organisation = organisationArgument(options.organisation)
    return async (context) => {
      const organisationId = await organisation(context)
      const { invitation, token } = await inviteUser(context, { organisationId, email, role })
      const url = linkUrl(dashboardUrlOf(context.settings), 'invite', token)
      return { ...viewInvitation(invitation), token, url }
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
      (await listInvitations(context.db, await organisation(context))).map(viewInvitation)
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
    return async (context) => viewInvitation(await endInvitation(context, invitationId))
  },
}

const setupLink: Command = {
  positionals: [],
  options: [],
  help: {
    usage: '',
    text: 'Prints a link with which somebody makes the first account of the dashboard and owns the organisation of the installation, the oldest that nobody made by signing up. It is good once, for 24 hours; the one before it ends. Once it has an owner, owners are invited.',
    example: 'users setup-link',
  },
  read: () => async (context) => {
    const link = await makeSetupLink(context)
    if (link === undefined) {
      throw new Error(
        'There is an owner already: use users reset-link, or users invite --role owner',
      )
    }
    return viewLink(linkUrl(dashboardUrlOf(context.settings), 'setup', link.token), link.expiresAt)
  },
}

const resetLink: Command = {
  positionals: ['email'],
  options: [],
  help: {
    usage: '<email>',
    text: 'Prints a link with which a person sets a new password. It is good once, for 24 hours; the one before it ends. Using it ends their sessions. Where isVerified is false, anybody could have made the account with this address.',
    example: 'users reset-link ada@example.com',
  },
  read({ positionals: [text] }) {
    const email = textArgument('email', Email, text)
    return async (context) => {
      const person = await findPersonByEmail(context.db, email)
      if (person === undefined) throw new Error(`There is no account for "${email}"`)
      const { token, expiresAt } = await makeResetLink(context, person.id)
      const url = linkUrl(dashboardUrlOf(context.settings), 'reset', token)
      return { ...viewLink(url, expiresAt), isVerified: person.emailVerifiedAt !== null }
    }
  },
}

export const USER_COMMANDS: Readonly<Record<string, Command>> = {
  invite,
  list,
  revoke,
  'setup-link': setupLink,
  'reset-link': resetLink,
}

function viewLink(url: string, expiresAt: Date): Record<string, unknown> {
  return { url, expiresAt: timestamp(expiresAt.getTime()) }
}
