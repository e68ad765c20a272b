import { setTimeout as sleep } from 'node:timers/promises'

import { sql } from 'kysely'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { endKey, rescopeKey } from '../../api/accounts/organisations/organisations.ts'
import { buildApp } from '../../api/app.ts'
import { LiveStreams, type StreamLimits } from '../../api/events/live/live-streams.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { newId } from '../../core/ids.ts'
import { eventsStoredSubject } from '../../core/notices/notice-subjects.ts'
import { listen, type Listener } from '../kit/event-stream.ts'
import { eventually, SOON_MS, startRelay } from '../kit/relay.ts'
import { seedRoute, seedEvent, uuid, type SeededRoute } from '../kit/seed.ts'
import { TESTER } from '../kit/tester.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
let shop: SeededRoute
let second: Api
beforeAll(async () => {
  world = await startWorld()
  shop = await seedRoute(world, 'shop')
  second = await openApi()
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

interface Api extends AsyncDisposable {
  url: string
  registry: Registry
  close(): Promise<void>
}

/** A further process of the management API, with connections of its own. */
async function openApi(limits: Partial<StreamLimits> = {}): Promise<Api> {
  const registry = new Registry()
  const db = openDb(openPool({ url: world.databaseUrl, max: 3, log: world.deps.log }))
  const eventStreams = new LiveStreams({ ...world.deps, db, registry }, limits)
  const app = buildApp({ ...world.deps, db, registry, eventStreams })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const close = async (): Promise<void> => {
    await app.close()
    await db.destroy()
  }
  return { url, registry, close, [Symbol.asyncDispose]: close }
}

async function valueOf({ registry }: Api, name: string): Promise<number | undefined> {
  const metric = await registry.getSingleMetric(name)?.get()
  return metric?.values[0]?.value
}

/** A connection of its own, whose transactions stay open until they are told. */
async function begin(): Promise<Open> {
  const db = openDb(openPool({ url: world.databaseUrl, max: 1, log: world.deps.log }))
  let tx = await db.startTransaction().execute()
  return {
    store: async (id = newId(world.clock.now())) =>
      await seedEvent({ ...world, db: tx }, { ...shop, id }),
    run: async (text) => {
      await sql.raw(text).execute(tx)
    },
    commit: async () => {
      await tx.commit().execute()
    },
    rollback: async () => {
      await tx.rollback().execute()
    },
    again: async () => {
      tx = await db.startTransaction().execute()
    },
    [Symbol.asyncDispose]: async () => {
      if (!tx.isCommitted && !tx.isRolledBack) await tx.rollback().execute()
      await db.destroy()
    },
  }
}

/** A transaction that is open. */
interface Open extends AsyncDisposable {
  /** Stores an event as ingest would, with an id that may be older. Returns it as clients see it. */
  store(id?: string): Promise<string>
  run(text: string): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Begins the next one. */
  again(): Promise<void>
}

/** Stores an event and says so, as ingest does. */
async function seed(fields: object = {}): Promise<string> {
  const id = await seedEvent(world, { ...shop, ...fields })
  world.nats.publish(eventsStoredSubject(uuid('prj', world.projectId)))
  return id
}

/** Resolves when the client has heard so many pings more: time in which something else did not come. */
async function pings(stream: Listener, count: number): Promise<void> {
  const pingsSoFar = (): number => stream.messages.filter(({ event }) => event === 'ping').length
  const before = pingsSoFar()
  await eventually(() => expect(pingsSoFar()).toBeGreaterThanOrEqual(before + count))
}

test('a stream says ready, then each new event as a list would show it', async () => {
  const before = await seed()
  using stream = await listen(world.apiUrl, { key: world.key })
  expect(stream.status).toBe(200)
  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': expect.any(String),
    'x-ratelimit-limit': '100000',
  })
  await stream.heard('ready')
  const id = await seed({ eventType: 'order.paid', raw: '{"a":"\\n\\n"}' })
  const message = await stream.heard('event.created')
  const list = await world.api('GET', '/v1/events?limit=1')
  expect(message).toEqual({
    id: expect.any(String),
    event: 'event.created',
    data: list.body.data[0],
  })
  expect(message.data.id).toBe(id)
  expect(stream.events()).not.toContain(before)
})

