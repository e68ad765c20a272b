import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'

import { nearestFlag } from '../settings/flag-names.ts'

/** The choices of somebody who runs `listen`. */
export interface ListenOptions {
  /** The local server, with its path. */
  target: URL
  /** The name of a source to take up or make; undefined makes one for this machine and target. */
  source: string | undefined
  preset: string | undefined
  secretFile: string | undefined
  /** Event types, the last character of each perhaps `*`. Empty is every event. */
  events: string[]
  isVerbose: boolean
}

const STRINGS = ['path', 'source', 'preset', 'secret-file', 'events'] as const
const SWITCHES = ['verbose', 'help'] as const
const PORT_MAX = 65_535
const NAME_LENGTH_MAX = 100
const MARK_LENGTH = 8

/** Reads the arguments. Throws an error whose lines name every fault; none shows a value that may be secret. */
export function readListenOptions(args: readonly string[]): ListenOptions {
  const faults: string[] = []
  const given = readFlags(args, faults)
  const [text, ...rest] = given.positionals
  if (rest.length > 0) faults.push(`Expected one port or address, got ${given.positionals.length}`)
  const target = text === undefined ? undefined : readTarget(text)
  if (text === undefined) faults.push('Name the port of your server: npm run listen -- 3000')
  else if (target === undefined) {
    faults.push(`"${text.slice(0, 100)}" is no port and no address such as localhost:3000`)
  }
  const path = given.values.get('path')
  if (path !== undefined && target !== undefined) setPath(target, path, faults)
  const source = given.values.get('source')
  if (source !== undefined && source.length > NAME_LENGTH_MAX) {
    faults.push(`--source must have ${NAME_LENGTH_MAX} characters at most`)
  }
  const preset = given.values.get('preset')
  const secretFile = given.values.get('secret-file')
  if (secretFile !== undefined && preset === undefined) {
    faults.push('--secret-file is the secret of a --preset: name the preset too')
  }
  if (faults.length > 0 || target === undefined) {
    throw new Error(`Cannot listen:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
  }
  return { target, source, preset, secretFile, events: given.events, isVerbose: given.isVerbose }
}

/** A name for all that `listen` makes: the same machine, target and source have the same. */
export function nameOf({ target, source, preset }: ListenOptions): string {
  const place = `${target.hostname === 'localhost' ? '' : target.hostname}:${portOf(target)}`
  const path = target.pathname === '/' ? '' : target.pathname
  const parts = ['listen', hostname(), `${place}${path}${target.search}`, source ?? preset ?? '']
  const name = parts.filter((part) => part !== '').join(' ')
  if (name.length <= NAME_LENGTH_MAX) return name
  const mark = createHash('sha256').update(name).digest('hex').slice(0, MARK_LENGTH)
  return `${name.slice(0, NAME_LENGTH_MAX - MARK_LENGTH - 1)} ${mark}`
}

export function portOf(target: URL): number {
  if (target.port !== '') return Number(target.port)
  return target.protocol === 'https:' ? 443 : 80
}

interface Flags {
  values: Map<string, string>
  events: string[]
  isVerbose: boolean
  positionals: string[]
}

function readFlags(args: readonly string[], faults: string[]): Flags {
  const flags: Flags = { values: new Map(), events: [], isVerbose: false, positionals: [] }
  const known: readonly string[] = [...STRINGS, ...SWITCHES]
  const options = Object.fromEntries([
    ...STRINGS.map((name) => [name, { type: 'string' as const }]),
    ...SWITCHES.map((name) => [name, { type: 'boolean' as const }]),
  ])
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  // The word behind a flag that there is not is its value.
  let isValue = false
  for (const token of tokens) {
    if (token.kind === 'positional' && !isValue) flags.positionals.push(token.value)
    isValue = token.kind === 'option' && !known.includes(token.name)
    if (token.kind !== 'option') continue
    const { name, value } = token
    if (name === 'secret') {
      faults.push(
        '--secret: a secret does not belong in the arguments, where others can read it. Use --secret-file or POSTERN_SOURCE_SECRET',
      )
    } else if (!known.includes(name)) {
      const near = nearestFlag(name, known)
      faults.push(`--${name} is no flag${near === undefined ? '' : `: is it --${near}?`}`)
    } else if (name === 'verbose') flags.isVerbose = true
    else if (name !== 'help' && (value === undefined || value.trim() === '')) {
      faults.push(`--${name} needs a value behind it`)
    } else if (name === 'events') flags.events.push(...typesOf(value ?? ''))
    else if (flags.values.has(name)) faults.push(`--${name} is given twice`)
    else flags.values.set(name, value?.trim() ?? '')
  }
  return flags
}

function typesOf(text: string): string[] {
  return text
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '')
}

/** `3000`, `:3000`, `localhost:3000`, `http://localhost:3000/hooks`. */
function readTarget(text: string): URL | undefined {
  const port = /^:?(\d{1,5})$/.exec(text)?.[1]
  const full = port !== undefined ? `http://localhost:${port}` : text
  const url = URL.parse(/^https?:\/\//i.test(full) ? full : `http://${full}`)
  if (url === null || url.username !== '' || url.password !== '') return undefined
  if (port !== undefined && (Number(port) === 0 || Number(port) > PORT_MAX)) return undefined
  url.hash = ''
  return url
}

function setPath(target: URL, path: string, faults: string[]): void {
  if (target.pathname !== '/' || target.search !== '') {
    faults.push('The address has a path already: leave it or --path out')
    return
  }
  const url = URL.parse(path.startsWith('/') ? path : `/${path}`, target)
  if (url === null || url.host !== target.host) {
    faults.push('--path must be a path such as /webhooks/stripe')
    return
  }
  target.pathname = url.pathname
  target.search = url.search
}
