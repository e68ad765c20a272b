import { once } from 'node:events'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { WebSocket } from 'ws'

import { dial } from '../../connector-agent/tunnel/dial.ts'
import { Session as AgentSession } from '../../connector-agent/tunnel/session.ts'
import { AgentStreams, type Perform } from '../../connector-agent/tunnel/streams.ts'
import { Tunnels } from '../../connector-agent/tunnel/tunnels.ts'
import { encodeFrame } from '../../core/tunnel/frames.ts'
import { type Link, type LinkEnd, type LinkTiming, openLink } from '../../core/tunnel/link.ts'
import { FRAME_BYTES_MAX } from '../../core/tunnel/protocol.ts'
import {
  type Admission,
  buildTunnelServer,
  type Dialled,
} from '../../dataplane/gateway/dial/server.ts'
import { Session, type SessionOwner } from '../../dataplane/gateway/sessions/session.ts'
import { Sessions } from '../../dataplane/gateway/sessions/sessions.ts'
import { BodyBudget } from '../../dataplane/gateway/streams/body-budget.ts'

const OWNER: SessionOwner = { replicaId: 'r', connectorId: 'c', organisationId: 'o' }
const QUICK = { pingMs: 200, silenceMs: 1_000 }
const PHASES = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 1 }
const NEVER = new AbortController().signal

interface Gateway extends AsyncDisposable {
  url: string
  port: number
  sessions: Sessions
  ends: LinkEnd[]
  dialled: Dialled[]
}

