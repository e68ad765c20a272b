import { connect, type Socket } from 'node:net'

import { atRate, post, type Attack, type Ground } from './attack.ts'

const MIB = 1024 * 1024

/** Another address than that of the bystander, whose connections are counted apart. */
const FROM = '127.0.0.2'

/** Clients that send half a header and fall silent, at ingest and at the API. */
export const silentSockets: Attack = async (ground) => {
  const { ingestUrl } = await ground.tenant.makeSource()
  for (const url of [ingestUrl, ground.tenant.apiUrl]) {
    held(ground, { url, count: 300, bytes: Buffer.from('POST /x HTTP/1.1\r\nhost: a\r\nx-') })
  }
}

/** Clients that send all of a large body but its end, and fall silent. */
export const halfBodies: Attack = async (ground) => {
  const { ingestUrl } = await ground.tenant.makeSource()
  const { pathname } = new URL(ingestUrl)
  const head = `POST ${pathname} HTTP/1.1\r\nhost: a\r\ncontent-length: ${5 * MIB}\r\n\r\n`
  const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(5 * MIB - 1, 'x')])
  held(ground, { url: ingestUrl, count: 56, bytes })
}

/** Requests that are refused, and kept, with as large headers as are taken. */
export const rejectedFlood: Attack = async (ground) => {
  const verifier = { preset: 'github', secret: 'nobody signs with this' }
  const { ingestUrl } = await ground.tenant.makeSource({ verifier })
  const headers = { 'x-large': 'y'.repeat(15_600) }
  atRate(ground, { perSecond: 100, most: 50 }, async () => await post(ingestUrl, '', headers))
}

/** Keeps so many connections that have sent the bytes and do nothing more; one that ends is opened again. */
function held(
  { stack }: Ground,
  { url, count, bytes }: { url: string; count: number; bytes: Buffer },
): void {
  const sockets = new Set<Socket>()
  const { port } = new URL(url)
  const open = (): void => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: FROM })
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
    socket.write(bytes)
  }
  // A client is not faster than its network.
  const timer = setInterval(() => {
    for (let n = 0; n < 10 && sockets.size < count; n++) open()
  }, 100)
  stack.defer(() => {
    clearInterval(timer)
    for (const socket of sockets) socket.destroy()
  })
}
