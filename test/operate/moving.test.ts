import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { openOrganisationFile, writeOrganisationFile } from '../../api/admin/organisation-file.ts'
import { TABLES } from '../../core/db/moving/moved-tables.ts'
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { exportOrganisation, type Exported } from '../../core/moving/export-organisation.ts'
import { importOrganisation, type Imported } from '../../core/moving/import-organisation.ts'
import { readFileKey, sealChunks } from '../../core/moving/sealed-file.ts'
import { stopOrganisation } from '../../core/moving/stop-organisation.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import { callCapability, seedAgent } from '../kit/agent.ts'
import { PASSWORD, seedPerson, signIn } from '../kit/browser-like.ts'
import { says } from '../kit/endpoint.ts'
import { runAdmin, SURROUNDINGS, type Ran } from '../kit/program.ts'
import { eventually, startRelay, type Relay, type Resource, type Route } from '../kit/relay.ts'
import { untilBlocked } from '../kit/row-locks.ts'
import { uuid } from '../kit/seed.ts'
import { scratch } from '../kit/servers.ts'
import { TESTER } from '../kit/tester.ts'
import { startWorld, type World } from '../kit/world.ts'
import { answers, startAgent } from '../tunnel/agent.ts'
import { openGateway } from '../tunnel/gateway.ts'

const SECRET = 'hunter2'
const OWNER = 'owner@example.com'
const RETRY_MS = 3_600_000
const TEST_MS = 120_000

const stack = new AsyncDisposableStack()
const directory = stack.use(scratch())

/** The installation that an organisation leaves. */
interface Source {
  relay: Relay
  shop: Route
  /** Its first attempt failed; the second waits for its time. */
  flaky: Route
  succeeded: string
  retrying: string
  /** Stored when the organisation was stopped. */
  waiting: string[]
  agentToken: string
  connector: Resource
  privateSource: Resource
  replicaToken: string
}

let a: Source
beforeAll(async () => {
  a = await openSource()
  await exportAll(a.relay, 'exported')
}, TEST_MS)
afterAll(async () => await stack.disposeAsync())

async function openSource(): Promise<Source> {
  const relay = stack.use(await startRelay({ gatewayUrl: 'ws://gateway.test' }))
  const shop = await relay.route({
    source: {
      verifier: { preset: 'github', secret: SECRET },
      eventTypeField: 'body.type',
      idempotencyKeys: ['body.number'],
    },
    connection: { filter: { eventTypes: ['order.*'] } },
    destination: { headers: { 'x-secret': 'of the destination' } },
  })
  const flaky = await relay.route({
    respond: says(500),
    destination: {
      retryPolicy: { strategy: 'linear', initialDelaySeconds: RETRY_MS / 1_000, maxAttempts: 3 },
    },
  })
  const succeeded = await order(relay, shop.source, 1)
  await relay.reaches(succeeded, { status: 'succeeded' })
  expect((await relay.send(shop.source, { body: 'unsigned' })).status).toBe(401)
  const retrying = await order(relay, flaky.source, 2)
  await relay.reaches(retrying, { status: 'pending', attemptCount: 1 })
  const cancelled = await relay.reaches(await order(relay, flaky.source, 3), { attemptCount: 1 })
  expect((await relay.api('POST', `/v1/deliveries/${cancelled.id}/cancel`)).status).toBe(202)
  await seedPerson(relay, OWNER, { [relay.organisationId]: 'owner' })
  const { token: agentToken } = await seedAgent(relay, 'admin')
  const connector = await relay.make('connectors', {})
  const privateSource = await relay.make('sources', {})
  const inside = { mode: 'private', connectorId: connector.id, url: 'http://inside.test/' }
  await relay.connect(privateSource, await relay.make('destinations', inside))
  const replicaToken = await enrol(relay, connector)
  const organisationId = uuid('org', relay.organisationId)
  const stopped = await stopOrganisation(
    { ...relay.deps, actor: TESTER },
    organisationId,
    'stopped',
  )
  expect(stopped).toBe(true)
  const waiting = [await order(relay, shop.source, 4), await order(relay, shop.source, 5)]
  for (const id of waiting) await relay.reaches(id, { lastError: 'destination_disabled' })
  return {
    relay,
    shop,
    flaky,
    succeeded,
    retrying,
    waiting,
    agentToken,
    connector,
    privateSource,
    replicaToken,
  }
}

