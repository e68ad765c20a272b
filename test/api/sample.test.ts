import { once } from 'node:events'
import { createServer } from 'node:http'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { overridePlan } from '../../api/accounts/organisations/organisations.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { TESTER } from '../kit/tester.ts'

let relay: Relay
let member: Browser
beforeAll(async () => {
  relay = await startRelay({ signInsPerMinute: 100, authRequestsPerMinute: 1_000 })
  await seedPerson(relay, 'member@example.com', { [relay.organisationId]: 'member' })
  member = await signIn(relay, 'member@example.com')
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const at = ({ id }: Resource, projectId = relay.projectId) =>
  `/app/api/${projectId}/sources/${id}/sample`

const SECRET = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

test.for([
  ['none', null],
  ['github', { preset: 'github', secret: SECRET }],
  ['stripe', { preset: 'stripe', secret: SECRET }],
  ['twilio', { preset: 'twilio', secret: SECRET }],
  ['dockerHub', { preset: 'dockerHub', secret: SECRET }],
  ['chargebee', { preset: 'chargebee', username: 'ann', secret: SECRET }],
  ['svix', { preset: 'svix', secret: SECRET }],
] as const)('a sample of %s comes in as the provider’s webhooks do', async ([name, verifier]) => {
  const source = await relay.make('sources', { name: `sample ${name}`, verifier })
  expect((await member.visit('GET', at(source))).body).toEqual({ obstacle: null })
  const sent = await member.visit('POST', at(source), {})
  expect(sent).toMatchObject({ status: 200, body: { eventId: expect.stringMatching(/^evt_/) } })
  // Ingest has stored it by then, as an event like all others.
  const event = await relay.get(`/v1/events/${sent.body.eventId}`)
  expect(event).toMatchObject({ status: 'unmatched', sourceId: source.id, method: 'POST' })
  expect(event.verifiedWith).toBe(verifier === null ? 'none' : name)
})

test('a sample is no duplicate of the one before, and is delivered', async () => {
  const { source, endpoint } = await relay.route({
    source: { verifier: { preset: 'stripe', secret: SECRET }, idempotencyKeys: ['body.id'] },
  })
  const [first, second] = [
    await member.visit('POST', at(source), {}),
    await member.visit('POST', at(source), {}),
  ]
  expect(first.status).toBe(200)
  expect(second.status).toBe(200)
  expect(second.body.eventId).not.toBe(first.body.eventId)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  expect(JSON.parse(String(endpoint.arrivals[0]?.body))).toMatchObject({ type: 'invoice.paid' })
})

test('a sample that repeats an earlier event by the keys of its source is a conflict', async () => {
  const source = await relay.make('sources', { name: 'repeats', idempotencyKeys: ['body.type'] })
  expect((await member.visit('POST', at(source), {})).status).toBe(200)
  expect((await member.visit('POST', at(source), {})).body).toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('idempotency keys'),
  })
})

test('the audit has it, as that of the person', async () => {
  const source = await relay.make('sources', { name: 'audited' })
  await member.visit('POST', at(source), {})
  const { rows } = await relay.pool.query(
    `select actor, address from audit where action = 'source.test' and subject_id = $1`,
    [uuid('src', source.id)],
  )
  expect(rows).toEqual([{ actor: expect.stringMatching(/^user:usr_/), address: '127.0.0.1' }])
})

test.for<[title: string, fields: object, obstacle: RegExp]>([
  ['is disabled', { isEnabled: false }, /is disabled/],
  [
    'has a verifier of private keys',
    { verifier: { preset: 'discord', publicKeys: ['0'.repeat(64)] } },
    /Only the provider/,
  ],
  ['takes no body', { allowedMethods: ['GET'] }, /takes GET alone/],
])('a source that %s is sent none, and the reason is told', async ([title, fields, obstacle]) => {
  const source = await relay.make('sources', { name: title, ...fields })
  expect((await member.visit('GET', at(source))).body.obstacle).toMatch(obstacle)
  const refused = await member.visit('POST', at(source), {})
  expect(refused).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  expect(refused.body.message).toMatch(obstacle)
  expect((await relay.get(`/v1/events?sourceId=${source.id}`)).data).toEqual([])
})

test('a source takes five samples at once, and then one in ten seconds', async () => {
  const source = await relay.make('sources', { name: 'often' })
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await member.visit('POST', at(source), {})).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  expect((await member.visit('POST', at(source), {})).body).toMatchObject({
    code: 'RATE_LIMITED',
    data: { limit: 5, remaining: 0, retryAfterSeconds: expect.any(Number) },
  })
})

test('a quota that is used up is said with its end', async () => {
  const tenant = await relay.createTenant('hobby')
  const id = uuid('org', tenant.organisationId)
  await overridePlan({ ...relay.deps, actor: TESTER }, id, {
    clear: true,
    set: { deliveryQuota: 1 },
  })
  await announceChanges(relay, [{ kind: 'organisation', id }])
  const { source } = await relay.route({ key: tenant.key })
  await seedPerson(relay, 'poor@example.com', { [tenant.organisationId]: 'owner' })
  const poor = await signIn(relay, 'poor@example.com')
  const statuses = []
  for (let n = 0; n < 2; n++) {
    statuses.push(await poor.visit('POST', at(source, tenant.projectId), {}))
  }
  expect(statuses).toMatchObject([
    { status: 200 },
    {
      status: 429,
      body: { code: 'QUOTA_EXCEEDED', data: { limit: 1, resetAt: expect.any(String) } },
    },
  ])
})

test('it is for people who may write sources of the organisation alone', async () => {
  const source = await relay.make('sources', { name: 'ours' })
  const onV1 = await fetch(`${relay.apiUrl}/v1/sources/${source.id}/sample`, {
    method: 'POST',
    headers: { authorization: `Bearer ${relay.key}`, 'content-type': 'application/json' },
    body: '{}',
  })
  expect(onV1.status).toBe(404)
  const other = await relay.createTenant()
  await seedPerson(relay, 'stranger@example.com', { [other.organisationId]: 'owner' })
  const stranger = await signIn(relay, 'stranger@example.com')
  for (const projectId of [relay.projectId, other.projectId]) {
    for (const method of ['GET', 'POST']) {
      const body = method === 'POST' ? {} : undefined
      expect((await stranger.visit(method, at(source, projectId), body)).status).toBe(404)
    }
  }
  expect((await relay.get(`/v1/events?sourceId=${source.id}`)).data).toEqual([])
})

test('only where ingest is said to be is asked, a redirect is not followed, and no answer is passed on', async () => {
  const source = await relay.make('sources', { name: 'elsewhere' })
  const right = relay.deps.ingestServiceUrl
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(String(request.url))
    const isTrap = request.url === '/trap'
    response.writeHead(isTrap ? 200 : 302, { location: '/trap' }).end('the secret of another')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('No port was given')
  try {
    relay.deps.ingestServiceUrl = `http://127.0.0.1:${address.port}`
    const misled = await member.visit('POST', at(source), {})
    expect(misled.status).toBe(503)
    expect(JSON.stringify(misled.body)).not.toContain('secret of another')
    expect(asked).toEqual([`/${source.maskId}`])
    relay.deps.ingestServiceUrl = 'http://127.0.0.1:9'
    const away = await member.visit('POST', at(source), {})
    expect(away).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('ingest does not answer') },
    })
  } finally {
    relay.deps.ingestServiceUrl = right
    server.close()
  }
})
