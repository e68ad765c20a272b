import { afterAll, beforeAll, expect, test } from 'vitest'

import { isPublic, type Route } from '../../api/http/route.ts'
import { ROUTES } from '../../api/routes.ts'
import { encodeId, newId, type Prefix } from '../../core/ids.ts'
import { seedConnector, type SeededConnector } from '../kit/seed-connector.ts'
import { seedRoute, seedDelivery, seedEvent, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

let world: World
let own: SeededRoute &
  SeededConnector & { eventId: string; deliveryId: string; operationId: string }
let foreign: typeof own & Tenant

beforeAll(async () => {
  world = await startWorld()
  const ids = { eventId: '', deliveryId: '', operationId: '' }
  own = { ...(await seedRoute(world, 'own')), ...ids, ...(await seedConnector(world)) }
  own.eventId = await seedEvent(world, own)
  own.deliveryId = await seedDelivery(world, own)
  own.operationId = await makeOperation(world.key)
  const tenant = await world.createTenant()
  const theirs = await seedRoute(world, 'foreign', tenant.key)
  const eventId = await seedEvent(world, { ...theirs, ...tenant })
  const deliveryId = await seedDelivery(world, { ...theirs, ...tenant, eventId })
  const operationId = await makeOperation(tenant.key)
  const connector = await seedConnector({ ...world, ...tenant })
  foreign = { ...tenant, ...theirs, ...connector, eventId, deliveryId, operationId }
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** Nobody works on it. */
async function makeOperation(key: string): Promise<string> {
  const body = { kind: 'retry', filter: { status: 'failed' } }
  return (await world.api('POST', '/v1/operations', body, { key })).body.id
}

/** A body that each operation accepts. An operation that is missing here fails the test below. */
function validBody(operationId: string): Record<string, unknown> | undefined {
  const source = {
    verifier: { type: 'hmac', secret: 's', signature: { names: ['x-sig'], encoding: 'hex' } },
    isEnabled: true,
    eventTypeField: 'body.type',
    idempotencyKeys: ['header.x-id'],
    allowedMethods: ['POST'],
    maxPayloadSizeKb: 100,
    ingestResponse: { kind: 'static', body: 'ok', contentType: 'text/plain' },
    handshake: { verifyToken: 'abc' },
    metadata: { a: 'b' },
  }
  const destination = {
    mode: 'public',
    url: 'http://127.0.0.1:9/',
    connectorId: null,
    isEnabled: true,
    method: 'PUT',
    headers: { 'x-a': 'b' },
    auth: { type: 'none' },
    timeoutMs: 2000,
    rateLimit: 5,
    rateLimitPeriod: 'minute',
    maxConcurrency: 3,
    retryPolicy: { strategy: 'linear', initialDelaySeconds: 5, maxAttempts: 3 },
    metadata: { a: 'b' },
  }
  const connection = {
    sourceId: own.sourceId,
    destinationId: own.destinationId,
    isEnabled: true,
    filter: { eventTypes: ['order.*'] },
    metadata: { a: 'b' },
  }
  const bodies: Record<string, Record<string, unknown>> = {
    createProject: { name: 'p', metadata: { a: 'b' } },
    updateProject: { data: { name: 'p', metadata: { a: 'b' } } },
    createSource: { name: 's', kind: 'http', ...source },
    updateSource: { data: { name: 's', ...source } },
    upsertProject: { name: 'unknown', metadata: { a: 'b' } },
    upsertSource: { name: 'unknown', kind: 'http', ...source },
    upsertDestination: { name: 'unknown', ...destination },
    upsertConnection: { name: 'unknown', ...connection },
    rotateSourceMask: {},
    rotateSourceSecret: { secret: 's', overlapSeconds: 60 },
    cancelSourceRotation: { force: true },
    toggleSource: { isEnabled: true },
    testSignature: {
      headers: { a: 'b' },
      body: 'x',
      method: 'POST',
      url: 'http://a/',
      now: '2026-11-20T09:00:00.000Z',
    },
    createDestination: { name: 'd', ...destination },
    updateDestination: { data: { name: 'd', ...destination } },
    toggleDestination: { isEnabled: true },
    createConnection: { name: 'c', ...connection },
    updateConnection: { data: { name: 'c', ...connection } },
    toggleConnection: { isEnabled: true },
    testFilter: { filter: {}, sample: { eventType: 'a', headers: {}, query: {}, body: {} } },
    replayEvent: {},
    retryDelivery: {},
    cancelDelivery: {},
    rotateSigningSecret: { force: true, overlapSeconds: 60 },
    testDelivery: { body: { a: 1 }, headers: { 'x-a': 'b' } },
    createOperation: { kind: 'retry', filter: { status: 'failed' } },
    planOperation: { kind: 'retry', filter: { status: 'failed' } },
    cancelOperation: {},
    cancelSubscription: {},
    resumeSubscription: {},
    changePlan: { plan: 'scale', when: 'now' },
    revertScheduledChange: {},
    createConnector: { name: 'c', allowedHosts: ['a.internal'], metadata: { a: 'b' } },
    updateConnector: { data: { name: 'c', allowedHosts: ['a.internal'], metadata: { a: 'b' } } },
    upsertConnector: { name: 'unknown', allowedHosts: ['a.internal'], metadata: { a: 'b' } },
    toggleConnector: { isDisabled: true },
    regenerateEnrollment: {},
    revokeReplica: {},
  }
  return bodies[operationId]
}

/** Values that are wrong for a member of that name beyond having the wrong type. */
const WRONG: Record<string, unknown[]> = {
  name: ['', 'x'.repeat(101), 'nul\0'],
  kind: ['sms'],
  metadata: [
    { a: 1 },
    { a: 'x'.repeat(501) },
    { '': 'x' },
    Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'v'])),
    { a: '\ud800' },
  ],
  eventTypeField: ['type', 'body.', 'cookie.a', `body.${'x'.repeat(300)}`],
  idempotencyKeys: [['nope'], Array.from({ length: 6 }, () => 'body.id')],
  allowedMethods: [[], ['TRACE'], ['post']],
  maxPayloadSizeKb: [0, 5121, 1.5],
  ingestResponse: [
    { kind: 'loud' },
    { kind: 'empty', body: 'x' },
    { kind: 'empty', status: 500 },
    { kind: 'static', body: 1 },
  ],
  handshake: [{ verifyToken: '' }, { other: 'x' }],
  verifier: [
    { type: 'magic' },
    { preset: 'nobody' },
    { type: 'none', secret: 'x' },
    { type: 'hmac' },
  ],
  mode: ['hidden', 'private'],
  url: ['nope', 'ftp://a/', `http://a/${'x'.repeat(9000)}`],
  connectorId: ['cnr_1', 'cnr_01h455vb4pex5vsknk084sn02q'],
  method: ['GE T', 'get'],
  headers: [{ a: 1 }],
  auth: [{ type: 'magic' }, { type: 'bearer', token: '' }, { type: 'basic', username: 'a:b' }],
  timeoutMs: [999, 60_001, 1.5],
  rateLimit: [0, -1, 1.5],
  rateLimitPeriod: ['week'],
  maxConcurrency: [0, 1001],
  retryPolicy: [
    { strategy: 'sometimes' },
    { maxAttempts: 0 },
    { maxAttempts: 51 },
    { retryOn: ['6xx'] },
    { extra: 1 },
  ],
  secret: ['', ' ', 'x'.repeat(4097)],
  overlapSeconds: [-1, 604_801, 1.5],
  force: [null, 0],
  sourceId: ['src_1', 'dst_01h455vb4pex5vsknk084sn02q'],
  destinationId: ['dst_1', 'src_01h455vb4pex5vsknk084sn02q'],
  filter: [{ types: [] }, { eventTypes: [] }, { body: { a: { $regex: 'x' } } }],
  sample: [{ payload: 1 }, { headers: { a: 1 } }],
  now: ['yesterday', '2026-11-20'],
  plan: ['gold', ''],
  when: ['later', ''],
  allowedHosts: [[''], ['a b'], ['nul\0'], ['x'.repeat(301)]],
}