test('an event that ingest stores is shown at once, a rejected one too', async () => {
  await using relay = await startRelay({ worker: false })
  const source = await relay.make('sources', {
    verifier: { type: 'shared_token', secret: 'abc', token: { in: 'header', name: 'x-token' } },
  })
  using stream = await listen(relay.apiUrl, { key: relay.key })
  await stream.heard('ready')
  const delays: number[] = []
  for (const token of ['abc', 'abc', 'abc', 'wrong']) {
    const startedAt = performance.now()
    await relay.send(source, { headers: { 'x-token': token }, body: '{}' })
    const count = delays.length + 1
    await eventually(() => expect(stream.events()).toHaveLength(count))
    delays.push(performance.now() - startedAt)
  }
  // A notice shows it; without one the next look would, a second later or more.
  expect(Math.min(...delays)).toBeLessThan(500)
  expect(Math.max(...delays)).toBeLessThan(5_000)
  expect(stream.messages.at(-1)?.data).toMatchObject({ status: 'rejected' })
})

test('a notice that is lost is healed by the next look', async () => {
  using stream = await listen(world.apiUrl, { key: world.key })
  await stream.heard('ready')
  const id = await seedEvent(world, shop)
  await stream.hears([id], 3_000)
  expect(stream.events()).toEqual([id])
})

test('8 writers that commit out of order: every event comes once, before and after a resume elsewhere', async () => {
  const stored: string[] = []
  const write = async (rounds: number): Promise<void> => {
    await using writer = await begin()
    for (let round = 0; round < rounds; round++) {
      const ids = [newId(world.clock.now()), newId(world.clock.now())]
      for (const id of ids) stored.push(await writer.store(id))
      await sleep(Math.random() * 60)
      await writer.commit()
      await writer.again()
    }
  }
  using first = await listen(world.apiUrl, { key: world.key })
  await first.heard('ready')
  const writers = Array.from({ length: 8 }, async () => await write(25))
  await eventually(() => expect(first.events().length).toBeGreaterThan(60))
  first[Symbol.dispose]()
  using resumed = await listen(second.url, { key: world.key, lastEventId: first.lastId() })
  await Promise.all(writers)
  expect(stored).toHaveLength(400)
  const early = first.events()
  await resumed.hears(stored.filter((id) => !early.includes(id)))
  for (const seen of [early, resumed.events()]) expect(new Set(seen).size).toBe(seen.length)
  expect(resumed.messages.filter(({ event }) => event === 'gap')).toEqual([])
})

test('an event that is committed late is not stepped over, nor shown before it is committed', async () => {
  await using api = await openApi({ pingMs: 30 })
  using stream = await listen(api.url, { key: world.key })
  await stream.heard('ready')
  await using holder = await begin()
  const older = await holder.store()
  const newer = await seed()
  await pings(stream, 20)
  expect(stream.events()).toEqual([])
  // Whoever leaves and comes back in between misses nothing either.
  using other = await listen(second.url, { key: world.key, lastEventId: stream.lastId() })
  await holder.commit()
  await stream.hears([older, newer])
  await other.hears([older, newer])
  expect(stream.events()).toEqual([older, newer])
})

test('a transaction that is rolled back holds nothing up for good', async () => {
  using stream = await listen(world.apiUrl, { key: world.key })
  await stream.heard('ready')
  await using holder = await begin()
  const never = await holder.store()
  const newer = await seed()
  await holder.rollback()
  await stream.hears([newer])
  expect(stream.events()).not.toContain(never)
})

test('long transactions that store no events do not stop a stream: a backup never, a change not for long', async () => {
  using stream = await listen(world.apiUrl, { key: world.key })
  await stream.heard('ready')
  await using backup = await begin()
  await backup.run('set transaction isolation level repeatable read read only')
  await backup.run('lock table event, project in access share mode')
  await backup.run('select count(*) from event')
  const ids = [await seed()]
  await stream.hears(ids, 2_500)
  await using change = await begin()
  await change.run(`update project set metadata = '{"a":"b"}'`)
  for (let count = 0; count < 2; count++) {
    ids.push(await seed())
    await stream.hears(ids, 2_500)
  }
  expect(stream.events()).toEqual(ids)
})

test('rows from before the column belong to no stream and stay in lists', async () => {
  using stream = await listen(world.apiUrl, { key: world.key })
  await stream.heard('ready')
  await using client = await begin()
  const old = await client.store()
  await client.run(`update event set transaction_id = null where id = '${uuid('evt', old)}'`)
  await client.commit()
  await stream.hears([await seed()])
  expect(stream.events()).not.toContain(old)
  expect((await world.api('GET', `/v1/events/${old}`)).status).toBe(200)
})

