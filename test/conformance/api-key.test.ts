import { beforeAll, expect, test } from 'vitest'

import { HOUR_MS } from '../../core/clock.ts'
import { RESOURCES } from '../../core/keys/permissions.ts'
import { admin } from './admin.ts'
import { advance, nowMs } from './clock.ts'
import { call, eventually, openTenant, type Tenant } from './tenant.ts'

interface Key {
  id: string
  key: string
}

let tenant: Tenant
let bound: Key
let scoped: Key
let unscoped: Key
let dated: Key
let projectId: string
beforeAll(async () => {
  tenant = await openTenant()
  projectId = (await tenant.make('projects')).id
  const expires = new Date(nowMs() + HOUR_MS).toISOString()
  ;[bound, scoped, unscoped, dated] = await Promise.all([
    tenant.makeKey({ project: projectId }),
    tenant.makeKey({ permissions: { events: 'read', sources: 'write' } }),
    tenant.makeKey({ permissions: null }),
    tenant.makeKey({ expires }),
  ])
})

const get = async (path: string, key: string) => await call('GET', path, undefined, { key })

test('api key, Form: "<KEY_PREFIX>_sk_ followed by a secret part", sent as a bearer token', async () => {
  expect(tenant.key).toMatch(/^pst_sk_[0-9A-Za-z]{43}$/)
  expect(await get('/v1/sources', tenant.key)).toMatchObject({ status: 200 })
})

test('api key, Owner: "an organisation"', async () => {
  const { data } = await tenant.get('/v1/projects')
  const owners = data.map(({ organisationId }: { organisationId: string }) => organisationId)
  expect(new Set(owners)).toEqual(new Set([tenant.organisationId]))
})

test('api key, Project access: "all projects, or exactly one"', async () => {
  const inOther = { key: tenant.key, headers: { 'x-project-id': projectId } }
  await call('POST', '/v1/sources', { name: 'there' }, inOther)
  expect((await get('/v1/sources', bound.key)).body.data).toMatchObject([{ name: 'there' }])
  expect((await call('GET', '/v1/sources', undefined, inOther)).body.data).toHaveLength(1)
})

/** Where each resource can be read. */
const READS: Record<string, string> = {
  projects: '/v1/projects',
  sources: '/v1/sources',
  destinations: '/v1/destinations',
  connections: '/v1/connections',
  connectors: '/v1/connectors',
  deliveries: '/v1/deliveries',
  events: '/v1/events',
  billing: '/v1/billing/plan',
}

test('api key, Permissions: one level for each of the eight resources', async () => {
  expect(RESOURCES.filter((resource) => !(resource in READS))).toEqual([])
  for (const [resource, path] of Object.entries(READS)) {
    const isGranted = resource === 'events' || resource === 'sources'
    expect((await get(path, scoped.key)).status, resource).toBe(isGranted ? 200 : 403)
  }
})

test('api key, Permissions: "at least one resource must be granted"', async () => {
  const nothing = tenant.makeKey({ permissions: { sources: 'none' } })
  await expect(nothing).rejects.toThrow('at least one resource')
})

test('api key: "a key with no permissions set is unscoped"', async () => {
  for (const path of Object.values(READS)) {
    expect(await get(path, unscoped.key), path).toMatchObject({ status: 200 })
  }
})

test('api key, Name, Plaintext "shown once", Expiry "a date, or none"', async () => {
  const keys = await admin('keys', 'list', '--organisation', tenant.organisationId)
  const entry = (id: string, expiresAt: unknown) =>
    expect.objectContaining({ id, name: expect.stringMatching(/^Key \d+$/), expiresAt })
  expect(keys).toContainEqual(entry(dated.id, expect.any(String)))
  expect(keys).toContainEqual(entry(scoped.id, null))
  for (const { key } of [dated, scoped, bound, unscoped]) {
    expect(JSON.stringify(keys)).not.toContain(key)
  }
})

test('api key, Expiry: past its date it stops working', async () => {
  expect(await get('/v1/sources', dated.key)).toMatchObject({ status: 200 })
  advance(HOUR_MS)
  await eventually(async () => {
    expect(await get('/v1/sources', dated.key)).toMatchObject({ status: 401 })
  })
  expect(await get('/v1/sources', scoped.key)).toMatchObject({ status: 200 })
})
