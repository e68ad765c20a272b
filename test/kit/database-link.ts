import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

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
  /** New connections lead to this database. Open connections stay. */
  lead(databaseUrl: string): void
  /** Connections that lead to this database. */
  connectionsTo(databaseUrl: string): number
}

export async function openDatabaseLink(databaseUrl: string): Promise<DatabaseLink> {
  let target = new URL(databaseUrl)
  const pairs = new Map<readonly [Socket, Socket], string>()
  let isSilent = false
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const pair = [near, far] as const
    pairs.set(pair, target.host)
    for (const socket of pair) {
      socket.on('error', () => {}) // Either end goes away on purpose.
      socket.on('close', () => {
        for (const other of pair) other.destroy()
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
    for (const [near] of pairs.keys()) near.destroy()
    await closed
  }
  const strand = (): void => {
    for (const [near, far] of pairs.keys()) {
      near.unpipe(far).pause()
      far.unpipe(near).pause()
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
    lead(elsewhere) {
      target = new URL(elsewhere)
    },
    connectionsTo: (one) => [...pairs.values()].filter((host) => host === new URL(one).host).length,
    [Symbol.asyncDispose]: cut,
  }
}

function join([near, far]: readonly [Socket, Socket]): void {
  near.pipe(far)
  far.pipe(near)
}
