import { afterAll, beforeAll, expect, test } from 'vitest'

import { seedRoute, seedDelivery, seedEvent, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function made(path: string, body: unknown) {
  const answer = await world.api('POST', path, body)
  expect(answer.body).toMatchObject({ id: expect.any(String) })
  expect(answer.status).toBe(201)
  return answer.body
}

async function read(path: string) {
  const answer = await world.api('GET', path)
  expect(answer.status, path).toBe(200)
  return answer.body
}

test('a source begins with the documented defaults and a working mask id', async () => {
  const source = await made('/v1/sources', { name: 'defaults' })
  expect(source).toEqual({
    id: expect.stringMatching(/^src_[0-9a-z]{26}$/),
    projectId: world.projectId,
    name: 'defaults',
    kind: 'http',
    maskId: expect.stringMatching(/^[a-z2-7]{26}$/),
    ingestUrl: `http://ingest.test/${source.maskId}`,
    ingestAddress: null,
    isEnabled: true,
    verifier: { type: 'none' },
    secretHint: null,
    secretRotation: null,
    bodyAuthenticated: false,
    eventTypeField: null,
    idempotencyKeys: [],
    allowedMethods: ['POST'],
    maxPayloadSizeKb: 512,
    ingestResponse: { kind: 'default' },
    handshake: null,
    rateLimit: 0,
    lastEventAt: null,
    lastHandshakeAt: null,
    metadata: {},
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    updatedAt: source.createdAt,
  })
  expect(await read(`/v1/sources/${source.id}`)).toEqual(source)
})

test('a verifier may be written short, is shown whole and never shows its secret', async () => {
  const secret = 'a-long-secret-1234'
  const source = await made('/v1/sources', {
    name: 'github',
    verifier: { preset: 'github', secret },
  })
  expect(source).toMatchObject({
    verifier: { preset: 'github', type: 'hmac', algorithm: 'sha256' },
    secretHint: '1234',
    bodyAuthenticated: true,
  })
  const rows = await world.pool.query('select * from source s, audit a where s.name = $1', [
    'github',
  ])
  expect(JSON.stringify([source, rows.rows])).not.toContain(secret)

  const kept = await world.api('PATCH', `/v1/sources/${source.id}`, {
    data: { verifier: { preset: 'github' } },
  })
  expect(kept.body.secretHint).toBe('1234')
  const other = await world.api('PATCH', `/v1/sources/${source.id}`, {
    data: { verifier: { preset: 'shopify' } },
  })
  expect(other.body.data.fields).toEqual([
    { path: 'body.data.verifier.secret', message: 'The verifier has no secret' },
  ])
  const none = await world.api('PATCH', `/v1/sources/${source.id}`, { data: { verifier: null } })
  expect(none.body.verifier).toEqual({ type: 'none' })
})

test('a preset chooses the methods and the answer that its provider needs', async () => {
  const source = await made('/v1/sources', {
    name: 'twilio',
    verifier: { preset: 'twilio', secret: 'a-long-secret-1234' },
  })
  expect(source).toMatchObject({
    allowedMethods: ['POST', 'GET'],
    ingestResponse: { kind: 'static', body: '<Response/>', contentType: 'text/xml' },
  })
})

test('PATCH changes what it names, null puts a member back, and updatedAt moves', async () => {
  const source = await made('/v1/sources', {
    name: 'patched',
    eventTypeField: 'body.type',
    maxPayloadSizeKb: 10,
    metadata: { team: 'a' },
  })
  world.clock.advance(5)
  const changed = await world.api('PATCH', `/v1/sources/${source.id}`, {
    data: { eventTypeField: null, maxPayloadSizeKb: null, idempotencyKeys: ['header.x-id'] },
  })
  expect(changed.body).toEqual({
    ...source,
    eventTypeField: null,
    maxPayloadSizeKb: 512,
    idempotencyKeys: ['header.x-id'],
    updatedAt: expect.any(String),
  })
  expect(changed.body.updatedAt > source.updatedAt).toBe(true)
})

test('a destination begins with the documented defaults and hides what it holds', async () => {
  const destination = await made('/v1/destinations', {
    name: 'defaults',
    url: 'https://example.com/hook',
    headers: { 'X-Token': 'hidden-value' },
    auth: { type: 'bearer', token: 'hidden-token' },
  })
  expect(destination).toEqual({
    id: expect.stringMatching(/^dst_/),
    projectId: world.projectId,
    name: 'defaults',
    mode: 'public',
    url: 'https://example.com/hook',
    connectorId: null,
    isEnabled: true,
    disabledReason: null,
    method: 'POST',
    headers: { 'X-Token': '***' },
    auth: { type: 'bearer' },
    timeoutMs: 15000,
    rateLimit: null,
    rateLimitPeriod: 'second',
    maxConcurrency: null,
    retryPolicy: {
      strategy: 'schedule',
      scheduleSeconds: [5, 300, 1800, 7200, 18000, 36000, 36000],
      maxAttempts: 8,
    },
    signingSecretRotation: null,
    health: 'healthy',
    metadata: {},
    createdAt: expect.any(String),
    updatedAt: destination.createdAt,
  })
  const { rows } = await world.pool.query('select d.*, a.changes from destination d, audit a')
  expect(JSON.stringify(rows)).not.toMatch(/hidden-(value|token)/)

  // A read resource may be written back.
  const { headers, auth } = destination
  const same = await world.api('PATCH', `/v1/destinations/${destination.id}`, {
    data: { headers, auth, rateLimit: 5, rateLimitPeriod: 'minute' },
  })
  expect(same.body).toMatchObject({ headers, auth, rateLimit: 5, rateLimitPeriod: 'minute' })
})

test('a destination refuses private mode, private token addresses and headers that are ours', async () => {
  await using strict = await startWorld({ allowCidrs: [] })
  const cases: [Record<string, unknown>, string][] = [
    [{ mode: 'private' }, 'body.mode'],
    [{ url: 'ftp://example.com/' }, 'body.url'],
    [{ url: 'https://user:pass@example.com/' }, 'body.url'],
    [{ headers: { 'webhook-id': 'x' } }, 'body.headers.webhook-id'],
    [{ headers: { Host: 'x' } }, 'body.headers.Host'],
    [{ headers: { 'X-A': 'a\nb' } }, 'body.headers.X-A'],
    [{ headers: { 'X-A': 'a', 'x-a': 'b' } }, 'body.headers'],
    [{ headers: { 'X-A': '***' } }, 'body.headers.X-A'],
    [{ auth: { type: 'basic', username: 'a' } }, 'body.auth.password'],
    [
      {
        auth: {
          type: 'oauth2ClientCredentials',
          tokenUrl: 'http://10.0.0.1/token',
          clientId: 'a',
          clientSecret: 'b',
        },
      },
      'body.auth.tokenUrl',
    ],
  ]
  for (const [members, path] of cases) {
    const body = { name: 'x', url: 'https://example.com/', ...members }
    const answer = await strict.api('POST', '/v1/destinations', body)
    expect(answer.body, JSON.stringify(members)).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path }] },
    })
  }
})

