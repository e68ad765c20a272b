import { Socket, type LookupFunction } from 'node:net'

import { Agent, buildConnector } from 'undici'

/** Connections to one origin. A lane's concurrency is the real limit; this one bounds sockets. */
const CONNECTIONS_PER_ORIGIN = 256
const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 30_000

/** What opening a connection took, in milliseconds; zero where a step did not happen. */
export interface ConnectPhases {
  dnsMs: number
  connectMs: number
  tlsMs: number
}

/** A dispatcher and, by origin, the phases of connections that no request has claimed yet. */
export interface GuardedDispatcher {
  agent: Agent
  takePhases(origin: string): ConnectPhases | undefined
}

/**
 * Keep-alive pools shared by origin. Names are resolved by `lookup`, which refuses addresses that deliveries may not
 * reach: the address checked is the address dialled. Literal addresses never reach `lookup` and must be checked before.
 */
export function openDispatcher(lookup: LookupFunction): GuardedDispatcher {
  const fresh = new Map<string, ConnectPhases[]>()
  const connect = timedConnector(lookup, (origin, phases) => {
    const waiting = fresh.get(origin)
    if (waiting === undefined) fresh.set(origin, [phases])
    else if (waiting.length < CONNECTIONS_PER_ORIGIN) waiting.push(phases)
  })
  const agent = new Agent({
    connect,
    connections: CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS * 10,
    // Each attempt has one deadline over everything; undici's own timers would only be second opinions.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    agent,
    takePhases(origin) {
      const waiting = fresh.get(origin)
      const phases = waiting?.shift()
      if (waiting?.length === 0) fresh.delete(origin)
      return phases
    },
  }
}

function timedConnector(
  lookup: LookupFunction,
  onConnect: (origin: string, phases: ConnectPhases) => void,
): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false, lookup })
  return (options, callback) => {
    const startedAt = performance.now()
    let resolvedAt = startedAt
    let connectedAt: number | undefined
    // The connector returns the socket that it opens, though its type does not say so.
    const socket: unknown = connect(options, (...result) => {
      if (result[0] === null) {
        const openAt = performance.now()
        onConnect(`${options.protocol}//${options.host ?? options.hostname}`, {
          dnsMs: resolvedAt - startedAt,
          connectMs: (connectedAt ?? openAt) - resolvedAt,
          tlsMs: options.protocol === 'https:' ? openAt - (connectedAt ?? openAt) : 0,
        })
      }
      callback(...result)
    })
    if (!(socket instanceof Socket)) return
    socket.once('lookup', () => {
      resolvedAt = performance.now()
    })
    socket.once('connect', () => {
      connectedAt = performance.now()
    })
  }
}
