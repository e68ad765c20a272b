import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

import { z } from 'zod'

import { addressClass, compileCidrs, type CompiledCidrs, isWithin } from './address.ts'

/** A rule of addresses that an agent may dial. `hosts` may begin with `*.`; without `ports` 80 and 443, without `schemes` both. */
export const AllowRule = z
  .strictObject({
    hosts: z.array(z.string().min(1)).min(1).optional(),
    cidrs: z.array(z.string().min(1)).min(1).optional(),
    ports: z.array(z.int().min(1).max(65_535)).min(1).optional(),
    schemes: z
      .array(z.enum(['http', 'https']))
      .min(1)
      .optional(),
  })
  .refine(({ hosts, cidrs }) => (hosts === undefined) !== (cidrs === undefined), {
    message: 'needs either hosts or cidrs',
  })

export type AllowRule = z.infer<typeof AllowRule>

/** The answer to "may this URL be dialled, at which of these addresses?". */
export interface AllowList {
  /** Undefined when a rule covers the URL so far as it can be told without its addresses; else why not. */
  refusal(url: URL): string | undefined
  /** Whether this address of the URL may be dialled. */
  mayDial(url: URL, address: string): boolean
}

interface Rule {
  matchesHost: (host: string) => boolean
  cidrs: CompiledCidrs | undefined
  /** Undefined: every port. */
  ports: ReadonlySet<number> | undefined
  schemes: ReadonlySet<string>
}

interface Options {
  rules: readonly AllowRule[]
  /** The server's list, which narrows the rules. Empty narrows nothing. Without a port or a scheme it means every one. */
  narrowedTo: readonly string[]
  allowLoopback: boolean
  /** Addresses of this machine: dialling one of them is dialling loopback. */
  ownAddresses: ReadonlySet<string>
  /** A rule with neither a port nor a scheme covers every port. */
  opensAllPorts?: boolean
}

const DEFAULT_PORTS = { http: 80, https: 443 }
/** Classes of addresses that a rule may open. Everything else stays shut, whatever a CIDR covers. */
const OPENABLE: ReadonlySet<string> = new Set(['public', 'private', 'cgnat', 'unique_local'])

/** Whether a rule may open the address. Loopback is open where a program says so. */
export function isOpenable(address: string): boolean {
  return OPENABLE.has(addressClass(address))
}

/** Denies by default. Throws an error that names the first bad CIDR or host. */
export function compileAllowList(options: Options): AllowList {
  const own = options.rules.map((rule) => {
    const compiled = compileRule(rule)
    const isBare = rule.ports === undefined && rule.schemes === undefined
    return options.opensAllPorts === true && isBare ? { ...compiled, ports: undefined } : compiled
  })
  const narrow = options.narrowedTo.map(compileNarrowing)
  const ownAddresses = compileCidrs([...options.ownAddresses])
  const mayOpen = (address: string): boolean => {
    const isOwn = addressClass(address) === 'loopback' || isWithin(address, ownAddresses)
    return isOwn ? options.allowLoopback : isOpenable(address)
  }
  return {
    refusal(url) {
      if (!(url.protocol.slice(0, -1) in DEFAULT_PORTS))
        return `${url.protocol} is not http or https`
      const literal = literalOf(url)
      const place = `${url.hostname}:${portOf(url)}`
      if (literal !== undefined && !mayOpen(literal))
        return `${place} is an address that is never dialled`
      if (!covers(own, url, literal)) return `no --allow rule covers ${url.protocol}//${place}`
      if (narrow.length > 0 && !covers(narrow, url, literal)) {
        return `the connector's allowedHosts do not cover ${place}`
      }
      return undefined
    },
    mayDial: (url, address) =>
      mayOpen(address) &&
      covers(own, url, address) &&
      (narrow.length === 0 || covers(narrow, url, address)),
  }
}

/**
 * A rule as a person writes it: `http://localhost:3000`, `https://*.internal.example`, `10.0.0.0/8:8080`,
 * `service.default.svc`. Throws an error that shows the text.
 */
