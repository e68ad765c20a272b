import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** Answers every request with a 200 at once, or takes it and never answers. */
export async function listen(
  stack: AsyncDisposableStack,
  does: 'answers' | 'hangs',
): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    if (does === 'hangs') socket.resume()
    else socket.once('data', () => socket.end(OK).resume())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Cannot listen')
  return `http://127.0.0.1:${address.port}/`
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'
