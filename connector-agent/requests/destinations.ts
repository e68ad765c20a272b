import type { LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'

import { directTransport } from '../../core/delivery/direct/exchange.ts'
import { Connections } from '../../core/delivery/direct/http-connections.ts'
import type { Transport } from '../../core/delivery/transport.ts'
import { type AllowList, compileAllowList } from '../../core/egress/allow-list.ts'
import { guardedLookup } from '../../core/egress/connect.ts'
import type { Names } from '../../core/egress/names.ts'
import { SOCKETS_MAX } from '../../core/limits.ts'
import { secureContextFor } from '../settings/certificates.ts'
import type { AgentSettings } from '../settings/settings.ts'

type Options = Pick<
  AgentSettings,
  'POSTERN_ALLOW' | 'POSTERN_ALLOW_LOOPBACK' | 'DESTINATION_CA' | 'CLIENT_CERT' | 'CLIENT_KEY'
>

interface Rules {
  current(): AllowList
  /** Another text for other rules. */
  readonly name: string
  narrow: (allowedHosts: readonly string[]) => void
}

/** Returns the rules of an agent, and a way to the destinations that they open. */
export function openDestinations(
  options: Options,
  names: Names,
): { rules: Rules; send: Transport } {
  const rules = openRules(options)
  const { DESTINATION_CA: ca, CLIENT_CERT: cert, CLIENT_KEY: key } = options
  // Each origin has its own look-up, which gives no address that the rules leave shut.
  const lookupOf = (origin: string): LookupFunction => {
    const url = new URL(origin)
    return guardedLookup((ip) => rules.current().mayDial(url, ip), names)
  }
  const connections = new Connections(lookupOf, SOCKETS_MAX, secureContextFor({ ca, cert, key }))
  return { rules, send: directTransport(connections) }
}

/** The rules of this agent, as narrowed by its relay. They are made anew when this machine has other addresses. */
function openRules({ POSTERN_ALLOW, POSTERN_ALLOW_LOOPBACK }: Options): Rules {
  let name = ''
  let current: AllowList
  const narrow = (allowedHosts: readonly string[]): void => {
    const own = ownAddresses()
    const text = [...own, ...allowedHosts].join(' ')
    if (text === name) return
    name = text
    current = compileAllowList({
      rules: POSTERN_ALLOW,
      narrowedTo: allowedHosts,
      allowLoopback: POSTERN_ALLOW_LOOPBACK,
      ownAddresses: new Set(own),
    })
  }
  narrow([])
  return {
    current: () => current,
    get name() {
      return name
    },
    narrow,
  }
}

function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return all.map(({ address }) => address.split('%')[0] ?? address)
}