export function parseAllow(text: string): AllowRule {
  const parts = /^(?:(https?):\/\/)?(\[[^\]]+\]|[^:/[\]]+)(\/\d{1,3})?(?::(\d{1,5}))?\/?$/i.exec(
    text.trim(),
  )
  const [, scheme, host, prefix, port] = parts ?? []
  const bare = host?.replace(/^\[|\]$/g, '')
  if (bare === undefined) throw new Error(`Cannot read "${text}": ${SHAPES}`)
  const isAddress = isIP(bare) !== 0
  if (prefix !== undefined && !isAddress) throw new Error(`Cannot read "${text}": ${SHAPES}`)
  const rule = AllowRule.safeParse({
    ...(isAddress ? { cidrs: [`${bare}${prefix ?? ''}`] } : { hosts: [bare] }),
    ...(port !== undefined && { ports: [Number(port)] }),
    ...(scheme !== undefined && { schemes: [scheme.toLowerCase()] }),
  })
  if (!rule.success) throw new Error(`Cannot read "${text}": ${SHAPES}`)
  compileRule(rule.data)
  return rule.data
}

/**
 * Rules as text: each line a JSON list, of texts and of rules, or texts with commas between them. Names every fault.
 */
export function readAllowRules(text: string): { rules: AllowRule[]; faults: string[] } {
  const rules: AllowRule[] = []
  const faults: string[] = []
  for (const item of itemsOf(text, faults)) {
    try {
      rules.push(typeof item === 'string' ? parseAllow(item) : readRule(item))
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { rules, faults }
}

function itemsOf(text: string, faults: string[]): unknown[] {
  const from = text.search(/^\s*[[{]/m)
  // A CIDR of IPv6 begins with a bracket too, and a JSON list holds a quote, a brace or nothing behind it.
  const isJson = from !== -1 && /^\s*(?:\{|\[\s*["{\]])/.test(text.slice(from))
  const listed = (isJson ? text.slice(0, from) : text)
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== '')
  if (!isJson) return listed
  try {
    const json: unknown = JSON.parse(text.slice(from))
    if (Array.isArray(json)) return [...listed, ...json]
    faults.push('Cannot read the rules: expected a JSON list')
  } catch (error) {
    faults.push(`Cannot read the rules: ${error instanceof Error ? error.message : 'no JSON'}`)
  }
  return listed
}

function readRule(item: unknown): AllowRule {
  const { data, error } = AllowRule.safeParse(item)
  if (data === undefined) {
    const [issue] = error.issues
    throw new Error(
      `Cannot read the rule ${JSON.stringify(item).slice(0, 100)}: ${[...(issue?.path ?? []), issue?.message ?? ''].join(' ')}`,
    )
  }
  compileRule(data)
  return data
}

const SHAPES =
  'expected a host, *.host, address or CIDR, with an optional scheme before and port behind it'

function compileRule(rule: AllowRule): Rule {
  const cidrs = rule.cidrs === undefined ? undefined : compileCidrs(rule.cidrs)
  const schemes = rule.schemes ?? (['http', 'https'] as const)
  return {
    matchesHost: compileHosts(rule.hosts ?? []),
    cidrs,
    ports: new Set(rule.ports ?? schemes.map((scheme) => DEFAULT_PORTS[scheme])),
    schemes: new Set(schemes.map((scheme) => `${scheme}:`)),
  }
}

/** An entry that this agent cannot read covers nothing: a narrowing must not widen because it is misunderstood. */
function compileNarrowing(text: string): Rule {
  try {
    const rule = parseAllow(text)
    const compiled = compileRule(rule)
    return rule.ports === undefined ? { ...compiled, ports: undefined } : compiled
  } catch {
    return { matchesHost: () => false, cidrs: undefined, ports: undefined, schemes: new Set() }
  }
}

function compileHosts(hosts: readonly string[]): (host: string) => boolean {
  const exact = new Set<string>()
  const suffixes: string[] = []
  for (const host of hosts) {
    const isWild = host.startsWith('*.')
    const name = domainToASCII(plainHost(isWild ? host.slice(2) : host))
    if (name === '' || name.includes('*')) {
      throw new Error(`Cannot read host "${host}": expected a name, or *. and a name`)
    }
    if (isWild) suffixes.push(`.${name}`)
    else exact.add(name)
  }
  return (host) => exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix))
}

function covers(rules: readonly Rule[], url: URL, address?: string): boolean {
  return rules.some((rule) => matches(rule, url, address))
}

function matches(rule: Rule, url: URL, address: string | undefined): boolean {
  if (!rule.schemes.has(url.protocol) || rule.ports?.has(portOf(url)) === false) return false
  if (rule.cidrs === undefined) return rule.matchesHost(plainHost(url.hostname))
  // A name may have an address in the range: that is told when it is resolved.
  return address === undefined || isWithin(address, rule.cidrs)
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? DEFAULT_PORTS.https : DEFAULT_PORTS.http
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}

function literalOf(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? undefined : host
}
