import { createServer, STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'

import { WebSocketServer } from 'ws'

import type { Logger } from '../../../core/log.ts'
import type { Wire } from '../../../core/tunnel/link.ts'
import { FRAME_BYTES_MAX, SUBPROTOCOL, TUNNEL_PATH } from '../../../core/tunnel/protocol.ts'
import { within } from '../../../core/within.ts'

/** The gateway's answer to an agent that dials. */
export type Admission<Owner> =
  | { kind: 'admitted'; owner: Owner }
  | {
      kind: 'refused'
      status: number
      code: string
      message: string
      data?: object
      retryAfterSeconds?: number
    }

export interface Dialled {
  /** The bearer token; empty when there is none. */
  token: string
  remoteIp: string
  /** Names of gateways at which the agent has a session. */
  gateways: readonly string[]
}

interface ServerDeps<Owner> {
  log: Logger
  gatewayName: string
  remoteIpOf: (request: IncomingMessage) => string
  admit(dialled: Dialled): Promise<Admission<Owner>>
  opened(wire: Wire, owner: Owner, dialled: Dialled): void
}

/** An agent that is slower than this to send the head of its request is none. */
const HEADERS_TIMEOUT_MS = 10_000
const CHECK_INTERVAL_MS = 1_000
const ADMIT_TIMEOUT_MS = 5_000
/** Handshakes under way at once: more wait for nobody and are told to come back. */
const HANDSHAKES_MAX = 256
const BUSY_RETRY_SECONDS = 2
const GATEWAYS_MAX = 8

/** The listener for agents: one path, WebSockets of one sub-protocol. Everything else gets a plain HTTP answer. */
export function buildTunnelServer<Owner>(deps: ServerDeps<Owner>): Server {
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    keepAliveTimeout: HEADERS_TIMEOUT_MS,
  })
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: FRAME_BYTES_MAX,
    handleProtocols: () => SUBPROTOCOL,
  })
  sockets.on('headers', (headers) => headers.push(`postern-gateway: ${deps.gatewayName}`))
  let handshakes = 0

  server.on('request', (request, response) => {
    const isTunnel = pathOf(request) === TUNNEL_PATH
    const message = isTunnel
      ? `Expected a WebSocket of the sub-protocol ${SUBPROTOCOL}`
      : `Cannot find ${pathOf(request)}: agents dial ${TUNNEL_PATH}`
    const status = isTunnel ? 426 : 404
    const body = bodyOf(status, isTunnel ? 'BAD_REQUEST' : 'NOT_FOUND', message)
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      connection: 'close',
      ...(isTunnel && { upgrade: 'websocket' }),
    })
    response.end(body)
  })

  const admit = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const dialled = readDialled(request, deps.remoteIpOf(request))
    try {
      const admission = await within(ADMIT_TIMEOUT_MS, deps.admit(dialled), () => BUSY)
      if (socket.destroyed) return
      if (admission.kind === 'refused') return refuse(socket, admission)
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        deps.opened({ socket: webSocket, carrier: socket }, admission.owner, dialled)
      })
    } catch (err) {
      deps.log.warn({ err }, 'Cannot admit an agent')
      refuse(socket, BUSY)
    }
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A peer that resets its connection while it is looked at is nobody's failure.
    socket.on('error', () => socket.destroy())
    const refused = refusalOf(request)
    if (refused !== undefined) return refuse(socket, refused)
    if (handshakes >= HANDSHAKES_MAX) return refuse(socket, BUSY)
    handshakes++
    void admit(request, socket, head).finally(() => handshakes--)
  })
  return server
}

type Refused = Extract<Admission<never>, { kind: 'refused' }>

const BUSY: Refused = {
  kind: 'refused',
  status: 503,
  code: 'UNAVAILABLE',
  message: 'The gateway cannot look the token up now',
  retryAfterSeconds: BUSY_RETRY_SECONDS,
}

function refusalOf(request: IncomingMessage): Refused | undefined {
  if (pathOf(request) !== TUNNEL_PATH) {
    const message = `Cannot find ${pathOf(request)}: agents dial ${TUNNEL_PATH}`
    return { kind: 'refused', status: 404, code: 'NOT_FOUND', message }
  }
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',')
  if (!offered.some((name) => name.trim() === SUBPROTOCOL)) {
    const message = `Expected the sub-protocol ${SUBPROTOCOL}`
    return { kind: 'refused', status: 400, code: 'BAD_REQUEST', message }
  }
  // A browser must not be able to open a tunnel with a token that it holds for something else.
  if (request.headers.origin !== undefined) {
    return {
      kind: 'refused',
      status: 403,
      code: 'FORBIDDEN',
      message: 'Browsers cannot open a tunnel',
    }
  }
  return undefined
}

function readDialled({ headers }: IncomingMessage, remoteIp: string): Dialled {
  const [, token = ''] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  const gateways = String(headers['postern-gateways'] ?? '')
    .split(',', GATEWAYS_MAX)
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return { token, remoteIp, gateways }
}

/** The answer to a client that has too many connections. */
export const CONNECTION_REFUSAL = answerText({
  kind: 'refused',
  status: 429,
  code: 'RATE_LIMITED',
  message: 'Too many connections from this address',
})

function refuse(socket: Duplex, refused: Refused): void {
  if (socket.destroyed || socket.writableEnded) return
  socket.end(answerText(refused))
  setTimeout(() => socket.destroy(), CHECK_INTERVAL_MS).unref()
}

function answerText(refused: Refused): string {
  const { status, code, message, data, retryAfterSeconds } = refused
  const body = bodyOf(status, code, message, data)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(retryAfterSeconds === undefined ? [] : [`retry-after: ${retryAfterSeconds}`]),
    'connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

function bodyOf(status: number, code: string, message: string, data?: object): string {
  return JSON.stringify({ code, status, message, ...(data && { data }) })
}

function pathOf(request: IncomingMessage): string {
  const [path = ''] = (request.url ?? '').split('?', 1)
  return path.slice(0, 200)
}
