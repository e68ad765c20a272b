import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { overridePlan } from '../../api/accounts/organisations/organisations.ts'
import { HOUR_MS } from '../../core/clock.ts'
import { spoolSettings } from '../../dataplane/ingest/spool/spool.ts'
import { openDatabaseLink, type DatabaseLink } from '../kit/database-link.ts'
import { listen } from '../kit/event-stream.ts'
import {
  eventually,
  openIngestOn,
  startRelay,
  type IngestReply,
  type IngestProcess,
  type Relay,
  type Resource,
} from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { scratch, startTestNats } from '../kit/servers.ts'
import { TESTER } from '../kit/tester.ts'

const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }
const BACK_MS = 15_000

/** Everybody reaches PostgreSQL; the ingest process under test by a link that can be cut. */
const stack = new AsyncDisposableStack()
let relay: Relay
let link: DatabaseLink
let ingest: IngestProcess
let servers = ''

beforeAll(async () => {
  servers = join(stack.use(scratch()).path, 'spool')
  mkdirSync(servers, { mode: 0o755 })
  const { url } = await startTestNats(servers)
  stack.defer(async () => await (await startTestNats(servers)).stop())
  relay = stack.use(await startRelay())
  link = stack.use(await openDatabaseLink(relay.databaseUrl))
  const spool = { url, replicas: 1, maxBytes: 8 * MIB }
  const installation = { ...relay, ...relay.deps, databaseUrl: link.url, spool }
  ingest = await openIngestOn(installation, 'spooling')
  stack.defer(async () => await ingest.stop())
})
afterAll(async () => await stack.disposeAsync())

async function send(source: Resource, key: string | number, body = ''): Promise<IngestReply> {
  const text = JSON.stringify({ key, body })
  return await relay.send(source, { to: ingest, headers: JSON_TYPE, body: text })
}

function idOf(heard: IngestReply): string {
  expect(heard).toMatchObject({ status: 200, body: { ok: true, eventId: expect.any(String) } })
  expect(heard.headers['postern-event-id']).toBe(heard.body.eventId)
  return heard.body.eventId
}

/** A route whose source this process knows, as it must before an outage. */
async function knownRoute(): Promise<Awaited<ReturnType<Relay['route']>>> {
  const route = await relay.route({ source: { idempotencyKeys: ['body.key'] } })
  await eventually(async () => idOf(await send(route.source, 'older')), BACK_MS)
  await eventually(() => expect(route.endpoint.arrivals).toHaveLength(1))
  return route
}

/** Waits until every process has read every change, also one whose notice was lost. */
async function configurationRead(): Promise<void> {
  await eventually(async () => {
    const { rows } = await relay.pool.query(
      `select coalesce(max(at) < now() - interval '2 seconds', true) as "isRead" from config_change`,
    )
    expect(rows).toEqual([{ isRead: true }])
  })
}

/** Cuts the link while `during` runs. */
async function outage<T>(during: () => Promise<T>): Promise<T> {
  await configurationRead()
  await link.cut()
  try {
    return await during()
  } finally {
    await link.mend()
  }
}

test('an event that came while PostgreSQL was away is stored under the answered id, and delivered once', async () => {
  const { source, endpoint } = await knownRoute()
  const ids = await outage(async () => {
    const heard = await Promise.all(Array.from({ length: 40 }, (_, key) => send(source, key)))
    await ingest.ready()
    return heard.map(idOf)
  })
  for (const id of ids) await relay.reaches(id, { status: 'succeeded', attemptCount: 1 }, BACK_MS)
  expect(endpoint.arrivals).toHaveLength(1 + ids.length)
})

test('a second request of a key in the spool is a duplicate, and one of an older key keeps its id undelivered', async () => {
  const { source, endpoint } = await knownRoute()
  const older = await outage(async () => {
    idOf(await send(source, 'new'))
    expect((await send(source, 'new')).body).toEqual({ ok: true, duplicate: true })
    return idOf(await send(source, 'older'))
  })
  await eventually(async () => {
    const event = await relay.get(`/v1/events/${older}`)
    expect(event).toMatchObject({ id: older, status: 'filtered' })
  }, BACK_MS)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2), BACK_MS)
  const { data } = await relay.get(`/v1/deliveries?eventId=${older}`)
  expect(data).toEqual([])
  // Long after the outage its keys are as good as any other.
  expect((await send(source, 'new')).body).toEqual({ ok: true, duplicate: true })
})

