import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls'
import { gzipSync } from 'node:zlib'

import { afterEach, expect, onTestFinished, test } from 'vitest'

import { HOUR_MS } from '../../core/clock.ts'
import { directTransport } from '../../core/delivery/direct/exchange.ts'
import { Connections } from '../../core/delivery/direct/http-connections.ts'
import type { AttemptResponse } from '../../core/delivery/transport.ts'
import { guardedLookup } from '../../core/egress/connect.ts'
import { Names } from '../../core/egress/names.ts'
import { RESPONSE_BYTES_MAX, RESPONSE_KEPT_BYTES } from '../../core/limits.ts'
import { selfSigned } from '../../core/verify/self-signed.fixture.ts'

let connections = new Connections(() => guardedLookup(() => true, new Names()))
afterEach(async () => {
  await connections.close()
  connections = new Connections(() => guardedLookup(() => true, new Names()))
})

const MIB = 1_024 * 1_024
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const ENDLESS = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

/** The action of a server on a connection when a whole request has come. */
type Act = (socket: Socket, requests: number) => unknown

interface RawServer {
  origin: string
  connections: number
  /** Whole requests that came. */
  requests: number
}

async function listenOn(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A server that reads requests with bodies of `{}` and answers with whatever bytes it likes. */
async function serve(
  act: Act,
  onConnection: (socket: Socket) => void = () => {},
): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    raw.connections++
    onConnection(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.endsWith('\r\n\r\n{}')) return
      text = ''
      raw.requests++
      act(socket, raw.requests)
    })
  })
  const raw: RawServer = { origin: '', connections: 0, requests: 0 }
  raw.origin = `http://127.0.0.1:${await listenOn(server)}`
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return raw
}

async function post(
  origin: string,
  fields: { timeoutMs?: number; body?: Buffer; holder?: string } = {},
): Promise<AttemptResponse> {
  return await directTransport(connections)({
    holder: 'one',
    tenant: 'one',
    origin,
    path: '/hook',
    method: 'POST',
    headers: ['x-one', '1'],
    body: Buffer.from('{}'),
    timeoutMs: 1_000,
    ...fields,
  })
}

/** Writes text, which may end the connection afterwards. */
const writes =
  (text: string | Buffer): Act =>
  (socket) =>
    socket.write(text, 'latin1')
const writesAndEnds =
  (text: string | Buffer): Act =>
  (socket) =>
    socket.end(text, 'latin1')
const writesAndResets =
  (text: string): Act =>
  async (socket) => {
    socket.write(text, 'latin1')
    await sleep(50)
    socket.resetAndDestroy()
  }

const interim = (status: string): string => `HTTP/1.1 ${status}\r\nlink: </a.css>\r\n\r\n`
const headed = (status: string, bytes: number): string =>
  `HTTP/1.1 ${status}\r\nx-long: ${'x'.repeat(bytes)}\r\ncontent-length: 2\r\n\r\nok`
const chunked = (status: string, rest: string): string =>
  `HTTP/1.1 ${status}\r\ntransfer-encoding: chunked\r\n\r\n${rest}`

