import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'

import { run } from '../../standalone/processes/os-process.ts'
import { freePort } from '../../standalone/processes/ports.ts'
import { dataOf } from '../../standalone/servers/postgres-data.ts'
import type { Server } from '../../standalone/servers/server.ts'
import { startTestPostgres } from './servers.ts'

/** A primary and a standby that follows it. Disposing of it stops both. */
export interface Pair extends AsyncDisposable {
  primary: Server
  standby: Server
  /** `127.0.0.1:port` of both, the primary first. */
  hosts: readonly [string, string]
  /** The URL of both, the primary first; `query` is put behind it. */
  url(query?: string): string
  /** The standby takes writes from now on. */
  promote(): Promise<void>
}

/** Makes both in `directory`; the standby is a copy of the primary's files. */
export async function startPair(directory: string): Promise<Pair> {
  await using stack = new AsyncDisposableStack()
  const [first, second] = [join(directory, 'first'), join(directory, 'second')]
  for (const place of [first, second]) mkdirSync(place, { mode: 0o711 })
  const made = await startTestPostgres(first)
  await made.stop()
  await copyFiles(first, second, made.url)
  const primary = stack.use(await startTestPostgres(first))
  const standby = stack.use(await startTestPostgres(second))
  const owned = stack.move()
  const hosts = [`127.0.0.1:${primary.port}`, `127.0.0.1:${standby.port}`] as const
  return {
    primary,
    standby,
    hosts,
    url: (query = '') => `${primary.url.replace(hosts[0], hosts.join(','))}${query}`,
    async promote() {
      const client = new pg.Client({ connectionString: standby.url })
      await client.connect()
      await client.query('select pg_promote()')
      await client.end()
    },
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

async function copyFiles(from: string, to: string, url: string): Promise<void> {
  const source = dataOf(join(from, 'postgres'))
  if (source === undefined) throw new Error('The primary has no data')
  const { port: primaryPort, password } = new URL(url)
  const data = join(to, 'postgres', 'data')
  mkdirSync(join(to, 'postgres'), { mode: 0o711 })
  await run('cp', ['-a', source, data], {})
  writeFileSync(join(data, 'standby.signal'), '')
  const reach = `host=127.0.0.1 port=${primaryPort} user=postgres password=${password}`
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${reach}'\n`)
  const kept = { data, port: await freePort(), password }
  writeFileSync(join(to, 'postgres', 'server.json'), JSON.stringify(kept))
}