test('during an outage a bad signature is 401 and not spooled, NUL bytes are 415, an unknown mask is 503', async () => {
  const verifier = { preset: 'github', secret: 'of the spool tests' }
  const { source } = await relay.route({ source: { verifier } })
  expect(await send(source, 1)).toMatchObject({ status: 401 })
  const plain = await knownRoute()
  await outage(async () => {
    idOf(await send(plain.source, 'first'))
    expect(await send(source, 2)).toMatchObject({ status: 401 })
    const nul = { to: ingest, body: Buffer.from([0x61, 0]) }
    expect(await relay.send(plain.source, nul)).toMatchObject({ status: 415 })
    const unknown = await send({ maskId: 'a'.repeat(26) }, 3)
    expect(unknown).toMatchObject({ status: 503, body: { ok: false } })
    expect(unknown.headers['retry-after']).toBe('1')
  })
  await eventually(async () => {
    const { data } = await relay.get(`/v1/events?sourceId=${plain.source.id}`)
    expect(data).toHaveLength(2)
  }, BACK_MS)
  const { data } = await relay.get(`/v1/events?sourceId=${source.id}`)
  expect(data).toHaveLength(1)
})

test('a PostgreSQL that is silent delays the first batch alone', async () => {
  const { source } = await knownRoute()
  await configurationRead()
  link.silence()
  try {
    const startedAt = performance.now()
    const id = idOf(await send(source, 'first'))
    expect(performance.now() - startedAt).toBeGreaterThan(4_000)
    const knownAt = performance.now()
    idOf(await send(source, 'second'))
    expect(performance.now() - knownAt).toBeLessThan(1_000)
    await link.mend()
    // It was committed after its sender had been answered from the spool: the spool knows it by its id.
    await relay.reaches(id, { status: 'succeeded' }, 30_000)
    const { data } = await relay.get(`/v1/deliveries?eventId=${id}`)
    expect(data).toHaveLength(1)
  } finally {
    await link.mend()
  }
}, 60_000)

test('spooled events of a hard-capped organisation are counted, beyond the limit too', async () => {
  const tenant = await relay.createTenant('hobby')
  const id = uuid('org', tenant.organisationId)
  const set = { deliveryQuota: 3 }
  await overridePlan({ ...relay.deps, actor: TESTER }, id, { clear: true, set })
  const { source, endpoint } = await relay.route({ key: tenant.key })
  idOf(await send(source, 1))
  const ids = await outage(async () => {
    const heard: string[] = []
    for (let key = 2; key <= 6; key++) heard.push(idOf(await send(source, key)))
    return heard
  })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1 + ids.length), BACK_MS)
  expect(await send(source, 7)).toMatchObject({
    status: 429,
    body: { code: 'QUOTA_EXCEEDED', data: { limit: 3, current: 6 } },
  })
})

test('a drain that is cut off in the middle goes on and stores nothing twice', async () => {
  const { source, endpoint } = await knownRoute()
  const ids = await outage(async () => {
    const heard = await Promise.all(Array.from({ length: 700 }, (_, key) => send(source, key)))
    return heard.map(idOf)
  })
  for (const reached of [2, 200, 400]) {
    await eventually(() => expect(endpoint.arrivals.length).toBeGreaterThan(reached), BACK_MS)
    await link.cut()
    await link.mend()
  }
  await eventually(() => expect(endpoint.arrivals.length).toBe(1 + ids.length), 2 * BACK_MS)
  const { rows } = await relay.pool.query(
    `select count(distinct e.id)::int as events, count(d.id)::int as deliveries
     from event e left join delivery d on d.event_id = e.id where e.source_id = $1`,
    [uuid('src', source.id)],
  )
  expect(rows).toEqual([{ events: 1 + ids.length, deliveries: 1 + ids.length }])
}, 60_000)