const SUCCESSES: [what: string, act: Act, status: number, body: string][] = [
  ['100 Continue, unasked', writes(interim('100 Continue') + OK), 200, 'ok'],
  ['100 without a reason', writes(`HTTP/1.1 100\r\n\r\n${OK}`), 200, 'ok'],
  ['102 Processing', writes(interim('102 Processing') + OK), 200, 'ok'],
  ['103 Early Hints', writes(interim('103 Early Hints') + OK), 200, 'ok'],
  ['101, unasked', writes(interim('101 Switching Protocols') + OK), 200, 'ok'],
  ['199, which nobody knows', writes(interim('199 Odd') + OK), 200, 'ok'],
  ['many of them', writes(interim('103 Early Hints').repeat(500) + OK), 200, 'ok'],
  [
    'all kinds of them',
    writes([100, 102, 103, 100].map((n) => interim(`${n} x`)).join('') + OK),
    200,
    'ok',
  ],
  [
    '102 long before the answer, in pieces',
    async (socket) => {
      for (const piece of ['HTTP/1.1 10', '2 Processing\r\n', '\r', '\nHTT', 'P/1.1 200 OK\r\n']) {
        socket.write(piece)
        await sleep(20)
      }
      socket.write('content-length: 2\r\n\r\nok')
    },
    200,
    'ok',
  ],
  ['204', writes('HTTP/1.1 204 No Content\r\n\r\n'), 204, ''],
  [
    '204 with a length and a body',
    writes('HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok'),
    204,
    '',
  ],
  ['204 with chunks', writes(chunked('204 No Content', '2\r\nok\r\n0\r\n\r\n')), 204, ''],
  ['202 without length, closed', writesAndEnds('HTTP/1.1 202 Accepted\r\n\r\nok'), 202, 'ok'],
  ['HTTP/1.0', writesAndEnds('HTTP/1.0 200 OK\r\n\r\nok'), 200, 'ok'],
  ['HTTP/1.0 with a length', writes('HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'), 200, 'ok'],
  ['no reason phrase', writes('HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok'), 200, 'ok'],
  ['an empty reason phrase', writes('HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok'), 200, 'ok'],
  [
    'a body shorter than its length, closed',
    writesAndEnds('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok'),
    200,
    'ok',
  ],
  [
    'a body shorter than its length, reset',
    writesAndResets('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok'),
    200,
    'ok',
  ],
  [
    'a body shorter than its length, left open',
    writes('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok'),
    200,
    'ok',
  ],
  ['a body longer than its length', writes(`${OK} and more`), 200, 'ok'],
  ['chunks', writes(chunked('200 OK', '2\r\nok\r\n0\r\n\r\n')), 200, 'ok'],
  [
    'chunks with trailers',
    writes(chunked('200 OK', '2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n')),
    200,
    'ok',
  ],
  ['broken chunks', writes(chunked('200 OK', '2\r\nok\r\nnonsense\r\n')), 200, 'ok'],
  ['chunks that end early', writesAndEnds(chunked('200 OK', '2\r\nok\r\n9\r\n')), 200, 'ok'],
  ['chunks that are reset', writesAndResets(chunked('200 OK', '2\r\nok\r\n')), 200, 'ok'],
  ['chunks that never end', writes(chunked('200 OK', '2\r\nok\r\n')), 200, 'ok'],
  ['headers of 60 KiB', writes(headed('200 OK', 60 * 1_024)), 200, 'ok'],
  [
    'a header with odd bytes',
    writes(`HTTP/1.1 200 OK\r\nx-odd: caf\xe9 \xff\tx\r\ncontent-length: 2\r\n\r\nok`),
    200,
    'ok',
  ],
  [
    '300 small headers',
    writes(`HTTP/1.1 200 OK\r\n${'x-many: 1\r\n'.repeat(300)}content-length: 2\r\n\r\nok`),
    200,
    'ok',
  ],
]

test.for(SUCCESSES)('%s: a success', async ([, act, status, body]) => {
  const server = await serve(act)
  const answer = await post(server.origin)
  expect({ ...answer, body: answer.body?.toString('latin1') }).toMatchObject({
    error: null,
    status,
    body,
  })
  expect(server.requests).toBe(1)
  expect(answer.firstByteMs).toBeLessThanOrEqual(answer.durationMs)
})

