import { beforeAll, expect, test } from 'vitest'

import type { Answer } from '../kit/call-api.ts'
import type { Resource } from '../kit/relay.ts'
import { admin } from './admin.ts'
import { SIGNED } from './signature.ts'
import { call, eventually, EVERYTHING, openTenant, permissionWords, type Tenant } from './tenant.ts'

interface Key {
  id: string
  key: string
}

let tenant: Tenant
let bound: Key
let reading: Key
let unscoped: Key
let projectId: string
beforeAll(async () => {
  tenant = await openTenant('launch')
  projectId = (await tenant.make('projects')).id
  ;[bound, reading, unscoped] = await Promise.all([
    tenant.makeKey({ project: projectId }),
    tenant.makeKey({ permissions: { sources: 'read', events: 'read' } }),
    tenant.makeKey({ permissions: null }),
  ])
})

const REFUSED = { status: 403, body: { code: 'INSUFFICIENT_API_KEY_PERMISSIONS', status: 403 } }
const get = async (path: string, key: string): Promise<Answer> =>
  await call('GET', path, undefined, { key })

/** Texts that are no API key of this installation. */
const HEADERS: [what: string, headers: () => Record<string, string>][] = [
  ['no header', () => ({})],
  ['another scheme', () => ({ authorization: `Basic ${btoa(`key:${tenant.key}`)}` })],
  ['a key that nobody has', () => ({ authorization: `Bearer pst_sk_${'0'.repeat(43)}` })],
  ['a key cut short', () => ({ authorization: `Bearer ${tenant.key.slice(0, -1)}` })],
]

test.each(HEADERS)(
  'authentication 1: Bearer <API_KEY> is needed: %s is 401',
  async (_what, headers) => {
    const answer = await call('GET', '/v1/sources', undefined, { headers: headers() })
    expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED', status: 401 } })
  },
)

test('authentication 2: a key with access to all projects selects one with X-Project-Id', async () => {
  const headers = { 'x-project-id': projectId }
  const made = await tenant.api('POST', '/v1/sources', { name: 'selected' }, { headers })
  expect(made.body).toMatchObject({ projectId })
  expect(await tenant.make('sources')).toMatchObject({ projectId: tenant.projectId })
})

test('authentication 2: a key bound to one project "sees only that project"', async () => {
  const source = await tenant.make('sources')
  const there = { status: 404, body: { code: 'NOT_FOUND' } }
  expect(await get(`/v1/sources/${source.id}`, bound.key)).toMatchObject(there)
  expect((await get('/v1/projects', bound.key)).body.data).toMatchObject([{ id: projectId }])
})

test('authentication 2: "a request for another project returns 404 NOT_FOUND"', async () => {
  const headers = { 'x-project-id': tenant.projectId }
  const answer = await call('GET', '/v1/sources', undefined, { key: bound.key, headers })
  expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
})

test('authentication 2: a bound key "cannot create projects"', async () => {
  const answer = await call('POST', '/v1/projects', { name: 'more' }, { key: bound.key })
  expect(answer).toMatchObject(REFUSED)
})

test('authentication 3: No access: unreachable', async () => {
  expect(await get('/v1/destinations', reading.key)).toMatchObject(REFUSED)
})

test('authentication 3: Read: view, and nothing else', async () => {
  const { id } = await tenant.make('sources')
  const { key } = reading
  expect(await get(`/v1/sources/${id}`, key)).toMatchObject({ status: 200 })
  for (const [method, path, body] of [
    ['POST', '/v1/sources', { name: 'mine' }],
    ['PATCH', `/v1/sources/${id}`, { data: { name: 'mine' } }],
    ['DELETE', `/v1/sources/${id}`, undefined],
  ] as const) {
    expect(await call(method, path, body, { key }), method).toMatchObject(REFUSED)
  }
})

/** The permissions of the unscoped key: full read and non-destructive writes. */
const ALLOWED: [what: string, ask: (key: string) => Promise<Answer>][] = [
  ['read', async (key) => await get('/v1/billing/plan', key)],
  [
    'create',
    async (key) => await call('POST', '/v1/sources', { name: 'of an unscoped key' }, { key }),
  ],
  [
    'update',
    async (key) => {
      const { id } = await tenant.make('sources')
      return await call('PATCH', `/v1/sources/${id}`, { data: { maxPayloadSizeKb: 9 } }, { key })
    },
  ],
  [
    'toggle',
    async (key) => {
      const { id } = await tenant.make('sources')
      return await call('POST', `/v1/sources/${id}/toggle`, { isEnabled: false }, { key })
    },
  ],
  // Past the permission, at a record that is not there.
  ['retry', async (key) => await call('POST', `/v1/deliveries/${none('dlv')}/retry`, {}, { key })],
  ['replay', async (key) => await call('POST', `/v1/events/${none('evt')}/replay`, {}, { key })],
]

const none = (prefix: string): string => `${prefix}_${'0'.repeat(26)}`

