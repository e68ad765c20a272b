import { z } from 'zod'

import { timestamp } from '../../../core/clock.ts'
import {
  listOrganisations,
  type Organisation,
} from '../../../core/db/configuration/organisations.ts'
import { encodeId } from '../../../core/ids.ts'
import { EntitlementOverrides, PLAN_NAMES } from '../../../core/plans/plans.ts'
import {
  changePlan,
  createOrganisation,
  overridePlan,
} from '../../accounts/organisations/organisations.ts'
import { Name } from '../../http/fields.ts'
import { idArgument, overrideArguments, textArgument, UsageError } from '../arguments.ts'
import type { Command } from '../command.ts'
import { MOVING_COMMANDS } from './moving.ts'

const Plan = z.enum(PLAN_NAMES)

const create: Command = {
  positionals: [],
  options: ['name', 'plan'],
  help: {
    usage: '--name <name> [--plan <plan>]',
    text: 'Makes an organisation with its default project. Without --plan it starts on DEFAULT_PLAN.',
    example: 'organisations create --name Acme --plan scale',
  },
  read({ options }) {
    const name = textArgument('name', Name, options.name)
    const chosen = options.plan === undefined ? undefined : textArgument('plan', Plan, options.plan)
    return async (context) => {
      const plan = chosen ?? context.settings.DEFAULT_PLAN
      const made = await createOrganisation(context, { name, plan })
      return {
        ...viewOrganisation(made.organisation),
        defaultProjectId: encodeId('prj', made.defaultProjectId),
      }
    }
  },
}

const list: Command = {
  positionals: [],
  options: [],
  help: {
    usage: '',
    text: 'All organisations, oldest first.',
    example: 'organisations list',
  },
  read:
    () =>
    async ({ db }) =>
      (await listOrganisations(db)).map(viewOrganisation),
}

const setPlan: Command = {
  positionals: ['org_…', 'plan'],
  options: [],
  help: {
    usage: '<org_…> <plan>',
    text: 'Moves an organisation to another plan at once. Longer retention also holds for events that are still there.',
    example: 'organisations set-plan org_01h455vb4pex5vsknk084sn02q launch',
  },
  read({ positionals: [id = '', plan] }) {
    const organisationId = idArgument('org', id)
    const chosen = textArgument('plan', Plan, plan)
    return async (context) => viewOrganisation(await changePlan(context, organisationId, chosen))
  },
}

const override: Command = {
  positionals: ['org_…'],
  options: ['set', 'clear'],
  help: {
    usage: '<org_…> (--set <entitlement>=<value> … | --clear)',
    text: `Negotiates what differs from the organisation's plan, until --clear takes it all back; with both, --set is what is left. Entitlements: ${Object.keys(EntitlementOverrides.shape).join(', ')}. Values: a number, true, false or unlimited.`,
    example:
      'organisations override org_01h455vb4pex5vsknk084sn02q --set deliveryQuota=5000000 --set seats=unlimited',
  },
  read({ positionals: [id = ''], options }) {
    const organisationId = idArgument('org', id)
    const clear = options.clear === true
    const set = overrideArguments(options.set ?? [])
    if (!clear && Object.keys(set).length === 0) {
      throw new UsageError('organisations override needs --set (repeated) or --clear (--help)')
    }
    return async (context) => {
      const organisation = await overridePlan(context, organisationId, { clear, set })
      return { ...viewOrganisation(organisation), overrides: organisation.overrides }
    }
  },
}

export const ORGANISATION_COMMANDS: Readonly<Record<string, Command>> = {
  create,
  list,
  'set-plan': setPlan,
  override,
  ...MOVING_COMMANDS,
}

function viewOrganisation(organisation: Organisation): Record<string, unknown> {
  return {
    id: encodeId('org', organisation.id),
    name: organisation.name,
    plan: organisation.plan,
    createdAt: timestamp(organisation.createdAt.getTime()),
  }
}
