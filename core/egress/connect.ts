import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'

import type { Names } from './names.ts'

/** Whether an address may be dialled; made from `isReachable` and the ranges that the installation opens. */
export type IsAllowed = (ip: string) => boolean

/** No address of a host may be dialled. */
class AddressBlocked extends Error {
  override readonly name = 'AddressBlocked'
  readonly code = 'ADDRESS_BLOCKED'

  constructor(host: string) {
    super(`Cannot connect to "${host}": its address is not public`)
  }
}

/**
 * For undici's `connect.lookup`: gives the socket only addresses that were checked, so that no second resolution can
 * slip another one in. A `tenant` has a share of the look-ups. Sockets do not call it for literal addresses: `checkUrl` has to come before every request.
 */
export function guardedLookup(isAllowed: IsAllowed, names: Names, tenant?: string): LookupFunction {
  const find = callbackify(async (host: string) => await names.lookup(host, tenant))
  return (hostname, { all, family }, callback) => {
    find(hostname, (error, found) => {
      if (error !== null) return callback(error, [])
      const wanted = found.filter((one) => !isFamily(family) || one.family === family)
      const allowed = wanted.filter(({ address }) => isAllowed(address))
      const [first] = allowed
      if (first === undefined) return callback(new AddressBlocked(hostname), [])
      if (all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
}

function isFamily(family: unknown): boolean {
  return family === 4 || family === 6
}

/**
 * Whether the URL may be dialled at one of its addresses. A name that has none now may get one: what becomes of an
 * attempt at it says so.
 */
export async function mayDial(url: URL, isAllowed: IsAllowed, names: Names): Promise<boolean> {
  if (checkUrl(url, isAllowed) !== undefined) return false
  if (literalAddressOf(url) !== undefined) return true
  const addresses = await names.lookup(url.hostname).catch(() => undefined)
  return addresses?.some(({ address }) => isAllowed(address)) ?? true
}

/** The IP address that the URL names itself (as `2130706433` names 127.0.0.1); undefined when its host is a name. */
export function literalAddressOf(url: URL): string | undefined {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  return isIP(host) === 0 ? undefined : host
}

/** The reason that forbids dialling the URL, before any name is resolved; undefined when it is allowed. */
export function checkUrl(url: URL, isAllowed: IsAllowed): string | undefined {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must be http or https'
  const address = literalAddressOf(url)
  return address === undefined || isAllowed(address)
    ? undefined
    : `address ${address} is private or reserved`
}
