import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { commandOf, isAlive, isGone, waitFor } from '../../standalone/processes/os-process.ts'
import { freePort } from '../../standalone/processes/ports.ts'
import { childrenOf } from '../kit/children.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START_MS = 90_000
const Standalone = z.object({
  apiUrl: z.url(),
  ingestUrl: z.url(),
  gatewayUrl: z.url(),
  dashboardUrl: z.url(),
  setupUrl: z.url().nullable(),
  metricsUrls: z.strictObject({
    api: z.url(),
    ingest: z.url(),
    worker: z.url(),
    housekeeper: z.url(),
    gateway: z.url(),
  }),
  organisationId: z.string(),
  projectId: z.string(),
  apiKey: z.string(),
  databaseUrl: z.url(),
  natsUrl: z.url(),
  pid: z.number(),
})

function start(dataDir: string, env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, ['standalone/main.ts'], {
    cwd: ROOT,
    env: { ...SURROUNDINGS, DATA_DIR: dataDir, API_PORT: '0', INGEST_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await isGone(child.pid ?? 0, 20_000)
  })
  return child
}

async function outcome(child: ChildProcess): Promise<{ code: unknown; said: string }> {
  const [said, [code]] = await Promise.all([
    child.stderr === null ? '' : text(child.stderr),
    once(child, 'exit'),
  ])
  return { code, said }
}

/** Reads standalone.json once this very start is ready. */
async function ready(dataDir: string, child: ChildProcess): Promise<z.infer<typeof Standalone>> {
  const file = join(dataDir, 'standalone.json')
  const read = () =>
    existsSync(file) ? Standalone.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
  const isReady = await waitFor(() => {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`)
    return read()?.pid === child.pid
  }, START_MS)
  expect(isReady).toBe(true)
  return Standalone.parse(read())
}

async function rightsOf(databaseUrl: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const query = 'select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = user'
    return (await client.query(query)).rows
  } finally {
    await client.end()
  }
}

/** The pids of PostgreSQL and NATS. */
function serverPids(dataDir: string): number[] {
  const pids = ['postgres/data/postmaster.pid', 'nats/nats.pid'].map((name) =>
    Number.parseInt(readFileSync(join(dataDir, name), 'utf8'), 10),
  )
  expect(pids.map((pid) => commandOf(pid).includes(dataDir))).toEqual([true, true])
  return pids
}

test('npm start names a used port before it starts anything', async () => {
  using directory = scratch()
  const port = await freePort()
  const stranger = createServer().listen(port, '127.0.0.1')
  await once(stranger, 'listening')
  const { code, said } = await outcome(start(directory.path, { API_PORT: String(port) }))
  stranger.close()
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(`API_PORT ${port}`) })
  expect(existsSync(join(directory.path, 'postgres'))).toBe(false)
})

test('npm start names every wrong setting at once', async () => {
  using directory = scratch()
  const { code, said } = await outcome(start(directory.path, { API_PORT: 'x', LOG_LEVEL: 'loud' }))
  expect(code).toBe(1)
  expect(said).toMatch(/API_PORT[^]*LOG_LEVEL/)
})

test.skipIf(process.platform !== 'linux')(
  'npm start runs the relay, survives kills and stops all it started',
  { timeout: 240_000 },
  async () => {
    using directory = scratch()
    const dataDir = directory.path
    const first = start(dataDir)
    const told = await ready(dataDir, first)
    expect(statSync(join(dataDir, 'standalone.json')).mode & 0o777).toBe(0o600)
    expect((await fetch(`${told.apiUrl}/v1/sources`)).status).toBe(401)

    const metrics = Object.values(told.metricsUrls)
    for (const url of metrics) {
      expect(new URL(url).hostname).toBe('127.0.0.1')
      expect(await (await fetch(url)).text()).toContain('process_cpu_seconds_total')
    }
    const elsewhere = [told.apiUrl, told.ingestUrl, told.gatewayUrl, ...metrics].map((url) =>
      fetch(url.replace('ws:', 'http:').replace('127.0.0.1', '127.0.0.2')).catch(() => 'refused'),
    )
    expect(new Set(await Promise.all(elsewhere))).toEqual(new Set(['refused']))
    expect(await rightsOf(told.databaseUrl)).toEqual([
      { rolsuper: false, rolcreaterole: false, rolcreatedb: false },
    ])

    const second = await outcome(start(dataDir))
    expect(second).toEqual({ code: 1, said: expect.stringContaining(`pid ${first.pid}`) })

    const [role = 0] = childrenOf(told.pid, ' api/main.ts')
    process.kill(role, 'SIGKILL')
    const isBack = async () => {
      const answer = await fetch(`${told.apiUrl}/v1/sources`).catch(() => undefined)
      return answer?.status === 401
    }
    expect(await waitFor(() => !isAlive(role), 5_000)).toBe(true)
    expect(await waitFor(isBack, 30_000)).toBe(true)

    const roles = childrenOf(told.pid, 'parent-watch')
    expect(roles).toHaveLength(5)
    const servers = serverPids(dataDir)
    first.kill('SIGKILL')
    expect(await Promise.all(roles.map((pid) => isGone(pid, 10_000)))).toEqual(
      roles.map(() => true),
    )

    const third = start(dataDir)
    const retold = await ready(dataDir, third)
    const { organisationId, projectId, apiKey, databaseUrl, natsUrl } = told
    expect(retold).toMatchObject({ organisationId, projectId, apiKey, databaseUrl, natsUrl })
    expect(serverPids(dataDir)).toEqual(servers)
    third.kill('SIGTERM')
    await once(third, 'exit')
    expect(third.exitCode).toBe(0)
    expect(servers.map(isAlive)).toEqual([false, false])
    expect(existsSync(join(dataDir, 'standalone.json'))).toBe(false)
  },
)
