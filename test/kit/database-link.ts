import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

import { DelayLine } from './delay-line.ts'

/** The way to a database for some processes: it can be cut, go silent or lead elsewhere, while others reach the database. */
export interface DatabaseLink extends AsyncDisposable {
  /** The database's URL, by way of the link. */
  url: string
  /** Ends all connections and takes no new ones. */
  cut(): Promise<void>
  /** Connections stay and are made, and nothing passes. */
  silence(): void
  /** Nothing passes on the connections that there are. New ones work, as after a fail-over. */
  strand(): void
  mend(): Promise<void>
  /** Each way takes so much longer, also on connections that there are. */
  delay(ms: number): void
  /** New connections lead to this database. Open connections stay. */
  lead(databaseUrl: string): void
  /** Connections that lead to this database. */
  connectionsTo(databaseUrl: string): number
}

/** A connection of a process, and the link's own to the database. */
interface Pair {
  near: Socket
  far: Socket
  /** Bytes on their way there, and back. */
  there: DelayLine
  back: DelayLine
}

export async function openDatabaseLink(databaseUrl: string): Promise<DatabaseLink> {
  let target = new URL(databaseUrl)
  const pairs = new Map<Pair, string>()
  let isSilent = false
  let delayMs = 0
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const pair = { near, far, there: new DelayLine(delayMs), back: new DelayLine(delayMs) }
    pair.there.pipe(far)
    pair.back.pipe(near)
    pairs.set(pair, target.host)
    for (const socket of [near, far]) {
      socket.on('error', () => {}) // Either end goes away on purpose.
      socket.on('close', () => {
        for (const other of [near, far, pair.there, pair.back]) other.destroy()
        pairs.delete(pair)
      })
    }
    if (!isSilent) join(pair)
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The link has no port')
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${address.port}`
  const cut = async (): Promise<void> => {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    for (const { near } of pairs.keys()) near.destroy()
    await closed
  }
  const strand = (): void => {
    for (const { near, far, there, back } of pairs.keys()) {
      near.unpipe(there).pause()
      far.unpipe(back).pause()
    }
  }
  return {
    url: url.href,
    cut,
    strand,
    silence() {
      isSilent = true
      strand()
    },
    async mend() {
      isSilent = false
      for (const pair of pairs.keys()) join(pair)
      if (!server.listening) await listen(address.port)
    },
    delay(ms) {
      delayMs = ms
      for (const { there, back } of pairs.keys()) {
        there.delayMs = ms
        back.delayMs = ms
      }
    },
    lead(elsewhere) {
      target = new URL(elsewhere)
    },
    connectionsTo: (one) => [...pairs.values()].filter((host) => host === new URL(one).host).length,
    [Symbol.asyncDispose]: cut,
  }
}

function join({ near, far, there, back }: Pair): void {
  near.pipe(there)
  far.pipe(back)
}
