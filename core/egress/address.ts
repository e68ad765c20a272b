import { isIPv4, isIPv6 } from 'node:net'

/** The use of an address. Only `public` addresses belong to the internet. */
export type AddressClass =
  | 'public'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'cgnat'
  | 'link_local'
  | 'metadata'
  | 'multicast'
  | 'broadcast'
  | 'documentation'
  | 'benchmark'
  | 'unique_local'
  | 'reserved'
  | 'invalid'

interface Cidr {
  /** 4 or 16 of them. */
  bytes: Uint8Array
  prefixBits: number
}

export type CompiledCidrs = readonly Cidr[]

/** IANA's special-purpose registries, and the metadata services outside link-local. The first that holds decides. */
const CLASSES = (
  [
    ['broadcast', '255.255.255.255'],
    ['metadata', '169.254.169.254'],
    ['metadata', '168.63.129.16'],
    ['metadata', '100.100.100.200'],
    ['unspecified', '0.0.0.0/8'],
    ['private', '10.0.0.0/8'],
    ['private', '172.16.0.0/12'],
    ['private', '192.168.0.0/16'],
    ['cgnat', '100.64.0.0/10'],
    ['loopback', '127.0.0.0/8'],
    ['link_local', '169.254.0.0/16'],
    ['documentation', '192.0.2.0/24'],
    ['documentation', '198.51.100.0/24'],
    ['documentation', '203.0.113.0/24'],
    ['reserved', '192.0.0.0/24'],
    ['reserved', '192.88.99.0/24'],
    ['benchmark', '198.18.0.0/15'],
    ['multicast', '224.0.0.0/4'],
    ['reserved', '240.0.0.0/4'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['metadata', 'fd00:ec2::254'],
    ['metadata', 'fd20:ce::254'],
    ['unique_local', 'fc00::/7'],
    ['link_local', 'fe80::/10'],
    ['private', 'fec0::/10'],
    ['multicast', 'ff00::/8'],
    // The prefix for local translators, whose IPv4 address may lie anywhere in it. (RFC 8215)
    ['private', '64:ff9b:1::/48'],
    ['benchmark', '2001:2::/48'],
    ['documentation', '2001:db8::/32'],
    ['documentation', '3fff::/20'],
    ['reserved', '2001::/23'],
  ] as const
).map(([name, text]) => ({ name, cidr: compileCidr(text) }))

/** Everything of IPv6 outside of it is set aside for something else. */
const GLOBAL_UNICAST = compileCidr('2000::/3')

/** IPv6 ranges that carry an IPv4 address, and the byte at which it starts. */
const CARRIERS = [
  { cidr: compileCidr('::ffff:0:0/96'), at: 12 },
  { cidr: compileCidr('::ffff:0:0:0/96'), at: 12 },
  { cidr: compileCidr('64:ff9b::/96'), at: 12 },
  { cidr: compileCidr('2002::/16'), at: 2 },
  { cidr: compileCidr('::/96'), at: 12 },
]

/** IPv4 addresses, as a socket of both families has them. */
const MAPPED = compileCidr('::ffff:0:0/96')

const TEREDO = compileCidr('2001::/32')

/** The class of an address, by the IPv4 address inside it where it carries one. (decisions: Delivery, SSRF) */
export function addressClass(ip: string): AddressClass {
  const bytes = bytesOf(ip)
  return bytes === undefined ? 'invalid' : classOf(bytes)
}

/** Whether the relay may connect to the address: it is public, or the installation has opened its range. */
export function isReachable(ip: string, allowed: CompiledCidrs): boolean {
  const bytes = bytesOf(ip)
  if (bytes === undefined) return false
  if (classOf(bytes) === 'public') return true
  return isWithin(ip, allowed)
}

/** An IPv4 address that is written as IPv6 is itself. */
export function isWithin(ip: string, cidrs: CompiledCidrs): boolean {
  const bytes = bytesOf(ip)
  if (bytes === undefined) return false
  const carried = carriedIPv4(bytes)
  return cidrs.some(
    (cidr) => contains(cidr, bytes) || (carried !== undefined && contains(cidr, carried)),
  )
}

/**
 * The network that an address lies in, as a CIDR: of an IPv4 address by its first `ipv4Bits`, of an IPv6 one by its first
 * `ipv6Bits`, since the holder of one has all of a /64. An IPv4 address that is written as IPv6 is itself.
 */
export function networkOf(
  ip: string,
  { ipv4Bits, ipv6Bits } = { ipv4Bits: 32, ipv6Bits: 64 },
): string {
  const own = ownBytesOf(ip)
  if (own === undefined) return ip
  const bits = own.length === 4 ? ipv4Bits : ipv6Bits
  return `${textOf(own.map((byte, at) => byte & maskAt(bits - at * 8)))}/${bits}`
}

/** An address in its shortest form: without a zone, and IPv4 where it is mapped into IPv6. Undefined for anything else. */
export function shortAddress(ip: string): string | undefined {
  const bytes = ownBytesOf(ip)
  return bytes && textOf(bytes)
}

/** Addresses and CIDRs of both families. Throws an error that names the first bad one. */
export function compileCidrs(list: readonly string[]): CompiledCidrs {
  return list.map(compileCidr)
}

/** The fault of an address or a CIDR, to be put behind its name; undefined when there is none. */
export function cidrFault(text: string): string | undefined {
  let cidr: Cidr
  try {
    cidr = compileCidr(text)
  } catch {
    const example = text.includes(':') ? 'fd00::/8' : '10.0.0.0/8'
    return `must be an IP address or a range such as ${example}`
  }
  const first = cidr.bytes.map((byte, at) => byte & maskAt(cidr.prefixBits - at * 8))
  if (first.every((byte, at) => byte === cidr.bytes[at])) return undefined
  const range = `${textOf(first)}/${cidr.prefixBits}`
  return `has digits behind its first ${cidr.prefixBits} bits: write ${range}, or the address alone`
}

/** A byte whose first bits are set, `bits` of them. */
function maskAt(bits: number): number {
  return (0xff << (8 - Math.min(Math.max(bits, 0), 8))) & 0xff
}

function textOf(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0)).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function compileCidr(text: string): Cidr {
  const [address = '', prefix, ...rest] = text.split('/')
  const bytes = address.includes('%') ? undefined : bytesOf(address)
  if (bytes === undefined || rest.length > 0) {
    throw new Error(`Cannot read "${text}": it must be an IP address, a slash and a length`)
  }
  const bits = bytes.length * 8
  const prefixBits = prefix === undefined ? bits : Number(prefix)
  if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || prefixBits > bits)) {
    throw new Error(`Cannot read "${text}": the length must be 0 to ${bits}`)
  }
  return { bytes, prefixBits }
}

