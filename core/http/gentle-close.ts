import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** How long a client has to read its last answer, and how much of what it sends meanwhile is read and thrown away. */
const GRACE_MS = 1_000
const GRACE_BYTES = 4 * 1024 * 1024

const closing = new WeakSet<Duplex>()
const closed = new WeakSet<Duplex>()

/** No request on such a connection is looked at any more: nobody would hear its answer. */
export function isClosing(socket: Duplex): boolean {
  return closing.has(socket)
}

/**
 * Says the last words and closes. A connection that is closed while bytes of it are unread is reset, and the reset may
 * overtake the words; one that is never closed keeps its descriptor as long as the client likes. So the rest is read
 * for a moment.
 */
export function closeGently(socket: Duplex, words = ''): void {
  if (closed.has(socket)) return
  closed.add(socket)
  closing.add(socket)
  socket.on('error', () => undefined)
  if (socket.destroyed) return
  let bytes = 0
  const timer = setTimeout(() => socket.destroy(), GRACE_MS)
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > GRACE_BYTES) socket.destroy()
  })
  socket.once('close', () => clearTimeout(timer))
  socket.end(words)
}

/** Whether some of the request's body has still to come, after all that came together with its headers. */
export async function isUnfinished(request: IncomingMessage): Promise<boolean> {
  const { headers } = request
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (hasBody && !request.complete) await new Promise((resolve) => setImmediate(resolve))
  return hasBody && !request.complete
}

/** The same for a request that is answered before all of it has come: its answer closes the connection. */
export function closeAfterAnswer(request: IncomingMessage): void {
  const { socket } = request
  closing.add(socket)
  // Called by Node once the answer is out, in place of what would reset the connection.
  socket.destroySoon = () => {
    closeGently(socket)
    request.resume()
  }
}
