import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** As stands before several gateways: each connection goes to the next of these ports at which somebody listens. */
export async function openBalancer(
  port: number,
  behind: readonly number[],
): Promise<AsyncDisposable> {
  const open = new Set<Socket>()
  let turn = 0
  const join = (socket: Socket, tries: number): void => {
    if (socket.destroyed) return
    const upstream = connect(behind[turn++ % behind.length] ?? 0, '127.0.0.1')
    let isJoined = false
    open.add(upstream)
    upstream.on('connect', () => {
      isJoined = true
      socket.pipe(upstream)
      upstream.pipe(socket)
    })
    upstream.on('error', () => upstream.destroy())
    upstream.on('close', () => {
      open.delete(upstream)
      if (isJoined || tries === 1) socket.destroy()
      else join(socket, tries - 1)
    })
    socket.on('close', () => upstream.destroy())
  }
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
    join(socket, behind.length)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
