import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually, type Resource } from '../kit/relay.ts'
import { startWorld, type World } from '../kit/world.ts'
import { openGateway, type GatewayProcess } from '../tunnel/gateway.ts'

let world: World
let gateway: GatewayProcess
beforeAll(async () => {
  world = await startWorld({ gatewayUrl: 'ws://gateway.test' })
  gateway = await openGateway(world, 'gateway')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

let count = 0
async function make(fields: object = {}, key = world.key): Promise<Resource> {
  const body = { name: `connector ${++count}`, ...fields }
  const { status, body: made } = await world.api('POST', '/v1/connectors', body, { key })
  expect(status).toBe(201)
  return made
}

async function provisioned(id: string, key = world.key): Promise<Resource> {
  return await eventually(async () => {
    const { body } = await world.api('GET', `/v1/connectors/${id}`, undefined, { key })
    expect(body.provisionedAt).toEqual(expect.any(String))
    return body
  }, 3_000)
}

async function destinationOf(connectorId: string): Promise<Resource> {
  const body = { name: `destination ${++count}`, url: 'http://billing.internal/hook' }
  const answer = await world.api('POST', '/v1/destinations', {
    ...body,
    mode: 'private',
    connectorId,
  })
  expect(answer).toMatchObject({ status: 201, body: { mode: 'private', connectorId } })
  return answer.body
}

test('a connector is created with a key that is shown this once, and is provisioned without a replica', async () => {
  const answer = await world.api('POST', '/v1/connectors', {
    name: 'office',
    allowedHosts: ['*.internal'],
    metadata: { team: 'billing' },
  })
  expect(answer.status).toBe(201)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const { enrollmentKey, ...connector } = answer.body
  expect(enrollmentKey).toMatch(/^pst_enr_[0-9A-Za-z]{43}$/)
  expect(connector).toEqual({
    id: expect.stringMatching(/^cnr_/),
    projectId: world.projectId,
    name: 'office',
    isDisabled: false,
    provisionedAt: null,
    allowedHosts: ['*.internal'],
    onlineReplicas: 0,
    lastSeenAt: null,
    metadata: { team: 'billing' },
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  })
  const shown = await provisioned(connector.id)
  expect(shown).toEqual({ ...connector, provisionedAt: expect.any(String) })
  const rows = await world.pool.query('select * from connector')
  expect(JSON.stringify(rows.rows)).not.toContain(enrollmentKey)
  const list = await world.api('GET', '/v1/connectors?sortBy=name&limit=100')
  expect(list.body.data).toContainEqual(shown)
  const audit = await world.pool.query("select * from audit where action = 'connector.create'")
  expect(JSON.stringify(audit.rows)).not.toContain('enr_')
})

test('a connector is changed, and a taken name is a conflict', async () => {
  const { id, enrollmentKey: _key, ...made } = await make({ allowedHosts: ['a.internal'] })
  const { name } = await make()
  const data = { allowedHosts: null, metadata: { a: 'b' } }
  const changed = await world.api('PATCH', `/v1/connectors/${id}`, { data })
  expect(changed.body).toMatchObject({ name: made.name, allowedHosts: [], metadata: { a: 'b' } })
  const taken = await world.api('PATCH', `/v1/connectors/${id}`, { data: { name } })
  expect(taken).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
})

test.each([
  ['isDisabled', { isDisabled: true }, 'body.isDisabled'],
  ['a host with blanks', { allowedHosts: ['a b'] }, 'body.allowedHosts.0'],
  [
    '101 hosts',
    { allowedHosts: Array.from({ length: 101 }, (_, n) => `h${n}`) },
    'body.allowedHosts',
  ],
])('create refuses %s by its name', async (_title, fields, path) => {
  const answer = await world.api('POST', '/v1/connectors', { name: 'x', ...fields })
  expect(answer).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
  expect(answer.body.data.fields[0].path).toBe(path)
})

test('PUT by name creates with a key, then changes, then writes nothing', async () => {
  const path = `/v1/connectors/by-name/declared`
  const created = await world.api('PUT', path, { allowedHosts: ['a.internal'] })
  expect(created.status).toBe(201)
  expect(created.body.enrollmentKey).toMatch(/^pst_enr_/)
  const same = await world.api('PUT', path, { allowedHosts: ['a.internal'] })
  expect(same.status).toBe(200)
  expect(same.body.enrollmentKey).toBeUndefined()
  expect(same.body.updatedAt).toBe(created.body.updatedAt)
  const changed = await world.api('PUT', path, {})
  expect(changed.body).toMatchObject({ id: created.body.id, allowedHosts: [] })
})

test('the connectors of a plan are counted exactly, however many are made at once', async () => {
  const { key } = await world.createTenant('launch')
  const answers = await Promise.all(
    Array.from({ length: 12 }, async (_, n) =>
      n % 2 === 0
        ? await world.api('POST', '/v1/connectors', { name: `c ${n}` }, { key })
        : await world.api('PUT', `/v1/connectors/by-name/c${n}`, {}, { key }),
    ),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
  const refused = answers.filter(({ status }) => status !== 201)
  for (const { status, body } of refused) {
    expect({ status, code: body.code, data: body.data }).toEqual({
      status: 403,
      code: 'CONNECTOR_LIMIT_REACHED',
      data: { limit: 3, current: 3 },
    })
  }
})

test('a connector that is being provisioned cannot be deleted, and one that is not can', async () => {
  // Without a gateway of its own nobody takes the connector over.
  await using apart = await startWorld({ gatewayUrl: 'ws://gateway.test' })
  const { body } = await apart.api('POST', '/v1/connectors', { name: 'early' })
  const path = `/v1/connectors/${body.id}`
  expect(await apart.api('DELETE', path)).toMatchObject({
    status: 409,
    body: { code: 'CONNECTOR_PROVISIONING' },
  })
  await using _late = await openGateway(apart, 'late')
  await eventually(async () => {
    expect((await apart.api('DELETE', path)).status).toBe(204)
  }, 3_000)
  expect((await apart.api('GET', path)).status).toBe(404)
})

test('a connector that destinations use needs cascade and the grants that this touches', async () => {
  const { id } = await make()
  await provisioned(id)
  const destination = await destinationOf(id)
  const source = await world.api('POST', '/v1/sources', { name: `source ${++count}` })
  const ends = { sourceId: source.body.id, destinationId: destination.id }
  const connection = await world.api('POST', '/v1/connections', { name: 'through', ...ends })
  const path = `/v1/connectors/${id}`
  expect(await world.api('DELETE', path)).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT', message: expect.stringContaining('1 destinations use it') },
  })
  const alone = await world.createKey({ connectors: 'write' })
  const partly = await world.createKey({ connectors: 'write', destinations: 'write' })
  for (const { key } of [alone, partly]) {
    const refused = await world.api('DELETE', `${path}?cascade=true`, undefined, { key })
    expect(refused.body.code).toBe('INSUFFICIENT_API_KEY_PERMISSIONS')
  }
  expect((await world.api('DELETE', `${path}?cascade=true`)).status).toBe(204)
  for (const gone of [`destinations/${destination.id}`, `connections/${connection.body.id}`]) {
    expect((await world.api('GET', `/v1/${gone}`)).status).toBe(404)
  }
})

test('a private destination has a connector of its own project, and a public one has none', async () => {
  const { id } = await make()
  const url = 'http://billing.internal/'
  const elsewhere = await world.createTenant()
  const foreign = await make({}, elsewhere.key)
  const cases: [fields: object, path: string][] = [
    [{ mode: 'private' }, 'body.connectorId'],
    [{ mode: 'private', connectorId: foreign.id }, 'body.connectorId'],
    [{ mode: 'private', connectorId: `cnr_${'0'.repeat(26)}` }, 'body.connectorId'],
    [{ connectorId: id }, 'body.connectorId'],
  ]
  for (const [fields, path] of cases) {
    const answer = await world.api('POST', '/v1/destinations', { name: 'p', url, ...fields })
    expect(answer).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
    expect(answer.body.data.fields[0].path).toBe(path)
  }
  const destination = await destinationOf(id)
  const back = await world.api('PATCH', `/v1/destinations/${destination.id}`, {
    data: { mode: 'public', url: 'https://example.com/' },
  })
  expect(back.body).toMatchObject({ mode: 'public', connectorId: null })
})

test('secrets of a destination are not sent through another connector than before', async () => {
  const [one, other] = [await make(), await make()]
  const made = await world.api('POST', '/v1/destinations', {
    name: `destination ${++count}`,
    url: 'http://billing.internal/',
    mode: 'private',
    connectorId: one.id,
    headers: { 'x-key': 'secret' },
  })
  const moved = await world.api('PATCH', `/v1/destinations/${made.body.id}`, {
    data: { connectorId: other.id },
  })
  expect(moved).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
  expect(moved.body.data.fields[0].path).toBe('body.data.headers.x-key')
})

test('an unscoped key reads and changes connectors, and does nothing that needs an explicit grant', async () => {
  const { id } = await make()
  const { key } = await world.createKey(null)
  const as = async (method: string, path: string, body?: object) =>
    (await world.api(method, `/v1/connectors${path}`, body, { key })).status
  expect(await as('GET', `/${id}`)).toBe(200)
  expect(await as('GET', `/${id}/replicas`)).toBe(200)
  expect(await as('PATCH', `/${id}`, { data: { metadata: {} } })).toBe(200)
  expect(await as('PUT', '/by-name/brand-new', {})).toBe(403)
  expect(await as('POST', '', { name: 'x' })).toBe(403)
  expect(await as('DELETE', `/${id}`)).toBe(403)
  expect(await as('POST', `/${id}/regenerate-enrollment`)).toBe(403)
  expect(await as('POST', `/${id}/toggle-disabled`, { isDisabled: true })).toBe(403)
  expect(await as('POST', `/${id}/replicas/rpl_${'0'.repeat(26)}/revoke`)).toBe(403)
})

test('a project takes its connectors along, with the grant for them', async () => {
  const project = await world.api('POST', '/v1/projects', { name: 'with a connector' })
  const project_ = { key: world.key, headers: { 'x-project-id': project.body.id } }
  const made = await world.api('POST', '/v1/connectors', { name: 'inside' }, project_)
  expect(made.status).toBe(201)
  const path = `/v1/projects/${project.body.id}`
  expect((await world.api('DELETE', path)).body.code).toBe('CONFLICT')
  expect((await world.api('DELETE', `${path}?cascade=true`)).status).toBe(204)
  expect((await world.api('GET', `/v1/connectors/${made.body.id}`)).status).toBe(404)
})

test('without a gateway in the deployment nothing private can be made or tried', async () => {
  await using plain = await startWorld()
  const message = expect.stringContaining('private delivery is not configured')
  const refusal = { status: 400, body: { code: 'BAD_REQUEST', message } }
  expect(await plain.api('POST', '/v1/connectors', { name: 'x' })).toMatchObject(refusal)
  expect(await plain.api('PUT', '/v1/connectors/by-name/x', {})).toMatchObject(refusal)
  const fields = { name: 'd', url: 'http://a.internal/', mode: 'private' }
  const connectorId = `cnr_${'0'.repeat(26)}`
  expect(await plain.api('POST', '/v1/destinations', { ...fields, connectorId })).toMatchObject(
    refusal,
  )
})