const FAILURES: [what: string, act: Act, error: string, status: number | null][] = [
  [
    '304 with a length',
    writes('HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n'),
    'bad_response',
    304,
  ],
  [
    '302',
    writes('HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n'),
    'bad_response',
    302,
  ],
  [
    'a failure after interim answers',
    writes(interim('100 Continue') + headed('500 No', 1)),
    'bad_response',
    500,
  ],
  ['an unknown status', writes(headed('799 Odd', 1)), 'bad_response', 799],
  ['headers of 70 KiB', writes(headed('200 OK', 70 * 1_024)), 'response_too_large', null],
  [
    'headers without end',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(40_000)}`),
    'response_too_large',
    null,
  ],
  [
    'interim answers without end',
    writes(interim('100 Continue').repeat(5_000)),
    'response_too_large',
    null,
  ],
  [
    'a failed answer above 1 MiB',
    writes(`HTTP/1.1 500 No\r\ncontent-length: ${2 * MIB}\r\n\r\n${'x'.repeat(2 * MIB)}`),
    'response_too_large',
    500,
  ],
  [
    'a failed answer that breaks off',
    writesAndResets('HTTP/1.1 503 No\r\nretry-after: 9\r\ncontent-length: 9\r\n\r\nno'),
    'connection_reset',
    503,
  ],
  ['a failed answer that never ends', writes(chunked('500 No', '2\r\nno\r\n')), 'timeout', 500],
  ['no answer', () => {}, 'timeout', null],
  ['interim answers and nothing else', writes(interim('100 Continue')), 'timeout', null],
  ['interim answers, then the end', writesAndEnds(interim('103 Hints')), 'connection_reset', null],
  ['a status line cut off', writesAndEnds('HTTP/1.1 20'), 'connection_reset', null],
  ['headers cut off', writesAndEnds('HTTP/1.1 200 OK\r\nx-'), 'connection_reset', null],
  [
    'headers cut off by a reset',
    writesAndResets('HTTP/1.1 200 OK\r\nx-'),
    'connection_reset',
    null,
  ],
  ['an end before the answer', (socket) => socket.end(), 'connection_reset', null],
  ['a reset before the answer', (socket) => socket.resetAndDestroy(), 'connection_reset', null],
  ['no HTTP', writesAndEnds('220 mail.example.com ESMTP\r\n'), 'connection_reset', null],
  ['no HTTP, left open', writes('SSH-2.0-OpenSSH_9.6\r\n'), 'connection_reset', null],
  ['HTTP/2', writes('HTTP/2 200\r\ncontent-length: 2\r\n\r\nok'), 'connection_reset', null],
  ['bare line feeds', writes('HTTP/1.1 200 OK\ncontent-length: 2\n\nok'), 'connection_reset', null],
  ['a status of two digits', writes('HTTP/1.1 20 OK\r\n\r\n'), 'connection_reset', null],
  ['status 0', writes('HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n'), 'connection_reset', null],
  ['a NUL in a header', writes('HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n'), 'connection_reset', null],
  [
    'two lengths',
    writes('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok'),
    'connection_reset',
    null,
  ],
  [
    'a length that is none',
    writes('HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\nok'),
    'connection_reset',
    null,
  ],
]

test.for(FAILURES)('%s: a failure with a name', async ([, act, error, status]) => {
  const server = await serve(act)
  expect(await post(server.origin)).toMatchObject({ error, status })
  expect(server.requests).toBe(1)
})

test('a connection that is reset when it is made is connection_reset', async () => {
  const server = await serve(
    () => {},
    (socket) => socket.resetAndDestroy(),
  )
  expect(await post(server.origin)).toMatchObject({ error: 'connection_reset', status: null })
  expect(server.connections).toBe(1)
})

test('an answer that comes before the request was read counts', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.pause()
      socket.write('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno')
      setTimeout(() => socket.resetAndDestroy(), 100)
    })
  })
  const origin = `http://127.0.0.1:${await listenOn(server)}`
  expect(await post(origin, { body: Buffer.alloc(5 * MIB, 'x') })).toMatchObject({
    error: 'bad_response',
    status: 413,
  })
})