function classOf(bytes: Uint8Array): AddressClass {
  const known = CLASSES.find(({ cidr }) => contains(cidr, bytes))
  // Teredo lies inside 2001::/23, so it is looked at before that range's class counts.
  if (bytes.length === 16 && contains(TEREDO, bytes)) return classOfTeredo(bytes)
  if (known !== undefined) return known.name
  if (bytes.length === 4) return 'public'
  const carried = carriedIPv4(bytes)
  if (carried !== undefined) return classOf(carried)
  return contains(GLOBAL_UNICAST, bytes) ? 'public' : 'reserved'
}

/** A Teredo address names its server, and its client with every bit turned; both have to be public. (RFC 4380) */
function classOfTeredo(bytes: Uint8Array): AddressClass {
  const server = classOf(bytes.subarray(4, 8))
  return server === 'public' ? classOf(turned(bytes.subarray(12))) : server
}

function carriedIPv4(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length === 4) return undefined
  const carrier = CARRIERS.find(({ cidr }) => contains(cidr, bytes))
  return carrier && bytes.subarray(carrier.at, carrier.at + 4)
}

function turned(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => byte ^ 0xff)
}

function contains(cidr: Cidr, bytes: Uint8Array): boolean {
  if (cidr.bytes.length !== bytes.length) return false
  const whole = cidr.prefixBits >> 3
  for (let at = 0; at < whole; at++) {
    if (cidr.bytes[at] !== bytes[at]) return false
  }
  const rest = cidr.prefixBits & 7
  if (rest === 0) return true
  return ((cidr.bytes[whole] ?? 0) ^ (bytes[whole] ?? 0)) >> (8 - rest) === 0
}

function ownBytesOf(ip: string): Uint8Array | undefined {
  const bytes = bytesOf(ip)
  const isMapped = bytes?.length === 16 && contains(MAPPED, bytes)
  return isMapped ? bytes.subarray(12) : bytes
}

function bytesOf(ip: string): Uint8Array | undefined {
  if (isIPv4(ip)) return Uint8Array.from(ip.split('.'), Number)
  if (!isIPv6(ip)) return undefined
  const [address = ''] = ip.split('%')
  const [head = '', tail] = address.split('::')
  const first = groupsOf(head)
  const last = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0)
  return Uint8Array.from(
    [...first, ...zeros, ...last].flatMap((group) => [group >> 8, group & 0xff]),
  )
}

/** The 16-bit groups of one side of `::`; a dotted tail is two. */
function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
