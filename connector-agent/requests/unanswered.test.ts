import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'

import { request } from 'undici'
import { expect, test } from 'vitest'

import { selfSigned } from '../../core/verify/self-signed.fixture.ts'
import { whyUnanswered } from './explain.ts'

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('No port was given')
  return address.port
}

const now = new Date().getUTCFullYear()

test.for<[kind: string, from: number, to: number, host: string, isTrusted: boolean, words: string]>(
  [
    ['unknown', now - 1, now + 9, 'localhost', false, '--destination-ca-file (DESTINATION_CA)'],
    ['expired', now - 3, now - 2, 'localhost', true, "is past its end by this machine's clock"],
    ['early', now + 5, now + 9, 'localhost', true, "is not valid yet by this machine's clock"],
    ['foreign', now - 1, now + 9, 'other.internal', true, 'is for another name'],
  ],
)(
  'a certificate failure is named by its cause: %s',
  async ([, from, to, host, isTrusted, words]) => {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const cert = selfSigned(pair, Date.UTC(from, 0), Date.UTC(to, 0), host)
    const key = pair.privateKey.export({ format: 'pem', type: 'pkcs8' })
    const server = createTlsServer({ key, cert }).on('tlsClientError', () => undefined)
    const port = await portOf(server)
    const socket = connectTls({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ...(isTrusted && { ca: cert }),
    })
    const [fault] = await once(socket, 'error').catch((error: unknown) => [error])
    const said = whyUnanswered('tls_error', new URL(`https://localhost:${port}`), fault)
    expect(said).toContain(words)
    expect(said).toContain(`localhost:${port}`)
    server.close()
  },
)

test('a server without TLS is not mistaken for an untrusted certificate', async () => {
  const server = createHttpServer().on('clientError', (_error, socket) => {
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  const port = await portOf(server)
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost' })
  const [fault] = await once(socket, 'error').catch((error: unknown) => [error])
  const said = whyUnanswered('tls_error', new URL(`https://localhost:${port}`), fault)
  expect(said).toContain('does not speak TLS')
  server.close()
})

test.for([
  ['SSH-2.0-OpenSSH_9.2\r\n', 'answers, but not with HTTP: check the scheme and the port'],
  ['', 'closed the connection before it answered'],
] as const)('whyUnanswered() explains a server that answers %j', async ([text, words]) => {
  const server = createServer((socket) => void socket.on('error', () => undefined).end(text))
  const url = `http://127.0.0.1:${await portOf(server)}`
  const fault = await request(url).catch((error: unknown) => error)
  expect(whyUnanswered('connection_reset', new URL(url), fault)).toContain(words)
  server.close()
})
