import { listApiKeys } from '../../../core/db/configuration/api-keys.ts'
import { viewKey } from '../../accounts/keys/key-shape.ts'
import { createKey, endKey, rescopeKey } from '../../accounts/organisations/organisations.ts'
import { Moment, Name } from '../../http/fields.ts'
import {
  idArgument,
  permissionArguments,
  textArgument,
  UsageError,
  type Words,
} from '../arguments.ts'
import { organisationArgument, type Command, type Run } from '../command.ts'

const create: Command = {
  positionals: [],
  options: ['name', 'permission', 'unscoped', 'organisation', 'project', 'expires'],
  help: {
    usage:
      '--name <name> (--permission <resource>=<level> … | --unscoped)\n' +
      '[--organisation <org_…>] [--project <prj_…>] [--expires <time>]',
    text: 'Makes an API key; its text is printed this once, as "key". With --project it sees that project only, for good.',
    example: 'keys create --name ci --permission sources=write --permission events=read',
  },
  read: readCreate,
}

const list: Command = {
  positionals: [],
  options: ['organisation'],
  help: {
    usage: '[--organisation <org_…>]',
    text: 'All API keys of an organisation, without their texts.',
    example: 'keys list',
  },
  read: ({ options }) => {
    const organisation = organisationArgument(options.organisation)
    return async (context) =>
      (await listApiKeys(context.db, await organisation(context))).map(viewKey)
  },
}

const rescope: Command = {
  positionals: ['key_…'],
  options: ['permission'],
  help: {
    usage: '<key_…> --permission <resource>=<level> …',
    text: 'Gives a key exactly these permissions from the next request on. Its text stays.',
    example: 'keys rescope key_01h455vb4pex5vsknk084sn02q --permission events=read',
  },
  read({ positionals: [id = ''], options }) {
    const keyId = idArgument('key', id)
    const permissions = permissionArguments(options.permission ?? [])
    return async (context) => viewKey(await rescopeKey(context, keyId, permissions))
  },
}

const revoke: Command = {
  positionals: ['key_…'],
  options: [],
  help: {
    usage: '<key_…>',
    text: 'Ends a key for good, from the next request on.',
    example: 'keys revoke key_01h455vb4pex5vsknk084sn02q',
  },
  read({ positionals: [id = ''] }) {
    const keyId = idArgument('key', id)
    return async (context) => viewKey(await endKey(context, keyId))
  },
}

export const KEY_COMMANDS: Readonly<Record<string, Command>> = { create, list, rescope, revoke }

function readCreate({ options }: Words): Run {
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
