import type { LookupFunction } from 'node:net'

import { addressClass, compileCidrs, isWithin } from '../../core/egress/address.ts'
import { type AllowRule, compileAllowList, isOpenable } from '../../core/egress/allow-list.ts'
import { guardedLookup, literalAddressOf } from '../../core/egress/connect.ts'
import { Names } from '../../core/egress/names.ts'

/** Names of the API server in every cluster, whatever the domain of the cluster is. */
const API_SERVER_NAME = /^kubernetes(?:\.default(?:\.svc(?:\..+)?)?)?\.?$/
const LOCAL_NAME = /^(?:.+\.)?localhost\.?$/

/** The addresses to which the operator takes an API key. A Relay is written by people who may reach less than its pod. */
export interface AllowedRelays {
  /** Why a Relay may not name this address, so far as it can be said before its name is resolved. */
  refusal: (baseUrl: string) => string | undefined
  /** For the sockets of a Relay: resolves to addresses that may be dialled alone. */
  lookupFor: (baseUrl: string) => LookupFunction
}

/** Without a rule every address is allowed but those of this pod and its node, link-local ones, and the API server's. */
export function openAllowedRelays(
  rules: readonly AllowRule[],
  apiServers: readonly string[],
): AllowedRelays {
  const names = new Names()
  const allowLoopback = rules.some(opensLoopback)
  const list = compileAllowList({
    rules,
    narrowedTo: [],
    allowLoopback,
    ownAddresses: new Set(),
    opensAllPorts: true,
  })
  const servers = apiServers.map((server) => new URL(server))
  const mayDial = (url: URL, address: string): boolean => {
    if (servers.some((server) => isAt(server, url, address))) return false
    return rules.length > 0 ? list.mayDial(url, address) : isOpenable(address)
  }
  const refusal = (baseUrl: string): string | undefined => {
    const url = new URL(baseUrl)
    const literal = literalAddressOf(url)
    const isLocal = LOCAL_NAME.test(url.hostname) && !allowLoopback
    const isServer = servers.some(({ host }) => host === url.host)
    if (isServer || API_SERVER_NAME.test(url.hostname) || isLocal) return NEVER
    if (rules.length > 0 && list.refusal(url) !== undefined) return UNLISTED
    return literal === undefined || mayDial(url, literal) ? undefined : NEVER
  }
  return {
    refusal,
    lookupFor: (baseUrl) => {
      const url = new URL(baseUrl)
      return guardedLookup((address) => mayDial(url, address), names)
    },
  }
}

const NEVER =
  'spec.baseUrl: no Relay may name an address of this machine, of its link, or of the API server. Name the origin of a Postern'
const UNLISTED =
  'spec.baseUrl: this installation does not allow it. Name an origin that it allows, or add this one to operator.allowedRelays (ALLOWED_RELAYS)'

function opensLoopback({ hosts = [], cidrs = [] }: AllowRule): boolean {
  return (
    hosts.some((host) => LOCAL_NAME.test(host)) ||
    cidrs.some((cidr) => addressClass(cidr.split('/')[0] ?? '') === 'loopback')
  )
}

/** On a developer's machine the API server shares its address with everything else. */
function isAt(server: URL, url: URL, address: string): boolean {
  const own = literalAddressOf(server)
  if (own === undefined || !isWithin(address, compileCidrs([own]))) return false
  return addressClass(own) !== 'loopback' || portOf(server) === portOf(url)
}

function portOf({ port, protocol }: URL): string {
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port
}
