import { z } from 'zod'

/*
 * The words of `postern.tunnel.v1`, which gateway and agent share. docs/tunnel.md describes the protocol so that another
 * agent can be written from it.
 */

export const SUBPROTOCOL = 'postern.tunnel.v1'
export const TUNNEL_PATH = '/v1/tunnel'

/** Why a WebSocket was closed. (decisions: Connectors, replicas, tunnel) */
export const CLOSE = {
  /** The other side goes away in good order: dial again. */
  GOING_AWAY: 1001,
  /** The other side broke the protocol. */
  PROTOCOL_ERROR: 1002,
  TOO_LARGE: 1009,
  INTERNAL_ERROR: 1011,
  /** The replica or its connector was revoked or deleted: the reason is in the close frame. */
  REVOKED: 4403,
  /** Not heard for too long, or it sends and does not read: the link is cut, and the code is in logs and metrics alone. */
  SILENT: 4408,
  /** The replica already has a session at this gateway. */
  DUPLICATE: 4409,
  /** The connector is disabled. */
  DISABLED: 4410,
} as const

/** Bytes of a request body in one frame. */
export const DATA_BYTES_MAX = 16 * 1024
/** Bytes of one frame of any kind: the headers of an answer are the largest. */
export const FRAME_BYTES_MAX = 128 * 1024
/** Requests in flight of one session. */
export const SESSION_STREAMS_MAX = 64
/** Bytes of a request body that may be on the way to an agent before it has passed any of them on. */
export const STREAM_WINDOW_BYTES = 64 * 1024
/** The same of a session: the windows of all its streams, so that streams that stand still leave room for others. */
export const SESSION_WINDOW_BYTES = SESSION_STREAMS_MAX * STREAM_WINDOW_BYTES
/** Both sides ping; who hears nothing for two intervals and a bit closes, and has noticed within 30 s. */
export const PING_INTERVAL_MS = 10_000
export const SILENCE_MS_MAX = 24_000

const Milliseconds = z.number().min(0).max(86_400_000)
const Header = z.tuple([z.string().max(8_192), z.string().max(65_536)])
/** Their bytes are bounded by the frame. */
const Headers = z.array(Header).max(20_000)

/** The first frame of each side. The gateway's limits hold; an agent may lower its own. */
export const Settings = z.strictObject({
  /** Who sends it: the gateway's instance name, or the agent's version. */
  name: z.string().max(200),
  streamsMax: z.int().min(1).max(SESSION_STREAMS_MAX),
  /** From the gateway only: hosts to which the connector is narrowed. Empty narrows nothing. */
  allowedHosts: z.array(z.string().max(300)).max(100).optional(),
})

/** The request that the agent sends to the destination. */
export const RequestHead = z.strictObject({
  attemptId: z.string().max(100),
  method: z.string().max(20),
  url: z.string().max(8_192),
  headers: Headers,
  bodyBytes: z.int().min(0),
  /** For the whole exchange, from when the agent has the head. */
  timeoutMs: z.int().min(1).max(600_000),
})

/** How long each part took, at the agent. Null: the part was not needed. */
const Phases = z.strictObject({
  dnsMs: Milliseconds.nullable(),
  connectMs: Milliseconds.nullable(),
  tlsMs: Milliseconds.nullable(),
  firstByteMs: Milliseconds.nullable(),
  totalMs: Milliseconds,
})

/** The destination's answer. Its body follows in the same frame, cut. */
export const ResponseHead = z.strictObject({
  /** Whatever three digits a destination answers. */
  status: z.int().min(200).max(999),
  headers: Headers,
  phases: Phases,
})

/** No answer. `isUnsent`: the destination certainly got nothing of the request. */
export const Failure = z.strictObject({
  code: z.enum([
    'timeout',
    'dns_error',
    'connection_refused',
    'connection_reset',
    'tls_error',
    'host_unreachable',
    'host_not_allowed',
    'response_too_large',
    'refused',
    'internal',
  ]),
  message: z.string().max(1_000),
  isUnsent: z.boolean(),
  phases: Phases,
})

export type Settings = z.infer<typeof Settings>
export type RequestHead = z.infer<typeof RequestHead>
export type ResponseHead = z.infer<typeof ResponseHead>
export type Failure = z.infer<typeof Failure>
