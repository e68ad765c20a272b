import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { buildApp } from '../../api/app.ts'
import { isPublic, type KeyedRoute } from '../../api/http/route.ts'
import { ROUTES } from '../../api/routes.ts'
import { revokeApiKey } from '../../core/db/configuration/api-keys.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { makeApiKey } from '../../core/keys/api-key.ts'
import type { Need, Permissions } from '../../core/keys/permissions.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { EVERYTHING, startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

const REFUSED = { code: 'INSUFFICIENT_API_KEY_PERMISSIONS', status: 403 }
const keyed = ROUTES.flatMap((route) => (isPublic(route) ? [] : [route]))
const named = keyed.map((route): [string, KeyedRoute] => [route.operationId, route])

/** Names nothing, so that nothing is touched where a key is let through. */
function nowhere({ path, params }: KeyedRoute): string {
  const nobody = '0'.repeat(26)
  return `/v1${path.replaceAll(/:(\w+)/g, (_match, name: string) => `${params[name]}_${nobody}`)}`
}

async function ask(route: KeyedRoute, permissions: Permissions | null): Promise<unknown> {
  const { key } = await world.createKey(permissions)
  // The body is broken: permission comes before it is looked at.
  const body = route.method === 'GET' || route.method === 'DELETE' ? undefined : '{'
  const answer = await world.api(route.method, nowhere(route), body, { key })
  expect(answer.status).toBeLessThan(500)
  return answer.body
}

test.for(named)('%s lets through what its permission says and nothing less', async ([, route]) => {
  const { permission } = route
  const need: Need = permission === 'any_key' ? { resource: 'billing', level: 'read' } : permission
  const { resource, level } = need
  expect(await ask(route, { [resource]: level })).not.toMatchObject(REFUSED)
  expect(await ask(route, { [resource]: 'write' })).not.toMatchObject(REFUSED)
  const isRefused = async (permissions: Permissions | null): Promise<boolean> => {
    const body = await ask(route, permissions)
    return z.object({ code: z.literal(REFUSED.code) }).safeParse(body).success
  }
  const less = level === 'write' ? 'read' : 'none'
  expect(await isRefused({ ...EVERYTHING, [resource]: less })).toBe(permission !== 'any_key')
  expect(await isRefused(null)).toBe(need.isExplicit === true)
})

test('every DELETE needs an explicit grant', () => {
  const weak = keyed.filter(
    ({ method, permission }) =>
      method === 'DELETE' && (permission === 'any_key' || permission.isExplicit !== true),
  )
  expect(weak).toEqual([])
})

test('a missing, foreign, malformed, agent, expired or revoked key is 401', async () => {
  const { key: good, id } = await world.createKey({ sources: 'read' })
  const expiring = await world.createKey(
    { sources: 'read' },
    { expiresAt: new Date(world.clock.now() + 3_600_000) },
  )
  expect((await world.api('GET', '/v1/sources', undefined, { key: expiring.key })).status).toBe(200)
  world.clock.advance(3_600_001)
  await revokeApiKey(world.db, uuid('key', id), new Date(world.clock.now()))
  const unknown = makeApiKey('pst').text
  const agent = unknown.replace('_sk_', '_ag_')
  for (const key of [null, '', 'x', unknown, `${good}x`, agent, good, expiring.key]) {
    const answer = await world.api('GET', '/v1/sources', undefined, { key })
    expect(answer.body, String(key)).toEqual({
      code: 'UNAUTHORIZED',
      status: 401,
      message: 'API key is missing, invalid, expired or revoked',
    })
  }
  const basic = { headers: { authorization: `Basic ${good}` }, key: null }
  expect((await world.api('GET', '/v1/sources', undefined, basic)).status).toBe(401)
})

test('a rescoped key keeps its text and acts on its new permissions at once', async () => {
  const { key, id } = await world.createKey(null)
  expect((await world.api('GET', '/v1/sources', undefined, { key })).status).toBe(200)
  await world.db
    .updateTable('api_key')
    .set({ permissions: '{"events":"read"}' })
    .where('id', '=', uuid('key', id))
    .execute()
  expect((await world.api('GET', '/v1/sources', undefined, { key })).body).toMatchObject(REFUSED)
  expect((await world.api('GET', '/v1/events', undefined, { key })).status).toBe(200)
})

test('a key for all projects reaches any id, and lists in the default or the named project', async () => {
  const other = (await world.api('POST', '/v1/projects', { name: 'other' })).body.id
  const there = { headers: { 'x-project-id': other } }
  const far = (await world.api('POST', '/v1/sources', { name: 'far' }, there)).body
  expect(far.projectId).toBe(other)
  expect((await world.api('GET', `/v1/sources/${far.id}`)).status).toBe(200)
  expect((await world.api('GET', `/v1/sources/${far.id}`, undefined, there)).status).toBe(200)
  const here = { headers: { 'x-project-id': world.projectId } }
  expect((await world.api('GET', `/v1/sources/${far.id}`, undefined, here)).status).toBe(404)
  const names = async (options?: typeof there): Promise<string[]> =>
    (await world.api('GET', '/v1/sources', undefined, options)).body.data.map(
      (source: { name: string }) => source.name,
    )
  expect(await names(there)).toEqual(['far'])
  expect(await names()).not.toContain('far')
})