test('a full spool answers 503, and all that it took is stored', async () => {
  const { source } = await knownRoute()
  const large = 'x'.repeat(400 * 1024)
  const heard = await outage(async () => {
    const all: IngestReply[] = []
    for (let key = 0; key < 30; key++) all.push(await send(source, key, large))
    return all
  })
  const refused = heard.filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThan(5)
  expect(refused[0]).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
  const ids = heard.filter(({ status }) => status === 200).map(idOf)
  expect(ids.length).toBeGreaterThan(5)
  for (const id of ids) await relay.reaches(id, { status: 'succeeded' }, BACK_MS)
})

test('without PostgreSQL and without the spool the answer is 503, until one of them is back', async () => {
  const { source } = await knownRoute()
  await outage(async () => {
    idOf(await send(source, 1))
    await (await startTestNats(servers)).stop()
    // It may be back any moment, as a cluster that elects who leads: they wait for it for 9 s.
    expect(await send(source, 2)).toMatchObject({ status: 503 })
    const startedAt = performance.now()
    expect(await send(source, 2)).toMatchObject({ status: 503 })
    expect(performance.now() - startedAt).toBeLessThan(3_000)
    await expect(ingest.ready()).rejects.toThrow(/ECONNREFUSED|terminated/)
    await startTestNats(servers)
    await eventually(async () => idOf(await send(source, 3)), BACK_MS)
    await ingest.ready()
  })
  await eventually(async () => {
    const { data } = await relay.get(`/v1/events?sourceId=${source.id}`)
    expect(data.length).toBeGreaterThanOrEqual(3)
  }, BACK_MS)
})

test('a live stream shows events that were spooled for longer than it looks back', async () => {
  const { source } = await knownRoute()
  using listener = await listen(relay.apiUrl, { key: relay.key })
  await listener.heard('ready')
  const id = await outage(async () => {
    const told = idOf(await send(source, 'spooled'))
    await relay.advance(120_000)
    // The stream goes on meanwhile, so that its next look begins long after the event's id was made.
    const direct = await relay.accept(source, { headers: JSON_TYPE, body: '{"key":"direct"}' })
    await listener.hears([direct])
    return told
  })
  await listener.hears([id], BACK_MS)
  await eventually(async () => {
    const { rows } = await relay.pool.query('select until_transaction from spool_drain')
    expect(rows.every((row) => row.until_transaction !== null)).toBe(true)
  })
})

test('a source whose plan comes to its term during an outage is still known', async () => {
  const { key } = await relay.createTenant('hobby')
  const change = { plan: 'launch', when: 'now' }
  const changed = await relay.api('POST', '/v1/billing/change-plan', change, { key })
  expect(changed.status).toBe(200)
  const { source, endpoint } = await relay.route({ key })
  idOf(await send(source, 'before'))
  await outage(async () => {
    idOf(await send(source, 'first'))
    await relay.advance(40 * 86_400_000)
    idOf(await send(source, 'later'))
  })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(3), BACK_MS)
})

test('spoolSettings() names no spool where neither a server of its own nor copies are configured', () => {
  expect(spoolSettings({ SPOOL_MAX_MB: 1 })).toBeUndefined()
  expect(spoolSettings({ SPOOL_MAX_MB: 1, SPOOL_REPLICAS: 3 })).toEqual({
    url: undefined,
    files: {},
    replicas: 3,
    maxBytes: MIB,
  })
  expect(spoolSettings({ SPOOL_MAX_MB: 2, SPOOL_NATS_URL: 'nats://spool' })).toEqual({
    url: 'nats://spool',
    files: {},
    replicas: 1,
    maxBytes: 2 * MIB,
  })
})

test('a live stream shows what was spooled while the clock was an hour behind', async () => {
  const { source } = await knownRoute()
  using listener = await listen(relay.apiUrl, { key: relay.key })
  await listener.heard('ready')
  const ids = await outage(async () => {
    const before = idOf(await send(source, 'before'))
    await relay.advance(-HOUR_MS)
    const behind = idOf(await send(source, 'behind'))
    await relay.advance(HOUR_MS)
    return [before, behind]
  })
  await listener.hears(ids, BACK_MS)
  expect(new Set(listener.events()).size).toBe(listener.events().length)
})
