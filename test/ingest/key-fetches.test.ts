import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { startRelay, type Relay, type Resource } from '../kit/relay.ts'

/** Fetches that one organisation may have under way. */
const SHARE = 16

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ worker: false, keyCidrs: ['127.0.0.0/8'] })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const TOKEN = [{ alg: 'RS256', kid: 'k' }, {}]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .concat('AAAA')
  .join('.')

/** Hosts of keys, one for each number, that take connections and say nothing. */
async function silentHosts(): Promise<{ urlOf(n: number): string; connections: () => number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { urlOf: (n) => `https://127.0.0.${n + 1}:${port}/keys`, connections: () => sockets.size }
}

async function sourceOf(url: string, key?: string): Promise<Resource> {
  const verifier = {
    type: 'jwt',
    token: { in: 'header', name: 'x-token' },
    algorithms: ['RS256'],
    keySource: { kind: 'jwks', url },
  }
  return await relay.make('sources', { verifier }, key)
}

test('a request whose key cannot be fetched for want of a slot gets 503 and is not stored', async () => {
  const hosts = await silentHosts()
  const hanging: Resource[] = []
  for (let n = 0; n < SHARE; n++) hanging.push(await sourceOf(hosts.urlOf(n)))
  const next = await sourceOf(hosts.urlOf(SHARE))
  const { key } = await relay.createTenant()
  const theirs = await sourceOf('https://127.0.0.1:1/keys', key)
  const send = async (source: Resource) =>
    await relay.send(source, { headers: { 'x-token': TOKEN }, body: '{}' })

  const heard = Promise.all(hanging.map(send))
  await expect.poll(hosts.connections).toBe(SHARE)
  const refused = await send(next)
  expect(refused.status).toBe(503)
  expect(refused.headers['retry-after']).toBeDefined()
  expect((await send(theirs)).status).toBe(401)
  expect((await heard).map(({ status }) => status)).toEqual(Array(SHARE).fill(401))

  const storedOf = async (source: Resource, by?: string): Promise<Resource[]> =>
    (await relay.get(`/v1/events?sourceId=${source.id}`, by)).data
  expect(await storedOf(next)).toEqual([])
  expect(await storedOf(theirs, key)).toMatchObject([{ status: 'rejected' }])
  expect((await send(next)).status).toBe(401)
  expect(await storedOf(next)).toHaveLength(1)
})