test.for<[query: (own: SeededRoute) => string, expected: string[]]>([
  [({ sourceId }) => `?sourceId=${sourceId}`, ['a', 'ab', 'none', 'bad']],
  [() => '?status=rejected', ['bad']],
  [() => '?eventType=filter.a', ['a']],
  [() => '?eventType=filter.a*', ['a', 'ab']],
  [({ sourceId }) => `?eventType=*&sourceId=${sourceId}`, ['a', 'ab', 'none', 'bad']],
  [({ sourceId }) => `?eventType=filter.*&status=received&sourceId=${sourceId}`, ['a', 'ab']],
])('filters choose what is shown, live and resumed: %o', async ([queryOf, expected], { task }) => {
  const own = await seedRoute(world, `filters ${task.id}`)
  const query = queryOf(own)
  using live = await listen(world.apiUrl, { key: world.key, query })
  const { id: start } = await live.heard('ready')
  const ids = new Map<string, string>()
  const kinds = [
    ['a', { eventType: 'filter.a' }],
    ['ab', { eventType: 'filter.ab' }],
    ['none', { eventType: null, status: 'unmatched' }],
    ['bad', { eventType: null, status: 'rejected', rejectionReason: 'signature_mismatch' }],
  ] as const
  for (const [name, fields] of kinds) ids.set(await seed({ ...own, ...fields }), name)
  await seed({ eventType: 'other' })
  const wanted = [...ids].flatMap(([id, name]) => (expected.includes(name) ? [id] : []))
  await live.hears(wanted)
  expect(live.events()).toEqual(wanted)
  using resumed = await listen(second.url, { key: world.key, query, lastEventId: start })
  await resumed.heard('ready')
  expect(resumed.events()).toEqual(wanted)
})

test('ping comes at its interval, with a position that can be resumed', async () => {
  await using api = await openApi({ pingMs: 40 })
  using stream = await listen(api.url, { key: world.key })
  await stream.heard('ready')
  await pings(stream, 3)
  const ping = stream.messages.findLast(({ event }) => event === 'ping')
  expect(ping).toMatchObject({ id: expect.any(String), data: { at: expect.any(String) } })
  stream[Symbol.dispose]()
  const id = await seed()
  using resumed = await listen(second.url, { key: world.key, lastEventId: ping?.id })
  await resumed.hears([id])
})

test('a position in the middle of a long absence is read on page by page', async () => {
  using first = await listen(world.apiUrl, { key: world.key })
  const { id: start } = await first.heard('ready')
  first[Symbol.dispose]()
  const ids: string[] = []
  // So many at once as the pool of connections takes without a wait.
  while (ids.length < 1_200) {
    ids.push(...(await Promise.all(Array.from({ length: 40 }, async () => await seed()))))
  }
  using second1 = await listen(second.url, { key: world.key, lastEventId: start })
  await eventually(() => expect(second1.events().length).toBeGreaterThan(100))
  second1[Symbol.dispose]()
  using third = await listen(world.apiUrl, { key: world.key, lastEventId: second1.lastId() })
  await third.heard('ready')
  const seen = [...second1.events(), ...third.events()]
  expect(seen.filter((id) => ids.includes(id)).toSorted()).toEqual(ids.toSorted())
})

test.for(['', 'x', '1', '1.aaaaaaaaaaaa.1.1.1.1.evt_1', `1.aaaaaaaaaaaa.2.1.1.1.`])(
  'a malformed Last-Event-ID is BAD_REQUEST: "%s"',
  async (lastEventId) => {
    using stream = await listen(world.apiUrl, { key: world.key, lastEventId })
    // An empty one is how a client says that it has none.
    expect(stream.status).toBe(lastEventId === '' ? 200 : 400)
    if (lastEventId === '') return
    expect(stream.body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'headers.last-event-id' }] },
    })
  },
)

test('a resume point of other filters, or of another installation, is a gap; then the stream goes on', async () => {
  using first = await listen(world.apiUrl, { key: world.key })
  const { id: start = '' } = await first.heard('ready')
  const [version, name, ...rest] = start.split('.')
  const elsewhere = [version, name, ...rest.map((part) => (part === '' ? part : `9${part}`))]
  for (const [query, lastEventId] of [
    ['?status=received', start],
    ['', elsewhere.join('.')],
  ] as const) {
    using stream = await listen(world.apiUrl, { key: world.key, query, lastEventId })
    await stream.heard('ready')
    expect(stream.messages.map(({ event }) => event)).toEqual(['gap', 'ready'])
    expect(stream.messages[0]).toMatchObject({ id: undefined, data: { reason: 'unknown' } })
    await stream.hears([await seed()])
  }
})

