import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { expect, test, vi } from 'vitest'

import { startApiServer } from '../runtime/api-server.fixture.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import { Store } from '../runtime/watch/store.ts'
import { BY_RELAY } from '../world/by.ts'
import { SecretReader } from '../world/secret-reader.ts'
import { openAllowedRelays } from './allowed-relays.ts'
import { Relays, type RelayWorld } from './relays.ts'

const SECRETS = '/api/v1/namespaces/shop/secrets'
const KEY = 'shop/main'

/** A relay with a name that answers as it is told, and the objects of a namespace that use it. */
async function open(answer: (url: URL, response: ServerResponse) => void) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    asked.push(url.pathname)
    answer(url, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const api = await startApiServer()
  const known = new Store<KubeObject>()
  const secret = api.put(SECRETS, {
    metadata: { name: 'key', namespace: 'shop', labels: { 'postern.dev/use': 'relay' } },
    data: { key: Buffer.from('pst_1').toString('base64') },
  })
  known.put(secret)
  const world: RelayWorld = {
    relays: new Store(),
    connectors: new Store(),
    sources: new Store(),
    destinations: new Store(),
    connections: new Store(),
  }
  for (const store of [world.connectors, world.sources, world.destinations, world.connections]) {
    store.index(BY_RELAY, ({ metadata, spec }) => [`${metadata.namespace}/${spec.relayRef.name}`])
  }
  const spec = {
    baseUrl: `http://127.0.0.1:${port}`,
    apiKeySecretRef: { name: 'key', key: 'key' },
  }
  world.relays.put({ metadata: { name: 'main', namespace: 'shop', uid: 'r' }, spec })
  const changes: string[] = []
  const relays = new Relays({
    world,
    secrets: new SecretReader(api.client, known),
    allowed: openAllowedRelays([{ cidrs: ['127.0.0.1'] }], []),
    clusterId: 'c',
    pollMs: 50,
    log: pino({ level: 'silent' }),
    fence() {},
    count() {},
    changed: (users, listed) => void changes.push(`${[...users].join()} ${listed}`),
    standingChanged() {},
  })
  return {
    asked,
    changes,
    known,
    relays,
    world,
    put: (name: string, deletionTimestamp?: string): void =>
      world.connectors.put({
        metadata: {
          name,
          namespace: 'shop',
          uid: name,
          resourceVersion: `${Math.random()}`,
          ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        },
        spec: { relayRef: { name: 'main' } },
      }),
    async [Symbol.asyncDispose]() {
      await relays[Symbol.asyncDispose]()
      await api[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
    },
  }
}

type Opened = Awaited<ReturnType<typeof open>>

async function startListing({ relays, asked }: Opened) {
  const resolved = await relays.resolve('shop', 'main')
  if (resolved.kind === 'missing') throw new Error(resolved.message)
  const poller = resolved.access.poller('connectors', undefined)
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0), { timeout: 10_000 })
  return poller
}

/** No call comes any more, where one came each 50 ms or when its pace let it. */
async function expectRest({ asked }: Opened): Promise<void> {
  await sleep(300)
  const before = asked.length
  await sleep(2_500)
  expect(asked.length).toBe(before)
}

const lists = (items: object[]) => (_url: URL, response: ServerResponse) =>
  void response.end(JSON.stringify({ data: items, nextCursor: null }))

test('a Relay that is deleted and no object names is forgotten with its key', async () => {
  await using opened = await open(lists([]))
  await startListing(opened)
  opened.world.relays.remove(KEY)
  opened.relays.settle(KEY)
  const resolved = await opened.relays.resolve('shop', 'main')
  expect(resolved).toMatchObject({ kind: 'missing', last: undefined })
  await expectRest(opened)
})

test('a key whose Secret is gone is used for deletions alone', async () => {
  await using opened = await open(lists([]))
  opened.put('a')
  await startListing(opened)
  opened.known.remove('shop/key')
  expect(await opened.relays.resolve('shop', 'main')).toMatchObject({
    kind: 'missing',
    reason: 'ApiKeySecretNotFound',
    last: { baseUrl: expect.stringContaining('127.0.0.1') },
  })
  await expectRest(opened)
  opened.put('a', '2026-11-26T12:00:00Z')
  const resolved = await opened.relays.resolve('shop', 'main')
  const before = opened.asked.length
  if (resolved.kind === 'missing') resolved.last?.poller('connectors', undefined)
  await vi.waitFor(() => expect(opened.asked.length).toBeGreaterThan(before), { timeout: 10_000 })
})

