import { isIP, Socket, type LookupFunction } from 'node:net'
import type { SecureContext } from 'node:tls'

import { buildConnector, Client, errors } from 'undici'

import { ANSWER_HEADER_BYTES_MAX, SOCKETS_MAX } from '../../limits.ts'
import type { AttemptRequest, ConnectPhases } from '../transport.ts'
import { InterimAnswers } from './interim-answers.ts'

/** Past it all are made again when they are needed. */
const CONNECTORS_MAX = 1_000

const CONNECT_TIMEOUT_MS = 10_000

/** Servers close idle connections: Node's after 5 s. A `keep-alive` hint, less 2 s, replaces the first, up to the second. */
const REST_MS = 4_000
const REST_MS_MAX = 300_000

/** How far a connection has come: what an error means depends on it. */
export type Stage = 'resolving' | 'connecting' | 'securing' | 'open'

/**
 * The connections of a process, each to one origin for one holder: the tenants that share an origin share none, and none
 * of them waits for another's. A holder opens as many as it has requests under way. Names are resolved by the lookup of a
 * tenant, which refuses addresses that deliveries may not reach: the address checked is the address dialled. Literal addresses
 * never reach it and must be checked before.
 */
export class Connections {
  readonly #lookupOf: (tenant: string) => LookupFunction
  /** The connector of each tenant, with its TLS sessions. */
  readonly #connectors = new Map<string, buildConnector.connector>()
  /** Idle connections by holder and origin, the latest last. */
  readonly #resting = new Map<string, Connection[]>()
  readonly #open = new Set<Connection>()
  readonly #max: number
  readonly #secureContext: SecureContext | undefined

  /** `secureContext` has the certificates for TLS, when not those of Node. */
  constructor(
    lookupOf: (tenant: string) => LookupFunction,
    max = SOCKETS_MAX,
    secureContext?: SecureContext,
  ) {
    this.#max = max
    this.#lookupOf = lookupOf
    this.#secureContext = secureContext
  }

  /** Returns an idle connection, or else a new one. */
  take(user: User): Connection {
    const key = keyOf(user.holder, user.origin)
    const resting = this.#resting.get(key)
    const connection = resting?.pop()
    if (resting?.length === 0) this.#resting.delete(key)
    return connection ?? this.open(user)
  }

  /** Returns a new connection, in place of an idle one when there are too many. */
  open({ holder, tenant, origin }: User): Connection {
    const key = keyOf(holder, origin)
    if (this.#open.size >= this.#max) this.#endIdle()
    const connection = new Connection(origin, this.#connectorOf(tenant), {
      opening: () => this.#open.add(connection),
      closed: () => this.#forget(key, connection),
    })
    return connection
  }