test('a resume point older than the retention is a gap that says from when', async () => {
  await using own = await startWorld({ plan: 'hobby' })
  using first = await listen(own.apiUrl, { key: own.key })
  const { id: start } = await first.heard('ready')
  first[Symbol.dispose]()
  own.clock.advance(2 * 86_400_000)
  using soon = await listen(own.apiUrl, { key: own.key, lastEventId: start })
  await soon.heard('ready')
  expect(soon.messages.map(({ event }) => event)).toEqual(['ready'])
  own.clock.advance(86_400_000 + 1_000)
  using late = await listen(own.apiUrl, { key: own.key, lastEventId: start })
  await late.heard('ready')
  expect(late.messages).toMatchObject([
    { event: 'gap', data: { reason: 'expired', from: expect.any(String) } },
    { event: 'ready' },
  ])
})

test('a client that does not keep up gets gap and is closed, holds others up not at all, and resumes', async () => {
  await using api = await openApi({ bufferBytes: 3_000_000 })
  using slow = await listen(api.url, { key: world.key })
  using quick = await listen(api.url, { key: world.key })
  await slow.heard('ready')
  await quick.heard('ready')
  slow.response.pause()
  const ids: string[] = []
  // Sockets hold some megabytes themselves.
  while ((await valueOf(api, 'postern_api_slow_event_streams_total')) === 0 && ids.length < 4_000) {
    const eventType = 'x'.repeat(20_000)
    const batch = await Promise.all(
      Array.from({ length: 50 }, async () => await seed({ eventType })),
    )
    ids.push(...batch)
    await quick.hears(batch)
  }
  expect(ids.length).toBeLessThan(4_000)
  slow.response.resume()
  await slow.ended()
  expect(slow.messages.at(-1)).toMatchObject({ event: 'gap', data: { reason: 'slow' } })
  const got = slow.events()
  expect(got.length).toBeLessThan(ids.length)
  using resumed = await listen(second.url, { key: world.key, lastEventId: slow.lastId() })
  await resumed.hears(ids.filter((id) => !got.includes(id)))
}, 60_000)

test('a stream ends within a second when its key is revoked, expires or is rescoped', async () => {
  const tenancy = { ...world.deps, actor: TESTER }
  const ends: [string, (id: string) => Promise<unknown> | void][] = [
    ['revoked', async (id) => await endKey(tenancy, id)],
    ['rescoped', async (id) => await rescopeKey(tenancy, id, { events: 'none', sources: 'read' })],
    ['expired', () => world.clock.advance(3_600_000)],
  ]
  using other = await listen(world.apiUrl, { key: world.key })
  await other.heard('ready')
  for (const [name, end] of ends) {
    const expiresAt = new Date(world.clock.now() + 3_000_000)
    const key = await world.createKey({ events: 'read' }, { expiresAt })
    using stream = await listen(world.apiUrl, { key: key.key })
    await stream.heard('ready')
    await end(uuid('key', key.id))
    await stream.ended(2_000)
    using again = await listen(world.apiUrl, { key: key.key, lastEventId: stream.lastId() })
    expect(again.status, name).toBe(name === 'rescoped' ? 403 : 401)
  }
  await other.hears([await seed()])
})

test('a stream shows its own project only, and needs Read on Events', async () => {
  const foreign = await world.createTenant()
  const headers = { 'x-project-id': foreign.projectId }
  using refused = await listen(world.apiUrl, { key: world.key, headers })
  expect(refused).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  const { key } = await world.createKey({ sources: 'write' })
  using unable = await listen(world.apiUrl, { key })
  expect(unable).toMatchObject({
    status: 403,
    body: { code: 'INSUFFICIENT_API_KEY_PERMISSIONS' },
  })
  using own = await listen(world.apiUrl, { key: world.key })
  using theirs = await listen(world.apiUrl, { key: foreign.key })
  const { id: position } = await own.heard('ready')
  await theirs.heard('ready')
  const ours = await seed()
  const alien = await seedEvent(world, { ...foreign, sourceId: shop.sourceId })
  await own.hears([ours])
  await theirs.hears([alien])
  expect(own.events()).toEqual([ours])
  expect(theirs.events()).toEqual([alien])
  using stolen = await listen(world.apiUrl, { key: foreign.key, lastEventId: position })
  await stolen.heard('ready')
  expect(stolen.events()).toEqual([])
})