test.for([
  ['a length', `HTTP/1.1 200 OK\r\ncontent-length: ${20 * MIB}\r\n\r\n`, (text: string) => text],
  ['chunks', ENDLESS, (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`],
] as const)(
  'a success without end, of %s, is cut at 1 MiB, its first 16 KiB are kept and its connection is closed',
  async ([, head, framed]) => {
    let written = 0
    let closed: Promise<unknown> | undefined
    const server = await serve((socket) => {
      closed = new Promise((resolve) => socket.once('close', resolve))
      socket.write(head)
      const more = (): void => {
        while (!socket.destroyed && socket.write(framed('y'.repeat(64 * 1_024)))) written++
        written++
      }
      socket.on('drain', more)
      more()
    })
    const answer = await post(server.origin, { timeoutMs: 10_000 })
    expect(answer).toMatchObject({ error: null, status: 200 })
    expect(answer.body?.equals(Buffer.alloc(RESPONSE_KEPT_BYTES, 'y'))).toBe(true)
    expect(answer.durationMs).toBeLessThan(5_000)
    await closed
    expect(written * 64 * 1_024).toBeGreaterThan(RESPONSE_BYTES_MAX)
  },
)

test('a compressed body is kept as it came', async () => {
  const body = gzipSync('hello')
  const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`
  const server = await serve(writes(Buffer.concat([Buffer.from(head), body])))
  expect((await post(server.origin)).body?.equals(body)).toBe(true)
})

test('a trickle after the headers of a success is waited for, to the deadline at most', async () => {
  const server = await serve(async (socket, requests) => {
    socket.write(ENDLESS)
    for (let n = 0; n < (requests === 1 ? 5 : 100); n++) {
      await sleep(50)
      if (!socket.destroyed) socket.write('1\r\n.\r\n')
    }
    if (!socket.destroyed) socket.write('0\r\n\r\n')
  })
  const whole = await post(server.origin)
  expect(whole).toMatchObject({ error: null, body: Buffer.from('.....') })
  const cut = await post(server.origin, { timeoutMs: 500 })
  expect(cut).toMatchObject({ error: null, status: 200 })
  expect(cut.durationMs).toBeGreaterThanOrEqual(490)
  expect(cut.durationMs).toBeLessThan(900)
})

const keepsOpen = writes(OK)

test('a connection is used again, by its holder alone', async () => {
  const server = await serve(keepsOpen)
  for (let n = 0; n < 3; n++) expect((await post(server.origin)).error).toBeNull()
  expect(server.connections).toBe(1)
  await post(server.origin, { holder: 'another' })
  expect(server.connections).toBe(2)
  const first = await post(server.origin)
  expect([server.connections, first.connect?.connectMs]).toEqual([2, 0])
})

test('so many requests go out at once as are given, and none waits for another', async () => {
  // Answers none before all are there.
  const asking: Socket[] = []
  const server = await serve((socket) => {
    if (asking.push(socket) === 400) for (const one of asking) one.write(OK)
  })
  const answers = await Promise.all(Array.from({ length: 400 }, () => post(server.origin)))
  expect(answers.filter(({ error }) => error !== null)).toEqual([])
  expect(server.connections).toBe(400)
})

test.for([
  ['closes', (socket: Socket) => socket.end()],
  ['resets', (socket: Socket) => socket.resetAndDestroy()],
] as const)(
  'a request on a connection that the server %s as it comes is sent once more on a new one',
  async ([, close]) => {
    const server = await serve((socket, requests) => {
      if (requests === 2) close(socket)
      else socket.write(OK)
    })
    await post(server.origin)
    expect(await post(server.origin)).toMatchObject({ error: null, status: 200 })
    expect([server.requests, server.connections]).toEqual([3, 2])
  },
)

test('a request is sent once more only: a server that always closes fails the attempt', async () => {
  const server = await serve((socket, requests) => {
    if (requests === 1) socket.write(OK)
    else socket.end()
  })
  await post(server.origin)
  expect(await post(server.origin)).toMatchObject({ error: 'connection_reset' })
  expect(server.requests).toBe(3)
})

test.for(['HTTP/1.1 2', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 200 OK\r\nx: '])(
  'it is not sent again when %j of an answer has come',
  async (start) => {
    const server = await serve((socket, requests) => {
      if (requests === 1) socket.write(OK)
      else socket.end(start)
    })
    await post(server.origin)
    expect(await post(server.origin)).toMatchObject({ error: 'connection_reset' })
    expect(server.requests).toBe(2)
  },
)

test('a request that is sent once more keeps its deadline', async () => {
  const server = await serve((socket, requests) => {
    if (requests === 1) socket.write(OK)
    else if (requests === 2) setTimeout(() => socket.destroy(), 300)
  })
  await post(server.origin)
  const answer = await post(server.origin, { timeoutMs: 600 })
  expect(answer).toMatchObject({ error: 'timeout' })
  expect(answer.durationMs).toBeLessThan(900)
})

test('300 requests to a server that closes what rests for a moment all arrive', async () => {
  const closing = new Map<Socket, NodeJS.Timeout>()
  const server = await serve((socket) => {
    clearTimeout(closing.get(socket))
    socket.write(OK)
    closing.set(
      socket,
      setTimeout(() => socket.destroy(), 10),
    )
  })
  for (let n = 0; n < 300; n++) {
    expect(await post(server.origin)).toMatchObject({ error: null })
    await sleep(8 + (n % 5))
  }
}, 30_000)

test('a connection without a hint is closed after 4 s of rest, one with a hint before its end', async () => {
  const restOf = async (hint: string): Promise<number> => {
    let closed: Promise<unknown> = Promise.resolve()
    const server = await serve((socket) => {
      closed = once(socket, 'close')
      socket.resume().write(`HTTP/1.1 200 OK\r\n${hint}content-length: 2\r\n\r\nok`)
    })
    await post(server.origin)
    const atMs = performance.now()
    await closed
    return performance.now() - atMs
  }
  const [without, with3, with1] = await Promise.all([
    restOf(''),
    restOf('keep-alive: timeout=3\r\n'),
    restOf('keep-alive: timeout=1\r\n'),
  ])
  expect(without).toBeGreaterThan(3_500)
  expect(without).toBeLessThan(5_500)
  expect(with3).toBeLessThan(2_500)
  expect(with1).toBeLessThan(900)
}, 15_000)

test('a request whose deadline passes before it is connected leaves nothing behind', async () => {
  // A name that nobody answers for.
  connections = new Connections(() => () => {})
  const answer = await post('http://silent.example/', { timeoutMs: 200 })
  expect(answer).toMatchObject({ error: 'timeout', connect: null })
  await connections.close()
})

const pair = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const key = pair.privateKey.export({ format: 'pem', type: 'pkcs8' })

/** A TLS server whose certificate is trusted when told so. */
async function serveTls(cert: string, isTrusted: boolean): Promise<string> {
  const server = createTlsServer({ key, cert }, (socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write(OK))
  })
  if (isTrusted) {
    const before = getCACertificates()
    setDefaultCACertificates([...before, cert])
    onTestFinished(() => setDefaultCACertificates(before))
  }
  return `https://localhost:${await listenOn(server)}`
}

const certificate = (name: string, fromMs = -HOUR_MS, toMs = HOUR_MS): string =>
  selfSigned(pair, Date.now() + fromMs, Date.now() + toMs, name)

test.for([
  ['self-signed', 'localhost', -HOUR_MS, HOUR_MS, false, 'tls_error'],
  ['expired', 'localhost', -2 * HOUR_MS, -HOUR_MS, true, 'tls_error'],
  ['not valid yet', 'localhost', HOUR_MS, 2 * HOUR_MS, true, 'tls_error'],
  ['of another name', 'elsewhere', -HOUR_MS, HOUR_MS, true, 'tls_error'],
  ['trusted', 'localhost', -HOUR_MS, HOUR_MS, true, null],
] as const)('a certificate that is %s', async ([, name, fromMs, toMs, isTrusted, error]) => {
  const origin = await serveTls(certificate(name, fromMs, toMs), isTrusted)
  expect(await post(origin)).toMatchObject({ error })
})

test.for([
  ['closed', (socket: Socket) => socket.end(), 'connection_reset'],
  ['reset', (socket: Socket) => socket.resetAndDestroy(), 'connection_reset'],
  [
    'answered in plain text',
    (socket: Socket) => socket.write('HTTP/1.1 400 No\r\n\r\n'),
    'tls_error',
  ],
  [
    'answered with an alert',
    (socket: Socket) => socket.write(Buffer.from('15030300020228', 'hex')),
    'tls_error',
  ],
  ['not answered', () => {}, 'timeout'],
] as const)('a TLS handshake that is %s', async ([, act, error]) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => act(socket))
    onTestFinished(() => {
      socket.destroy()
    })
  })
  const origin = `https://localhost:${await listenOn(server)}`
  expect(await post(origin)).toMatchObject({ error, status: null })
})