test('names are unique in a project and kind; a deleted resource frees its name', async () => {
  const first = await made('/v1/sources', { name: 'taken' })
  await made('/v1/destinations', { name: 'taken', url: 'https://example.com/' })
  const second = await world.api('POST', '/v1/sources', { name: 'taken' })
  expect(second.body).toMatchObject({ code: 'CONFLICT', status: 409 })
  const other = await made('/v1/sources', { name: 'free' })
  const renamed = await world.api('PATCH', `/v1/sources/${other.id}`, { data: { name: 'taken' } })
  expect(renamed.status).toBe(409)
  expect((await world.api('DELETE', `/v1/sources/${first.id}`)).status).toBe(204)
  await made('/v1/sources', { name: 'taken' })
})

test('toggles switch sources, destinations and connections and change nothing else', async () => {
  const ids = await seedRoute(world, 'toggled')
  for (const path of [
    `/v1/sources/${ids.sourceId}`,
    `/v1/destinations/${ids.destinationId}`,
    `/v1/connections/${ids.connectionId}`,
  ]) {
    const before = await read(path)
    const off = await world.api('POST', `${path}/toggle`, { isEnabled: false })
    expect(off.body.isEnabled).toBe(false)
    const on = await world.api('POST', `${path}/toggle`, { isEnabled: true })
    expect(on.body).toEqual({ ...before, updatedAt: expect.any(String) })
  }
})

