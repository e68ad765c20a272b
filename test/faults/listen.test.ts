import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync, readdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { waitFor } from '../../standalone/processes/os-process.ts'
import { freePort } from '../../standalone/processes/ports.ts'
import { childrenOf } from '../kit/children.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { startRelay, type Relay } from './relay.ts'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WITHIN_MS = 60_000
const Delivery = z.object({ status: z.string() })
const List = z.object({ data: z.array(z.looseObject({ name: z.string() })) })

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

interface Listening {
  child: ChildProcess
  said: () => string
  says: (words: string) => Promise<void>
  press: (keys: string) => void
  ingestUrl: () => Promise<string>
  ended: Promise<unknown>
}

function start(args: readonly string[], env: Record<string, string> = {}): Listening {
  const command = ['connector-agent/listen/main.ts', ...args]
  return follow(
    spawn(process.execPath, command, {
      cwd: ROOT,
      env: { ...SURROUNDINGS, DATA_DIR: relay.dataDir, ...env },
    }),
  )
}

/** The same at a terminal of its own. */
function startAtTerminal(args: readonly string[]): Listening {
  const command = `${process.execPath} connector-agent/listen/main.ts ${args.join(' ')}`
  return follow(
    spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
      cwd: ROOT,
      env: { ...SURROUNDINGS, DATA_DIR: relay.dataDir, TERM: 'xterm' },
    }),
  )
}

function follow(child: ChildProcess): Listening {
  onTestFinished(() => void child.kill('SIGKILL'))
  let all = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (all += chunk.toString()))
  }
  child.stdin?.on('error', () => {})
  const said = (): string => all
  const says = async (words: string): Promise<void> => {
    const isSaid = await waitFor(() => all.includes(words), WITHIN_MS)
    expect(isSaid, `"${words}" in:\n${all}`).toBe(true)
  }
  return {
    child,
    said,
    says,
    press: (keys) => void child.stdin?.write(keys),
    ended: once(child, 'exit').then(([code]: unknown[]) => code),
    async ingestUrl() {
      await says('Keys: r sends')
      return /Post them to\s+(\S+)/.exec(all)?.[1] ?? ''
    },
  }
}

interface Local {
  port: number
  arrivals: { target: string; body: string; deliveryId: string }[]
  status: number
  server: Server
}

/** The server of a developer. */
async function serve(port: number): Promise<Local> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const deliveryId = String(request.headers['postern-delivery-id'])
      local.arrivals.push({ target: request.url ?? '', body, deliveryId })
      response.writeHead(local.status).end('thanks')
      return undefined
    })
  }).listen(port, '127.0.0.1')
  const local: Local = { port, arrivals: [], status: 200, server }
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return local
}

async function post(url: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return response.status
}

async function named(resource: string, part: string): Promise<number> {
  const list = List.parse(await relay.api('GET', `/v1/${resource}?limit=100`))
  return list.data.filter(({ name }) => name.includes(part)).length
}

const arrived = async (local: Local, count: number): Promise<void> => {
  const isThere = await waitFor(() => local.arrivals.length >= count, WITHIN_MS)
  expect(isThere, `${local.arrivals.length} of ${count} have come`).toBe(true)
}

test('without a relay listen says how to start one, and ends with code 1', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-listen-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const { said, ended } = start(['3000'], { DATA_DIR: dataDir })
  expect(await ended).toBe(1)
  expect(said()).toContain(`The relay in ${dataDir} does not run. Start it with npm start`)
  expect(said()).toContain(`No relay runs in ${dataDir}: waiting 5 s for npm start`)
  expect(said().trim().split('\n')).toHaveLength(2)
  expect(readdirSync(dataDir)).toEqual([])
})

test('listen that is started a moment before npm start waits for it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-listen-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const port = await freePort()
  const listening = start([String(port)], { DATA_DIR: dataDir })
  await listening.says('waiting 5 s for npm start')
  for (const name of ['lock', 'standalone.json']) {
    copyFileSync(join(relay.dataDir, name), join(dataDir, name))
  }
  expect(await listening.ingestUrl()).toMatch(/^http:/)
})

test('a delivery to a server that is not running says so, and is made when it runs', async () => {
  const port = await freePort()
  const listening = start([String(port), '--path', '/hooks'])
  const url = await listening.ingestUrl()
  expect(await post(url, { type: 'invoice.paid', n: 1 })).toBe(200)
  await listening.says(`not delivered: nothing listens at localhost:${port}`)
  const local = await serve(port)
  await listening.says('Your server runs: sending the delivery again')
  await arrived(local, 1)
  expect(local.arrivals[0]).toMatchObject({
    target: '/hooks',
    body: '{"type":"invoice.paid","n":1}',
  })
  const { deliveryId = '' } = local.arrivals[0] ?? {}
  const line = new RegExp(
    `^\\d\\d:\\d\\d:\\d\\d  invoice\\.paid +200 +\\d+ ms  ${deliveryId}$`,
    'm',
  )
  expect(await waitFor(() => line.test(listening.said()), WITHIN_MS)).toBe(true)
  const isRecorded = async (): Promise<boolean> =>
    Delivery.parse(await relay.api('GET', `/v1/deliveries/${deliveryId}`)).status === 'succeeded'
  // A delivery that is under way is not sent again.
  await until('its result is recorded', isRecorded, WITHIN_MS)
  listening.press('r')
  await arrived(local, 2)
  expect(local.arrivals[1]).toEqual(local.arrivals[0])

  listening.press('f')
  await listening.says('Showing failures only')
  await post(url, { type: 'quiet.success' })
  await arrived(local, 3)
  local.status = 500
  await post(url, { type: 'loud.failure' })
  await listening.says('loud.failure')
  expect(listening.said()).not.toContain('quiet.success')
  listening.press('q')
  expect(await listening.ended).toBe(0)
  expect(listening.said()).toContain('Ended.')
})

