import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'

import { BAD_VALUES } from '../core/settings/bad-values.fixture.ts'
import { isGone, waitFor } from '../standalone/processes/os-process.ts'
import { freePort } from '../standalone/processes/ports.ts'
import { findNatsBinary } from '../standalone/servers/nats-binary.ts'
import { SURROUNDINGS } from './kit/program.ts'
import { NATS_CACHE } from './kit/servers.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ROLES = [
  'api/main.ts',
  'dataplane/ingest/main.ts',
  'dataplane/worker/main.ts',
  'dataplane/housekeeper/main.ts',
  'dataplane/gateway/main.ts',
]
const NOBODY = 'postgres://postern:hunter2@127.0.0.1:1/postern'
const STACK = /\n\s+at .*:\d+/

interface Ended {
  code: unknown
  said: string
  seconds: number
}

function environment(settings: Record<string, string>): Record<string, string> {
  return {
    ...SURROUNDINGS,
    POSTERN_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    API_PORT: '0',
    INGEST_PORT: '0',
    GATEWAY_PORT: '0',
    OPS_PORT: '0',
    HOST: '127.0.0.1',
    ...settings,
  }
}

/** Runs a program to its end. */
async function run(args: readonly string[], settings: Record<string, string>): Promise<Ended> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: environment(settings),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { code, said, seconds: (performance.now() - startedAt) / 1000 }
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'postern-start-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const WRONG = Object.fromEntries(
  Object.entries(BAD_VALUES).map(([name, values]) => [name, values[0]?.[0] ?? '']),
)

const { compare } = new Intl.Collator()

/** Under a second on a free machine. */
const END_SECONDS = 8

test.for([
  ...ROLES.map((main) => [main]),
  ['api/migrate/main.ts'],
  ['api/admin/main.ts', 'organisations', 'list'],
  ['standalone/main.ts'],
])('%j ends with code 1 and names every wrong setting at once', async (args) => {
  const { code, said, seconds } = await run(args, WRONG)
  expect({ code, said }).toEqual({ code: 1, said: expect.not.stringMatching(STACK) })
  const named = said
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/[ :]/)[0] ?? '')
  expect(named.toSorted(compare)).toEqual(Object.keys(WRONG).toSorted(compare))
  expect(said).not.toContain('hunter2')
  expect(seconds).toBeLessThan(END_SECONDS)
})

test('npm start names a data directory that it cannot write beside the other faults', async () => {
  const { code, said } = await run(['standalone/main.ts'], {
    DATA_DIR: '/dev/null/postern',
    KEY_PREFIX: 'X',
  })
  expect({ code, said }).toEqual({ code: 1, said: expect.not.stringMatching(STACK) })
  expect(said).toMatch(/KEY_PREFIX "X"[^]*DATA_DIR "\/dev\/null\/postern": a part of the path/)
})

test('a role whose port is taken says which setting it is', async () => {
  const stranger = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void stranger.close())
  await once(stranger, 'listening')
  const address = stranger.address()
  const OPS_PORT = String(typeof address === 'object' ? address?.port : '')
  const services = { DATABASE_URL: inject('postgresUrl'), NATS_URL: inject('natsUrl') }
  const { code, said } = await run(['api/main.ts'], { ...services, OPS_PORT })
  expect({ code, said }).toEqual({ code: 1, said: expect.not.stringMatching(STACK) })
  expect(said).toContain('OPS_PORT is used by another program')
})