test('a stream ends when its project is deleted', async () => {
  const made = await world.api('POST', '/v1/projects', { name: 'short-lived' })
  const headers = { 'x-project-id': made.body.id }
  using stream = await listen(world.apiUrl, { key: world.key, headers })
  await stream.heard('ready')
  expect((await world.api('DELETE', `/v1/projects/${made.body.id}`)).status).toBe(204)
  await stream.ended(SOON_MS)
})

test('a stream too many is refused like a request too many, by key and by process', async () => {
  await using api = await openApi({ perKey: 2, perProcess: 3 })
  const other = await world.createKey({ events: 'read' })
  using first = await listen(api.url, { key: world.key })
  using middle = await listen(api.url, { key: world.key })
  using crowd = await listen(api.url, { key: world.key })
  expect(crowd.status).toBe(429)
  expect(crowd.body).toEqual({ status: 429, message: expect.stringContaining('2 event streams') })
  expect(Number(crowd.headers['retry-after'])).toBeGreaterThan(0)
  using third = await listen(api.url, { key: other.key })
  expect([first.status, middle.status, third.status]).toEqual([200, 200, 200])
  using full = await listen(api.url, { key: other.key })
  expect(full.status).toBe(429)
  first[Symbol.dispose]()
  await eventually(async () => {
    using next = await listen(api.url, { key: other.key })
    expect(next.status).toBe(200)
  })
})

test('an organisation takes at most its share of the streams of a process', async () => {
  await using api = await openApi({ perOrganisation: 2, perProcess: 3 })
  const other = await world.createTenant()
  const keys = [
    await world.createKey({ events: 'read' }),
    await world.createKey({ events: 'read' }),
  ]
  using first = await listen(api.url, { key: world.key })
  using next = await listen(api.url, { key: keys[0]?.key ?? '' })
  using crowd = await listen(api.url, { key: keys[1]?.key ?? '' })
  using theirs = await listen(api.url, { key: other.key })
  expect([first, next, crowd, theirs].map(({ status }) => status)).toEqual([200, 200, 429, 200])
  expect(crowd.body.message).toContain('of the organisation')
})

test('an open stream counts once in the window of its key', async () => {
  const { key } = await world.createKey({ events: 'read' })
  using stream = await listen(world.apiUrl, { key })
  await stream.heard('ready')
  await stream.hears([await seed(), await seed()])
  const answer = await world.api('GET', '/v1/events', undefined, { key })
  expect(answer.headers.get('x-ratelimit-remaining')).toBe(String(100_000 - 2))
})

test('clients that go away leave nothing behind: 200 streams, some given up at once', async () => {
  await using api = await openApi({ perKey: 300, perOrganisation: 300 })
  for (let round = 0; round < 4; round++) {
    const opened = await Promise.all(
      Array.from({ length: 50 }, async () => await listen(api.url, { key: world.key })),
    )
    await Promise.all(opened.slice(0, 25).map(async (stream) => await stream.heard('ready')))
    for (const stream of opened) stream[Symbol.dispose]()
  }
  const abort = Array.from({ length: 20 }, async (_, n) => {
    const signal = AbortSignal.timeout(n)
    const headers = { authorization: `Bearer ${world.key}` }
    await fetch(`${api.url}/v1/events/stream`, { headers, signal }).catch(() => undefined)
  })
  await Promise.all(abort)
  await eventually(async () => {
    expect(await valueOf(api, 'postern_api_event_streams')).toBe(0)
    expect(await valueOf(api, 'postern_api_event_stream_projects')).toBe(0)
  })
})

test('a process that stops ends its streams, and a client goes on elsewhere', async () => {
  const api = await openApi()
  using stream = await listen(api.url, { key: world.key })
  await stream.heard('ready')
  const seen = await seed()
  await stream.hears([seen])
  const closing = api.close()
  await stream.ended(SOON_MS)
  await closing
  const missed = await seed()
  using resumed = await listen(second.url, { key: world.key, lastEventId: stream.lastId() })
  await resumed.hears([missed])
  expect(resumed.events()).not.toContain(seen)
})
