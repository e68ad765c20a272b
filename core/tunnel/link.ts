import { WebSocket } from 'ws'

import { decodeFrame, encodeFrame, type Frame, ProtocolError } from './frames.ts'
import { CLOSE, PING_INTERVAL_MS, SILENCE_MS_MAX } from './protocol.ts'

/** How a link ended: the code and text of the close frame, 1006 when there was none. */
export interface LinkEnd {
  code: number
  reason: string
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
  /** Handles a frame. An error closes the link; a `ProtocolError` does so with its text. */
  frame(frame: Frame): void
  /** Called once. */
  closed(end: LinkEnd): void
}

export interface LinkTiming {
  pingMs: number
  silenceMs: number
}

const TIMING: LinkTiming = { pingMs: PING_INTERVAL_MS, silenceMs: SILENCE_MS_MAX }
const CLOSE_GRACE_MS = 2_000
/** A close frame holds 123 bytes of text. */
const REASON_LENGTH_MAX = 100

/**
 * Listens to an open socket at once, so that no first frame is missed. Pings, and closes a link whose other side was not
 * heard for `silenceMs`: a half-open connection looks like a quiet one.
 */
export function openLink(socket: WebSocket, on: Listener, timing: LinkTiming = TIMING): Link {
  let heardAt = performance.now()
  let end: LinkEnd | undefined
  let grace: NodeJS.Timeout | undefined

  const close = (code: number, reason: string): void => {
    if (socket.readyState === WebSocket.CLOSED) return
    end ??= { code, reason }
    socket.close(code, reason.slice(0, REASON_LENGTH_MAX))
    grace ??= setTimeout(() => socket.terminate(), CLOSE_GRACE_MS)
  }
  const hear = (): void => {
    heardAt = performance.now()
  }
  const pulse = setInterval(() => {
    if (performance.now() - heardAt <= timing.silenceMs) {
      socket.ping()
      return
    }
    end ??= { code: CLOSE.SILENT, reason: 'The other side is silent' }
    socket.terminate()
  }, timing.pingMs)
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
      close(isTheirs ? CLOSE.PROTOCOL_ERROR : 1011, isTheirs ? error.message : 'Internal error')
      if (!isTheirs) throw error
    }
  })
  socket.on('pong', hear)
  socket.on('ping', hear)
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
      if (socket.readyState === WebSocket.OPEN) socket.send(encodeFrame(frame))
    },
    close,
    cut: () => socket.terminate(),
  }
}