const WRONG_QUERY: Record<string, string[]> = {
  bodyBytes: ['-1', '1.5', 'x', '65537'],
  granularity: ['week', ''],
  groupBy: ['status', 'source,destination', ''],
  limit: ['0', '101', '1.5', 'x', ''],
  cursor: ['x', 'W10', Buffer.from('["a","b","c"]').toString('base64url')],
  sortBy: ['size', ''],
  sortDir: ['up'],
  sourceId: ['x', 'dst_01h455vb4pex5vsknk084sn02q'],
  eventId: ['x'],
  connectionId: ['x'],
  destinationId: ['x'],
  kind: ['sms', ''],
  status: ['gone', ''],
  eventType: ['', 'a*b', '**', 'x'.repeat(256)],
  from: ['yesterday', '2026-01-01', '1700000000'],
  to: ['tomorrow'],
  search: ['', 'x'.repeat(256), '%00'],
  errorCode: ['oops'],
  responseStatus: ['99', '600', 'x', '6xx', '5x', '5XX', '50x', '0503'],
  cascade: ['yes', '1', ''],
}

async function counts(): Promise<unknown> {
  const tables = ['project', 'source', 'destination', 'connection', 'event', 'delivery', 'audit']
  const more = ['delivery_waiting', 'delivery_failed', 'usage', 'usage_delta', 'config_change']
  const selects = [...tables, ...more, 'operation'].map(
    (name) => `(select count(*) from ${name}) as ${name}`,
  )
  const { rows } = await world.pool.query(`select ${selects.join(', ')}`)
  return rows[0]
}

