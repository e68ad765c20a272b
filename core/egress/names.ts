import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile, stat } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { LOOKUPS_PER_ORGANISATION, NAME_LOOKUP_MS, NAMES_KEPT_MAX } from '../limits.ts'
import { Semaphore } from '../pacing/semaphore.ts'
import { readHosts, type Hosts } from './hosts-file.ts'
import { candidates, readSearchList, type SearchList } from './resolv-conf.ts'

/** A name server is asked twice, the second time for twice as long. */
const ASKED_MS = 1_500
const TRIES = 2

/** How long addresses are kept at most, whatever their records say, and how long it is kept that there are none. */
const KEPT_MS_MAX = 30_000
const FAILURE_KEPT_MS = 3_000

/** Addresses of IPv6 that come this much later than those of IPv4 are not waited for. (RFC 8305, section 3) */
const SECOND_FAMILY_MS = 50

/** The files are looked at again when a name is asked for after this time. */
const FILES_FRESH_MS = 5_000

const LOOPBACK = ['127.0.0.1', '::1']

export interface NamesOptions {
  hostsFile?: string
  resolvFile?: string
  /** Instead of those that the file names. */
  servers?: readonly string[]
}

/** No address is known: the name does not exist (`ENOTFOUND`), or nobody could say (`EAI_AGAIN`). */
class NameError extends Error {
  override readonly name = 'NameError'
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN'

  constructor(host: string, code: NameError['code'], cause?: unknown) {
    super(`Cannot resolve "${host}": ${code}`, { cause })
    this.code = code
  }
}

interface Found {
  addresses: LookupAddress[]
  ttlMs: number
}

interface Kept {
  addresses: Promise<LookupAddress[]>
  untilMs: number
}

/** The names of the files, and the servers to ask for the others. */
interface System {
  hosts: Hosts
  search: SearchList
  resolver: Resolver
}

/**
 * Addresses of names, from `/etc/hosts` and from DNS with the search list of `/etc/resolv.conf`, as getaddrinfo finds
 * them, but without its threads: there a few look-ups that nobody answers keep all others of a process waiting. A name
 * is asked for once at a time, however many want it, and given up after 5 s. A tenant has a number of look-ups under way;
 * its others wait, and nobody else for them.
 */
export class Names {
  readonly #options: NamesOptions
  readonly #kept = new Map<string, Kept>()
  /** Tenants with look-ups under way. */
  readonly #turns = new Map<string, Semaphore>()
  #system: Promise<System> | undefined
  #versions = ''
  #lookedAt = -Infinity

  constructor(options: NamesOptions = {}) {
    this.#options = options
  }

  /** Returns IPv4 addresses first. Rejects with `ENOTFOUND` or `EAI_AGAIN` when there is none. */
  async lookup(host: string, tenant?: string): Promise<LookupAddress[]> {
    const name = host.toLowerCase()
    const known = this.#fresh(name)
    if (known !== undefined || tenant === undefined) return await (known ?? this.#ask(name))
    return await this.#askInTurn(name, tenant)
  }

  #fresh(name: string): Promise<LookupAddress[]> | undefined {
    const kept = this.#kept.get(name)
    return kept !== undefined && kept.untilMs > performance.now() ? kept.addresses : undefined
  }

  async #askInTurn(name: string, tenant: string): Promise<LookupAddress[]> {
    const turns = this.#turns.get(tenant) ?? new Semaphore(LOOKUPS_PER_ORGANISATION)
    this.#turns.set(tenant, turns)
    let isGivenUp = false
    const asking = turns
      .take(async () => (isGivenUp ? [] : await (this.#fresh(name) ?? this.#ask(name))))
      .finally(() => {
        if (turns.isIdle) this.#turns.delete(tenant)
      })
    try {
      return await withinTime(name, asking)
    } finally {
      isGivenUp = true
    }
  }

  async #ask(name: string): Promise<LookupAddress[]> {
    const finding = this.#find(name)
    const entry = { addresses: finding.then(({ addresses }) => addresses), untilMs: Infinity }
    this.#keep(name, entry)
    finding.then(
      ({ ttlMs }) => (entry.untilMs = performance.now() + Math.min(ttlMs, KEPT_MS_MAX)),
      () => (entry.untilMs = performance.now() + FAILURE_KEPT_MS),
    )
    return await entry.addresses
  }

  async #find(name: string): Promise<Found> {
    const system = await this.#read()
    const bare = name.endsWith('.') ? name.slice(0, -1) : name
    // (RFC 6761, section 6.3)
    const isLocal = bare === 'localhost' || bare.endsWith('.localhost')
    const listed = system.hosts.get(bare) ?? (isLocal ? LOOPBACK : undefined)
    return listed === undefined
      ? await withinTime(name, search(system, name))
      : { addresses: listed.map(addressOf), ttlMs: FILES_FRESH_MS }
  }

