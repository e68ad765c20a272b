import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'

import type { RequestHead } from '../../core/tunnel/protocol.ts'
import {
  type Admission,
  buildTunnelServer,
  type Dialled,
} from '../../dataplane/gateway/dial/server.ts'
import { Session, type SessionOwner } from '../../dataplane/gateway/sessions/session.ts'
import { BodyBudget } from '../../dataplane/gateway/streams/body-budget.ts'
import { SURROUNDINGS } from '../kit/program.ts'

const OWNER: SessionOwner = { replicaId: 'rep_1', connectorId: 'con_1', organisationId: 'org_1' }
/** For tests that start programs one after another, which takes a loaded machine its time. */
export const LONG = { timeout: 240_000 }
const NEVER = new AbortController().signal

/** The answer of a small relay to one request. */
export interface Answered {
  status: number
  body?: object
  headers?: Record<string, string>
}

/** The two public endpoints of a relay as decisions.md has them, over real HTTP. */
export interface FakeRelay extends AsyncDisposable {
  url: string
  server: Server
  calls: { path: string; token: string; body: Record<string, unknown>; atMs: number }[]
  bootstrap: (token: string) => Answered
  heartbeat: (token: string) => Answered
  /** Resolves when an agent has had the answer to a heartbeat that begins from here on. */
  heardAnew(): Promise<void>
}

