import type { Agent } from 'node:http'
import type { Duplex } from 'node:stream'

import { WebSocket } from 'ws'
import { z } from 'zod'

import { clientWaitMs } from '../../core/delivery/retry-after.ts'
import type { Wire } from '../../core/tunnel/link.ts'
import { FRAME_BYTES_MAX, SUBPROTOCOL } from '../../core/tunnel/protocol.ts'

/** The result of dialling a gateway. */
export type Dialled =
  | { kind: 'open'; socket: WebSocket; gateway: string }
  /** The gateway answered and did not open a session. */
  | {
      kind: 'refused'
      status: number
      code: string
      reason: string | undefined
      /** How many gateways there are, when there is a session at this one already. */
      gateways: number | undefined
      message: string
      retryAfterMs: number | undefined
    }
  /** Nobody answered, or it was no gateway. */
  | { kind: 'failed'; error: Error }

interface Target {
  url: string
  token: string
  /** Names of the gateways at which there is a session already. */
  gateways: readonly string[]
  /** How the gateway is reached; directly when it is left out. */
  agent?: Agent
}

const HANDSHAKE_TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 16 * 1024

const Refusal = z.object({
  code: z.string().catch(''),
  message: z.string().catch(''),
  data: z
    .object({ reason: z.string().optional(), gateways: z.number().optional() })
    .optional()
    .catch(undefined),
})

/**
 * Dials a gateway and resolves when the session is open or will not be. `opened` is called in the very moment in which
 * the socket opens: a listener that is attached later misses the first frames.
 */
export async function dial(target: Target, opened: (wire: Wire) => void): Promise<Dialled> {
  const { promise, resolve } = Promise.withResolvers<Dialled>()
  const socket = new WebSocket(target.url, [SUBPROTOCOL], {
    headers: {
      authorization: `Bearer ${target.token}`,
      ...(target.gateways.length > 0 && { 'postern-gateways': target.gateways.join(',') }),
    },
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    followRedirects: false,
    ...(target.agent && { agent: target.agent }),
  })
  let gateway = ''
  let carrier: Duplex | undefined
  socket.on('upgrade', (response) => {
    carrier = response.socket
    gateway = String(response.headers['postern-gateway'] ?? '')
  })
  socket.on('open', () => {
    if (carrier === undefined) throw new Error('A WebSocket opened without an answer')
    opened({ socket, carrier })
    resolve({ kind: 'open', socket, gateway })
  })
  socket.on('error', (error) => resolve({ kind: 'failed', error }))
  socket.on('unexpected-response', (request, response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (): void => {
      request.destroy()
      const { code, message, data } = readRefusal(Buffer.concat(chunks).toString('utf8'))
      resolve({
        kind: 'refused',
        status: response.statusCode ?? 0,
        code,
        reason: data?.reason,
        gateways: data?.gateways,
        message,
        retryAfterMs: clientWaitMs(response.headers['retry-after']),
      })
    }
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk)
      else settle()
    })
    response.on('end', settle)
    response.on('error', settle)
    setTimeout(settle, HANDSHAKE_TIMEOUT_MS).unref()
  })
  return await promise
}

function readRefusal(text: string): z.infer<typeof Refusal> {
  try {
    return Refusal.parse(JSON.parse(text))
  } catch {
    return { code: '', message: text.slice(0, 200) }
  }
}