async function enrol({ apiUrl }: Relay, { enrollmentKey }: Resource): Promise<string> {
  const response = await fetch(`${apiUrl}/v1/connectors/bootstrap`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${enrollmentKey}` },
    body: JSON.stringify({
      instanceName: 'agent',
      version: '1',
      startedAt: new Date().toISOString(),
    }),
  })
  const answer: Resource = await response.json()
  expect(response.status, JSON.stringify(answer)).toBe(200)
  return answer.heartbeatToken
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

async function order(relay: Relay, source: Resource, number: number): Promise<string> {
  return await relay.accept(source, signed(number))
}

async function admin(world: World, ...words: string[]): Promise<Ran> {
  return await runAdmin(['organisations', ...words], {
    DATABASE_URL: world.databaseUrl,
    POSTERN_ENCRYPTION_KEY: textOf(world.keyring),
  })
}

async function json(world: World, ...words: string[]): Promise<Resource> {
  const { code, stdout, stderr } = await admin(world, ...words)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return JSON.parse(stdout)
}

function textOf(keyring: Keyring): string {
  return [...keyring].map(([id, key]) => `${id}:${key.toString('base64')}`).join(',')
}

/** Options of a file of this name, all of which have one key. */
function fileNamed(name: string): string[] {
  return ['--file', join(directory.path, name), '--key-file', join(directory.path, 'key')]
}

/** Exports everything to a file of this name, as the command does. */
async function exportAll(world: World, name: string): Promise<Exported> {
  const organisationId = uuid('org', world.organisationId)
  const wish = { organisationId, choice: { kind: 'whole' as const, eventsSinceMs: 0 } }
  const file = { path: join(directory.path, name), keyPath: join(directory.path, 'key') }
  return await exportOrganisation(
    world.deps,
    wish,
    async (lines) => await writeOrganisationFile(file, lines),
  )
}

async function importFile(world: World, name: string, keyName = 'key'): Promise<Imported> {
  const file = { path: join(directory.path, name), keyPath: join(directory.path, keyName) }
  return await importOrganisation(world.deps, await openOrganisationFile(file))
}

/** A new installation with an organisation of its own. */
async function openTarget(): Promise<World> {
  return await startWorld({ gatewayUrl: 'ws://gateway.test' })
}

/** The number of rows of each table that moves. */
async function countRows(world: World): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const [name, { fate }] of Object.entries(TABLES)) {
    if (fate !== 'moved') continue
    const { rows } = await world.pool.query(`select count(*)::int as count from ${name}`)
    counts[name] = rows[0].count
  }
  return counts
}

test('every table is decided: moved with an organisation, made anew or left', async () => {
  const { rows } = await a.relay.pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join information_schema.tables t
       on t.table_name = c.relname and t.table_schema = 'public'
     where c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  )
  expect(Object.keys(TABLES).toSorted()).toEqual(rows.map(({ name }) => name).toSorted())
})

test('a file that is cut, changed or sealed by another key is refused, and nothing is imported', async () => {
  const file = readFileSync(join(directory.path, 'exported'))
  for (const secret of [SECRET, 'of the destination', 'order.paid', OWNER, PASSWORD]) {
    expect(file.includes(secret), secret).toBe(false)
  }
  await using b = await openTarget()
  const before = await countRows(b)
  const cases: [name: string, bytes: Buffer, key?: string][] = [
    ['cut', file.subarray(0, -100)],
    ['cut to its head', file.subarray(0, 60)],
    ['changed', Buffer.concat([file.subarray(0, -1), Buffer.from([~(file.at(-1) ?? 0) & 255])])],
    ['under another key', file, Buffer.alloc(32, 1).toString('base64')],
  ]
  for (const [name, bytes, key] of cases) {
    writeFileSync(join(directory.path, 'bad'), bytes)
    if (key !== undefined) writeFileSync(join(directory.path, 'other-key'), key)
    const importing = importFile(b, 'bad', key === undefined ? 'key' : 'other-key')
    await expect(importing, name).rejects.toThrow('The file does not open')
  }
  expect(await countRows(b)).toEqual(before)
})

test('an organisation moves with all that it has', { timeout: TEST_MS }, async () => {
  const { relay } = a
  const whole = ['export', relay.organisationId, ...fileNamed('all'), '--events', 'all']
  const exported = await json(relay, ...whole)
  expect(exported).toMatchObject({ id: relay.organisationId, events: 6, deliveries: 5 })
  expect(await admin(relay, ...whole)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is there already'),
  })
  await using b = await startRelay({ gatewayUrl: 'ws://gateway.test', worker: false })
  const imported = await json(b, 'import', ...fileNamed('all'))
  expect(imported).toMatchObject({ id: relay.organisationId, isNew: true })
  const key = { key: relay.key }
  for (const path of await pathsOf(a)) {
    const there = await relay.api('GET', path)
    const here = await b.api('GET', path, undefined, key)
    expect(here.status, path).toBe(200)
    expect(steady(here.body), path).toEqual(steady(there.body))
  }
  expect(await json(b, 'import', ...fileNamed('all'))).toMatchObject({ isNew: false })

  const again = await b.send(a.shop.source, signed(1))
  expect(again.body).toEqual({ ok: true, duplicate: true })
  expect((await b.send(a.shop.source, { body: 'unsigned' })).status).toBe(401)
  await signIn(b, OWNER)
  const asked = { apiUrl: b.apiUrl, token: a.agentToken }
  expect((await callCapability(asked, 'account.list_projects')).status).toBe(200)
})

test('an import that is killed goes on where it ended', { timeout: TEST_MS }, async () => {
  await using b = await openTarget()
  const lock = await b.pool.connect()
  const counts = 'delivery_delta, delivery_minute, delivery_rollup'
  await lock.query(`begin; lock table ${counts} in access exclusive mode`)
  const settings = { DATABASE_URL: b.databaseUrl, POSTERN_ENCRYPTION_KEY: textOf(b.keyring) }
  const words = ['api/admin/main.ts', 'organisations', 'import', ...fileNamed('exported')]
  const killed = spawn(process.execPath, words, { env: { ...SURROUNDINGS, ...settings } })
  await untilBlocked(b.pool, 1)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  await lock.query('rollback')
  lock.release()
  const { rows } = await b.pool.query('select pages, finished_at from organisation_import')
  expect(rows).toEqual([{ pages: expect.any(Number), finished_at: null }])
  expect(rows[0].pages).toBeGreaterThan(2)

  expect(await importFile(b, 'exported')).toMatchObject({ isNew: true })
  await using whole = await openTarget()
  await importFile(whole, 'exported')
  expect(await countRows(b)).toEqual(await countRows(whole))
})

test('an import refuses what is here with other content, by its name, and imports nothing', async () => {
  const { relay, shop } = a
  await using b = await openTarget()
  const source = await b.api('POST', '/v1/sources', { name: 'own' })
  expect(source.status).toBe(201)
  const { pool } = b
  const [mine, theirs] = [uuid('src', source.body.id), uuid('src', shop.source.id)]
  const refused = async (): Promise<string> => {
    const before = await countRows(b)
    const error: unknown = await importFile(b, 'exported').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Refusal)
    expect(await countRows(b)).toEqual(before)
    return String(error)
  }
  const move = 'update source set mask_id = $1 where id = $2'
  await pool.query(move, [shop.source.maskId, mine])
  expect(await refused()).toContain(`the mask_id of ${shop.source.id}`)
  await pool.query(move, ['a'.repeat(26), mine])

  const { rows } = await relay.pool.query('select secret_hash from api_key limit 1')
  const hash = rows[0].secret_hash
  const { rows: own } = await pool.query(
    'update api_key set secret_hash = $1 returning (select secret_hash from api_key limit 1) as former',
    [hash],
  )
  const taken = await refused()
  expect(taken).toMatch(/another api_key here has the secret_hash of key_/)
  expect(taken).not.toContain(hash.toString('hex'))
  await pool.query('update api_key set secret_hash = $1', [own[0].former])

  await pool.query('update source set id = $1 where id = $2', [theirs, mine])
  expect(await refused()).toContain(`the id of ${shop.source.id}`)
  await pool.query('update source set id = $1 where id = $2', [mine, theirs])

  await seedPerson(b, OWNER, {})
  await pool.query('update person set email_verified_at = null')
  expect(await refused()).toContain(`"${OWNER}" is another account here`)

  // Both installations have proved the address now: it is the account of this one that becomes a member.
  await pool.query(
    `update person set email_verified_at = now(), name = 'the account here', password_hash = null`,
  )
  await importFile(b, 'exported')
  const { rows: people } = await pool.query(
    `select p.name, p.password_hash, m.role from person p join membership m on m.person_id = p.id
     where p.email = $1`,
    [OWNER],
  )
  expect(people).toEqual([{ name: 'the account here', password_hash: null, role: 'owner' }])
  const { rows: found } = await pool.query(
    `select signed_up, state from organisation where id = $1`,
    [uuid('org', relay.organisationId)],
  )
  expect(found).toEqual([{ signed_up: true, state: 'stopped' }])
  await exportAll(relay, 'another')
  await expect(importFile(b, 'another')).rejects.toThrow(
    `organisation ${relay.organisationId} is here already`,
  )
})

test('a file of a newer schema is refused', async () => {
  const header = {
    exportId: newId(Date.now()),
    organisationId: uuid('org', a.relay.organisationId),
    schema: '9999-of-the-next-version',
    after: null,
    at: new Date().toISOString(),
  }
  const lines = [header, { end: 0 }].map((line) => `${JSON.stringify(line)}\n`)
  const key = readFileKey(readFileSync(join(directory.path, 'key'), 'utf8'))
  const sealed = sealChunks(key, Readable.from([Buffer.from(lines.join(''))]))
  await writeFile(join(directory.path, 'newer'), sealed)
  await expect(importFile(a.relay, 'newer')).rejects.toThrow(
    'of a newer version of Postern (9999-of-the-next-version)',
  )
})

test('a stopped organisation stores its events, delivers none, and cannot be changed', async () => {
  const { relay, shop, waiting } = a
  expect(shop.endpoint.arrivals).toHaveLength(1)
  for (const id of waiting) expect(await relay.deliveryOf(id)).toMatchObject({ attemptCount: 0 })
  const { status, headers, body } = await relay.api('POST', '/v1/sources', { name: 'late' })
  expect({ status, retryAfter: headers.get('retry-after'), body }).toMatchObject({
    status: 503,
    retryAfter: '60',
    body: { message: expect.stringContaining('moving to another installation') },
  })
  expect((await relay.api('GET', '/v1/sources')).status).toBe(200)
  const browser = await signIn(relay, OWNER)
  const path = `/auth/organisations/${relay.organisationId}`
  expect((await browser.visit('PATCH', path, { name: 'other' })).status).toBe(503)
  const running = await relay.createTenant()
  const words = ['export', running.organisationId, ...fileNamed('running'), '--events', 'all']
  const { code, stderr } = await admin(relay, ...words)
  expect(code).toBe(1)
  expect(stderr).toContain('stop the organisation first')
})

test('deliveries go on at the target, each once', { timeout: TEST_MS }, async () => {
  const { relay, shop, flaky, waiting, retrying, succeeded } = a
  const { organisationId } = relay
  await using b = await startRelay({ gatewayUrl: 'ws://gateway.test' })
  await using gateway = await openGateway(b, 'gateway of the target')
  await exportAll(relay, 'moved')
  await importFile(b, 'moved')
  const key = { key: relay.key }
  const deliveryOf = async (eventId: string): Promise<Resource> => {
    const { body } = await b.api('GET', `/v1/events/${eventId}`, undefined, key)
    return (await b.api('GET', `/v1/deliveries/${body.deliveries[0].id}`, undefined, key)).body
  }
  const reaches = async (eventId: string, expected: object): Promise<void> =>
    await eventually(async () => expect(await deliveryOf(eventId)).toMatchObject(expected), TEST_MS)
  for (const id of waiting) await reaches(id, { lastError: 'destination_disabled' })
  expect(shop.endpoint.arrivals).toHaveLength(1)
  await json(b, 'start', organisationId)
  for (const id of waiting) await reaches(id, { status: 'succeeded', attemptCount: 1 })
  flaky.endpoint.respond = says(200)
  await b.advance(RETRY_MS * 1.5)
  await reaches(retrying, { status: 'succeeded', attemptCount: 2 })
  using agent = await startAgent(gateway.url, a.replicaToken, answers(200))
  await reaches(await b.accept(a.privateSource), { status: 'succeeded' })
  expect(agent).toBeDefined()

  // The address leads to the target from here on; two webhooks still come to the source, and a repeat of one to both.
  const late = await order(relay, shop.source, 6)
  const first = await order(b, shop.source, 7)
  const repeated = await order(relay, shop.source, 7)
  await json(relay, 'close', organisationId)
  const closed = await relay.send(shop.source, signed(8))
  expect([closed.status, closed.headers['retry-after']]).toEqual([503, '30'])
  const rest = ['export', organisationId, '--rest']
  expect(await json(relay, ...rest, ...fileNamed('rest'))).toMatchObject({ events: 2 })
  expect(await json(relay, ...rest, ...fileNamed('rest-again'))).toMatchObject({ events: 0 })
  expect((await admin(b, 'import', ...fileNamed('rest-again'))).stderr).toContain(
    'that this file follows',
  )
  const counted = async (): Promise<number> =>
    (await b.api('GET', '/v1/billing/usage', undefined, key)).body.deliveries
  const before = await counted()
  await importFile(b, 'rest')
  expect(await importFile(b, 'rest')).toMatchObject({ isNew: false })
  await importFile(b, 'rest-again')
  await reaches(late, { status: 'succeeded', attemptCount: 1 })
  const { body } = await b.api('GET', `/v1/events/${repeated}`, undefined, key)
  expect(body).toMatchObject({ status: 'filtered', deliveries: [] })
  expect((await counted()) - before).toBe(1)

  const came = shop.endpoint.arrivals.map(({ headers }) => String(headers['postern-event-id']))
  expect(came.toSorted()).toEqual([succeeded, ...waiting, late, first].toSorted())
  const { code, stderr } = await admin(relay, 'start', organisationId)
  expect(code).toBe(1)
  expect(stderr).toContain('another installation may have started it')
})

/** The ordinary questions of a key. */
async function pathsOf({ relay, waiting }: Source): Promise<string[]> {
  const { data } = await relay.get('/v1/events?limit=100')
  const ids: string[] = data.map(({ id }: Resource) => id)
  return [
    'sources',
    'destinations',
    'connections',
    'connectors',
    'projects',
    'billing/plan',
    'events',
    'events?status=rejected',
    'events?search=order.paid',
    'deliveries',
    'deliveries?status=pending',
    'deliveries?status=cancelled',
    'deliveries/stats',
    'stats/dashboard',
    ...ids.map((id) => `events/${id}`),
    // Deliveries that were parked are due at the target, which a verdict says.
    ...ids.filter((id) => !waiting.includes(id)).map((id) => `events/${id}/timeline`),
  ].map((path) => `/v1/${path}`)
}

/** Without what changes while nothing is delivered, and the addresses of the installation. */
function steady(answer: Resource): Resource {
  const unsteady = new Set([
    'nextAttemptAt',
    'nextAt',
    'oldestPendingAgeSeconds',
    'lastEventAt',
    'ingestUrl',
  ])
  return JSON.parse(
    JSON.stringify(answer, (name, value) => (unsteady.has(name) ? undefined : value)),
  )
}
