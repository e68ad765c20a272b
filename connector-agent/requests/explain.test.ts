import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { selfSigned } from '../../core/verify/self-signed.fixture.ts'
import { ProxyError } from '../relay/connect-agent.ts'
import { openReach } from '../relay/proxy.ts'
import { callRelay } from '../relay/relay-call.ts'
import { whyNotConnected, whyUnreachable } from './explain.ts'

const RELAY = new URL('https://relay.example.com/v1/connectors/bootstrap')
const stack = new AsyncDisposableStack()
const open = new Set<Socket>()

/** A server on loopback that does this with each connection; the port of it. */
async function serve(
  connected: (socket: Socket) => void,
  make: (connected: (socket: Socket) => void) => Server = createServer,
): Promise<number> {
  const server = make((socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => open.delete(socket))
    connected(socket)
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('No port was given')
  return address.port
}

const answering = (text: string) => (socket: Socket) => {
  socket.once('data', () => socket.write(text))
}

const ports: Record<string, number> = {}

beforeAll(async () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const cert = selfSigned(pair, Date.UTC(2020, 0), Date.UTC(2049, 0), 'localhost')
  const key = pair.privateKey.export({ format: 'pem', type: 'pkcs8' })
  for (const status of [403, 405, 407, 502]) {
    ports[`${status}`] = await serve(answering(`HTTP/1.1 ${status} No\r\n\r\n`))
  }
  ports['ssh'] = await serve((socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n'))
  ports['hangs up'] = await serve((socket) => void socket.once('data', () => socket.destroy()))
  ports['tls'] = await serve(answering('HTTP/1.1 200 OK\r\n\r\n'), (connected) =>
    createTlsServer({ key, cert }, connected),
  )
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const address = free.address()
  ports['nothing'] = typeof address === 'object' ? (address?.port ?? 0) : 0
  free.close()
})
afterAll(async () => await stack.disposeAsync())

async function wordsThrough(proxy: string): Promise<string> {
  const reach = openReach({ proxy, noProxy: '', secureContext: undefined })
  const call = { method: 'POST', headers: {}, body: '{}' }
  const error = await callRelay(RELAY, reach, call).then(
    () => new Error('It answered'),
    (failure: Error) => failure,
  )
  return whyUnreachable(error, RELAY)
}

test.for<[proxy: string, at: string, words: string]>([
  ['http://127.0.0.1', 'nothing', 'nothing listens at the proxy 127.0.0.1:'],
  ['http://no-such-name.invalid', '403', 'the name no-such-name.invalid of the proxy'],
  ['http://127.0.0.1', '407', 'wants a user and a password (407): give them in POSTERN_PROXY'],
  ['http://u:p%25w@127.0.0.1', '407', 'does not take the user and the password of POSTERN_PROXY'],
  ['http://127.0.0.1', '403', 'forbids connections to relay.example.com:443 (403)'],
  [
    'http://127.0.0.1',
    '405',
    'does not connect to relay.example.com:443 (405): check that --proxy',
  ],
  ['http://127.0.0.1', '502', 'does not reach relay.example.com:443 (502): check the address'],
  ['http://127.0.0.1', 'ssh', 'does not answer as an HTTP proxy does: check --proxy'],
  ['http://127.0.0.1', 'hangs up', 'closed the connection before it answered: check --proxy'],
  ['https://127.0.0.1', '403', 'does not speak TLS: --proxy begins with https://'],
  ['https://localhost', 'tls', 'the certificate of the proxy localhost:'],
])('a proxy %s that fails by %s is named', async ([proxy, at, words]) => {
  const said = await wordsThrough(`${proxy}:${ports[at]}`)
  expect(said).toContain(words)
  expect(said).toContain(new URL(proxy).hostname)
  expect(said).not.toMatch(/p%25w|p%w/)
  // No try leaves its socket behind.
  await expect.poll(() => open.size, { timeout: 5_000 }).toBe(0)
})

test('a silent proxy is named, also where its socket timed out', () => {
  const proxy = new URL('http://proxy.internal:3128')
  const cause = Object.assign(new Error('silence'), { code: 'ETIMEDOUT' })
  expect(whyUnreachable(new ProxyError(proxy, { cause }), RELAY)).toBe(
    'the proxy proxy.internal:3128 does not answer: check --proxy, and that the proxy runs',
  )
})

test('a gateway that was asked without Upgrade is told as the fault of a proxy', () => {
  const refused = { status: 426, code: 'BAD_REQUEST', message: 'Expected a WebSocket' }
  expect(whyNotConnected(refused, 'wss://gateway.example.com')).toContain(
    'a proxy on the way is likely to drop the header Upgrade',
  )
})