  /** The newest last; the oldest goes. */
  #keep(name: string, entry: Kept): void {
    this.#kept.delete(name)
    this.#kept.set(name, entry)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > NAMES_KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest)
  }

  /** Both files may change while the process runs. */
  async #read(): Promise<System> {
    const { hostsFile = '/etc/hosts', resolvFile = '/etc/resolv.conf', servers } = this.#options
    if (this.#system !== undefined && performance.now() - this.#lookedAt < FILES_FRESH_MS) {
      return await this.#system
    }
    this.#lookedAt = performance.now()
    const versions = (await Promise.all([hostsFile, resolvFile].map(versionOf))).join()
    if (this.#system === undefined || versions !== this.#versions) {
      this.#versions = versions
      this.#system = openSystem(hostsFile, resolvFile, servers)
    }
    return await this.#system
  }
}

async function openSystem(
  hostsFile: string,
  resolvFile: string,
  servers: readonly string[] | undefined,
): Promise<System> {
  const [hosts, resolv] = await Promise.all([hostsFile, resolvFile].map(textOf))
  const resolver = new Resolver({ timeout: ASKED_MS, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  return { hosts: readHosts(hosts ?? ''), search: readSearchList(resolv ?? ''), resolver }
}

async function versionOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  return found === undefined ? '' : `${found.ino} ${found.mtimeMs} ${found.size}`
}

async function textOf(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(() => '')
}

async function withinTime<T>(name: string, finding: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NameError(name, 'EAI_AGAIN')), NAME_LOOKUP_MS)
  })
  try {
    return await Promise.race([finding, late])
  } finally {
    clearTimeout(timer)
  }
}

async function search({ resolver, search: list }: System, name: string): Promise<Found> {
  let failure = new NameError(name, 'ENOTFOUND')
  for (const candidate of candidates(name, list)) {
    try {
      return await ask(resolver, candidate)
    } catch (error) {
      // That one could not be asked for outweighs that another does not exist.
      if (!isAbsence(error)) failure = new NameError(name, 'EAI_AGAIN', error)
    }
  }
  throw failure
}

async function ask(resolver: Resolver, name: string): Promise<Found> {
  const second = settled(resolver.resolve6(name, { ttl: true }))
  const first = await settled(resolver.resolve4(name, { ttl: true }))
  const late = first.records.length > 0 ? sleep(SECOND_FAMILY_MS, NOTHING) : second
  const answers = [first, await Promise.race([second, late])]
  const records = answers.flatMap((answer) => answer.records)
  if (records.length === 0) {
    const causes = answers.map(({ error }) => error)
    const cause = causes.find((error) => error !== undefined && !isAbsence(error))
    throw new NameError(name, cause === undefined ? 'ENOTFOUND' : 'EAI_AGAIN', cause)
  }
  return {
    addresses: records.map(({ address }) => addressOf(address)),
    ttlMs: 1_000 * Math.min(...records.map(({ ttl }) => ttl)),
  }
}

interface FamilyAnswer {
  records: { address: string; ttl: number }[]
  error?: unknown
}

const NOTHING: FamilyAnswer = { records: [] }

async function settled(asking: Promise<FamilyAnswer['records']>): Promise<FamilyAnswer> {
  try {
    return { records: await asking }
  } catch (error) {
    return { records: [], error }
  }
}

/** There is nothing of the kind, as opposed to nobody who could say. */
function isAbsence(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME'
}

function addressOf(address: string): LookupAddress {
  return { address, family: isIPv6(address) ? 6 : 4 }
}
