import { hostname } from 'node:os'
import { parseArgs } from 'node:util'

import { z } from 'zod'

import { SettingsError } from '../../core/config.ts'
import { givenFor, type Environment, type Given } from '../../core/settings/setting-files.ts'
import {
  allowRules,
  host,
  matching,
  oneOf,
  plainText,
  port,
} from '../../core/settings/setting-kinds.ts'
import { TRACE_SECRET_NAMES, traceSettings } from '../../core/settings/trace-settings.ts'
import { origin, proxyUrl, withoutSecrets } from '../../core/settings/url-kinds.ts'
import { certificates, FileText, privateKey } from './certificates.ts'
import { nearestFlag } from './flag-names.ts'

const NAME_LENGTH_MAX = 100
const PATH_MAX = 4_096

const isTrue = oneOf(['true', 'false']).transform((text) => text === 'true')

/** Every setting of the agent. A name with `_FILE` behind it names a file that holds the value. (docs/connector.md) */
const Settings = z.object({
  POSTERN_URL: origin,
  POSTERN_ENROLLMENT_KEY: matching(
    /^[\x21-\x7e]{1,1000}$/,
    'must be the one line that the relay showed',
  ).optional(),
  POSTERN_ALLOW: allowRules.default([]),
  POSTERN_ALLOW_LOOPBACK: isTrue.default(false),
  STATE_DIR: plainText(PATH_MAX).default('.postern/connector'),
  INSTANCE_NAME: plainText(NAME_LENGTH_MAX).default(hostname().slice(0, NAME_LENGTH_MAX)),
  RELAY_CA: certificates.optional(),
  DESTINATION_CA: certificates.optional(),
  CLIENT_CERT: certificates.optional(),
  CLIENT_KEY: privateKey.optional(),
  POSTERN_PROXY: proxyUrl.optional(),
  NO_PROXY: z.string().default(''),
  HOST: host.default('127.0.0.1'),
  /** Not served when it is not set. */
  OPS_PORT: port.optional(),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  ...traceSettings,
})

export type AgentSettings = z.infer<typeof Settings> & {
  /** Where the enrolment key was read from, so that a key that was changed is read again. */
  enrolmentKeyFile: string | undefined
}

/** The names of all settings, for the document that must list them. */
export const AGENT_SETTING_NAMES: readonly string[] = Object.keys(Settings.shape)

/** The flags and the settings that they stand for. */
export const AGENT_FLAGS: Readonly<Record<string, string>> = {
  relay: 'POSTERN_URL',
  'enrollment-key-file': 'POSTERN_ENROLLMENT_KEY_FILE',
  allow: 'POSTERN_ALLOW',
  'allow-file': 'POSTERN_ALLOW_FILE',
  'allow-loopback': 'POSTERN_ALLOW_LOOPBACK',
  'state-dir': 'STATE_DIR',
  name: 'INSTANCE_NAME',
  'ca-file': 'RELAY_CA_FILE',
  'destination-ca-file': 'DESTINATION_CA_FILE',
  'client-cert-file': 'CLIENT_CERT_FILE',
  'client-key-file': 'CLIENT_KEY_FILE',
  proxy: 'POSTERN_PROXY',
  host: 'HOST',
  'ops-port': 'OPS_PORT',
  'log-level': 'LOG_LEVEL',
}

const SWITCHES: ReadonlySet<string> = new Set(['allow-loopback', 'help'])
const FILES: readonly string[] = ['RELAY_CA', 'DESTINATION_CA', 'CLIENT_CERT', 'CLIENT_KEY']

/** Somebody asks for the words of the program. */
export function wantsHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** Flags win over the environment. Throws one error that names every fault and shows no secret. */
export function readAgentSettings(args: readonly string[], env: Environment): AgentSettings {
  const { flags, faults } = readFlags(args)
  const given = new Map(AGENT_SETTING_NAMES.map((name) => [name, givenTo(name, flags, env)]))
  const texts = Object.fromEntries([...given].map(([name, { value }]) => [name, value]))
  const parsed = Settings.safeParse(texts)
  for (const { fault } of given.values()) if (fault !== undefined) faults.push(fault)
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0])
    if (given.get(name)?.fault === undefined) faults.push(faultOf(name, message, given.get(name)))
  }
  faults.push(...faultsBetween(given))
  if (faults.length > 0 || !parsed.success) throw new SettingsError(faults)
  return {
    ...parsed.data,
    enrolmentKeyFile: given.get('POSTERN_ENROLLMENT_KEY')?.file,
  }
}

interface Flags {
  values: Map<string, string>
  allow: string[]
}