function pathOf(route: Route, ids: Partial<Record<Prefix, string>> = {}): string {
  const mine = {
    prj: world.projectId,
    src: own.sourceId,
    dst: own.destinationId,
    con: own.connectionId,
    evt: own.eventId,
    dlv: own.deliveryId,
    opr: own.operationId,
    cnr: own.connectorId,
    rpl: own.replicaId,
    ...ids,
  }
  return `/v1${route.path.replaceAll(/:(\w+)/g, (_match, name: string) => {
    const prefix = route.params[name]
    return (prefix !== undefined && new Map(Object.entries(mine)).get(prefix)) || 'unknown'
  })}`
}

/** Expects BAD_REQUEST that names `path` in its fields and its message, and nothing written. */
async function expectRefused(
  call: { method: string; path: string; body?: unknown },
  member: string,
): Promise<void> {
  const before = await counts()
  const answer = await world.api(call.method, call.path, call.body)
  const what = `${call.method} ${call.path} ${JSON.stringify(call.body)?.slice(0, 200)}`
  expect(answer.body, what).toMatchObject({ code: 'BAD_REQUEST', status: 400 })
  const paths = answer.body.data.fields.map((field: { path: string }) => field.path)
  expect(
    paths.some((path: string) => path === member || path.startsWith(`${member}.`)),
    `${what} names ${paths} instead of ${member}`,
  ).toBe(true)
  expect(answer.body.message).toContain(member)
  expect(await counts(), what).toEqual(before)
}

/** Routes for keys: public routes look at a token of their own first. */
const named = ROUTES.filter((route) => !isPublic(route)).map((route): [string, Route] => [
  route.operationId,
  route,
])

test.for(named)('%s refuses a query that is unknown, malformed or repeated', async ([, route]) => {
  const { method } = route
  const path = pathOf(route)
  const body = route.body === null ? undefined : validBody(route.operationId)
  await expectRefused({ method, path: `${path}?surprise=1`, body }, 'query.surprise')
  for (const name of Object.keys(route.query?.shape ?? {})) {
    const wrong = WRONG_QUERY[name]
    expect(wrong, `WRONG_QUERY.${name}`).toBeDefined()
    for (const value of wrong ?? []) {
      await expectRefused({ method, path: `${path}?${name}=${value}`, body }, `query.${name}`)
    }
    await expectRefused({ method, path: `${path}?${name}=1&${name}=2`, body }, `query.${name}`)
  }
})

test.for(named.filter(([, route]) => route.body !== null))(
  '%s refuses a body with missing, unknown, wrong or over-long members',
  async ([operationId, route]) => {
    const { method } = route
    const path = pathOf(route)
    const valid = validBody(operationId)
    expect(valid, 'validBody').toBeDefined()
    for (const body of [[], 'text', 1, null]) {
      await expectRefused({ method, path, body: JSON.stringify(body) }, 'body')
    }
    await expectRefused({ method, path, body: { ...valid, surprise: 1 } }, 'body.surprise')
    for (const member of Object.keys(valid ?? {})) {
      const wrongs = member === 'data' ? [1, 'x', [], null] : wrongFor(member, valid?.[member])
      for (const value of wrongs) {
        const body = withValid(operationId, { ...valid, [member]: value })
        await expectRefused({ method, path, body }, `body.${member}`)
      }
    }
    const data = valid?.['data']
    if (typeof data !== 'object' || data === null) return
    await expectRefused({ method, path, body: {} }, 'body.data')
    await expectRefused({ method, path, body: { data: { surprise: 1 } } }, 'body.data.surprise')
    for (const readOnly of ['id', 'createdAt', 'rateLimit', 'maskId']) {
      if (Object.hasOwn(data, readOnly)) continue
      await expectRefused(
        { method, path, body: { data: { [readOnly]: 1 } } },
        `body.data.${readOnly}`,
      )
    }
    for (const [member, value] of Object.entries(data)) {
      for (const wrong of wrongFor(member, value)) {
        await expectRefused(
          { method, path, body: { data: { [member]: wrong } } },
          `body.data.${member}`,
        )
      }
    }
  },
)

