import { createHash, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { selfSigned } from '../../core/verify/self-signed.fixture.ts'
import { hangs, says, startEndpoint } from '../kit/endpoint.ts'
import {
  eventually,
  LONG,
  type FakeGateway,
  openGateway,
  openRelay,
  startAgent,
} from './agent-world.ts'

type Outcome = Awaited<ReturnType<FakeGateway['send']>>

function codeOf(outcome: Outcome): string {
  return outcome.kind === 'failure' ? outcome.failure.code : outcome.kind
}

function bodyOf(outcome: Outcome): Uint8Array {
  return outcome.kind === 'response' ? outcome.body : Buffer.alloc(0)
}

/** An agent with these rules, connected. */
async function openAgent(rules: readonly string[], args: readonly string[] = []) {
  const stack = new AsyncDisposableStack()
  const gateway = stack.use(await openGateway())
  const relay = stack.use(await openRelay(gateway.url))
  const allow = rules.flatMap((rule) => ['--allow', rule])
  const agent = stack.use(startAgent(['--relay', relay.url, ...allow, ...args]))
  await agent.said('Connected to gateway')
  return { gateway, relay, agent, [Symbol.asyncDispose]: async () => await stack.disposeAsync() }
}

/** A server whose every connection is answered with these bytes. */
async function openRaw(answer: string | ((socket: Socket) => void)) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    if (typeof answer === 'string') socket.on('data', () => socket.write(answer))
    else answer(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/`,
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Ways to write this machine, metadata services and the like: every one of them is a URL that some parser takes. */
const FORBIDDEN = `
  127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1. 127.255.255.254
  ①②⑦.0.0.1 127。0。0。1 １２７.0.0.1 0x7F.0x0.0x0.0x1 127.0.0.0x1 [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1]
  [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [2002:7f00:0001::1]
  [::ffff:0:127.0.0.1] 0.0.0.0 0 0x0 0.1.2.3 [::] [::0.0.0.0] 169.254.169.254 2852039166 0xa9fea9fe
  0251.0376.0251.0376 169.254.1.1 169.16689662 [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
  [64:ff9b::169.254.169.254] [2002:a9fe:a9fe::] [fd00:ec2::254] [fd20:ce::254] 168.63.129.16 100.100.100.200
  [fe80::1] [fe80::a9fe:a9fe] 224.0.0.1 [ff02::1] 255.255.255.255 4294967295 240.0.0.1 192.0.2.1 198.18.0.1
  [2001:db8::1] [2001:0:7f00:1::] localhost LOCALHOST localhost. a.localhost loopback.localhost
  user:password@127.0.0.1 user@localhost %31%32%37.0.0.1 %6c%6f%63%61%6c%68%6f%73%74
`
  .trim()
  .split(/\s+/)

test('no spelling of a forbidden address is dialled, whatever the rules cover', LONG, async () => {
  expect(FORBIDDEN.length).toBeGreaterThanOrEqual(60)
  let hits = 0
  // On every address of this machine, of both families.
  const listener = createServer((socket) => {
    hits++
    socket.destroy()
  }).listen(0, '::')
  await once(listener, 'listening')
  const address = listener.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const rules = [`0.0.0.0/0:${port}`, `[::]/0:${port}`, `localhost:${port}`, `*.localhost:${port}`]
  await using world = await openAgent(rules)
  for (const host of FORBIDDEN) {
    const outcome = await world.gateway.send({ url: `http://${host}:${port}/`, timeoutMs: 2_000 })
    expect(outcome, host).toMatchObject({ kind: 'failure', failure: { isUnsent: true } })
    // A URL that nobody can read is refused as such.
    expect(codeOf(outcome), host).toMatch(/^(?:host_not_allowed|internal)$/)
  }
  expect(hits).toBe(0)
  listener.close()
  const text = await (await fetch(`${await world.agent.opsUrl()}/metrics`)).text()
  const [, denials = '0'] = /^postern_connector_policy_denials_total (\d+)/m.exec(text) ?? []
  expect(Number(denials)).toBeGreaterThanOrEqual(60)
})

test(
  'a place that no rule covers is refused with the reason, and the relay cannot widen it',
  LONG,
  async () => {
    await using service = await startEndpoint()
    await using other = await startEndpoint()
    const { gateway, relay, ...world } = await openAgent(
      [new URL(service.url).origin],
      ['--allow-loopback'],
    )
    await using _world = world
    relay.heartbeat = () => ({
      status: 200,
      body: {
        heartbeatIntervalSeconds: 1,
        gatewayUrl: gateway.url,
        allowedHosts: ['0.0.0.0/0'],
        isDisabled: false,
      },
    })
    await sleep(1_500)
    const refused = await gateway.send({ url: other.url })
    expect(refused).toMatchObject({ failure: { code: 'host_not_allowed', isUnsent: true } })
    expect(refused).toMatchObject({
      failure: { message: expect.stringContaining('no --allow rule covers http://127.0.0.1:') },
    })
    expect(await gateway.send({ url: service.url })).toMatchObject({ head: { status: 200 } })
    // It can narrow.
    relay.heartbeat = () => ({
      status: 200,
      body: {
        heartbeatIntervalSeconds: 1,
        gatewayUrl: gateway.url,
        allowedHosts: ['a.internal'],
        isDisabled: false,
      },
    })
    await eventually('the agent is narrowed', async () => {
      const outcome = await gateway.send({ url: service.url })
      return outcome.kind === 'failure' && outcome.failure.message.includes('allowedHosts')
    })
    expect(other.arrivals).toEqual([])
  },
)

test('redirects are answers, not followed', LONG, async () => {
  await using other = await startEndpoint()
  await using service = await startEndpoint(says(302, { location: other.url }))
  await using world = await openAgent(
    ['127.0.0.1/32', new URL(service.url).origin, new URL(other.url).origin],
    ['--allow-loopback'],
  )
  expect(await world.gateway.send({ url: service.url })).toMatchObject({ head: { status: 302 } })
  expect(other.arrivals).toEqual([])
})

/** A certificate of its own authority, with its files. */
function makePair(host: string) {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const cert = selfSigned(pair, Date.UTC(2020, 0), Date.UTC(2049, 0), host)
  const key = pair.privateKey.export({ format: 'pem', type: 'pkcs8' })
  const dir = mkdtempSync(join(tmpdir(), 'agent-tls-'))
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
  return { key, cert, files }
}

test(
  'a service with a private authority, which asks for a client certificate, is reached with both',
  { timeout: 180_000 },
  async () => {
    const own = makePair('localhost')
    const client = makePair('agent')
    const subjects: string[] = []
    const tls = { ...own, ca: client.cert, requestCert: true, rejectUnauthorized: true }
    const server = createHttpsServer(tls, ({ socket }, response) => {
      if ('getPeerCertificate' in socket && typeof socket.getPeerCertificate === 'function')
        subjects.push(socket.getPeerCertificate().subject.CN)
      response.end('known')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const origin = `https://localhost:${typeof address === 'object' ? address?.port : 0}`
    const trusting = ['--allow-loopback', '--destination-ca-file', own.files.cert]
    const certified = [
      '--client-cert-file',
      client.files.cert,
      '--client-key-file',
      client.files.key,
    ]
    {
      await using world = await openAgent([origin], ['--allow-loopback', ...certified])
      const outcome = await world.gateway.send({ url: origin })
      expect(outcome).toMatchObject({ failure: { code: 'tls_error', isUnsent: true } })
    }
    {
      await using world = await openAgent([origin], trusting)
      expect(await world.gateway.send({ url: origin })).toMatchObject({ kind: 'failure' })
    }
    expect(subjects).toEqual([])
    await using world = await openAgent([origin], [...trusting, ...certified])
    expect(await world.gateway.send({ url: origin })).toMatchObject({ head: { status: 200 } })
    expect(subjects).toEqual(['agent'])
    server.closeAllConnections()
    server.close()
  },
)

test('each failure of the service reads as it is', LONG, async () => {
  await using silent = await startEndpoint(hangs)
  await using broken = await openRaw((socket) => socket.on('data', () => socket.destroy()))
  await using large = await openRaw(`HTTP/1.1 200 OK\r\nx-large: ${'a'.repeat(70_000)}\r\n\r\n`)
  await using plain = await startEndpoint()
  const closed = await openRaw('')
  await closed[Symbol.asyncDispose]()
  const port = new URL(plain.url).port
  const rules = [silent.url, broken.url, large.url, closed.url].map((url) => new URL(url).origin)
  await using world = await openAgent(
    [...rules, `https://127.0.0.1:${port}`, 'no-such-name.invalid'],
    ['--allow-loopback'],
  )
  const cases: [url: string, code: string, isUnsent: boolean][] = [
    [silent.url, 'timeout', false],
    [broken.url, 'connection_reset', false],
    [large.url, 'response_too_large', false],
    [closed.url, 'connection_refused', true],
    [`https://127.0.0.1:${port}/`, 'tls_error', true],
    ['http://no-such-name.invalid/', 'dns_error', true],
  ]
  for (const [url, code, isUnsent] of cases) {
    const outcome = await world.gateway.send({ url, timeoutMs: 4_000 })
    expect(outcome, url).toMatchObject({ kind: 'failure', failure: { code, isUnsent } })
  }
})

test('answers of every size and shape arrive, cut, and never end the session', LONG, async () => {
  const line = (count: number, header: string): string =>
    Array.from({ length: count }, (_, at) => `x-${at}: ${header}\r\n`).join('')
  const answers: [answer: string, status: number][] = [
    [`HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${'b'.repeat(100_000)}`, 200],
    [`HTTP/1.1 503 Busy\r\n${line(1_500, 'a')}content-length: 0\r\n\r\n`, 503],
    [
      `HTTP/1.1 200 OK\r\nx: ${'"'.repeat(60_000)}\r\ncontent-length: 20000\r\n\r\n${'b'.repeat(20_000)}`,
      200,
    ],
    [`HTTP/1.1 200 OK\r\nx: ${'\xff'.repeat(60_000)}\r\ncontent-length: 0\r\n\r\n`, 200],
    [
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
      204,
    ],
    ['HTTP/1.1 799 Odd\r\ncontent-length: 0\r\n\r\n', 799],
    ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort', 200],
  ]
  // Each path has its answer.
  await using server = await openRaw((socket) => {
    socket.on('data', (head: Buffer) => {
      const [answer = ''] = answers[Number(/^POST \/(\d+)/.exec(head.toString())?.[1])] ?? []
      socket.write(Buffer.from(answer, 'latin1'))
      if (answer.endsWith('short')) socket.end()
    })
  })
  await using world = await openAgent([new URL(server.url).origin], ['--allow-loopback'])
  const session = world.gateway.sessions[0]
  for (const [at, [answer, status]] of answers.entries()) {
    const outcome = await world.gateway.send({ url: `${server.url}${at}` })
    expect(outcome, answer.slice(0, 30)).toMatchObject({ kind: 'response', head: { status } })
    expect(bodyOf(outcome).length).toBeLessThanOrEqual(16 * 1024)
  }
  expect(world.gateway.sessions).toEqual([session])
})

test(
  'a large body is streamed whole, and a small one is sent again when its connection was stale',
  LONG,
  async () => {
    await using service = await startEndpoint()
    await using world = await openAgent([new URL(service.url).origin], ['--allow-loopback'])
    const large = Buffer.alloc(5 * 1024 * 1024, 'abcdefgh')
    expect(await world.gateway.send({ url: service.url, timeoutMs: 20_000 }, large)).toMatchObject({
      head: { status: 200 },
    })
    const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    expect(hash(service.arrivals[0]?.body ?? Buffer.alloc(0))).toBe(hash(large))
    // A server that closes each connection as soon as the next request comes.
    let requests = 0
    await using stale = await openRaw((socket) => {
      let seen = 0
      socket.on('data', () => {
        requests++
        if (++seen === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
        else socket.destroy()
      })
    })
    await using other = await openAgent([new URL(stale.url).origin], ['--allow-loopback'])
    expect(await other.gateway.send({ url: stale.url })).toMatchObject({ head: { status: 200 } })
    expect(await other.gateway.send({ url: stale.url })).toMatchObject({ head: { status: 200 } })
    expect(requests).toBe(3)
  },
)

test(
  'an attempt that comes twice reaches the service once, also over another session',
  LONG,
  async () => {
    await using service = await startEndpoint((response) => {
      setTimeout(() => response.writeHead(200).end('once'), 500)
    })
    await using world = await openAgent([new URL(service.url).origin], ['--allow-loopback'])
    const head = { url: service.url, attemptId: 'attempt-same' }
    const first = world.gateway.send(head)
    await eventually('the service has it', () => service.arrivals.length === 1)
    const [session] = world.gateway.sessions
    // The session is lost before the answer.
    session?.close(1001, 'lost')
    expect(await first).toEqual({ kind: 'lost' })
    await eventually('there is another session', () =>
      world.gateway.sessions.some((one) => one !== session),
    )
    const again = await world.gateway.send(head)
    expect(again).toMatchObject({ kind: 'response', head: { status: 200 } })
    expect(service.arrivals).toHaveLength(1)
  },
)

test(
  '64 requests in flight: one more is held back by the gateway, none waits for another',
  LONG,
  async () => {
    await using service = await startEndpoint(hangs)
    await using quick = await startEndpoint()
    await using world = await openAgent(
      [service.url, quick.url].map((url) => new URL(url).origin),
      ['--allow-loopback'],
    )
    const hanging = Array.from(
      { length: 63 },
      async () => await world.gateway.send({ url: service.url, timeoutMs: 3_000 }),
    )
    await eventually('all are there', () => service.arrivals.length === 63)
    expect(await world.gateway.send({ url: quick.url })).toMatchObject({ head: { status: 200 } })
    const text = await (await fetch(`${await world.agent.opsUrl()}/metrics`)).text()
    expect(text).toContain('postern_connector_requests_in_flight 63')
    const outcomes = await Promise.all(hanging)
    expect(
      outcomes.every((outcome) => outcome.kind === 'failure' && outcome.failure.code === 'timeout'),
    ).toBe(true)
  },
)
