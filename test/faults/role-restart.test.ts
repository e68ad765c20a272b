import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { freePort } from '../../standalone/processes/ports.ts'
import { startNatsCluster, type NatsCluster } from '../kit/nats-cluster.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'
import { startPair, type Pair } from '../kit/standby.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ROLES = ['dataplane/ingest', 'dataplane/worker'] as const
const READY_MS = 30_000
/** Promotion, a lost connection or a time-out, and the next write of each role. */
const TAKEN_OVER_MS = 15_000
/** A role is ready by a commit of the last 5 s: afterwards by one on the promoted host. */
const COMMITTED_MS = 6_000

const stack = new AsyncDisposableStack()
let pair: Pair
let nats: NatsCluster
let settings: Record<string, string>
beforeAll(async () => {
  const { path } = stack.use(scratch())
  pair = stack.use(await startPair(path))
  nats = stack.use(await startNatsCluster(path))
  settings = {
    ...SURROUNDINGS,
    DATABASE_URL: pair.url('?target_session_attrs=read-write'),
    NATS_URL: nats.nodes.map(({ url }) => url).join(','),
    POSTERN_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    INGEST_PORT: '0',
    LOG_LEVEL: 'error',
  }
  const options = { cwd: ROOT, env: settings }
  await promisify(execFile)(process.execPath, ['api/migrate/main.ts'], options)
})
afterAll(async () => await stack.disposeAsync())

interface Role {
  /** Its answer of /readyz, or why there is none; empty when it is ready. */
  notReady(): Promise<string>
  kill(): Promise<void>
}

async function startRole(name: (typeof ROLES)[number]): Promise<Role> {
  const port = await freePort()
  const child = spawn(process.execPath, [`${name}/main.ts`], {
    cwd: ROOT,
    env: { ...settings, OPS_PORT: String(port), INSTANCE_NAME: `${name}-${port}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const died = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await died
  }
  stack.defer(kill)
  const notReady = async (): Promise<string> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
      return answer.ok ? '' : `${name}: ${await answer.text()}`
    } catch (error) {
      return `${name}: ${String(error)}`
    }
  }
  return { notReady, kill }
}

async function expectReady(roles: readonly Role[], timeout: number): Promise<void> {
  const reasons = async () => await Promise.all(roles.map(async (role) => await role.notReady()))
  await expect.poll(reasons, { timeout, interval: 200 }).toEqual(roles.map(() => ''))
}

test('roles start while a NATS server of the list is down', async () => {
  const [first] = nats.nodes
  process.kill(first?.pid() ?? 0, 'SIGKILL')
  const roles = await Promise.all(ROLES.map(startRole))
  await expectReady(roles, READY_MS)
  await first?.start()
  await Promise.all(roles.map(async (role) => await role.kill()))
})

test('roles go on with the host that was promoted, and start while the other is down', async () => {
  const before = await Promise.all(ROLES.map(startRole))
  await expectReady(before, READY_MS)
  await pair.primary.stop()
  await pair.promote()
  await sleep(COMMITTED_MS)
  await expectReady(before, TAKEN_OVER_MS)
  await Promise.all(before.map(async (role) => await role.kill()))
  await expectReady(await Promise.all(ROLES.map(startRole)), READY_MS)
})
