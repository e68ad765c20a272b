import { createHmac } from 'node:crypto'

import { Migrator } from 'kysely/migration'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { migrate } from '../../core/db/migrate.ts'
import { MIGRATIONS } from '../../core/db/migrations/index.ts'
import { foldDeliveries, foldEvents } from '../../core/db/statistics/folds.ts'
import { rollUpDeliveries, rollUpEvents } from '../../core/db/statistics/rollups.ts'
import { newId } from '../../core/ids.ts'
import { seedPerson, signIn } from '../kit/browser-like.ts'
import { copyRows } from '../kit/copy-rows.ts'
import { says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource, type Route } from '../kit/relay.ts'
import { seedConnector } from '../kit/seed-connector.ts'
import { uuid } from '../kit/seed.ts'

const SECRET = 'hunter2'
const OWNER = 'owner@example.com'
/** Past the wait for a retry with its jitter, and past the lease of a first attempt with the sweep behind it. */
const RETRY_MS = 3_600_000
const DUE_MS = RETRY_MS * 1.5

const NAMES = Object.keys(MIGRATIONS)
const CONNECTORS = '0019-connectors'
const ACCOUNTS = '0020-accounts'
const ALERTS = '0023-alerts'
/** The first, one on the way, and the one before the newest, whichever that is. */
const FORMER = ['0001-relay', '0018-rejection-details', ...NAMES.slice(-2, -1)]

/** Counted behind the event, and where the sweep notes what has no worker. */
const UNSTEADY = new Set(['lastEventAt', 'nextAttemptAt', 'nextAt', 'oldestPendingAgeSeconds'])
/** A migration of many steps, and a relay, on a machine with other work. */
const TEST_MS = 180_000
const DELIVERED_MS = 60_000

/** An installation that is about to be upgraded. */
interface Installation {
  relay: Relay
  shop: Route
  /** Its first attempt failed; the second waits for its time. */
  flaky: Route
  /** Its only attempt failed. */
  broken: Route
  succeeded: string[]
  waiting: string[]
  retrying: string
  failed: string
  rejected: string[]
}

const stack = new AsyncDisposableStack()
let before: Installation
let answers: Map<string, Resource>
beforeAll(async () => {
  before = await installation()
  answers = await answersOf(before)
}, TEST_MS)
afterAll(async () => await stack.disposeAsync())

/** Events with and without attempts, and deliveries in every state in which the version before may leave them. */
async function installation(): Promise<Installation> {
  const relay = stack.use(await startRelay({ gatewayUrl: 'ws://gateway.test' }))
  const shop = await relay.route({
    source: {
      verifier: { preset: 'github', secret: SECRET },
      eventTypeField: 'body.type',
      idempotencyKeys: ['body.number'],
    },
    connection: { filter: { eventTypes: ['order.*'] } },
  })
  const policy = (initialDelaySeconds: number, maxAttempts: number) => ({
    retryPolicy: { strategy: 'linear', initialDelaySeconds, maxAttempts },
  })
  const flaky = await relay.route({
    respond: says(500),
    destination: policy(RETRY_MS / 1_000, 3),
  })
  const broken = await relay.route({ respond: says(500), destination: policy(1, 1) })
  const succeeded = [await order(relay, shop, 1), await order(relay, shop, 2)]
  for (const id of succeeded) await relay.reaches(id, { status: 'succeeded' })
  expect((await relay.send(shop.source, { body: 'unsigned' })).status).toBe(401)
  const failed = await order(relay, broken, 3)
  await relay.reaches(failed, { status: 'failed' })
  const retrying = await order(relay, flaky, 4)
  await relay.reaches(retrying, { status: 'pending', attemptCount: 1 })
  const cancelled = await relay.reaches(await order(relay, flaky, 5), { attemptCount: 1 })
  expect((await relay.api('POST', `/v1/deliveries/${cancelled.id}/cancel`)).status).toBe(202)
  await relay.reaches(cancelled.eventId, { status: 'cancelled' })
  const list = await relay.get('/v1/events?status=rejected')
  const rejected = list.data.map(({ id }: Resource) => id)
  await seedRest(relay, flaky)
  // As an upgrade finds them: stored, and no worker is there.
  await relay.stopWorker()
  const waiting = [await order(relay, shop, 6), await order(relay, shop, 7)]
  return { relay, shop, flaky, broken, succeeded, waiting, retrying, failed, rejected }
}

