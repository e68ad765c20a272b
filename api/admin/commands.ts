import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Settings } from '../../core/config.ts'
import { listApiKeys, type ApiKey } from '../../core/db/api-keys.ts'
import { listOrganisations, type Organisation } from '../../core/db/organisations.ts'
import { listProjects } from '../../core/db/projects.ts'
import { setSourceRateLimit } from '../../core/db/sources.ts'
import { encodeId } from '../../core/ids.ts'
import { PLAN_NAMES } from '../../core/plans/plans.ts'
import { refuseMissing } from '../failure.ts'
import { Moment, Name } from '../fields.ts'
import { moment } from '../shapes/delivery.ts'
import { viewProject } from '../shapes/project.ts'
import {
  changePlan,
  createKey,
  createOrganisation,
  endKey,
  rescopeKey,
  type Tenancy,
} from '../tenancy.ts'
import {
  idArgument,
  permissionArguments,
  readWords,
  textArgument,
  UsageError,
  type OptionName,
  type Words,
} from './arguments.ts'

interface Context extends Tenancy {
  settings: Settings
}

type Run = (context: Context) => Promise<unknown>

interface Command {
  /** Names of the arguments behind the verb. */
  positionals: readonly string[]
  options: readonly OptionName[]
  read(words: Words): Run
}

const Plan = z.enum(PLAN_NAMES)
const RateLimit = z.coerce.number().int().min(0).max(1_000_000)

const KEY_OPTIONS: readonly OptionName[] = [
  'name',
  'permission',
  'unscoped',
  'organisation',
  'project',
  'expires',
]

/** What the words ask for. Throws a UsageError before anything is touched. */
export function readCommand(args: readonly string[]): Run | 'help' {
  const words = readWords(args)
  const { noun, verb, positionals, options } = words
  if (options.help === true || noun === undefined || noun === 'help') return 'help'
  const name = `${noun} ${verb ?? ''}`.trim()
  const command = COMMANDS.get(name)
  if (command === undefined) {
    const known = [...COMMANDS.keys()].filter((key) => key.startsWith(`${noun} `))
    const choices = known.length > 0 ? known : [...COMMANDS.keys()]
    throw new UsageError(`Unknown command "${name}". There is: ${choices.join(', ')} (--help)`)
  }
  if (positionals.length !== command.positionals.length) {
    const wanted = command.positionals.map((one) => `<${one}>`).join(' ') || 'no arguments'
    throw new UsageError(`${name} takes ${wanted} (--help)`)
  }
  const foreign = Object.keys(options).find(
    (option) => !command.options.some((known) => known === option),
  )
  if (foreign !== undefined) throw new UsageError(`${name} has no option --${foreign} (--help)`)
  return command.read(words)
}

const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  [
    'organisations create',
    {
      positionals: [],
      options: ['name', 'plan'],
      read({ options }) {
        const name = textArgument('name', Name, options.name)
        const chosen =
          options.plan === undefined ? undefined : textArgument('plan', Plan, options.plan)
        return async (context) => {
          const plan = chosen ?? context.settings.DEFAULT_PLAN
          const made = await createOrganisation(context, { name, plan })
          return {
            ...viewOrganisation(made.organisation),
            defaultProjectId: encodeId('prj', made.defaultProjectId),
          }
        }
      },
    },
  ],
  [
    'organisations list',
    {
      positionals: [],
      options: [],
      read:
        () =>
        async ({ db }) =>
          (await listOrganisations(db)).map(viewOrganisation),
    },
  ],
  [
    'organisations set-plan',
    {
      positionals: ['org_…', 'plan'],
      options: [],
      read({ positionals: [id = '', plan] }) {
        const organisationId = idArgument('org', id)
        const chosen = textArgument('plan', Plan, plan)
        return async (context) =>
          viewOrganisation(await changePlan(context, organisationId, chosen))
      },
    },
  ],
  [
    'projects list',
    {
      positionals: [],
      options: ['organisation'],
      read: ({ options }) => {
        const organisation = organisationArgument(options.organisation)
        return async (context) => await allProjects(context, await organisation(context))
      },
    },
  ],
  ['keys create', { positionals: [], options: KEY_OPTIONS, read: readKeyCreate }],
  [
    'keys list',
    {
      positionals: [],
      options: ['organisation'],
      read: ({ options }) => {
        const organisation = organisationArgument(options.organisation)
        return async (context) =>
          (await listApiKeys(context.db, await organisation(context))).map(viewKey)
      },
    },
  ],
  [
    'keys rescope',
    {
      positionals: ['key_…'],
      options: ['permission'],
      read({ positionals: [id = ''], options }) {
        const keyId = idArgument('key', id)
        const permissions = permissionArguments(options.permission ?? [])
        return async (context) => viewKey(await rescopeKey(context, keyId, permissions))
      },
    },
  ],
  [
    'keys revoke',
    {
      positionals: ['key_…'],
      options: [],
      read({ positionals: [id = ''] }) {
        const keyId = idArgument('key', id)
        return async (context) => viewKey(await endKey(context, keyId))
      },
    },
  ],
  [
    'sources set-rate-limit',
    {
      positionals: ['src_…', 'requests per second'],
      options: [],
      read({ positionals: [id = '', limit] }) {
        const sourceId = idArgument('src', id)
        const rateLimit = textArgument('rate-limit', RateLimit, limit)
        return async ({ db, clock }) => {
          const now = new Date(clock.now())
          const isThere = await setSourceRateLimit(db, sourceId, rateLimit, now)
          return isThere ? { id, rateLimit } : refuseMissing('src', sourceId)
        }
      },
    },
  ],
])