test('deleting what connections use needs cascade, cancels what waits and keeps events readable', async () => {
  const ids = await seedRoute(world, 'used')
  const eventId = await seedEvent(world, { sourceId: ids.sourceId })
  const waiting = await seedDelivery(world, {
    ...ids,
    eventId,
    status: 'pending',
    nextAt: new Date(),
  })
  for (const path of [`/v1/sources/${ids.sourceId}`, `/v1/destinations/${ids.destinationId}`]) {
    const refused = await world.api('DELETE', path)
    expect(refused.body).toMatchObject({ code: 'CONFLICT', status: 409 })
  }
  const limited = await world.createKey({ destinations: 'write' })
  const cascade = `/v1/destinations/${ids.destinationId}?cascade=true`
  const refused = await world.api('DELETE', cascade, undefined, { key: limited.key })
  expect(refused.body.code).toBe('INSUFFICIENT_API_KEY_PERMISSIONS')
  expect((await world.api('DELETE', cascade)).status).toBe(204)
  expect((await world.api('GET', `/v1/connections/${ids.connectionId}`)).status).toBe(404)
  expect(await read(`/v1/deliveries/${waiting}`)).toMatchObject({
    status: 'cancelled',
    completedAt: expect.any(String),
  })
  expect((await world.api('DELETE', `/v1/sources/${ids.sourceId}`)).status).toBe(204)
  expect(await read(`/v1/events/${eventId}`)).toMatchObject({ sourceId: ids.sourceId })
})

test('a connection joins ends of its own project only', async () => {
  const ids = await seedRoute(world, 'ends')
  const other = await made('/v1/projects', { name: 'other' })
  const inOther = { headers: { 'x-project-id': other.id } }
  const foreign = await world.api('POST', '/v1/sources', { name: 'far' }, inOther)
  expect(foreign.body.projectId).toBe(other.id)
  const body = { name: 'x', sourceId: foreign.body.id, destinationId: ids.destinationId }
  expect((await world.api('POST', '/v1/connections', body)).body).toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining(foreign.body.id),
  })
  const moved = await world.api('PATCH', `/v1/connections/${ids.connectionId}`, {
    data: { sourceId: foreign.body.id },
  })
  expect(moved.status).toBe(404)
})

test('the default project stays, a full one needs cascade', async () => {
  const project = await made('/v1/projects', { name: 'full', metadata: { a: 'b' } })
  const inside = { headers: { 'x-project-id': project.id } }
  await world.api('POST', '/v1/sources', { name: 's' }, inside)
  expect((await world.api('DELETE', `/v1/projects/${world.projectId}`)).body.code).toBe('CONFLICT')
  expect((await world.api('DELETE', `/v1/projects/${project.id}`)).body.code).toBe('CONFLICT')
  const gone = await world.api('DELETE', `/v1/projects/${project.id}?cascade=true`)
  expect(gone.status).toBe(204)
  expect((await world.api('GET', '/v1/sources', undefined, inside)).status).toBe(404)
})

