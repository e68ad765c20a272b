import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { z } from 'zod'

import { apiUrlOf, type Settings } from '../../core/config.ts'
import { decodeId, type Prefix } from '../../core/ids.ts'
import { Permissions } from '../../core/keys/permissions.ts'
import { EntitlementOverrides } from '../../core/plans/plans.ts'
import { readKeyring, type Keyring } from '../../core/secrets/sealed.ts'
import { KIND_OF } from '../http/fields.ts'

/** A command that cannot be understood, as opposed to one that is refused. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  name: { type: 'string' },
  plan: { type: 'string' },
  organisation: { type: 'string' },
  project: { type: 'string' },
  role: { type: 'string' },
  member: { type: 'string' },
  permission: { type: 'string', multiple: true },
  unscoped: { type: 'boolean' },
  expires: { type: 'string' },
  set: { type: 'string', multiple: true },
  clear: { type: 'boolean' },
  file: { type: 'string' },
  'key-file': { type: 'string' },
  events: { type: 'string' },
  rest: { type: 'boolean' },
  'take-back': { type: 'boolean' },
} as const

export type OptionName = keyof typeof OPTIONS

/** The words of a command line, before any meaning. */
export interface Words {
  noun: string | undefined
  verb: string | undefined
  positionals: string[]
  options: ReturnType<typeof parse>['values']
}

/** Throws a UsageError on an option that no command knows. */
export function readWords(args: readonly string[]): Words {
  const { values, positionals } = parse(args)
  const [noun, verb, ...rest] = positionals
  return { noun, verb, positionals: rest, options: values }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** The uuid of an id argument. */
export function idArgument(prefix: Prefix, text: string): string {
  const id = decodeId(prefix, text)
  if (id === undefined) {
    throw new UsageError(`"${text}" is not the id of ${article(KIND_OF[prefix])} (${prefix}_…)`)
  }
  return id
}

export function textArgument<T>(name: string, schema: z.ZodType<T>, text: string | undefined): T {
  if (text === undefined) throw new UsageError(`--${name} is missing`)
  const parsed = schema.safeParse(text)
  if (parsed.success) return parsed.data
  throw new UsageError(`--${name}: ${parsed.error.issues[0]?.message ?? 'invalid'}`)
}

/** `resource=level`, repeated; a resource named twice is a mistake. */
export function permissionArguments(texts: readonly string[]): Permissions {
  const pairs = texts.map((text): [string, string] => {
    const [resource = '', level = '', ...rest] = text.split('=')
    if (rest.length > 0 || level === '') {
      throw new UsageError(`--permission "${text}": expected <resource>=<none|read|write>`)
    }
    return [resource, level]
  })
  if (new Set(pairs.map(([resource]) => resource)).size < pairs.length) {
    throw new UsageError('--permission names a resource twice')
  }
  const parsed = Permissions.safeParse(Object.fromEntries(pairs))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UsageError(
    `--permission ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`,
  )
}

/** `name=value`, repeated: entitlements of a negotiated plan; `unlimited` and `null` are without a limit. */
export function overrideArguments(texts: readonly string[]): EntitlementOverrides {
  const pairs = texts.map((text): [string, unknown] => {
    const [name = '', value = '', ...rest] = text.split('=')
    if (rest.length > 0 || value === '') {
      throw new UsageError(`--set "${text}": expected <entitlement>=<value>`)
    }
    return [name, OVERRIDE_WORDS.has(value) ? OVERRIDE_WORDS.get(value) : numberOf(value)]
  })
  if (new Set(pairs.map(([name]) => name)).size < pairs.length) {
    throw new UsageError('--set names an entitlement twice')
  }
  const parsed = EntitlementOverrides.safeParse(Object.fromEntries(pairs))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const names = Object.keys(EntitlementOverrides.shape).join(', ')
  throw new UsageError(
    issue?.code === 'unrecognized_keys'
      ? `--set ${issue.keys.join(', ')}: there is ${names}`
      : `--set ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`,
  )
}

const OVERRIDE_WORDS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['unlimited', null],
])

function numberOf(text: string): unknown {
  return /^\d{1,15}$/.test(text) ? Number(text) : text
}

const Standalone = z.object({ databaseUrl: z.string() })

/** The database that is named, or that of a standalone installation in DATA_DIR. */
export function databaseUrlOf(settings: Settings): string {
  if (settings.DATABASE_URL !== undefined) return settings.DATABASE_URL
  const file = join(settings.DATA_DIR, 'standalone.json')
  try {
    return Standalone.parse(JSON.parse(readFileSync(file, 'utf8'))).databaseUrl
  } catch (cause) {
    throw new Error(
      `Cannot find a database: set DATABASE_URL, or DATA_DIR to a started installation (${file} cannot be read)`,
      { cause },
    )
  }
}

/** Where browsers find the dashboard: as `API_URL` says, as a standalone installation in DATA_DIR has it, or by the port. */
export function dashboardUrlOf(settings: Settings): string {
  if (settings.API_URL !== undefined || settings.DATABASE_URL !== undefined)
    return apiUrlOf(settings)
  const { data } = StandaloneUrl.safeParse(standaloneOf(settings))
  return data?.dashboardUrl ?? apiUrlOf(settings)
}

const StandaloneUrl = z.object({ dashboardUrl: z.string() })

function standaloneOf({ DATA_DIR }: Settings): unknown {
  try {
    return JSON.parse(readFileSync(join(DATA_DIR, 'standalone.json'), 'utf8'))
  } catch {
    return undefined
  }
}

/** The keys that are named, or those of a standalone installation in DATA_DIR. */
export function keyringOf(settings: Settings): Keyring {
  if (settings.POSTERN_ENCRYPTION_KEY !== undefined) {
    return readKeyring(settings.POSTERN_ENCRYPTION_KEY)
  }
  const file = join(settings.DATA_DIR, 'encryption-key')
  try {
    return readKeyring(readFileSync(file, 'utf8').trim())
  } catch (cause) {
    throw new Error(
      `Cannot find an encryption key: set POSTERN_ENCRYPTION_KEY, or DATA_DIR to an installation (${file} cannot be read)`,
      { cause },
    )
  }
}

function article(noun: string): string {
  return `${/^[aeiouA]/.test(noun) ? 'an' : 'a'} ${noun}`
}