test.each(ALLOWED)('authentication 5: an unscoped key may %s', async (what, ask) => {
  const isAbsent = what === 'retry' || what === 'replay'
  const { status } = await ask(unscoped.key)
  expect(status).toBe(isAbsent ? 404 : what === 'create' ? 201 : 200)
})

const url = 'https://example.com'
const ofSource = async (): Promise<Resource> => await tenant.make('sources', SIGNED)
const ofDestination = async (): Promise<Resource> => await tenant.make('destinations', { url })
const ofConnection = async (): Promise<Resource> =>
  await tenant.connect(await ofSource(), await ofDestination())
const ofProject = async (): Promise<Resource> => await tenant.make('projects')
/** Provisioned, so that it can be deleted. */
const ofConnector = async (): Promise<Resource> => {
  const { id } = await tenant.make('connectors')
  return await eventually(async () => {
    const connector = await tenant.get(`/v1/connectors/${id}`)
    expect(connector.provisionedAt).not.toBeNull()
    return connector
  })
}
const ofNothing = (): Promise<Resource> => Promise.resolve({ id: '' })

/** The list of rule 5. */
const EXPLICIT: [method: string, path: string, body: object | undefined, make: typeof ofSource][] =
  [
    ['DELETE', '/v1/sources/{id}', undefined, ofSource],
    ['DELETE', '/v1/destinations/{id}', undefined, ofDestination],
    ['DELETE', '/v1/connections/{id}', undefined, ofConnection],
    ['DELETE', '/v1/projects/{id}', undefined, ofProject],
    ['DELETE', '/v1/connectors/{id}', undefined, ofConnector],
    ['POST', '/v1/connectors', { name: 'another' }, ofNothing],
    ['POST', '/v1/connectors/{id}/regenerate-enrollment', undefined, ofConnector],
    ['POST', '/v1/connectors/{id}/toggle-disabled', { isDisabled: true }, ofConnector],
    ['POST', '/v1/sources/{id}/rotate-mask', undefined, ofSource],
    ['GET', '/v1/destinations/{id}/signing-secret', undefined, ofDestination],
    ['POST', '/v1/destinations/{id}/rotate-signing-secret', undefined, ofDestination],
    ['POST', '/v1/billing/change-plan', { plan: 'scale', when: 'now' }, ofNothing],
    ['POST', '/v1/billing/change-plan', { plan: 'launch', when: 'period_end' }, ofNothing],
    ['POST', '/v1/billing/revert-scheduled-change', undefined, ofNothing],
    ['POST', '/v1/billing/cancel', undefined, ofNothing],
    ['POST', '/v1/billing/resume', undefined, ofNothing],
  ]

test.each(EXPLICIT)(
  'authentication 5: %s %s needs an explicit Read and write grant',
  async (method, path, body, make) => {
    const { id } = await make()
    const at = path.replace('{id}', id)
    expect(await call(method, at, body, unscoped)).toMatchObject(REFUSED)
    expect((await tenant.api(method, at, body)).status).toBeLessThan(300)
  },
)

test.each(['GET', 'POST'])(
  'authentication 6: key management is not in the API: %s',
  async (method) => {
    for (const path of ['/v1/keys', '/v1/api-keys', '/v1/apikeys', '/v1/api_keys']) {
      const answer = await tenant.api(method, path, method === 'GET' ? undefined : { name: 'mine' })
      expect(answer, path).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
    }
    const { paths } = await tenant.get('/v1/openapi.json')
    expect(Object.keys(paths).filter((path) => /key/i.test(path))).toEqual([])
  },
)

test('authentication 7: rescoping keeps the secret and "applies on the next request"; the project stays', async () => {
  const { id, key } = await tenant.makeKey({ permissions: null, project: projectId })
  expect(await get('/v1/destinations', key)).toMatchObject({ status: 200 })
  await admin('keys', 'rescope', id, ...permissionWords({ sources: 'write' }))
  // "exactly the chosen permissions" in place of the member-level fallback
  expect(await get('/v1/destinations', key)).toMatchObject(REFUSED)
  const made = await call('POST', '/v1/sources', { name: 'rescoped' }, { key })
  expect(made).toMatchObject({ status: 201, body: { projectId } })
  const gone = await call('DELETE', `/v1/sources/${made.body.id}`, undefined, { key })
  expect(gone).toMatchObject({ status: 204 })
})

test('authentication 8: revoking "takes effect at once"', async () => {
  const { id, key } = await tenant.makeKey({ permissions: EVERYTHING })
  expect(await get('/v1/sources', key)).toMatchObject({ status: 200 })
  await admin('keys', 'revoke', id)
  expect(await get('/v1/sources', key)).toMatchObject({
    status: 401,
    body: { code: 'UNAUTHORIZED' },
  })
})

test('authentication 9: "an agent token presented on /v1 gets 401"', async () => {
  const token = tenant.key.replace('_sk_', '_ag_')
  expect(await get('/v1/sources', token)).toMatchObject({
    status: 401,
    body: { code: 'UNAUTHORIZED' },
  })
})
