import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** `hangs` takes requests and never answers; `trickles` answers a byte a second, without end. */
export type Stuck = 'hangs' | 'trickles'

const TRICKLE_MS = 1_000
const TRICKLE_HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'

/** A destination that no delivery succeeds at, and that holds each for as long as it may. */
export async function openStuckSink(stuck: Stuck): Promise<AsyncDisposable & { url: string }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
    if (stuck === 'trickles') socket.once('data', () => socket.write(TRICKLE_HEAD))
  })
  const trickle = setInterval(() => {
    if (stuck === 'hangs') return
    for (const socket of sockets) if (socket.bytesWritten > 0) socket.write('.')
  }, TRICKLE_MS)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('Cannot listen')
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async [Symbol.asyncDispose]() {
      clearInterval(trickle)
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
