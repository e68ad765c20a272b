import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { talk } from '../kit/raw-socket.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

/** A destination that keeps the bytes of each request, and whose answer carries `answered` in a header. */
async function rawEndpoint(answered = 'ok'): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      requests.push(chunk.toString('latin1'))
      const answer = `HTTP/1.1 200 OK\r\nx-name: ${answered}\r\ncontent-length: 0\r\n\r\n`
      socket.write(Buffer.from(answer, 'latin1'))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('No port was given')
  return { url: `http://127.0.0.1:${address.port}/hook`, requests }
}

/** Sends a header as these bytes; returns the event's id. */
async function sendRaw(source: Resource, value: string): Promise<string> {
  const head = `POST /${source.maskId} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`
  const request = `${head}x-name: ${value}\r\ncontent-length: 2\r\n\r\n{}`
  const { answers } = await talk(relay.ingest.url, { parts: [Buffer.from(request, 'latin1')] })
  expect(answers[0]).toMatchObject({ status: 200 })
  return String(answers[0]?.headers['postern-event-id'])
}

const utf8 = (text: string): string => Buffer.from(text).toString('latin1')

function valueOf(name: string, request: string | undefined): string | undefined {
  return new RegExp(`^${name}: (.*)\r$`, 'm').exec(request ?? '')?.[1]
}

function shown(name: string, headers: [string, string][]): string | undefined {
  return headers.find(([given]) => given === name)?.[1]
}

const HIGH_BYTES = Buffer.from(Array.from({ length: 128 }, (_, n) => n + 128)).toString('latin1')

const VALUES: [name: string, bytes: string, text: string][] = [
  ['UTF-8 beyond U+00FF', utf8('Zoë日本🙂'), 'Zoë日本🙂'],
  ['UTF-8 that Latin-1 could hold', utf8('Zoë'), 'Zoë'],
  ['Latin-1', 'caf\xe9', 'café'],
  ['bytes of both', `${utf8('日')}\xe9`, `${utf8('日')}\xe9`],
  ['every high byte', HIGH_BYTES, HIGH_BYTES],
]

test.for(VALUES)(
  'a header of %s arrives and is replayed as the sender’s bytes',
  async ([, bytes, text]) => {
    const endpoint = await rawEndpoint(bytes)
    const source = await relay.make('sources', { name: `日本 ${crypto.randomUUID()}` })
    await relay.connect(source, await relay.make('destinations', { url: endpoint.url }))
    const eventId = await sendRaw(source, bytes)
    const { attempts } = await relay.reaches(eventId, { status: 'succeeded' })
    expect(valueOf('x-name', endpoint.requests[0])).toBe(bytes)
    expect(valueOf('postern-source', endpoint.requests[0])).toBe(encodeURIComponent(source.name))
    expect(shown('x-name', (await relay.get(`/v1/events/${eventId}`)).headers)).toBe(text)
    expect(shown('x-name', attempts[0].requestHeaders)).toBe(text)
    expect(shown('x-name', attempts[0].responseHeaders)).toBe(text)
    await relay.api('POST', `/v1/events/${eventId}/replay`)
    await eventually(() => expect(endpoint.requests).toHaveLength(2))
    expect(valueOf('x-name', endpoint.requests[1])).toBe(bytes)
  },
)

test('headers of a test delivery arrive as they are shown', async () => {
  const { url, requests } = await rawEndpoint()
  const destination = await relay.make('destinations', { url, headers: { 'x-own': 'caf\xe9' } })
  const path = `/v1/destinations/${destination.id}/test-delivery`
  const { body } = await relay.api('POST', path, { headers: { 'x-name': 'caf\xe9' } })
  expect(valueOf('x-name', requests[0])).toBe('caf\xe9')
  expect(valueOf('x-own', requests[0])).toBe('caf\xe9')
  expect(shown('x-name', body.attempt.requestHeaders)).toBe('caf\xe9')
})
