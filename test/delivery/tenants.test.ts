import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, expect, test } from 'vitest'

import { hangs, says, type Endpoint } from '../kit/endpoint.ts'
import {
  eventually,
  startRelay,
  type Relay,
  type RelayOptions,
  type Resource,
} from '../kit/relay.ts'

/** While one hung, others waited 45 s. A loaded machine takes seconds of its own. */
const SOON_MS = 8_000

/** For how long the others are looked at. */
const LOOK_MS = 6_000

const SOCKETS = 60

let relay: Relay
async function start(options: RelayOptions = {}): Promise<void> {
  relay = await startRelay(options)
}
afterEach(async () => await relay[Symbol.asyncDispose]())

/** The source of another organisation, whose deliveries come through. */
async function openVictim(): Promise<{ longestMs(forMs: number): Promise<number> }> {
  const { key } = await relay.createTenant()
  const endpoint = await relay.endpoint()
  const make = async (kind: string, fields: object): Promise<Resource> =>
    await relay.make(kind, fields, key)
  const source = await make('sources', {})
  const destination = await make('destinations', { url: endpoint.url })
  await make('connections', { sourceId: source.id, destinationId: destination.id })
  return {
    async longestMs(forMs) {
      let longest = 0
      for (const endAt = performance.now() + forMs; performance.now() < endAt;) {
        const before = endpoint.arrivals.length
        const startedAt = performance.now()
        await relay.accept(source)
        await eventually(() => expect(endpoint.arrivals.length).toBeGreaterThan(before), 60_000)
        longest = Math.max(longest, performance.now() - startedAt)
        await sleep(50)
      }
      return longest
    },
  }
}

async function openHanging(count: number, source: Resource): Promise<void> {
  for (let n = 0; n < count; n++) {
    const { url } = await relay.endpoint(hangs)
    const fields = { url, maxConcurrency: 1_000, timeoutMs: 60_000 }
    await relay.connect(source, await relay.make('destinations', fields))
  }
}

async function sendMany(sources: readonly Resource[], count: number, body: Buffer): Promise<void> {
  let left = count
  const send = async (): Promise<void> => {
    while (left-- > 0) await relay.accept(sources[left % sources.length], { body })
  }
  await Promise.all(Array.from({ length: 16 }, send))
}

test(
  'two destinations that hang with 78 MB of bodies hold nobody else up',
  { timeout: 120_000 },
  async () => {
    await start()
    const sources: Resource[] = []
    for (let n = 0; n < 2; n++) {
      const source = await relay.make('sources', {})
      await openHanging(1, source)
      sources.push(source)
    }
    const victim = await openVictim()
    await victim.longestMs(500)
    const [longestMs] = await Promise.all([
      victim.longestMs(LOOK_MS),
      sendMany(sources, 1_250, Buffer.alloc(62_000, 'a')),
    ])
    const afterMs = await victim.longestMs(2_000)
    expect(Math.max(longestMs, afterMs)).toBeLessThan(SOON_MS)
  },
)

test(
  'nine destinations that hang with 1,000 requests each hold nobody else up',
  { timeout: 120_000 },
  async () => {
    await start()
    const source = await relay.make('sources', {})
    await openHanging(9, source)
    const victim = await openVictim()
    await victim.longestMs(500)
    const [longestMs] = await Promise.all([
      victim.longestMs(LOOK_MS),
      sendMany([source], 1_000, Buffer.from('{}')),
    ])
    const afterMs = await victim.longestMs(2_000)
    expect(Math.max(longestMs, afterMs)).toBeLessThan(SOON_MS)
  },
)

test('attempts that hang leave sockets to others, and those that wait spend nothing', async () => {
  await start({ socketsMax: SOCKETS })
  const source = await relay.make('sources', {})
  const endpoints: Endpoint[] = []
  for (let n = 0; n < 3; n++) {
    const endpoint = await relay.endpoint(hangs)
    endpoints.push(endpoint)
    const fields = { url: endpoint.url, maxConcurrency: 1_000, timeoutMs: 2_000 }
    await relay.connect(source, await relay.make('destinations', fields))
  }
  const victim = await openVictim()
  await sendMany([source], 40, Buffer.from('{}'))
  const arrived = (): number => endpoints.reduce((sum, { arrivals }) => sum + arrivals.length, 0)
  await eventually(() => expect(arrived()).toBeGreaterThan(SOCKETS / 3))
  expect(arrived()).toBeLessThanOrEqual(SOCKETS)
  expect(await victim.longestMs(1_000)).toBeLessThan(SOON_MS)
  const { data } = await relay.get('/v1/deliveries?status=pending&limit=100')
  const unsent = data.filter(({ attemptCount }: Resource) => attemptCount === 0)
  expect(unsent.length).toBeGreaterThan(0)
  for (const endpoint of endpoints) endpoint.respond = says(200)
  for (const { id } of unsent) {
    await eventually(async () => {
      const delivery = await relay.get(`/v1/deliveries/${id}`)
      expect(delivery).toMatchObject({ status: 'succeeded', attemptCount: 1, lastError: null })
    }, 20_000)
  }
}, 60_000)
