import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { z } from 'zod'

import { withLog } from '../../standalone/processes/log-file.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'
import type { Relay } from './relay.ts'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Bootstraps of a connector come at least five seconds apart. */
const ONLINE_MS = 60_000
const REST_MS = 500
/** A key may ask ten times a second. */
const LOOK_MS = 200
const Made = z.object({ id: z.string(), enrollmentKey: z.string() })
const Seen = z.object({ onlineReplicas: z.number() })

/** How an agent is run, when not beside the relay. */
export interface Surroundings {
  relayUrl?: string
  /** Words before the command: those that run it in another network. */
  prefix?: readonly string[]
}

/** A connector of a relay, with agents that are programs of their own. */
export interface Connector extends AsyncDisposable {
  id: string
  /** Members of a destination that is reached through it. */
  destination: object
  /** Starts one more for the services at these URLs, and starts it again whenever it ends. */
  startAgent(name: string, services: readonly string[]): Agent
  /** Resolves when so many replicas have a session. */
  online(replicas: number): Promise<void>
}

export interface Agent extends AsyncDisposable {
  pid(): number | undefined
}

export async function openConnector(
  relay: Pick<Relay, 'api' | 'apiUrl'>,
  name: string,
  { relayUrl = relay.apiUrl, prefix = [] }: Surroundings = {},
): Promise<Connector> {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(scratch())
  const { id, enrollmentKey } = Made.parse(await relay.api('POST', '/v1/connectors', { name }))
  const launch = (instance: string, services: readonly string[]): ChildProcess => {
    const env = {
      ...SURROUNDINGS,
      POSTERN_URL: relayUrl,
      POSTERN_ENROLLMENT_KEY: enrollmentKey,
      POSTERN_ALLOW: services.map((url) => new URL(url).origin).join(','),
      POSTERN_ALLOW_LOOPBACK: 'true',
      STATE_DIR: join(path, instance),
      INSTANCE_NAME: instance,
    }
    const [command, ...words] = [...prefix, process.execPath, 'connector-agent/main.ts']
    return withLog(join(path, `${instance}.log`), (log) =>
      spawn(command, words, { cwd: ROOT, env, stdio: ['ignore', log, log] }),
    )
  }
  const owned = stack.move()
  return {
    id,
    destination: { mode: 'private', connectorId: id },
    startAgent(instance, services) {
      const agent = keepRunning(() => launch(instance, services))
      owned.use(agent)
      return agent
    },
    async online(replicas) {
      const isSo = async (): Promise<boolean> => {
        await sleep(LOOK_MS)
        const { onlineReplicas } = Seen.parse(await relay.api('GET', `/v1/connectors/${id}`))
        return onlineReplicas === replicas
      }
      await until(`${replicas} replicas of ${name} are online`, isSo, ONLINE_MS)
    },
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

/** As whatever runs agents does. */
function keepRunning(launch: () => ChildProcess): Agent {
  const stop = new AbortController()
  let child = launch()
  const running = (async () => {
    for (;;) {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      await sleep(REST_MS, undefined, { signal: stop.signal }).catch(() => {})
      if (stop.signal.aborted) return
      child = launch()
    }
  })()
  return {
    pid: () => (child.exitCode === null && child.signalCode === null ? child.pid : undefined),
    async [Symbol.asyncDispose]() {
      stop.abort()
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await running
    },
  }
}
