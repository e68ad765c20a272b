import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { waitFor } from '../../standalone/processes/os-process.ts'
import { hangs, says, startEndpoint } from '../kit/endpoint.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { startAgent } from '../tunnel/agent-world.ts'
import { startRelay, type Relay } from './relay.ts'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const Made = z.looseObject({
  id: z.string(),
  ingestUrl: z.string().default(''),
  enrollmentKey: z.string().default(''),
})
const WithAttempts = z.object({
  attempts: z.array(
    z.object({ errorCode: z.string().nullable(), replicaId: z.string().nullable() }),
  ),
})
const Seen = z.object({ onlineReplicas: z.number() })
const Deliveries = z.object({
  data: z.array(z.object({ id: z.string(), status: z.string(), attemptCount: z.number() })),
})

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

let count = 0
async function make(resource: string, body: object = {}): Promise<z.infer<typeof Made>> {
  const named = { name: `agent test ${++count}`, ...body }
  return Made.parse(await relay.api('POST', `/v1/${resource}`, named))
}

async function post(url: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
}

test('kill -9 of the agent in mid-request: nothing accepted is lost, and the attempt says so', async () => {
  await using service = await startEndpoint(hangs)
  const connector = await make('connectors')
  const source = await make('sources')
  const destination = await make('destinations', {
    mode: 'private',
    connectorId: connector.id,
    url: service.url,
    retryPolicy: { strategy: 'schedule', scheduleSeconds: [1, 1, 1, 1, 1] },
  })
  await make('connections', { sourceId: source.id, destinationId: destination.id })
  const args = ['--relay', relay.apiUrl, '--allow-loopback']
  args.push('--allow', new URL(service.url).origin)
  await using agent = startAgent(args, { key: connector.enrollmentKey })
  await agent.said('Connected to gateway')
  const total = 20
  for (let n = 0; n < total; n++) await post(source.ingestUrl, { n })
  const isThere = await waitFor(() => service.arrivals.length === total, 60_000)
  expect(isThere, `${service.arrivals.length} of ${total}`).toBe(true)
  agent.child.kill('SIGKILL')
  await agent.ended
  const isOffline = async (): Promise<boolean> =>
    Seen.parse(await relay.api('GET', `/v1/connectors/${connector.id}`)).onlineReplicas === 0
  // Until the gateway has noticed it, a request may be given to the dead agent, and spends an attempt.
  await until('the connector is offline', isOffline, 60_000)
  for (let n = total; n < 2 * total; n++) await post(source.ingestUrl, { n })
  service.respond = says(200)
  await using again = startAgent(args, { stateDir: agent.stateDir, key: connector.enrollmentKey })
  await again.said('Connected to gateway')
  const list = async () => {
    const path = `/v1/deliveries?destinationId=${destination.id}&limit=100`
    return Deliveries.parse(await relay.api('GET', path)).data
  }
  const areDone = await waitFor(async () => {
    const all = await list()
    return all.length === 2 * total && all.every(({ status }) => status === 'succeeded')
  }, 60_000)
  expect(areDone, JSON.stringify(await list())).toBe(true)
  const numbers = service.arrivals.map(({ body }) => String(body))
  expect(new Set(numbers).size).toBe(2 * total)
  // A delivery in flight spent an attempt; those that came while there was no agent spent none.
  const spent = (await list()).map(({ attemptCount }) => attemptCount).toSorted((a, b) => a - b)
  expect(spent.slice(0, total)).toEqual(Array.from({ length: total }, () => 1))
  const lost = (await list()).find(({ attemptCount }) => attemptCount > 1)
  const { attempts } = WithAttempts.parse(await relay.api('GET', `/v1/deliveries/${lost?.id}`))
  expect(attempts).toContainEqual({
    errorCode: 'connector_lost',
    replicaId: expect.stringMatching(/^rpl_/),
  })
})

interface Crowd {
  child: ChildProcess
  sessions: () => number
}

function startCrowd(directory: string): Crowd {
  const command = ['test/faults/many-agents.ts', relay.apiUrl, directory]
  const child = spawn(process.execPath, command, { cwd: ROOT, env: SURROUNDINGS })
  onTestFinished(() => void child.kill('SIGKILL'))
  let sessions = 0
  child.stdout.on('data', (chunk: Buffer) => {
    sessions = Number(chunk.toString().trim().split('\n').at(-1))
  })
  child.stderr.pipe(process.stderr)
  return { child, sessions: () => sessions }
}

test(
  '200 agents behind one address restart at once and are all back',
  { timeout: 600_000 },
  async () => {
    const agents = 200
    const directory = mkdtempSync(join(tmpdir(), 'postern-crowd-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    for (let n = 0; n < agents; n++) {
      const { enrollmentKey } = await make('connectors')
      const stateDir = join(directory, `agent-${n}`)
      mkdirSync(stateDir)
      writeFileSync(join(stateDir, 'key'), enrollmentKey)
    }
    const back = async (crowd: Crowd, withinMs: number): Promise<number> => {
      const startedAt = performance.now()
      const areBack = await waitFor(() => crowd.sessions() === agents, withinMs)
      expect(areBack, `${crowd.sessions()} of ${agents} are there`).toBe(true)
      return Math.round((performance.now() - startedAt) / 1_000)
    }
    // Enrolments of one address come at 5 a second behind a burst of 20: 36 s at least.
    const first = startCrowd(directory)
    const enrolledIn = await back(first, 300_000)
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    // With their tokens they need no enrolment, and dial at once.
    const second = startCrowd(directory)
    const backIn = await back(second, 120_000)
    process.stdout.write(`${agents} agents: enrolled in ${enrolledIn} s, back in ${backIn} s\n`)
    second.child.kill('SIGKILL')
    await once(second.child, 'exit')
  },
)
