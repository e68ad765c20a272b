import { createSocket } from 'node:dgram'
import { once } from 'node:events'

export const A = 1
export const AAAA = 28
export const SERVFAIL = 2
export const NXDOMAIN = 3

/** Addresses, a code of failure or silence. */
export type Zone = (name: string, type: number) => readonly string[] | number | 'silent'

export interface NameServer extends Disposable {
  address: string
  asked: string[]
}

/** A name server on loopback that speaks as much of DNS as tests need. */
export async function openNameServer(zone: Zone, ttl = 60): Promise<NameServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, from) => {
    const { name, type, end } = questionOf(query)
    asked.push(`${name} ${type === A ? 'A' : 'AAAA'}`)
    const said = zone(name, type)
    if (said === 'silent') return
    const records = typeof said === 'number' ? [] : said
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 + (typeof said === 'number' ? said : 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    const answers = records.map((address) => recordOf(address, type, ttl))
    socket.send(Buffer.concat([head, query.subarray(12, end), ...answers]), from.port)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    [Symbol.dispose]: () => void socket.close(),
  }
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size))
    at += size + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** Addresses of IPv6 as 16 bytes in hexadecimal. */
function recordOf(address: string, type: number, ttl: number): Buffer {
  const data =
    type === A ? Buffer.from(address.split('.').map(Number)) : Buffer.from(address, 'hex')
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