test('a second start takes up what the first made, also after kill -9, and what came meanwhile', async () => {
  const local = await serve(await freePort())
  const args = [String(local.port), '--path', '/again']
  const first = start(args)
  const url = await first.ingestUrl()
  const beside = start(args)
  expect(await beside.ended).toBe(1)
  expect(beside.said()).toContain(`runs for http://localhost:${local.port}/again already`)
  first.child.kill('SIGTERM')
  expect(await first.ended).toBe(0)
  expect(await post(url, { type: 'meanwhile' })).toBe(200)

  const second = start(args)
  expect(await second.ingestUrl()).toBe(url)
  await arrived(local, 1)
  expect(local.arrivals[0]?.body).toBe('{"type":"meanwhile"}')
  second.child.kill('SIGKILL')
  await second.ended
  const third = start([...args, '--events', 'invoice.*'])
  expect(await third.ingestUrl()).toBe(url)
  await post(url, { type: 'order.made' })
  await post(url, { type: 'invoice.paid' })
  await arrived(local, 2)
  expect(local.arrivals[1]?.body).toBe('{"type":"invoice.paid"}')
  for (const resource of ['connectors', 'sources', 'destinations', 'connections']) {
    expect(await named(resource, `${local.port}/again`), resource).toBe(1)
  }
  const states = join(relay.dataDir, 'listen')
  for (const dir of readdirSync(states)) {
    expect(statSync(join(states, dir, 'identity.json')).mode & 0o777).toBe(0o600)
    expect(statSync(join(states, dir, 'key')).mode & 0o777).toBe(0o600)
  }
  third.press('q')
  expect(await third.ended).toBe(0)
})

test('--preset verifies with its secret, --source names the address, --verbose shows bodies', async () => {
  const local = await serve(await freePort())
  const dir = mkdtempSync(join(tmpdir(), 'postern-listen-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const secretFile = join(dir, 'secret')
  writeFileSync(secretFile, 'hush\n')
  const args = [String(local.port), '--source', 'shop', '--preset', 'github', '--verbose']
  const without = start(args)
  expect(await without.ended).toBe(1)
  expect(without.said()).toContain('github signs with a secret')
  const unknown = start([String(local.port), '--preset', 'no-such'], {
    POSTERN_SOURCE_SECRET: 'hush',
  })
  expect(await unknown.ended).toBe(1)
  expect(unknown.said()).toContain('there is no preset "no-such"')

  const listening = start([...args, '--secret-file', secretFile])
  const url = await listening.ingestUrl()
  const body = { action: 'opened' }
  const signature = createHmac('sha256', 'hush').update(JSON.stringify(body)).digest('hex')
  expect(await post(url, body)).toBe(401)
  const signed = { 'x-github-event': 'issues', 'x-hub-signature-256': `sha256=${signature}` }
  expect(await post(url, body, signed)).toBe(200)
  await arrived(local, 1)
  await listening.says('  < thanks')
  expect(listening.said()).toMatch(/ {2}issues +200 /)
  expect(listening.said()).toContain('  > {"action":"opened"}')
  listening.press('q')
  expect(await listening.ended).toBe(0)
  // The source stays as it is for somebody who names it only.
  const again = start([String(local.port), '--source', 'shop'])
  expect(await again.ingestUrl()).toBe(url)
  expect(await post(url, body)).toBe(401)
  again.press('q')
  expect(await again.ended).toBe(0)
  const other = start([String(local.port), '--source', 'shop', '--preset', 'stripe'])
  expect(await other.ended).toBe(1)
  expect(other.said()).toContain('does not verify as stripe')
})

test.for([
  ['q', 'q'],
  ['Ctrl-C', '\u0003'],
] as const)('at a terminal %s ends it, without Return', async ([, key]) => {
  const port = await freePort()
  const listening = startAtTerminal([String(port), '--path', `/terminal-${key.charCodeAt(0)}`])
  await listening.ingestUrl()
  listening.press('f')
  await listening.says('Showing failures only')
  listening.press(key)
  expect(await listening.ended).toBe(0)
  expect(listening.said()).toContain('Ended.')
})

test('a relay that ends is said to be lost, and is connected to again', async () => {
  const local = await serve(await freePort())
  const listening = start([String(local.port), '--path', '/lost'])
  const url = await listening.ingestUrl()
  for (const pid of childrenOf(relay.supervisor(), 'gateway')) process.kill(pid, 'SIGKILL')
  await listening.says('Lost the relay')
  await listening.says('Connected again')
  await post(url, { type: 'after' })
  await arrived(local, 1)
  listening.child.kill('SIGINT')
  expect(await listening.ended).toBe(0)
})

test('a wrong key, and an address that is no relay, are said in one line', async () => {
  const api = relay.apiUrl
  const wrong = start(['3000'], { POSTERN_URL: api, POSTERN_API_KEY: 'pst_sk_wrong' })
  expect(await wrong.ended).toBe(1)
  expect(wrong.said().trim()).toBe('The relay does not know the API key: check POSTERN_API_KEY')
  const local = await serve(await freePort())
  const none = start(['3000'], {
    POSTERN_URL: `http://127.0.0.1:${local.port}`,
    POSTERN_API_KEY: 'k',
  })
  expect(await none.ended).toBe(1)
  expect(none.said()).toContain('is no API of a Postern relay (it answers 200)')
  const lacking = start(['3000'], { POSTERN_URL: api })
  expect(await lacking.ended).toBe(1)
  expect(lacking.said()).toContain('POSTERN_API_KEY is missing')
})
