import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Answer } from '../kit/call-api.ts'
import { uuid } from '../kit/seed.ts'
import { EVERYTHING, startWorld, type World } from '../kit/world.ts'

let world: World
let ends: { sourceId: string; destinationId: string }
beforeAll(async () => {
  world = await startWorld()
  const source = await world.api('POST', '/v1/sources', { name: 'end' })
  const target = { name: 'end', url: 'http://127.0.0.1:9/' }
  const destination = await world.api('POST', '/v1/destinations', target)
  ends = { sourceId: source.body.id, destinationId: destination.body.id }
})
afterAll(async () => await world[Symbol.asyncDispose]())

const KINDS = ['projects', 'sources', 'destinations', 'connections'] as const
type Kind = (typeof KINDS)[number]

async function put(kind: Kind, name: string, body: object): Promise<Answer> {
  const path = `/v1/${kind}/by-name/${encodeURIComponent(name)}`
  const answer = await world.api('PUT', path, body)
  return answer
}

/** The least that a kind must be told. */
function least(kind: Kind): object {
  if (kind === 'destinations') return { url: 'http://127.0.0.1:9/' }
  return kind === 'connections' ? ends : {}
}

/** Every member that a kind can be told, with no value that is a default. */
function whole(kind: Kind): object {
  const metadata = { team: 'a' }
  switch (kind) {
    case 'projects':
      return { metadata }
    case 'sources':
      return {
        verifier: { preset: 'github', secret: 'a-long-secret-1234' },
        eventTypeField: 'body.type',
        idempotencyKeys: ['header.x-id'],
        allowedMethods: ['PUT'],
        maxPayloadSizeKb: 7,
        ingestResponse: { kind: 'empty' },
        metadata,
      }
    case 'destinations':
      return {
        ...least(kind),
        method: 'PUT',
        headers: { 'x-a': 'b' },
        auth: { type: 'bearer', token: 'a-long-token' },
        timeoutMs: 2_000,
        rateLimit: 5,
        rateLimitPeriod: 'hour',
        maxConcurrency: 3,
        retryPolicy: { strategy: 'linear', initialDelaySeconds: 5, maxAttempts: 3 },
        metadata,
      }
    case 'connections':
      return { ...ends, filter: { eventTypes: ['order.*'] }, metadata }
  }
}

const PREFIX = { projects: 'prj', sources: 'src', destinations: 'dst', connections: 'con' } as const

/** The audit of a resource. */
async function audited(kind: Kind, id: string): Promise<string[]> {
  const rows = await world.db
    .selectFrom('audit')
    .select('action')
    .where('subject_id', '=', uuid(PREFIX[kind], id))
    .orderBy('id')
    .execute()
  return rows.map(({ action }) => action.split('.')[1] ?? '')
}

test.for(KINDS)('PUT creates one of %s as POST does', async (kind) => {
  const made = await put(kind, 'by put', whole(kind))
  expect(made.status).toBe(201)
  const posted = await world.api('POST', `/v1/${kind}`, { name: 'by post', ...whole(kind) })
  const { id, createdAt, updatedAt, name, maskId, ingestUrl, ...rest } = posted.body
  expect(made.body).toMatchObject(rest)
  expect(Object.keys(made.body).toSorted()).toEqual(Object.keys(posted.body).toSorted())
  expect(made.body.name).toBe('by put')
  expect([id, createdAt, updatedAt, name, maskId, ingestUrl]).not.toContain(made.body.id)
})

test.for(KINDS)('PUT of what %s are already changes nothing and is not audited', async (kind) => {
  const made = await put(kind, 'same', { name: 'same', ...whole(kind) })
  world.clock.advance(5)
  const again = await put(kind, 'same', whole(kind))
  expect(again.status).toBe(200)
  expect(again.body).toEqual(made.body)
  expect((await world.api('GET', `/v1/${kind}/${made.body.id}`)).body).toEqual(made.body)
  expect(await audited(kind, made.body.id)).toEqual(['create'])
})

test.for(KINDS)('PUT replaces the configuration of %s: left out means default', async (kind) => {
  const fresh = await put(kind, 'fresh', least(kind))
  const made = await put(kind, 'replaced', whole(kind))
  world.clock.advance(5)
  const replaced = await put(kind, 'replaced', least(kind))
  expect(replaced.status).toBe(200)
  const { id, createdAt, name, maskId, ingestUrl } = made.body
  const kept = { id, createdAt, name, ...(maskId !== undefined && { maskId, ingestUrl }) }
  expect(replaced.body).toEqual({ ...fresh.body, ...kept, updatedAt: expect.any(String) })
  expect(replaced.body.updatedAt > made.body.updatedAt).toBe(true)
  expect(await audited(kind, id)).toEqual(['create', 'update'])
})

test.for(KINDS)('identical PUTs of %s at once: one creates and none fails', async (kind) => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, async () => await put(kind, 'race', whole(kind))),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(1)
  expect(statuses.filter((status) => status === 200)).toHaveLength(11)
  const [first] = answers
  for (const { body } of answers) expect(body).toEqual(first?.body)
  expect(await audited(kind, first?.body.id)).toEqual(['create'])
})

test.for(KINDS)('PUT of %s is found by any name that one can have', async (kind) => {
  const names = ['a/b', '100 %', '?x=1#y', '.x', 'é ☃', 'x'.repeat(100)]
  for (const name of names) {
    const made = await put(kind, name, least(kind))
    expect(made.status, name).toBe(201)
    expect(made.body.name).toBe(name)
    expect((await put(kind, name, least(kind))).body.id).toBe(made.body.id)
  }
})

