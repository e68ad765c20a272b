import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect, onTestFinished, test } from 'vitest'

import { guardedLookup } from '../../egress/connect.ts'
import { Names } from '../../egress/names.ts'
import type { AttemptRequest } from '../transport.ts'
import { directTransport } from './exchange.ts'
import { Connections } from './http-connections.ts'

async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

function requestTo(origin: string, fields: Partial<AttemptRequest>): AttemptRequest {
  const method = 'POST'
  const body = Buffer.alloc(0)
  return {
    holder: 'a',
    tenant: 'a',
    origin,
    path: '/',
    method,
    headers: [],
    body,
    timeoutMs: 5_000,
    ...fields,
  }
}

function open() {
  const connections = new Connections(() => guardedLookup(() => true, new Names()))
  onTestFinished(async () => await connections.close())
  return directTransport(connections)
}

const PIECE = Buffer.alloc(64 * 1024, 'a')
const PIECES = 40

test('directTransport() sends a streamed body whole, with the length that its header names', async () => {
  let seen: { headers: IncomingMessage['headers']; bytes: number } | undefined
  const origin = await startServer((request, response) => {
    void buffer(request).then((body) => {
      seen = { headers: request.headers, bytes: body.length }
      return response.end('ok')
    })
  })
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < PIECES; n++) {
      await sleep(1)
      yield new Uint8Array(PIECE)
    }
  }
  const length = PIECES * PIECE.length
  const send = open()
  const headers = ['content-length', String(length)]

  const named = await send(requestTo(origin, { headers, body: pieces() }))
  expect(named).toMatchObject({ status: 200, error: null, body: Buffer.from('ok') })
  expect(seen).toMatchObject({ headers: { 'content-length': String(length) }, bytes: length })

  const unnamed = await send(requestTo(origin, { body: pieces() }))
  expect(unnamed).toMatchObject({ status: 200, error: null })
  expect(seen).toMatchObject({ headers: { 'transfer-encoding': 'chunked' }, bytes: length })
})

test('directTransport() reads a streamed body no faster than the destination takes it', async () => {
  const origin = await startServer((request) => void request.pause())
  let read = 0
  let isClosed = false
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        read += PIECE.length
        yield PIECE
      }
    } finally {
      isClosed = true
    }
  }

  const response = await open()(requestTo(origin, { body: endless(), timeoutMs: 500 }))

  expect(response).toMatchObject({ status: null, error: 'timeout' })
  expect(read).toBeLessThan(64 * 1024 * 1024)
  await expect.poll(() => isClosed).toBe(true)
})

test('directTransport() calls a streamed body that breaks off a fault of ours', async () => {
  const origin = await startServer((request) => void request.resume())
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield PIECE
    await sleep(10)
    throw new Error('the tunnel ended')
  }

  const response = await open()(requestTo(origin, { body: broken() }))

  expect(response).toMatchObject({ status: null, error: 'internal' })
  expect(response.fault).toMatchObject({ message: 'the tunnel ended' })
})

test('directTransport() returns the error of a connection beside its code', async () => {
  const server = createTcpServer((socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : ''

  const response = await open()(requestTo(`http://127.0.0.1:${port}`, {}))

  expect(response).toMatchObject({ status: null, error: 'connection_reset' })
  expect(response.fault).toMatchObject({ name: 'HTTPParserError' })
})

test('directTransport() sends a streamed body on a connection of its own', async () => {
  let connections = 0
  const origin = await startServer((request, response) => {
    request.resume().on('end', () => response.end())
  })
  const send = open()
  async function* piece(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(PIECE)
  }
  for (const body of [Buffer.from('a'), Buffer.from('b'), piece()]) {
    const { connect } = await send(requestTo(origin, { body }))
    if (connect !== null && connect.connectMs > 0) connections++
  }

  expect(connections).toBe(2)
})

test('directTransport() ends a request whose signal aborts', async () => {
  const closed = Promise.withResolvers<undefined>()
  const origin = await startServer((request) => {
    request.on('close', () => closed.resolve(undefined))
  })
  const stop = new AbortController()
  const sending = open()(requestTo(origin, { signal: stop.signal }))
  await sleep(50)
  stop.abort()

  expect(await sending).toMatchObject({ status: null, error: 'connection_reset' })
  await closed.promise
  expect(await open()(requestTo(origin, { signal: stop.signal }))).toMatchObject({
    error: 'connection_reset',
    connect: null,
  })
})