function readFlags(args: readonly string[]): { flags: Flags; faults: string[] } {
  const flags: Flags = { values: new Map(), allow: [] }
  const faults: string[] = []
  const options = Object.fromEntries(
    Object.keys(AGENT_FLAGS).map((name) => [
      name,
      { type: SWITCHES.has(name) ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  // The word behind a flag that there is not is its value.
  let isValue = false
  for (const token of tokens) {
    if (token.kind === 'positional' && !isValue) {
      faults.push('An argument without a name is not understood: every flag begins with --')
    } else if (token.kind === 'option') {
      const fault = takeFlag(flags, token.name, token.value)
      if (fault !== undefined) faults.push(fault)
    }
    isValue = token.kind === 'option' && AGENT_FLAGS[token.name] === undefined
  }
  return { flags, faults }
}

function takeFlag(flags: Flags, name: string, value: string | undefined): string | undefined {
  const setting = AGENT_FLAGS[name]
  // Everybody on the machine can read the arguments of its processes.
  if (/key|token|secret|password/i.test(name) && setting === undefined) {
    return `--${name}: a secret does not belong in the arguments, where others can read it. Use --enrollment-key-file or POSTERN_ENROLLMENT_KEY`
  }
  if (setting === undefined) {
    const near = nearestFlag(name, Object.keys(AGENT_FLAGS))
    return `--${name} is no flag${near === undefined ? '' : `: is it --${near}?`}`
  }
  if (SWITCHES.has(name)) {
    if (value !== undefined) return `--${name} takes no value`
    flags.values.set(setting, 'true')
    return undefined
  }
  if (value === undefined || value.trim() === '') return `--${name} needs a value behind it`
  if (name === 'allow') {
    flags.allow.push(value)
    return undefined
  }
  if (flags.values.has(setting)) return `--${name} is given twice`
  if (name === 'proxy' && (URL.parse(value)?.password ?? '') !== '') {
    return '--proxy: a password does not belong in the arguments, where others can read it. Use POSTERN_PROXY or POSTERN_PROXY_FILE'
  }
  flags.values.set(setting, value.trim())
  return undefined
}

/** Returns the value of a setting: that of its flag, else that of the environment. */
function givenTo(name: string, flags: Flags, env: Environment): Given {
  const value = flags.values.get(name)
  const file = flags.values.get(`${name}_FILE`)
  if (FILES.includes(name)) return fileGiven(name, file ?? env[`${name}_FILE`], env[name])
  if (name === 'POSTERN_ALLOW') return allowGiven(flags, file, env)
  if (value !== undefined) return { value }
  // Most programs read this one in lower case as well.
  if (name === 'NO_PROXY') return givenFor(name, { ...env, [name]: env[name] || env['no_proxy'] })
  return givenFor(name, file === undefined ? env : { [`${name}_FILE`]: file })
}

/** Rules on the command line and those of a file count together. */
function allowGiven(flags: Flags, file: string | undefined, env: Environment): Given {
  const listed = flags.allow.join(',')
  if (file === undefined && listed !== '') return { value: listed }
  const given = givenFor('POSTERN_ALLOW', file === undefined ? env : { POSTERN_ALLOW_FILE: file })
  return given.value === undefined || listed === ''
    ? given
    : { ...given, value: `${listed}\n${given.value}` }
}

function fileGiven(name: string, file: string | undefined, text: string | undefined): Given {
  const path = file?.trim() ?? ''
  if (path === '') return { value: text?.trim() || undefined }
  if (text?.trim()) return { fault: `${name} and ${name}_FILE are both set: set one of them` }
  const read = new FileText(path).read()
  return 'fault' in read
    ? { fault: `${name}_FILE ${JSON.stringify(path)}: ${read.fault}` }
    : { value: read.text, file: path }
}

function faultsBetween(given: ReadonlyMap<string, Given>): string[] {
  const has = (name: string): boolean =>
    given.get(name)?.value !== undefined || given.get(name)?.fault !== undefined
  const faults: string[] = []
  if (!has('POSTERN_ALLOW')) {
    faults.push(
      'POSTERN_ALLOW: nothing may be reached. Name what may be: --allow http://payroll.internal:8080',
    )
  }
  if (has('CLIENT_CERT') !== has('CLIENT_KEY')) {
    faults.push('CLIENT_CERT and CLIENT_KEY go together: one of them is missing')
  }
  return faults
}

/** Values that may be secret, or are too long to show. */
const UNSHOWN: ReadonlySet<string> = new Set([
  'POSTERN_ENROLLMENT_KEY',
  'POSTERN_ALLOW',
  ...FILES,
  ...TRACE_SECRET_NAMES,
])

function faultOf(name: string, message: string, given: Given | undefined): string {
  const flag = Object.entries(AGENT_FLAGS).find(([, setting]) => setting === name)?.[0]
  const called = flag === undefined ? name : `--${flag} (${name})`
  if (given?.value === undefined) {
    return `${called}: is missing. Set it to the address of the relay's API, such as https://relay.example.com`
  }
  const from = given.file === undefined ? '' : ` (from ${given.file})`
  const text = /_(?:URL|ENDPOINT|PROXY)$/.test(name) ? withoutSecrets(given.value) : given.value
  const shown =
    UNSHOWN.has(name) || text === undefined ? '' : ` ${JSON.stringify(text.slice(0, 100))}`
  return `${called}${shown}${from}: ${message}`
}