/** A value of another type, and the values that WRONG knows. */
function wrongFor(member: string, value: unknown): unknown[] {
  const isText = typeof value === 'string'
  const odd = member === 'body' && !isText ? [] : [isText || value === null ? 7 : 'text', [[]]]
  return [...odd, ...(WRONG[member] ?? [])]
}

/** `body` of a signature test may be any text; a wrong `method` of it is another one than a destination's. */
function withValid(operationId: string, body: Record<string, unknown>): Record<string, unknown> {
  return operationId === 'testSignature' && body['body'] === undefined
    ? { ...body, body: '' }
    : body
}

test.for<[string, string[]]>([
  ['createProject', ['name']],
  ['createSource', ['name']],
  ['createDestination', ['name', 'url']],
  ['createConnection', ['name', 'sourceId', 'destinationId']],
  ['upsertDestination', ['url']],
  ['upsertConnection', ['sourceId', 'destinationId']],
  ['toggleSource', ['isEnabled']],
  ['toggleDestination', ['isEnabled']],
  ['toggleConnection', ['isEnabled']],
  ['testSignature', ['headers', 'body']],
  ['testFilter', ['filter', 'sample']],
  ['createOperation', ['kind', 'filter']],
  ['planOperation', ['kind', 'filter']],
  ['changePlan', ['plan']],
  ['createConnector', ['name']],
  ['toggleConnector', ['isDisabled']],
])('%s demands %s', async ([operationId, members]) => {
  const route = ROUTES.find((one) => one.operationId === operationId)
  if (route === undefined) throw new Error(`No route ${operationId}`)
  for (const member of members) {
    const { [member]: _left, ...body } = validBody(operationId) ?? {}
    await expectRefused({ method: route.method, path: pathOf(route), body }, `body.${member}`)
  }
})

const identified = named.flatMap(([name, route]): [string, Route, Prefix][] => {
  const [kind] = Object.values(route.params)
  return kind === undefined || kind === 'name' ? [] : [[name, route, kind]]
})

test.for(identified)(
  '%s does not find what is foreign, unknown, malformed or of another kind',
  async ([operationId, route, prefix]) => {
    const theirs: Partial<Record<Prefix, string>> = {
      prj: foreign.projectId,
      src: foreign.sourceId,
      dst: foreign.destinationId,
      con: foreign.connectionId,
      evt: foreign.eventId,
      dlv: foreign.deliveryId,
      opr: foreign.operationId,
      cnr: foreign.connectorId,
    }
    const other = prefix === 'src' ? own.destinationId : own.sourceId
    const wrong = [
      theirs[prefix],
      encodeId(prefix, newId(world.clock.now())),
      'x',
      other,
      `${prefix}_${'z'.repeat(26)}`,
      `${prefix}_${'0'.repeat(200)}`,
      '%00',
      "'--",
    ]
    const before = await counts()
    for (const id of wrong) {
      const path = pathOf(route, { [prefix]: id ?? '' })
      const body = route.body === null ? undefined : validBody(operationId)
      const answer = await world.api(route.method, path, body)
      expect(answer.body, path).toMatchObject({ code: 'NOT_FOUND', status: 404 })
    }
    expect(await counts()).toEqual(before)
  },
)

test.for(named)(
  '%s answers 404 for a foreign, unknown or malformed X-Project-Id',
  async ([, route]) => {
    for (const id of [foreign.projectId, encodeId('prj', newId(world.clock.now())), 'x', '']) {
      const headers = { 'x-project-id': id }
      const answer = await world.api(route.method, pathOf(route), undefined, { headers })
      expect(answer.body, id).toMatchObject({ code: 'NOT_FOUND', status: 404 })
    }
  },
)

test('ids of another tenant in a body are not found, in a query they find nothing', async () => {
  for (const member of ['sourceId', 'destinationId'] as const) {
    const body = { ...validBody('createConnection'), name: 'x', [member]: foreign[member] }
    expect((await world.api('POST', '/v1/connections', body)).body.code).toBe('NOT_FOUND')
  }
  const filter = { filter: {}, eventId: foreign.eventId }
  expect((await world.api('POST', '/v1/connections/test-filter', filter)).status).toBe(404)
  for (const query of [`sourceId=${foreign.sourceId}`, `destinationId=${foreign.destinationId}`]) {
    const list = query.startsWith('source') ? 'events' : 'deliveries'
    expect((await world.api('GET', `/v1/${list}?${query}`)).body.data).toEqual([])
  }
})

test('a document that is nested for its own sake is refused, not parsed to death', async () => {
  const deep = `{"name":"x","metadata":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  await expectRefused({ method: 'POST', path: '/v1/sources', body: deep }, 'body')
})