test('a key of one project sees that project only and cannot make others', async () => {
  const other = (await world.api('POST', '/v1/projects', { name: 'bound' })).body.id
  const near = await seedRoute(world, 'near')
  const { key } = await world.createKey(EVERYTHING, { projectId: other })
  const made = await world.api('POST', '/v1/sources', { name: 'mine' }, { key })
  expect(made.body.projectId).toBe(other)
  expect((await world.api('GET', `/v1/sources/${near.sourceId}`, undefined, { key })).status).toBe(
    404,
  )
  const elsewhere = { key, headers: { 'x-project-id': world.projectId } }
  expect((await world.api('GET', '/v1/sources', undefined, elsewhere)).body.code).toBe('NOT_FOUND')
  const same = { key, headers: { 'x-project-id': other } }
  expect((await world.api('GET', '/v1/sources', undefined, same)).body.data).toHaveLength(1)
  const projects = await world.api('GET', '/v1/projects', undefined, { key })
  expect(projects.body.data.map((project: { id: string }) => project.id)).toEqual([other])
  expect((await world.api('POST', '/v1/projects', { name: 'more' }, { key })).body).toMatchObject(
    REFUSED,
  )
})

test('without a default project a list or create needs X-Project-Id', async () => {
  await using own = await startWorld()
  await own.db.updateTable('project').set({ is_default: false }).execute()
  expect((await own.api('GET', '/v1/sources')).body).toMatchObject({
    code: 'FORBIDDEN',
    status: 403,
  })
  const there = { headers: { 'x-project-id': own.projectId } }
  expect((await own.api('POST', '/v1/sources', { name: 'x' }, there)).status).toBe(201)
})

test('a key may make so many requests in a window of 60 s from its first, exactly', async () => {
  await using own = await startWorld({ requestsPerMinute: 20 })
  const answers = await Promise.all(
    Array.from({ length: 30 }, async () => await own.api('GET', '/v1/projects')),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  const left = answers.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
  expect(new Set(left)).toEqual(new Set(Array.from({ length: 20 }, (_, n) => n)))
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.body).toEqual({ status: 429, message: expect.any(String) })
  expect(refused?.headers.get('retry-after')).toBe(refused?.headers.get('x-ratelimit-reset'))
  expect(refused?.headers.get('x-ratelimit-limit')).toBe('20')
  const other = await own.createKey({ projects: 'read' })
  expect((await own.api('GET', '/v1/projects', undefined, { key: other.key })).status).toBe(200)

  own.clock.advance(61_000)
  const again = await own.api('GET', '/v1/projects')
  expect(again.status).toBe(200)
  expect(again.headers.get('x-ratelimit-remaining')).toBe('19')
  expect(again.headers.get('x-ratelimit-reset')).toBe('60')
})

test('test-signature says what ingest would, of the current secret, at any time', async () => {
  const { createHmac } = await import('node:crypto')
  const source = await world.api('POST', '/v1/sources', {
    name: 'signed',
    verifier: { preset: 'stripe', secret: 'whsec_long_enough' },
  })
  const path = `/v1/sources/${source.body.id}/test-signature`
  const at = 1_700_000_000
  const body = '{"id":1}'
  const mac = createHmac('sha256', 'whsec_long_enough').update(`${at}.${body}`).digest('hex')
  const headers = { 'Stripe-Signature': `t=${at},v1=${mac}` }
  const now = new Date(at * 1000).toISOString()
  const diagnose = async (request: unknown) => (await world.api('POST', path, request)).body
  expect(await diagnose({ headers, body, now })).toEqual({
    valid: true,
    reason: null,
    detail: null,
    verifiedWith: 'stripe',
    secret: 'current',
  })
  expect(await diagnose({ headers, body })).toMatchObject({ reason: 'timestamp_out_of_tolerance' })
  expect(await diagnose({ headers, body: `${body} `, now })).toMatchObject({
    valid: false,
    reason: 'signature_mismatch',
  })
  const bodyBase64 = Buffer.from(body).toString('base64')
  expect(await diagnose({ headers, bodyBase64, now })).toMatchObject({ valid: true })
  expect(await diagnose({ headers: {}, body })).toMatchObject({
    reason: 'missing_signature_header',
  })
  const flood = await Promise.all(
    Array.from({ length: 20 }, async () => await diagnose({ headers: {}, body })),
  )
  expect(flood.find(({ code }) => code === 'RATE_LIMITED')).toMatchObject({
    status: 429,
    data: { limit: 5, remaining: 0, retryAfterSeconds: 1 },
  })
})

test('PostgreSQL away is 503 with Retry-After, and nothing of the cause', async () => {
  const pool = openPool({ url: 'postgres://127.0.0.1:1/none', max: 1, log: world.deps.log })
  await using app = buildApp({ ...world.deps, db: openDb(pool), registry: new Registry() })
  const answer = await app.inject({
    url: '/v1/projects',
    headers: { authorization: `Bearer ${world.key}` },
  })
  expect(answer.statusCode).toBe(503)
  expect(answer.json()).toEqual({
    status: 503,
    message: 'Database is not available',
    data: { requestId: answer.headers['x-request-id'] },
  })
  expect(answer.headers['retry-after']).toMatch(/^\d+$/)
  await pool.end()
})

test('an unexpected failure is 500 and says nothing of the cause', async () => {
  await using own = await startWorld()
  await own.pool.query('alter table source rename to elsewhere')
  const answer = await own.api('GET', '/v1/sources')
  expect(answer.body).toEqual({
    status: 500,
    message: 'Internal error',
    data: { requestId: answer.headers.get('x-request-id') },
  })
})