test('every write leaves an audit row that names the key, and a refused one leaves none', async () => {
  const { id: keyId, key } = await world.createKey({ sources: 'write' })
  const source = await world.api('POST', '/v1/sources', { name: 'audited' }, { key })
  const path = `/v1/sources/${source.body.id}`
  await world.api('PATCH', path, { data: { metadata: { a: 'b' } } }, { key })
  await world.api('POST', '/v1/sources', { name: 'audited' }, { key })
  await world.api('DELETE', path, undefined, { key })
  const { rows } = await world.pool.query(
    `select action, actor, changes from audit where subject_id = $1 order by id`,
    [uuid('src', source.body.id)],
  )
  expect(rows).toEqual([
    { action: 'source.create', actor: `key:${keyId}`, changes: { name: 'audited' } },
    { action: 'source.update', actor: `key:${keyId}`, changes: { metadata: { a: 'b' } } },
    {
      action: 'source.delete',
      actor: `key:${keyId}`,
      changes: { name: 'audited', connections: [] },
    },
  ])
})

test('lists page through everything once, in each order, while rows come in', async () => {
  await using own = await startWorld()
  const names = ['d', 'a', 'c', 'b', 'e']
  for (const name of names) {
    await own.api('POST', '/v1/sources', { name })
    own.clock.advance(10)
  }
  const orders: Record<string, string[]> = {
    'sortBy=createdAt&sortDir=asc': names,
    'sortBy=name&sortDir=asc': ['a', 'b', 'c', 'd', 'e'],
    'sortBy=name': ['e', 'd', 'c', 'b', 'a'],
    'sortBy=updatedAt&sortDir=asc': names,
    '': names.toReversed(),
  }
  for (const [order, expected] of Object.entries(orders)) {
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await own.api(
        'GET',
        `/v1/sources?limit=2&${order}${cursor && `&cursor=${cursor}`}`,
      )
      seen.push(...page.body.data.map((source: { name: string }) => source.name))
      cursor = page.body.nextCursor
    }
    expect(seen, order).toEqual(expected)
  }
  const first = await own.api('GET', '/v1/sources?limit=2')
  await own.api('POST', '/v1/sources', { name: 'late' })
  const next = await own.api('GET', `/v1/sources?limit=2&cursor=${first.body.nextCursor}`)
  expect(next.body.data.map((source: { name: string }) => source.name)).toEqual(['c', 'a'])
  for (const wrong of ['sortBy=name', 'sortDir=asc']) {
    const answer = await own.api('GET', `/v1/sources?${wrong}&cursor=${first.body.nextCursor}`)
    expect(answer.body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'query.cursor' }] },
    })
  }
  const elsewhere = await own.api('GET', `/v1/destinations?cursor=${first.body.nextCursor}`)
  expect(elsewhere.status).toBe(400)
})

test('GET /v1/verifier-presets tells what each preset still needs', async () => {
  const { data } = await read('/v1/verifier-presets')
  expect(data.length).toBeGreaterThan(40)
  expect(data.find((entry: { preset: string }) => entry.preset === 'github')).toMatchObject({
    type: 'hmac',
    needs: ['secret'],
  })
})

test('test-filter names the part that excludes an event or a sample', async () => {
  const { sourceId } = await seedRoute(world, 'filtered')
  const eventId = await seedEvent(world, { sourceId, raw: '{"amount":12}' })
  const filter = { body: { amount: { $gt: 100 } } }
  const stored = await world.api('POST', '/v1/connections/test-filter', { filter, eventId })
  expect(stored.body).toEqual({ matched: false, failedPart: 'body', path: 'body.amount.$gt' })
  const sample = { body: { amount: 101 } }
  const sampled = await world.api('POST', '/v1/connections/test-filter', { filter, sample })
  expect(sampled.body).toEqual({ matched: true, failedPart: null, path: null })
  const both = await world.api('POST', '/v1/connections/test-filter', { filter, sample, eventId })
  expect(both.status).toBe(400)
  const { key } = await world.createKey({ connections: 'read' })
  const blind = await world.api('POST', '/v1/connections/test-filter', { filter, eventId }, { key })
  expect(blind.body.code).toBe('INSUFFICIENT_API_KEY_PERMISSIONS')
})
