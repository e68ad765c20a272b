import { listAgents } from '../../../core/db/accounts/agents.ts'
import { listMemberships } from '../../../core/db/accounts/memberships.ts'
import { findPersonByEmail } from '../../../core/db/accounts/people.ts'
import { Email } from '../../accounts/organisations/invitations.ts'
import { viewAgent } from '../../agents/agent-shape.ts'
import { createAgent, endAgent } from '../../agents/agents.ts'
import { Moment, Name } from '../../http/fields.ts'
import { idArgument, textArgument, UsageError } from '../arguments.ts'
import { organisationArgument, type Command, type Context } from '../command.ts'

const create: Command = {
  positionals: [],
  options: ['member', 'name', 'expires', 'organisation'],
  help: {
    usage: '--member <email> --name <name> [--expires <time>] [--organisation <org_…>]',
    text: 'Makes an agent that acts for a member and never may more than they; its token is printed this once, as "token".',
    example: 'agents create --member ada@example.com --name claude-code',
  },
  read({ options }) {
    const email = textArgument('member', Email, options.member)
    const name = textArgument('name', Name, options.name)
    const expiresMs =
      options.expires === undefined ? null : textArgument('expires', Moment, options.expires)
    const named =
      options.organisation === undefined ? undefined : idArgument('org', options.organisation)
    return async (context) => {
      const { agent, token } = await createAgent(context, {
        ...(await memberOf(context, email, named)),
        name,
        expiresAt: expiresMs === null ? null : new Date(expiresMs),
        keyPrefix: context.settings.KEY_PREFIX,
      })
      return { ...viewAgent(agent), token }
    }
  },
}

const list: Command = {
  positionals: [],
  options: ['organisation'],
  help: {
    usage: '[--organisation <org_…>]',
    text: 'All agents of an organisation, without their tokens.',
    example: 'agents list',
  },
  read: ({ options }) => {
    const organisation = organisationArgument(options.organisation)
    return async (context) =>
      (await listAgents(context.db, await organisation(context))).map(viewAgent)
  },
}

const revoke: Command = {
  positionals: ['agt_…'],
  options: [],
  help: {
    usage: '<agt_…>',
    text: 'Ends an agent for good, from its next call on.',
    example: 'agents revoke agt_01h455vb4pex5vsknk084sn02q',
  },
  read({ positionals: [id = ''] }) {
    const agentId = idArgument('agt', id)
    return async (context) => viewAgent(await endAgent(context, agentId))
  },
}

export const AGENT_COMMANDS: Readonly<Record<string, Command>> = { create, list, revoke }

/** The organisation may be left out by somebody who is a member of a single one. */
async function memberOf(
  { db }: Context,
  email: string,
  named: string | undefined,
): Promise<{ organisationId: string; personId: string }> {
  const person = await findPersonByEmail(db, email)
  if (person === undefined) throw new Error(`There is no account for "${email}"`)
  const memberships = (await listMemberships(db, person.id)).filter(
    ({ organisationId }) => named === undefined || organisationId === named,
  )
  const [only, ...others] = memberships
  if (only === undefined) throw new Error(`"${email}" is no member of that organisation`)
  if (others.length > 0) {
    throw new UsageError(`"${email}" is in several organisations: name one with --organisation`)
  }
  return { organisationId: only.organisationId, personId: person.id }
}
