import type { Duplex } from 'node:stream'

import { WebSocket } from 'ws'

import { decodeFrame, encodeFrame, type Frame, ProtocolError } from './frames.ts'
import {
  CLOSE,
  FRAME_BYTES_MAX,
  PING_INTERVAL_MS,
  SESSION_STREAMS_MAX,
  SESSION_WINDOW_BYTES,
  SILENCE_MS_MAX,
} from './protocol.ts'

/** How a link ended: the code and text of the close frame, 1006 when there was none. */
export interface LinkEnd {
  code: number
  reason: string
  /** A fault of this side. */
  fault?: unknown
}

/** An open WebSocket. */
export interface Wire {
  socket: WebSocket
  /** The connection that carries it. */
  carrier: Duplex
}

/** A WebSocket that carries frames. */
export interface Link {
  /** Ignored once the link is closing. */
  write(frame: Frame): void
  /** Sends a close frame; a peer that does not answer it is cut off after two seconds. */
  close(code: number, reason: string): void
  /** Cuts the socket at once. */
  cut(): void
}

interface Listener {
  /** Handles a frame. An error closes this link alone; a `ProtocolError` does so with its text. */
  frame(frame: Frame): void
  /** Called once. */
  closed(end: LinkEnd): void
}

export interface LinkTiming {
  pingMs: number
  silenceMs: number
}

const TIMING: LinkTiming = { pingMs: PING_INTERVAL_MS, silenceMs: SILENCE_MS_MAX }
/** How much more often it is looked whether the other side is silent: that is not noticed later than it must be. */
const PULSES_A_PING = 2
const CLOSE_GRACE_MS = 2_000
/** A close frame holds 123 bytes of text. */
const REASON_LENGTH_MAX = 100
/** All that a session may have under way: its window, and a head for each stream, with as much again for those before. */
const UNREAD_BYTES_MAX = SESSION_WINDOW_BYTES + 2 * SESSION_STREAMS_MAX * FRAME_BYTES_MAX
/** Each ping has a pong: a side that asks more often between two of ours wants to keep this one busy. */
const PINGS_MAX = 100

/**
 * Listens to an open socket at once, so that no first frame is missed. Pings, and cuts a link whose other side was not heard
 * for `silenceMs`, for a half-open connection looks like a quiet one, or that sends and does not read.
 */
export function openLink(wire: Wire, on: Listener, timing: LinkTiming = TIMING): Link {
  const { socket } = wire
  const send = gathering(wire)
  let heardAt = performance.now()
  let end: LinkEnd | undefined
  let grace: NodeJS.Timeout | undefined
  let pings = 0

  const close = (code: number, reason: string, fault?: unknown): void => {
    if (socket.readyState === WebSocket.CLOSED) return
    end ??= { code, reason, ...(fault !== undefined && { fault }) }
    socket.close(code, reason.slice(0, REASON_LENGTH_MAX))
    grace ??= setTimeout(() => socket.terminate(), CLOSE_GRACE_MS)
  }
  const hear = (): void => {
    heardAt = performance.now()
  }
  const cut = (reason: string): void => {
    end ??= { code: CLOSE.SILENT, reason }
    socket.terminate()
  }
  const cutUnread = (): void => {
    if (socket.bufferedAmount > UNREAD_BYTES_MAX) cut('The other side does not read')
  }
  let pulses = 0
  const pulse = setInterval(() => {
    if (performance.now() - heardAt > timing.silenceMs) return cut('The other side is silent')
    if (++pulses % PULSES_A_PING !== 0) return
    pings = 0
    socket.ping()
  }, timing.pingMs / PULSES_A_PING)
  pulse.unref()

  socket.on('message', (data, isBinary) => {
    hear()
    // Frames that come while the link is closing are nobody's.
    if (end !== undefined) return
    try {
      if (!isBinary || !Buffer.isBuffer(data)) throw new ProtocolError('Frame is not binary')
      on.frame(decodeFrame(data))
    } catch (error) {
      const isTheirs = error instanceof ProtocolError
      if (isTheirs) close(CLOSE.PROTOCOL_ERROR, error.message)
      else close(CLOSE.INTERNAL_ERROR, 'Internal error', error)
    }
  })
  socket.on('pong', hear)
  socket.on('ping', () => {
    hear()
    cutUnread()
    if (++pings > PINGS_MAX) close(CLOSE.PROTOCOL_ERROR, 'Too many pings')
  })
  // `close` follows every error and says what has to be said.
  socket.on('error', (error: Error) => {
    end ??= { code: 1006, reason: error.message }
  })
  socket.on('close', (code, reason) => {
    clearInterval(pulse)
    clearTimeout(grace)
    on.closed(end ?? { code, reason: reason.toString() })
  })
  return {
    write(frame) {
      if (socket.readyState !== WebSocket.OPEN) return
      send(encodeFrame(frame))
      cutUnread()
    },
    close: (code, reason) => close(code, reason),
    cut: () => socket.terminate(),
  }
}

/** All frames of a turn of the loop go out in one write: each write costs more than all else that a frame does. */
function gathering({ socket, carrier }: Wire): (frame: Buffer) => void {
  let isGathering = false
  const end = (): void => {
    isGathering = false
    carrier.uncork()
  }
  return (frame) => {
    if (!isGathering) {
      isGathering = true
      carrier.cork()
      setImmediate(end)
    }
    socket.send(frame)
  }
}