/** A person, a connector with a private destination, and an alert. */
async function seedRest(relay: Relay, { destination }: Route): Promise<void> {
  await seedPerson(relay, OWNER, { [relay.organisationId]: 'owner' })
  const { connectorId } = await seedConnector(relay)
  await relay.make('destinations', { mode: 'private', connectorId, url: 'http://inside.test/' })
  const now = new Date(relay.clock.now())
  await relay.db
    .insertInto('alert')
    .values({
      id: newId(now.getTime()),
      organisation_id: uuid('org', relay.organisationId),
      project_id: uuid('prj', relay.projectId),
      type: 'destination.failing',
      subject_id: uuid('dst', destination.id),
      name: destination.name,
      level: 1,
      summary: 'Every attempt fails',
      evidence: '{}',
      opened_at: now,
      closed_at: now,
    })
    .execute()
}

/** An order as a sender signs it. */
function signed(number: number): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify({ type: 'order.paid', number, text: 'ü 漢 \u0001' })
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = {
    'content-type': 'application/json',
    'x-hub-signature-256': `sha256=${signature}`,
  }
  return { headers, body }
}

async function order(relay: Relay, { source }: Route, number: number): Promise<string> {
  return await relay.accept(source, signed(number))
}

/** The ordinary questions, with their answers. */
async function answersOf(installed: Installation): Promise<Map<string, Resource>> {
  const { relay, succeeded, waiting, retrying, failed, rejected } = installed
  const events = [...succeeded, ...waiting, retrying, failed, ...rejected]
  const paths = [
    'sources',
    'destinations',
    'connections',
    'connectors',
    'projects',
    'billing/plan',
    'events',
    'events?status=rejected',
    'events?search=order.paid',
    ...['', '?status=pending', '?status=failed', '?status=cancelled', '?status=succeeded'].map(
      (query) => `deliveries${query}`,
    ),
    ...events.flatMap((id) => [`events/${id}`, `events/${id}/timeline`]),
    'stats/dashboard',
    'deliveries/stats',
  ]
  // The housekeeper counts behind the deliveries.
  await eventually(async () => {
    const { pending } = await relay.get('/v1/deliveries/stats')
    expect(pending).toBe(waiting.length + 1)
  })
  const found = new Map<string, Resource>()
  for (const path of paths) found.set(path, await relay.get(`/v1/${path}`))
  return found
}

/** Former versions have no table of minutes: their counts are in the roll-ups. */
async function rollUpAll({ db, clock }: Relay): Promise<void> {
  const end = new Date(clock.now() + DUE_MS)
  for (const move of [foldEvents, foldDeliveries]) await move(db)
  for (const move of [rollUpEvents, rollUpDeliveries]) await move(db, end)
}