test.for(KINDS)(
  'PUT of %s refuses a name that none can have, or another in the body',
  async (kind) => {
    for (const name of ['%00', 'x'.repeat(101)]) {
      const answer = await world.api('PUT', `/v1/${kind}/by-name/${name}`, least(kind))
      expect(answer.body, name).toMatchObject({
        code: 'BAD_REQUEST',
        data: { fields: [{ path: 'params.name' }] },
      })
    }
    const other = await put(kind, 'one', { name: 'two', ...least(kind) })
    expect(other.body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'body.name' }] },
    })
  },
)

test('isEnabled stays as it is when it is left out', async () => {
  for (const kind of ['sources', 'destinations', 'connections'] as const) {
    const { body } = await put(kind, 'switched', least(kind))
    await world.api('POST', `/v1/${kind}/${body.id}/toggle`, { isEnabled: false })
    expect((await put(kind, 'switched', whole(kind))).body.isEnabled, kind).toBe(false)
    const on = await put(kind, 'switched', { ...whole(kind), isEnabled: true })
    expect(on.body.isEnabled).toBe(true)
  }
})

test('secrets that are left out are kept, also through other changes', async () => {
  const source = await put('sources', 'secretive', whole('sources'))
  const kept = await put('sources', 'secretive', { verifier: { preset: 'github' } })
  expect(kept.body.secretHint).toBe('1234')
  const rotate = `/v1/sources/${source.body.id}/rotate-secret`
  const rotated = await world.api('POST', rotate, { secret: 'another-secret-5678' })
  const during = await put('sources', 'secretive', {
    verifier: { preset: 'github', secret: 'another-secret-5678' },
    metadata: { a: 'b' },
  })
  expect(during.body.secretRotation).toMatchObject({
    previousExpiresAt: rotated.body.previousExpiresAt,
  })
  const headers = { 'x-a': '***' }
  const auth = { type: 'bearer' }
  const target = { ...least('destinations'), headers, auth }
  await put('destinations', 'secretive', whole('destinations'))
  const { body } = await put('destinations', 'secretive', target)
  expect(body).toMatchObject({ headers, auth })
  const unknown = await put('destinations', 'secretless', target)
  expect(unknown.body.data.fields[0].path).toBe('body.headers.x-a')
})

test('a preset chooses the methods and the answer that its provider needs, also by PUT', async () => {
  const twilio = { verifier: { preset: 'twilio', secret: 'a-long-secret-1234' } }
  const ingestResponse = { kind: 'static', body: '<Response/>', contentType: 'text/xml' }
  const expected = { allowedMethods: ['POST', 'GET'], ingestResponse }
  const { status, body } = await put('sources', 'twilio', twilio)
  expect({ status, ...body }).toMatchObject({ status: 201, ...expected })
  expect((await put('sources', 'twilio', twilio)).body).toEqual(body)
})

test('the kind of a source cannot be changed by PUT', async () => {
  expect((await put('sources', 'mail', { kind: 'email' })).status).toBe(201)
  expect((await put('sources', 'mail', { kind: 'http' })).body).toMatchObject({
    code: 'BAD_REQUEST',
    data: { fields: [{ path: 'body.kind' }] },
  })
  expect((await put('sources', 'mail', {})).body.kind).toBe('email')
})

test('PUT acts in the named project, and finds no name of another tenant', async () => {
  const project = (await world.api('POST', '/v1/projects', { name: 'elsewhere' })).body.id
  const here = await put('sources', 'twice', {})
  const headers = { 'x-project-id': project }
  const path = '/v1/sources/by-name/twice'
  const there = await world.api('PUT', path, {}, { headers })
  expect(there).toMatchObject({ status: 201, body: { projectId: project } })
  expect(there.body.id).not.toBe(here.body.id)
  const tenant = await world.createTenant()
  const theirs = await world.api('PUT', path, {}, { key: tenant.key })
  expect(theirs).toMatchObject({ status: 201, body: { projectId: tenant.projectId } })
})

test('a key of one project changes that project by PUT and creates none', async () => {
  const mine = (await world.api('POST', '/v1/projects', { name: 'bound' })).body.id
  const { key } = await world.createKey(EVERYTHING, { projectId: mine })
  const own = await world.api(
    'PUT',
    '/v1/projects/by-name/bound',
    { metadata: { a: 'b' } },
    { key },
  )
  expect(own).toMatchObject({ status: 200, body: { id: mine, metadata: { a: 'b' } } })
  for (const name of ['new', 'elsewhere']) {
    const answer = await world.api('PUT', `/v1/projects/by-name/${name}`, {}, { key })
    expect(answer.body.code, name).toBe('INSUFFICIENT_API_KEY_PERMISSIONS')
  }
})

test('a connection by PUT needs ends in its own project', async () => {
  const project = (await world.api('POST', '/v1/projects', { name: 'far' })).body.id
  const headers = { 'x-project-id': project }
  const answer = await world.api('PUT', '/v1/connections/by-name/far', ends, { headers })
  expect(answer.body.code).toBe('NOT_FOUND')
})

test('PUT keeps secrets out of the audit', async () => {
  const { body } = await put('sources', 'audited', whole('sources'))
  const target = await put('destinations', 'audited', whole('destinations'))
  const rows = await world.db
    .selectFrom('audit')
    .selectAll()
    .where('subject_id', 'in', [uuid('src', body.id), uuid('dst', target.body.id)])
    .execute()
  expect(rows).toHaveLength(2)
  expect(JSON.stringify(rows)).not.toMatch(/a-long-(secret|token)/)
})