function withPassword(url: string, password: string): string {
  const changed = new URL(url)
  changed.password = password
  return changed.href
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

const MIGRATE = ['api/migrate/main.ts']
const ADMIN = ['api/admin/main.ts', 'organisations', 'list']

test.for<[args: string[], url: () => string, said: string, secondsMax: number]>([
  [ADMIN, () => NOBODY, 'PostgreSQL at 127.0.0.1:1/postern refuses connections', 30],
  [
    MIGRATE,
    () => withPassword(inject('postgresUrl'), 'wrong'),
    'refuses the password of the user',
    30,
  ],
  [
    ADMIN,
    () => withPassword(inject('postgresUrl'), 'wrong'),
    'refuses the password of the user',
    30,
  ],
  [ADMIN, () => withPassword(inject('postgresUrl'), ''), 'DATABASE_URL has none', 30],
  [MIGRATE, () => withDatabase(inject('postgresUrl'), 'none'), 'has no database "none"', 30],
  [MIGRATE, () => `${inject('postgresUrl')}?sslmode=verify-full`, 'speaks no TLS', 30],
  [
    ADMIN,
    () => withDatabase(inject('postgresUrl'), 'postgres'),
    'has no tables of Postern yet',
    30,
  ],
  [
    ['standalone/main.ts'],
    () => withPassword(inject('postgresUrl'), 'wrong'),
    'refuses the pass',
    30,
  ],
])('%j says in a line why its database cannot be used: case %#', async ([args, url, line, max]) => {
  const { code, said, seconds } = await run(args, { DATABASE_URL: url(), DATA_DIR: directory() })
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(line) })
  expect(said.trim().split('\n')).toHaveLength(1)
  expect(said).not.toContain('hunter2')
  expect(seconds).toBeLessThan(max)
})

test('npm start and migrate give a database that is not there a while, and then say so', async () => {
  const settings = { DATABASE_URL: NOBODY, DATA_DIR: directory() }
  const ended = await Promise.all([run(['standalone/main.ts'], settings), run(MIGRATE, settings)])
  for (const { code, said, seconds } of ended) {
    expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining('nothing listens') })
    expect(said.trim().split('\n')).toHaveLength(1)
    expect(seconds).toBeGreaterThan(10)
    expect(seconds).toBeLessThan(50)
  }
})

test('admin says that a database is read only', async () => {
  const name = `readonly_${randomBytes(4).toString('hex')}`
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  onTestFinished(async () => {
    await client.query(`drop database ${name}`)
    await client.end()
  })
  await client.query(`create database ${name}`)
  await client.query(`alter database ${name} set default_transaction_read_only = on`)
  const { code, said } = await run(ADMIN, {
    DATABASE_URL: withDatabase(inject('postgresUrl'), name),
  })
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining('set to read only') })
})

/** A nats-server with these arguments; the URL has no credentials. */
async function startServer(args: readonly string[]): Promise<string> {
  const options = { cache: NATS_CACHE, chosen: process.env['NATS_SERVER_BIN'], env: process.env }
  const { file } = await findNatsBinary({ ...options, print: () => {} })
  const port = await freePort()
  const child = spawn(file, ['-a', '127.0.0.1', '-p', String(port), ...args], { stdio: 'ignore' })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await isGone(child.pid ?? 0, 5_000)
  })
  const isThere = async () => {
    const answer = await run(
      [
        '-e',
        `require('net').connect(${port}, '127.0.0.1', () => process.exit(0)).on('error', () => process.exit(1))`,
      ],
      {},
    )
    return answer.code === 0
  }
  expect(await waitFor(isThere, 10_000)).toBe(true)
  return `nats://127.0.0.1:${port}`
}