export async function openRelay(gatewayUrl: string, server = createServer()): Promise<FakeRelay> {
  let count = 0
  const relay: FakeRelay = {
    url: '',
    server,
    calls: [],
    bootstrap: () => ({
      status: 200,
      body: {
        connectorId: 'con_1',
        replicaId: 'rep_1',
        heartbeatToken: `token-${++count}`,
        heartbeatIntervalSeconds: 1,
        gatewayUrl,
        allowedHosts: [],
      },
    }),
    heartbeat: () => ({
      status: 200,
      body: { heartbeatIntervalSeconds: 1, gatewayUrl, allowedHosts: [], isDisabled: false },
    }),
    async heardAnew() {
      const before = relay.calls.length
      // The next heartbeat is sent when the answer to the one before has been taken.
      await eventually('two heartbeats came', () => relay.calls.length >= before + 2)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await sleep(10)
    },
  }
  server.on('request', (request, response) => {
    void textOf(request).then((text) => {
      const token = String(request.headers.authorization).replace('Bearer ', '')
      const path = request.url ?? ''
      const body: Record<string, unknown> = JSON.parse(text || '{}')
      relay.calls.push({ path, token, body, atMs: performance.now() })
      const isBootstrap = path === '/v1/connectors/bootstrap'
      const isKnown = isBootstrap || path === '/v1/connectors/replicas/heartbeat'
      const answer = isKnown
        ? (isBootstrap ? relay.bootstrap : relay.heartbeat)(token)
        : refusal(404, 'NOT_FOUND')
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      response.end(answer.body === undefined ? '<html>' : JSON.stringify(answer.body))
      return undefined
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const scheme = 'setSecureContext' in server ? 'https' : 'http'
  relay.url = `${scheme}://127.0.0.1:${portOf(server)}`
  return relay
}

export function refusal(status: number, code: string, reason?: string): Answered {
  return { status, body: { code, status, message: code, ...(reason && { data: { reason } }) } }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A gateway's own listener and sessions, with an admission that the test decides. */
export interface FakeGateway extends AsyncDisposable {
  name: string
  url: string
  sessions: Session[]
  dialled: Dialled[]
  admit: (dialled: Dialled) => Admission<SessionOwner> | Promise<Admission<SessionOwner>>
  /** Gives one request to a session. */
  send(head: Partial<RequestHead>, body?: string | Buffer): ReturnType<Session['streams']['send']>
}

export async function openGateway(name = 'gateway-1', port = 0): Promise<FakeGateway> {
  const server = buildTunnelServer<SessionOwner>({
    log: pino({ level: 'silent' }),
    gatewayName: name,
    remoteIpOf: ({ socket }: IncomingMessage) => socket.remoteAddress ?? '',
    admit: async (dialled) => {
      gateway.dialled.push(dialled)
      return await gateway.admit(dialled)
    },
    opened(wire, owner) {
      const deps = {
        budget: new BodyBudget(64 * 1024 * 1024, 64 * 1024 * 1024),
        gatewayName: name,
        changed: () => {},
        closed: (closed: Session) => {
          gateway.sessions = gateway.sessions.filter((session) => session !== closed)
        },
      }
      gateway.sessions.push(new Session(wire, owner, deps, []))
    },
  })
  let attempts = 0
  const gateway: FakeGateway = {
    name,
    url: '',
    sessions: [],
    dialled: [],
    admit: () =>
      gateway.sessions.length > 0
        ? {
            kind: 'refused',
            status: 409,
            code: 'CONFLICT',
            message: 'There is a session',
            data: { gateways: 1 },
          }
        : { kind: 'admitted', owner: OWNER },
    async send(head, body = '{}') {
      const session = gateway.sessions.findLast(({ streams }) => streams.hasRoom)
      if (session === undefined) throw new Error('No session takes requests')
      const bytes = Buffer.from(body)
      const whole = {
        attemptId: `attempt-${++attempts}-${Math.random()}`,
        method: 'POST',
        url: 'http://localhost/',
        headers: [] as [string, string][],
        bodyBytes: bytes.length,
        timeoutMs: 5_000,
        ...head,
      }
      return await session.streams.send(whole, chunks(bytes), NEVER)
    },
    async [Symbol.asyncDispose]() {
      for (const session of gateway.sessions) session.close(1001, 'The test is over')
      server.closeAllConnections()
      server.close()
      await sleep(20)
    },
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  gateway.url = `ws://127.0.0.1:${portOf(server)}`
  return gateway
}

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array, void> {
  if (bytes.length > 0) yield bytes
}

/** The agent as the program that people start. */
export interface RunningAgent extends AsyncDisposable {
  child: ChildProcess
  /** Lines of its log and of its errors. */
  lines: string[]
  stateDir: string
  ended: Promise<number | null>
  opsUrl(): Promise<string>
  /** Waits for a line that contains the words. */
  said(words: string, withinMs?: number): Promise<string>
}

export function startAgent(
  args: readonly string[],
  {
    env = {},
    stateDir = mkdtempSync(join(tmpdir(), 'agent-')),
    key = 'key-1',
  }: { env?: Record<string, string>; stateDir?: string; key?: string | null } = {},
): RunningAgent {
  const keyFile = join(stateDir, 'key')
  if (key !== null) writeFileSync(keyFile, `${key}\n`)
  const all = [
    'connector-agent/main.ts',
    '--state-dir',
    stateDir,
    '--ops-port',
    '0',
    ...(key === null ? [] : ['--enrollment-key-file', keyFile]),
    ...args,
  ]
  const child = spawn(process.execPath, all, { env: { ...SURROUNDINGS, ...env } })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    let rest = ''
    stream?.on('data', (chunk: Buffer) => {
      const parts = `${rest}${chunk.toString()}`.split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts)
    })
  }
  const ended = once(child, 'close').then(([code]): number | null => code)
  const agent: RunningAgent = {
    child,
    lines,
    stateDir,
    ended,
    async said(words, withinMs = 60_000) {
      const endAt = performance.now() + withinMs
      for (;;) {
        const line = lines.find((one) => one.includes(words))
        if (line !== undefined) return line
        if (performance.now() > endAt)
          throw new Error(`Nobody said "${words}":\n${lines.join('\n')}`)
        await sleep(20)
      }
    },
    async opsUrl() {
      const line: { opsUrl: string } = JSON.parse(await agent.said('opsUrl'))
      return line.opsUrl
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
  return agent
}

export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  withinMs = 60_000,
): Promise<void> {
  const endAt = performance.now() + withinMs
  while (!(await isTrue())) {
    if (performance.now() > endAt) throw new Error(`Not within ${withinMs} ms: ${what}`)
    await sleep(20)
  }
}