async function openGateway(
  admit: () => Promise<Admission<SessionOwner>> = async () => ({ kind: 'admitted', owner: OWNER }),
  timing?: LinkTiming,
): Promise<Gateway> {
  const sessions = new Sessions(Math.random)
  const ends: LinkEnd[] = []
  const dialled: Dialled[] = []
  const server = buildTunnelServer<SessionOwner>({
    log: pino({ level: 'silent' }),
    gatewayName: 'gateway-1',
    remoteIpOf: ({ socket }) => socket.remoteAddress ?? '',
    admit: async (given) => {
      dialled.push(given)
      return await admit()
    },
    opened(wire, owner) {
      const session = new Session(
        wire,
        owner,
        {
          budget: new BodyBudget(1024 * 1024, 1024 * 1024),
          gatewayName: 'gateway-1',
          timing,
          changed: () => {},
          closed: (closed, end) => {
            sessions.remove(closed)
            ends.push(end)
          },
        },
        ['*.internal'],
      )
      sessions.add(session)
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `ws://127.0.0.1:${port}/v1/tunnel`,
    port,
    sessions,
    ends,
    dialled,
    async [Symbol.asyncDispose]() {
      for (const session of sessions.all()) session.close(1001, 'test is over')
      server.closeAllConnections()
      server.close()
      await sleep(20)
    },
  }
}

interface Agent {
  streams: AgentStreams
  link: Link
  ended: Promise<LinkEnd>
  settings: Promise<unknown>
}

async function openAgent(url: string, perform: Perform, timing?: LinkTiming): Promise<Agent> {
  const ended = Promise.withResolvers<LinkEnd>()
  const settings = Promise.withResolvers<unknown>()
  let agent: Agent | undefined
  const result = await dial({ url, token: 'token-1', gateways: ['gateway-0'] }, (wire) => {
    const link = openLink(
      wire,
      {
        frame: (frame) => {
          if (frame.kind === 'settings') settings.resolve(frame.settings)
          streams.receive(frame)
        },
        closed: ended.resolve,
      },
      timing,
    )
    const streams = new AgentStreams({
      write: (frame) => link.write(frame),
      perform,
      streamsMax: 64,
    })
    agent = { streams, link, ended: ended.promise, settings: settings.promise }
  })
  if (agent === undefined) throw new Error(`Not open: ${JSON.stringify(result)}`)
  return agent
}

const ok: Perform = async (_head, body) => {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(Buffer.from(part))
  return {
    kind: 'response',
    head: { status: 201, headers: [['x-a', 'b']], phases: PHASES },
    body: Buffer.concat(parts).subarray(0, 100),
  }
}

async function* bytes(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text)
}

function request(body: string) {
  return {
    attemptId: 'a',
    method: 'POST',
    url: 'http://a.internal/',
    headers: [],
    bodyBytes: body.length,
    timeoutMs: 1_000,
  }
}

async function eventually(what: string, isTrue: () => boolean): Promise<void> {
  const endAt = performance.now() + 5_000
  while (!isTrue()) {
    if (performance.now() > endAt) throw new Error(`Not within 5 s: ${what}`)
    await sleep(5)
  }
}

test('an agent dials, is told its settings and answers requests', async () => {
  await using gateway = await openGateway()
  const agent = await openAgent(gateway.url, ok)
  expect(gateway.dialled).toEqual([
    { token: 'token-1', remoteIp: '127.0.0.1', gateways: ['gateway-0'] },
  ])
  expect(await agent.settings).toEqual({
    name: 'gateway-1',
    streamsMax: 64,
    allowedHosts: ['*.internal'],
  })
  const session = gateway.sessions.pick('c')
  const outcome = await session?.streams.send(request('hello'), bytes('hello'), NEVER)
  expect(outcome).toMatchObject({
    kind: 'response',
    head: { status: 201, headers: [['x-a', 'b']] },
  })
  agent.link.close(1001, 'done')
  await eventually('the gateway forgets the session', () => gateway.sessions.count === 0)
  expect(gateway.ends).toEqual([{ code: 1001, reason: 'done' }])
})

test('a revoked agent is closed with its reason while a request is in flight', async () => {
  await using gateway = await openGateway()
  const agent = await openAgent(gateway.url, async () => await new Promise(() => {}))
  const session = gateway.sessions.pick('c')
  const outcome = session?.streams.send(request('x'), bytes('x'), NEVER)
  await eventually('the agent has it', () => agent.streams.inFlight === 1)
  const closedAt = performance.now()
  session?.close(4403, 'replica_revoked')
  expect(session?.streams.hasRoom).toBe(false)
  expect(await agent.ended).toEqual({ code: 4403, reason: 'replica_revoked' })
  expect(performance.now() - closedAt).toBeLessThan(1_000)
  expect(await outcome).toEqual({ kind: 'lost' })
})

test.for<[title: string, frame: Buffer | string, reason: string]>([
  ['an unknown frame', Buffer.from([99, 0, 0, 0, 1]), 'Frame of an unknown kind'],
  ['a text frame', 'hello', 'Frame is not binary'],
  [
    'an answer that nobody asked for',
    encodeFrame({
      kind: 'failure',
      stream: 7,
      failure: { code: 'timeout', message: '', isUnsent: false, phases: PHASES },
    }),
    'Frame of a stream that was never opened',
  ],
  [
    'more credit than there is',
    encodeFrame({ kind: 'credit', stream: 0, bytes: 1 }),
    'Credit of the session overflows',
  ],
])('an agent that sends %s is closed with 1002', async ([, frame, reason]) => {
  await using gateway = await openGateway()
  const other = await openAgent(gateway.url, ok)
  const ended = Promise.withResolvers<LinkEnd>()
  await dial({ url: gateway.url, token: 't', gateways: [] }, ({ socket }) => {
    socket.on('close', (code, text) => ended.resolve({ code, reason: text.toString() }))
    socket.send(frame)
  })
  expect(await ended.promise).toEqual({ code: 1002, reason })
  await eventually('the other session alone is left', () => gateway.sessions.count === 1)
  const outcome = await gateway.sessions.pick('c')?.streams.send(request('x'), bytes('x'), NEVER)
  expect(outcome?.kind).toBe('response')
  other.link.cut()
})

test('a frame over the limit ends the session before it is read whole', async () => {
  await using gateway = await openGateway()
  const ended = Promise.withResolvers<number>()
  await dial({ url: gateway.url, token: 't', gateways: [] }, ({ socket }) => {
    socket.on('close', (code) => ended.resolve(code))
    socket.on('error', () => {})
    socket.send(Buffer.alloc(FRAME_BYTES_MAX + 1, 4))
  })
  expect(await ended.promise).toBe(1009)
})

test('an agent that sends and does not read is cut, whatever is written for it', async () => {
  await using gateway = await openGateway()
  const opened = Promise.withResolvers<WebSocket>()
  await dial({ url: gateway.url, token: 't', gateways: [] }, ({ socket }) => opened.resolve(socket))
  const socket = await opened.promise
  socket.on('error', () => {})
  socket.pause()
  const alive = setInterval(() => socket.ping(), 1_000)
  const headers: [string, string][] = [['x-large', 'x'.repeat(60_000)]]
  const session = gateway.sessions.pick('c')
  while (gateway.ends.length === 0) {
    const controller = new AbortController()
    const outcome = session?.streams.send({ ...request(''), headers }, bytes(''), controller.signal)
    controller.abort()
    await outcome
    await sleep(0)
  }
  clearInterval(alive)
  expect(gateway.ends).toEqual([{ code: 4408, reason: 'The other side does not read' }])
  socket.terminate()
})

test('an agent that floods its session with pings is closed', async () => {
  await using gateway = await openGateway()
  const ended = Promise.withResolvers<LinkEnd>()
  const opened = Promise.withResolvers<WebSocket>()
  await dial({ url: gateway.url, token: 't', gateways: [] }, ({ socket }) => opened.resolve(socket))
  const socket = await opened.promise
  socket.on('close', (code, text) => ended.resolve({ code, reason: text.toString() }))
  // Each has its pong before the next goes, so that it is their number alone that counts.
  for (let n = 0; n < 110 && gateway.ends.length === 0; n++) {
    socket.ping()
    await Promise.race([once(socket, 'pong'), ended.promise])
  }
  expect(await ended.promise).toEqual({ code: 1002, reason: 'Too many pings' })
})

test('a fault of one side ends that session alone, and is told to whoever keeps the log', async () => {
  await using gateway = await openGateway()
  const other = await openAgent(gateway.url, ok)
  const fault = new Error('A bug')
  const ended = Promise.withResolvers<LinkEnd>()
  await dial({ url: gateway.url, token: 't', gateways: [] }, (wire) => {
    openLink(wire, {
      frame: () => {
        throw fault
      },
      closed: ended.resolve,
    })
  })
  expect(await ended.promise).toEqual({ code: 1011, reason: 'Internal error', fault })
  await eventually('the other session alone is left', () => gateway.sessions.count === 1)
  expect(gateway.ends).toEqual([{ code: 1011, reason: 'Internal error' }])
  other.link.cut()
})

test.for<[status: number, data: object | undefined, reason: string | undefined]>([
  [401, undefined, undefined],
  [403, { reason: 'connector_deleted' }, 'connector_deleted'],
])('a refusal with %i reaches the agent whole', async ([status, data, reason]) => {
  await using gateway = await openGateway(async () => ({
    kind: 'refused',
    status,
    code: 'CODE',
    message: 'Because',
    retryAfterSeconds: 7,
    ...(data && { data }),
  }))
  const result = await dial({ url: gateway.url, token: 't', gateways: [] }, () => {})
  expect(result).toEqual({
    kind: 'refused',
    status,
    code: 'CODE',
    message: 'Because',
    reason,
    retryAfterMs: 7_000,
  })
})

test('dialling what is no gateway fails with a reason', async () => {
  const nobody = await dial(
    { url: 'ws://127.0.0.1:1/v1/tunnel', token: 't', gateways: [] },
    () => {},
  )
  expect(nobody).toMatchObject({ kind: 'failed', error: { code: 'ECONNREFUSED' } })
  await using gateway = await openGateway()
  const url = gateway.url.replace('/v1/tunnel', '/elsewhere')
  expect(await dial({ url, token: 't', gateways: [] }, () => {})).toMatchObject({
    kind: 'refused',
    status: 404,
  })
})

test('plain HTTP, browsers and other sub-protocols get an answer and no session', async () => {
  await using gateway = await openGateway()
  const address = `http://127.0.0.1:${gateway.port}`
  const plain = await fetch(`${address}/v1/tunnel`)
  expect([plain.status, await plain.json()]).toMatchObject([
    426,
    { message: expect.stringContaining('WebSocket') },
  ])
  expect((await fetch(`${address}/`)).status).toBe(404)
  const upgrade = async (headers: string): Promise<string> => {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write(
      `GET /v1/tunnel HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n${headers}\r\n`,
    )
    const [data]: unknown[] = await once(socket, 'data')
    socket.destroy()
    return String(data)
  }
  expect(await upgrade('sec-websocket-protocol: chat\r\n')).toContain('400 Bad Request')
  expect(
    await upgrade('sec-websocket-protocol: postern.tunnel.v1\r\norigin: https://a.example\r\n'),
  ).toContain('403 Forbidden')
  expect(gateway.dialled).toEqual([])
})

/** Passes bytes both ways until it is told to stop, and then keeps the connections open in silence. */
async function openProxy(
  port: number,
): Promise<{ port: number; freeze(): void } & AsyncDisposable> {
  let isFrozen = false
  const sockets: Socket[] = []
  const server = createTcpServer((inner) => {
    const outer = connect(port, '127.0.0.1')
    sockets.push(inner, outer)
    for (const socket of [inner, outer]) socket.on('error', () => {})
    inner.on('data', (data) => void (isFrozen || outer.write(data)))
    outer.on('data', (data) => void (isFrozen || inner.write(data)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    freeze: () => (isFrozen = true),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Ends an agent with one session, whose last request is answered so many turns before a second dial. */
async function endWhileDialling(turns: number) {
  let dials = 0
  const late = Promise.withResolvers<undefined>()
  await using gateway = await openGateway(async () => {
    if (++dials > 1) await late.promise
    return { kind: 'admitted', owner: OWNER }
  })
  const answered = Promise.withResolvers<undefined>()
  const perform: Perform = async (head, body, signal) => {
    await answered.promise
    return await ok(head, body, signal)
  }
  let open = 0
  const tunnels = new Tunnels({
    async dial(gateways) {
      let session: AgentSession | undefined
      const dialled = await dial({ url: gateway.url, token: 't', gateways }, (wire) => {
        const nobody = { narrowed: () => {}, received: () => {} }
        session = new AgentSession(wire, { perform, version: '1', ...nobody })
      })
      return { dialled, session }
    },
    opened: () => open++,
    ended: () => open--,
    refused: () => {},
    failed: () => {},
    random: () => 0,
  })
  const isOver = tunnels.run()
  tunnels.hold(false)
  await eventually('the second dial comes', () => gateway.dialled.length === 2)
  const first = gateway.sessions.pick('c')
  const before = first?.streams.send(request('x'), bytes('x'), NEVER)
  await eventually('the agent has a request', () => tunnels.inFlight === 1)
  tunnels.hold(true)
  const openAfter = tunnels.drain('The agent ends', 5_000).then(() => open)
  answered.resolve(undefined)
  for (let n = 0; n < turns; n++) await turn()
  late.resolve(undefined)
  // In the very turn in which it opens: it is not open for long.
  const second = () => gateway.sessions.all().find((session) => session !== first)
  while (second() === undefined) await turn()
  const behind = second()?.streams.send(request('x'), bytes('x'), NEVER)
  const outcomes = await Promise.all([before, behind])
  await isOver
  await eventually('the gateway forgets both', () => gateway.sessions.count === 0)
  return {
    openAfter: await openAfter,
    outcomes: outcomes.map((outcome) => outcome?.kind),
    codes: gateway.ends.map(({ code }) => code),
  }
}

test('a session that opens while the agent ends takes no requests, and is waited for', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const { openAfter, outcomes, codes } = await endWhileDialling(turns)
    expect(openAfter).toBe(0)
    expect(outcomes[0]).toBe('response')
    // The second request may come along with the answer to the dial.
    expect(['unsent', 'response']).toContain(outcomes[1])
    expect(codes).toEqual([1001, 1001])
  }
})

test('both sides notice a link that is cut without a close', async () => {
  await using gateway = await openGateway(undefined, QUICK)
  await using proxy = await openProxy(gateway.port)
  const agent = await openAgent(`ws://127.0.0.1:${proxy.port}/v1/tunnel`, ok, QUICK)
  expect(gateway.sessions.count).toBe(1)
  await sleep(2 * QUICK.silenceMs)
  expect(gateway.sessions.count).toBe(1)
  proxy.freeze()
  const frozenAt = performance.now()
  expect(await agent.ended).toEqual({ code: 4408, reason: 'The other side is silent' })
  await eventually('the gateway notices', () => gateway.ends.length === 1)
  expect(gateway.ends[0]?.code).toBe(4408)
  expect(performance.now() - frozenAt).toBeLessThan(5 * QUICK.silenceMs)
})