/** A server that greets like a NATS of another version and does nothing else. */
async function startGreeter(version: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(
      `INFO {"server_id":"x","version":"${version}","proto":1,"headers":true,"max_payload":1048576}\r\n`,
    )
    socket.on('data', () => socket.write('PONG\r\n'))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  return `nats://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

test.for<[name: string, url: () => string | Promise<string>, said: string]>([
  [
    'asks for a password',
    () => inject('natsUrl').replace(/\/\/.*@/, '//'),
    'refuses the user and the',
  ],
  [
    'refuses the password',
    () => inject('natsUrl').replace(/:[^:@]*@/, ':wrong@'),
    'refuses the user',
  ],
  ['has no JetStream', () => startServer([]), 'has no JetStream: start it with -js'],
  ['is too old', () => startGreeter('2.8.4'), 'is version 2.8.4: it must be 2.9 or newer'],
  ['is not there', () => 'nats://127.0.0.1:1', 'refuses connections: nothing listens there'],
])('npm start says in a line that its NATS %s', { timeout: 60_000 }, async ([, url, line]) => {
  const settings = { DATABASE_URL: inject('postgresUrl'), NATS_URL: await url() }
  const { code, said } = await run(['standalone/main.ts'], { ...settings, DATA_DIR: directory() })
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(line) })
  expect(said.trim().split('\n')).toHaveLength(1)
})

/** A port of this machine that takes connections and says nothing. */
async function startSilent(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

/** A role that has begun; `lines` are those about services that it waits for. */
function begin(main: string, settings: Record<string, string>) {
  const child = spawn(process.execPath, [main], {
    cwd: ROOT,
    env: environment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const complaints = text(child.stderr)
  const exited = once(child, 'exit')
  return {
    waitsFor: (service: string) =>
      said
        .split('\n')
        .filter((line) => line.includes(`"service":"${service}"`) && line.includes('Waiting for')),
    end: async () => {
      child.kill('SIGTERM')
      const [code] = await exited
      return { code, complaints: await complaints }
    },
  }
}

test(
  'every role names each service that it waits for, at once and every ten seconds, and ends when it is told to',
  { timeout: 150_000 },
  async () => {
    const waits = ROLES.map(async (main) => {
      const OPS_PORT = String(await freePort())
      const services = { DATABASE_URL: NOBODY, NATS_URL: 'nats://127.0.0.1:1' }
      const role = begin(main, { ...services, OPS_PORT })
      const readyz = async (): Promise<string> => {
        const answer = await fetch(`http://127.0.0.1:${OPS_PORT}/readyz`).catch(() => undefined)
        return `${answer?.status} ${await answer?.text()}`
      }
      const refused = 'refuses connections: nothing listens there'
      const reasons = [
        `PostgreSQL at 127.0.0.1:1/postern ${refused}`,
        `NATS at 127.0.0.1:1 ${refused}`,
      ]
      const isSaid = async (): Promise<boolean> => {
        const answer = await readyz()
        return answer.startsWith('503 ') && reasons.every((reason) => answer.includes(reason))
      }
      expect(await waitFor(isSaid, 60_000)).toBe(true)
      expect((await fetch(`http://127.0.0.1:${OPS_PORT}/livez`)).status).toBe(200)
      const lines = (): string[][] => ['PostgreSQL', 'NATS'].map(role.waitsFor)
      expect(await waitFor(() => lines().every(({ length }) => length === 2), 60_000)).toBe(true)
      expect(lines().map(([first]) => first)).toEqual(
        reasons.map((reason) => expect.stringContaining(reason)),
      )
      expect(await role.end()).toEqual({ code: 0, complaints: '' })
    })
    await Promise.all(waits)
  },
)

test('a role names a service that takes its connection and says nothing', async () => {
  const port = await startSilent()
  const role = begin('dataplane/worker/main.ts', {
    DATABASE_URL: `postgres://postern@127.0.0.1:${port}/postern`,
    NATS_URL: `nats://127.0.0.1:${port}`,
  })
  for (const service of ['PostgreSQL', 'NATS']) {
    expect(await waitFor(() => role.waitsFor(service).length === 1, 20_000)).toBe(true)
    expect(role.waitsFor(service)[0]).toContain(`${service} has not answered for a second`)
  }
})

test('migrate says at once that it waits for its database', { timeout: 60_000 }, async () => {
  const role = begin('api/migrate/main.ts', { DATABASE_URL: NOBODY })
  expect(await waitFor(() => role.waitsFor('PostgreSQL').length === 1, 20_000)).toBe(true)
  expect(role.waitsFor('PostgreSQL')[0]).toContain('refuses connections')
})
