import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { z } from 'zod'

import { freePort } from '../../standalone/processes/ports.ts'
import { startPostgres } from '../../standalone/servers/postgres.ts'
import { scratch } from '../../test/kit/servers.ts'
import { startChild, type Child } from './child.ts'
import { CONCURRENCY, SECRET, targetOf, type Peer, type RunningPeer } from './peer.ts'

const HERE = fileURLToPath(new URL('home-made/', import.meta.url))
const { REDIS_SERVER_BIN = 'redis-server' } = process.env
const Package = z.object({ version: z.string() })

/** A store of jobs that a relay is built on. */
interface Store extends AsyncDisposable {
  url: string
  pids(): number[]
  kill(): Promise<void>
}

/** A receiver and a worker of 40 lines each on BullMQ. Redis flushes each write before it answers, as PostgreSQL does. */
export const onBullmq: Peer = {
  name: 'home-made on BullMQ',
  missing() {
    if (redisVersion() === '') return 'no Redis: apt-get install redis-server, REDIS_SERVER_BIN'
    return withoutModule('bullmq')
  },
  version: () => `BullMQ ${moduleVersion('bullmq')} on Redis ${redisVersion()}`,
  start: async (destination) => await startHomeMade('bullmq', destination, startRedis),
}

/** The same on graphile-worker, with the PostgreSQL that `npm start` brings. */
export const onGraphileWorker: Peer = {
  name: 'home-made on graphile-worker',
  missing: () => withoutModule('graphile-worker'),
  version: () => `graphile-worker ${moduleVersion('graphile-worker')} on Postern's PostgreSQL`,
  start: async (destination) =>
    await startHomeMade('graphile-worker', destination, startOwnPostgres),
}

/** The same without a store: how fast it is to promise nothing, and proof that the kills find what is lost. */
export const inMemory: Peer = {
  name: 'home-made in memory',
  missing: () => undefined,
  version: () => 'fastify and undici of the repository',
  start: async (destination) => await startHomeMade('memory', destination),
}

async function startHomeMade(
  queue: string,
  destination: string,
  startStore?: (directory: string) => Promise<Store>,
): Promise<RunningPeer> {
  await using stack = new AsyncDisposableStack()
  const directory = stack.use(scratch()).path
  const store = startStore && stack.use(await startStore(directory))
  const port = await freePort()
  const env = {
    QUEUE: queue,
    STORE_URL: store?.url ?? '',
    PORT: String(port),
    SECRET,
    DESTINATION: destination,
    CONCURRENCY: String(CONCURRENCY),
  }
  const start = async (name: string, listens?: { port: number }): Promise<Child> =>
    stack.use(
      await startChild({
        name,
        file: process.execPath,
        args: [join(HERE, `${name}.mjs`)],
        env,
        directory,
        ...listens,
      }),
    )
  const receiver = await start('receiver', { port })
  const worker = store && (await start('worker'))
  const owned = stack.move()
  return {
    target: targetOf(`http://127.0.0.1:${port}/hooks/github`),
    pids: () => [receiver.pid(), ...(worker && store ? [worker.pid(), ...store.pids()] : [])],
    async kill() {
      await receiver.kill()
      await worker?.kill()
    },
    ...(store && { killStores: () => store.kill() }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function startRedis(directory: string): Promise<Store> {
  const port = await freePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'maxmemory-policy': 'noeviction',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const redis = await startChild({ name: 'redis', file: REDIS_SERVER_BIN, args, directory, port })
  return {
    url: `redis://127.0.0.1:${port}`,
    pids: () => [redis.pid()],
    kill: () => redis.kill(),
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  }
}

async function startOwnPostgres(directory: string): Promise<Store> {
  const options = {
    directory: join(directory, 'postgres'),
    log: join(directory, 'postgres.log'),
    durable: true,
    print: () => {},
  }
  let server = await startPostgres(options)
  return {
    url: server.url,
    pids: () => [server.pid],
    async kill() {
      process.kill(server.pid, 'SIGKILL')
      await server.died
      server = await startPostgres(options)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

function redisVersion(): string {
  const { stdout } = spawnSync(REDIS_SERVER_BIN, ['--version'], { encoding: 'utf8' })
  return /v=(\S+)/.exec(stdout ?? '')?.[1] ?? ''
}

function withoutModule(name: string): string | undefined {
  return existsSync(join(HERE, 'node_modules', name))
    ? undefined
    : `no ${name}: npm --prefix bench/peers/home-made ci`
}

function moduleVersion(name: string): string {
  const text = readFileSync(join(HERE, 'node_modules', name, 'package.json'), 'utf8')
  return Package.parse(JSON.parse(text)).version
}