function readKeyCreate({ options }: Words): Run {
  const name = textArgument('name', Name, options.name)
  const given = options.permission ?? []
  const isUnscoped = options.unscoped === true
  if (isUnscoped === given.length > 0) {
    throw new UsageError('keys create needs --permission (repeated) or --unscoped (--help)')
  }
  const permissions = isUnscoped ? null : permissionArguments(given)
  const projectId = options.project === undefined ? null : idArgument('prj', options.project)
  const expiresMs =
    options.expires === undefined ? null : textArgument('expires', Moment, options.expires)
  const organisation = organisationArgument(options.organisation)
  return async (context) => {
    const { key, text } = await createKey(context, {
      organisationId: await organisation(context),
      projectId,
      name,
      permissions,
      expiresAt: expiresMs === null ? null : new Date(expiresMs),
      keyPrefix: context.settings.KEY_PREFIX,
    })
    return { ...viewKey(key), key: text }
  }
}

/** The organisation that is named, or the only one. */
function organisationArgument(text: string | undefined): (context: Context) => Promise<string> {
  const id = text === undefined ? undefined : idArgument('org', text)
  return async ({ db }) => {
    if (id !== undefined) return id
    const [only, ...others] = await listOrganisations(db)
    if (only === undefined)
      throw new Error('There is no organisation: make one with organisations create')
    if (others.length > 0)
      throw new UsageError('There are several organisations: name one with --organisation')
    return only.id
  }
}

async function allProjects({ db }: Context, organisationId: string): Promise<unknown[]> {
  const reach = { organisationId, projectId: undefined }
  const projects: unknown[] = []
  for (let after: { value: string; id: string } | undefined, isLast = false; !isLast;) {
    const page = { limit: 100, sortBy: 'createdAt', sortDir: 'asc', after } as const
    const rows = await listProjects(db, reach, page)
    const shown = rows.slice(0, page.limit)
    projects.push(...shown.map(viewProject))
    isLast = rows.length <= page.limit
    after = { value: '', id: shown.at(-1)?.id ?? '' }
  }
  return projects
}

function viewOrganisation(organisation: Organisation): Record<string, unknown> {
  return {
    id: encodeId('org', organisation.id),
    name: organisation.name,
    plan: organisation.plan,
    createdAt: timestamp(organisation.createdAt.getTime()),
  }
}

function viewKey(key: ApiKey): Record<string, unknown> {
  return {
    id: encodeId('key', key.id),
    organisationId: encodeId('org', key.organisationId),
    projectId: key.projectId === null ? null : encodeId('prj', key.projectId),
    name: key.name,
    permissions: key.permissions,
    secretHint: key.secretHint,
    expiresAt: moment(key.expiresAt),
    revokedAt: moment(key.revokedAt),
    createdAt: timestamp(key.createdAt.getTime()),
  }
}