/** The installation's rows in a database of a former schema, which is then migrated by this version. */
async function upgraded(former: string): Promise<string> {
  const { relay } = before
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/former_${newId(Date.now()).replaceAll('-', '')}`
  const name = url.pathname.slice(1)
  await relay.pool.query(`create database ${name}`)
  stack.defer(async () => {
    await relay.pool.query(`drop database ${name} with (force)`)
  })
  await using db = openDb(openPool({ url: url.href, max: 2, log: relay.deps.log }))
  const then = Object.entries(MIGRATIONS).filter(([number]) => number <= former)
  const provider = { getMigrations: async () => Object.fromEntries(then) }
  const { error } = await new Migrator({ db, provider }).migrateToLatest()
  expect(error).toBeUndefined()
  await rollUpAll(relay)
  const copied = await copyRows(relay.databaseUrl, url.href, async () => {
    await ensurePartitions(db, relay.clock.now())
  })
  expect(copied.get('event')).toBe(8)
  expect(await migrate(db, relay.clock.now())).toEqual(NAMES.filter((each) => each > former))
  return url.href
}

test.for(FORMER)(
  'an installation of the schema %s goes on with all it had',
  { timeout: TEST_MS },
  async (former) => {
    const { shop, flaky, broken, waiting, retrying, failed, succeeded } = before
    const { keyring, key } = before.relay
    const databaseUrl = await upgraded(former)
    const world = { existing: { databaseUrl, keyring }, gatewayUrl: 'ws://gateway.test' }
    await using relay = await startRelay({ ...world, worker: false })
    const ask = async (method: string, path: string): Promise<Resource> => {
      const { status, body } = await relay.api(method, path, undefined, { key })
      expect(status, `${method} ${path}: ${JSON.stringify(body)}`).toBeLessThan(300)
      return body
    }
    const deliveryOf = async (eventId: string): Promise<Resource> => {
      const { deliveries } = await ask('GET', `/v1/events/${eventId}`)
      return await ask('GET', `/v1/deliveries/${deliveries[0].id}`)
    }
    for (const [path, answer] of answers) {
      if (path === 'connectors' && former < CONNECTORS) continue
      // Where no worker is, the sweep lists what waits.
      await eventually(async () => {
        expect(known(await ask('GET', `/v1/${path}`), former), path).toEqual(known(answer, former))
      }, DELIVERED_MS)
    }
    if (former >= ACCOUNTS) await signIn(relay, OWNER)
    const { rows } = await relay.pool.query(`select count(*)::int as count from alert`)
    expect(rows).toEqual([{ count: former >= ALERTS ? 1 : 0 }])

    const [arrived, tried] = [shop.endpoint.arrivals.length, flaky.endpoint.arrivals.length]
    flaky.endpoint.respond = says(200)
    await relay.advance(DUE_MS)
    await relay.startWorker()
    for (const id of [...waiting, retrying]) {
      await eventually(async () => {
        expect(await deliveryOf(id)).toMatchObject({ status: 'succeeded' })
      }, DELIVERED_MS)
    }
    expect(await deliveryOf(retrying)).toMatchObject({ attemptCount: 2 })
    const came = shop.endpoint.arrivals.slice(arrived)
    const cameFor = came.map(({ headers }) => String(headers['postern-event-id']))
    expect(cameFor.toSorted((one, other) => (one < other ? -1 : 1))).toEqual(waiting)
    expect(flaky.endpoint.arrivals).toHaveLength(tried + 1)

    const { id } = await deliveryOf(failed)
    broken.endpoint.respond = says(200)
    await ask('POST', `/v1/deliveries/${id}/retry`)
    await eventually(async () => {
      expect(await deliveryOf(failed)).toMatchObject({ status: 'succeeded' })
    }, DELIVERED_MS)
    const again = await relay.send(shop.source, signed(1))
    expect(again.body).toEqual({ ok: true, duplicate: true })
    const fresh = await order(relay, shop, 100 + FORMER.indexOf(former))
    await eventually(async () => {
      expect(await deliveryOf(fresh)).toMatchObject({ status: 'succeeded' })
    }, DELIVERED_MS)
    await ask('POST', `/v1/events/${succeeded[0]}/replay`)
  },
)

/** The parts of an answer that the former schema had room for, without those that change while nothing is delivered. */
function known(answer: Resource, former: string): Resource {
  const steady = JSON.parse(
    JSON.stringify(answer, (name, value) => (UNSTEADY.has(name) ? undefined : value)),
  )
  if (former >= CONNECTORS) return steady
  const part = ({ id, name, status, payload, createdAt }: Resource): Resource => ({
    id,
    name,
    status,
    payload,
    createdAt,
  })
  return Array.isArray(steady.data) ? steady.data.map(part) : part(steady)
}
