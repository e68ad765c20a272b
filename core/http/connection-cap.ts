import type { Server } from 'node:net'

import { isWithin, type CompiledCidrs } from '../egress/address.ts'
import { closeGently } from './gentle-close.ts'

interface Cap {
  /** Connections of one address. */
  max: number
  /** Proxies, through which many clients come. */
  trusted: CompiledCidrs
  /** The answer to a client that has too many. */
  refusal: string
}

/** Lets no address have more connections than `max`, so that one client cannot take every descriptor. */
export function capConnections(server: Server, { max, trusted, refusal }: Cap): void {
  const counts = new Map<string, number>()
  const add = (address: string, change: number): number => {
    const count = (counts.get(address) ?? 0) + change
    if (count === 0) counts.delete(address)
    else counts.set(address, count)
    return count
  }
  server.on('connection', (socket) => {
    const address = socket.remoteAddress
    if (address === undefined || isWithin(address, trusted)) return
    const count = add(address, 1)
    socket.once('close', () => add(address, -1))
    if (count <= max) return
    // The descriptor is wanted back at once.
    socket.once('finish', () => socket.destroy())
    closeGently(socket, refusal)
  })
}