test('a list without an end is given up, and asked for again as seldom as a long one', async () => {
  let page = 0
  const name = 'x'.repeat(900)
  const metadata = Object.fromEntries(
    Array.from({ length: 10 }, (_, at) => [`key-${at}`, 'y'.repeat(1_000)]),
  )
  await using opened = await open((_url, response) => {
    page++
    const data = Array.from({ length: 100 }, (_, at) => ({
      id: `cnr_${page}_${at}`,
      name,
      updatedAt: '2026-11-26T12:00:00Z',
      metadata,
    }))
    response.end(JSON.stringify({ data, nextCursor: `${page}` }))
  })
  const poller = await startListing(opened)
  await vi.waitFor(() => expect(poller.fault).toBeDefined(), { timeout: 25_000 })
  expect(String(poller.fault)).toContain('more resources than the operator has room for')
  expect(poller.snapshot).toBeUndefined()
  // 8 MiB of such pages are fewer than ten.
  expect(page).toBeLessThan(12)
  await expectRest(opened)
})

test('a page that is longer than an answer may be is asked for in smaller ones', async () => {
  const sizes: number[] = []
  await using opened = await open((url, response) => {
    const limit = Number(url.searchParams.get('limit'))
    sizes.push(limit)
    const data = Array.from({ length: limit }, (_, at) => ({
      id: `cnr_${at}`,
      name: 'a',
      updatedAt: '2026-11-26T12:00:00Z',
      metadata: {},
      headers: 'z'.repeat(100_000),
    }))
    response.end(JSON.stringify({ data, nextCursor: null }))
  })
  const poller = await startListing(opened)
  await vi.waitFor(() => expect(poller.snapshot).toBeDefined(), { timeout: 15_000 })
  expect(sizes.slice(0, 3)).toEqual([100, 33, 11])
  // The part that nothing reads is not kept.
  expect(JSON.stringify([...(poller.snapshot?.items.values() ?? [])])).not.toContain('zzz')
})

test('a change concerns the objects of its own Relays', async () => {
  let isAway = false
  await using opened = await open((url, response) => {
    if (isAway) return void response.writeHead(503).end()
    return lists([])(url, response)
  })
  const poller = await startListing(opened)
  await vi.waitFor(() => expect(poller.snapshot).toBeDefined(), { timeout: 10_000 })
  isAway = true
  await vi.waitFor(() => expect(poller.fault).toBeDefined(), { timeout: 20_000 })
  expect(new Set(opened.changes)).toEqual(new Set([`${KEY} connectors`]))
})

test.each([
  ['is away', 503, ''],
  ['refuses the key', 401, JSON.stringify({ code: 'UNAUTHORIZED', message: 'No' })],
])(
  'the age of the last contact is that of a call which was taken: the relay %s',
  async (_, status, body) => {
    let isGood = true
    await using opened = await open((url, response) => {
      if (isGood) return lists([])(url, response)
      return void response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
    const { relays, world } = opened
    const relay = world.relays.get(KEY)
    if (relay === undefined) throw new Error('There is no Relay')
    const resolved = await relays.resolve('shop', 'main')
    if (resolved.kind === 'missing') throw new Error(resolved.message)
    const { api } = resolved.access.client
    const grown = async (): Promise<void> =>
      await vi.waitFor(() => expect(relays.contactAgeMs(relay)).toBeGreaterThan(500), 10_000)
    await grown()
    await api.listConnectors({ limit: 1 })
    expect(relays.contactAgeMs(relay)).toBeLessThan(500)
    await grown()
    isGood = false
    await expect(api.listConnectors({ limit: 1 })).rejects.toThrow(/503|refuses|No/)
    expect(relays.contactAgeMs(relay)).toBeGreaterThan(500)
  },
)

test('a Relay that was never called counts from when it was made, or since the operator leads', async () => {
  await using opened = await open(lists([]))
  const metadata = { name: 'other', namespace: 'shop' }
  const madeAt = (ms: number): KubeObject => ({
    metadata: { ...metadata, creationTimestamp: new Date(Date.now() - ms).toISOString() },
  })
  const ageOf = (relay: KubeObject): number => opened.relays.contactAgeMs(relay)
  expect(ageOf(madeAt(60_000_000))).toBeLessThan(30_000)
  await vi.waitFor(() => expect(ageOf(madeAt(60_000_000))).toBeGreaterThan(500), 10_000)
  expect(ageOf(madeAt(10))).toBeLessThan(500)
})