  /**
   * The answer is whole: the next request of the holder may have it. A holder keeps no more idle connections than are
   * left to all.
   */
  rest(holder: string, connection: Connection): void {
    if (!this.#open.has(connection)) return
    const key = keyOf(holder, connection.origin)
    const resting = this.#resting.get(key)
    if ((resting?.length ?? 0) >= this.#max - this.#open.size) connection.destroy()
    else if (resting === undefined) this.#resting.set(key, [connection])
    else resting.push(connection)
  }

  /** Resolves when what is under way has ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map(async ({ client }) => await client.close()))
  }

  #connectorOf(tenant: string): buildConnector.connector {
    const known = this.#connectors.get(tenant)
    if (known !== undefined) return known
    if (this.#connectors.size >= CONNECTORS_MAX) this.#connectors.clear()
    const lookup = this.#lookupOf(tenant)
    const connector = buildConnector({
      timeout: CONNECT_TIMEOUT_MS,
      allowH2: false,
      lookup,
      ...(this.#secureContext && { secureContext: this.#secureContext }),
    })
    this.#connectors.set(tenant, connector)
    return connector
  }

  #endIdle(): void {
    const [resting] = this.#resting.values()
    resting?.[0]?.destroy()
  }

  #forget(key: string, connection: Connection): void {
    this.#open.delete(connection)
    const resting = this.#resting.get(key)
    const place = resting?.indexOf(connection) ?? -1
    if (place === -1) return
    resting?.splice(place, 1)
    if (resting?.length === 0) this.#resting.delete(key)
  }
}

function keyOf(holder: string, origin: string): string {
  return `${holder} ${origin}`
}

type User = Pick<AttemptRequest, 'holder' | 'tenant' | 'origin'>

interface Hooks {
  opening(): void
  closed(): void
}

/** A connection: an undici client whose socket is known. */
export class Connection {
  readonly origin: string
  readonly client: Client
  readonly #hooks: Hooks
  readonly #answers = new InterimAnswers(ANSWER_HEADER_BYTES_MAX)
  #socket: Socket | undefined
  #phases: ConnectPhases | undefined
  #stage: Stage = 'resolving'
  #hasHeard = false

  constructor(origin: string, connect: buildConnector.connector, hooks: Hooks) {
    this.origin = origin
    this.#hooks = hooks
    this.client = new Client(origin, {
      connect: (options, callback) => this.#open(connect, options, callback),
      pipelining: 1,
      keepAliveTimeout: REST_MS,
      keepAliveMaxTimeout: REST_MS_MAX,
      maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
      // Each attempt has one deadline over everything; undici's own timers would only be second opinions.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.client.on('disconnect', () => hooks.closed())
    this.client.on('connectionError', () => hooks.closed())
  }

  get stage(): Stage {
    return this.#stage
  }

  /** Something of an answer has come since the request began. */
  get hasHeard(): boolean {
    return this.#hasHeard
  }

  /** Begins a request. Returns the times of opening the connection if it is the first; undefined for a reused connection. */
  begin(): ConnectPhases | undefined {
    const phases = this.#phases
    this.#phases = undefined
    this.#hasHeard = false
    this.#answers.restart()
    return phases
  }

  /** Ends it at once, whatever it is doing. */
  destroy(): void {
    void this.client.destroy()
    // A socket that is being opened does not belong to the client yet.
    this.#socket?.destroy()
    this.#hooks.closed()
  }

  #open(
    connect: buildConnector.connector,
    options: buildConnector.Options,
    callback: buildConnector.Callback,
  ): void {
    this.#hooks.opening()
    const startedAt = performance.now()
    const isSecure = options.protocol === 'https:'
    let resolvedAt = startedAt
    let connectedAt: number | undefined
    this.#stage = isIP(options.hostname) === 0 ? 'resolving' : 'connecting'
    // The connector returns the socket that it opens, though its type does not say so.
    const socket: unknown = connect(options, (...result) => {
      const openAt = performance.now()
      if (result[0] === null) {
        this.#stage = 'open'
        this.#phases = {
          dnsMs: resolvedAt - startedAt,
          connectMs: (connectedAt ?? openAt) - resolvedAt,
          tlsMs: isSecure ? openAt - (connectedAt ?? openAt) : 0,
        }
      }
      callback(...result)
    })
    if (!(socket instanceof Socket)) return
    this.#socket = socket
    this.#listen(socket)
    socket.once('lookup', (error: Error | null) => {
      resolvedAt = performance.now()
      if (error === null) this.#stage = 'connecting'
    })
    socket.once('connect', () => {
      connectedAt = performance.now()
      if (isSecure) this.#stage = 'securing'
    })
  }

  /** undici takes what a socket has with `read`. */
  #listen(socket: Socket): void {
    const read: Socket['read'] = socket.read.bind(socket)
    socket.read = (size?: number): unknown => {
      for (;;) {
        const chunk: unknown = read(size)
        if (!Buffer.isBuffer(chunk)) return chunk
        this.#hasHeard = true
        const passed = this.#pass(socket, chunk)
        if (passed !== null) return passed
      }
    }
  }

  #pass(socket: Socket, chunk: Buffer): Buffer | null {
    try {
      return this.#answers.pass(chunk)
    } catch {
      socket.destroy(new errors.HeadersOverflowError())
      return null
    }
  }
}
