import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/**
 * As stands before several gateways: each connection goes to the next of these ports that accepts it. Bytes and ends take
 * `delayMs` each way.
 */
export async function openBalancer(
  port: number,
  behind: readonly number[],
  delayMs = 0,
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
      carry(socket, upstream, delayMs)
      carry(upstream, socket, delayMs)
    })
    upstream.on('error', () => upstream.destroy())
    upstream.on('close', () => {
      open.delete(upstream)
      if (isJoined || tries === 1) leave(socket, delayMs)
      else join(socket, tries - 1)
    })
    socket.on('close', () => leave(upstream, delayMs))
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

function carry(from: Socket, to: Socket, delayMs: number): void {
  if (delayMs === 0) return void from.pipe(to)
  from.on('data', (chunk) => setTimeout(() => to.writable && to.write(chunk), delayMs))
  from.on('end', () => setTimeout(() => to.end(), delayMs))
}

function leave(socket: Socket, delayMs: number): void {
  if (delayMs === 0) socket.destroy()
  else setTimeout(() => socket.destroySoon(), delayMs)
}
