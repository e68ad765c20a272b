import { afterAll, beforeAll, expect, test } from 'vitest'

import { raiseAlert } from '../../core/db/alerts/alerts.ts'
import { openBrowser, seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { uuid } from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

let world: World
let other: Tenant
let owner: Browser
let member: Browser
let stranger: Browser
let source: string

beforeAll(async () => {
  world = await startWorld({ signInsPerMinute: 1_000, authRequestsPerMinute: 10_000 })
  other = await world.createTenant()
  await seedPerson(world, 'owner@example.com', { [world.organisationId]: 'owner' })
  await seedPerson(world, 'member@example.com', { [world.organisationId]: 'member' })
  await seedPerson(world, 'stranger@example.com', { [other.organisationId]: 'owner' })
  owner = await signIn(world, 'owner@example.com')
  member = await signIn(world, 'member@example.com')
  stranger = await signIn(world, 'stranger@example.com')
  source = (await world.api('POST', '/v1/sources', { name: 'orders' })).body.id
})
afterAll(async () => await world[Symbol.asyncDispose]())

const at = (path: string, projectId = world.projectId) => `/app/api/${projectId}${path}`

/** An open alert of the world's organisation. */
async function open(projectId: string | null, subjectId = uuid('src', source)): Promise<string> {
  await raiseAlert(
    world.db,
    {
      type: projectId === null ? 'quota.threshold' : 'source.rejections',
      organisationId: uuid('org', world.organisationId),
      projectId: projectId === null ? null : uuid('prj', projectId),
      subjectId,
      name: 'orders',
      level: 1,
      summary: 'It is wrong.',
      evidence: { rejected: 51 },
    },
    world.clock.now(),
  )
  const { data } = (await owner.visit('GET', at('/alerts?state=open'))).body
  const found = data.find(
    ({ subject }: { subject: { id: string } }) =>
      subject.id === (projectId === null ? world.organisationId : source),
  )
  return found?.id
}

test('a member sees the alerts of the project and of the organisation, and another organisation sees none', async () => {
  const id = await open(world.projectId)
  await open(null, uuid('org', world.organisationId))
  const { body } = await member.visit('GET', at('/alerts'))
  expect(body).toMatchObject({
    openCount: 2,
    nextCursor: null,
    data: [
      { type: 'quota.threshold', projectId: null, subject: { id: world.organisationId } },
      {
        id,
        type: 'source.rejections',
        subject: { id: source, name: 'orders' },
        summary: 'It is wrong.',
        advice: expect.any(String),
        evidence: { rejected: 51 },
        closedAt: null,
        notifications: [],
      },
    ],
  })
  const paged = await member.visit('GET', at('/alerts?limit=1'))
  const rest = await member.visit('GET', at(`/alerts?limit=1&cursor=${paged.body.nextCursor}`))
  expect([...paged.body.data, ...rest.body.data]).toEqual(body.data)

  expect((await stranger.visit('GET', at('/alerts'))).status).toBe(404)
  const theirs = await stranger.visit('GET', at('/alerts', other.projectId))
  expect(theirs.body).toMatchObject({ data: [], openCount: 0 })
  for (const [method, path, sent] of [
    ['GET', `/alerts/${id}`, undefined],
    ['POST', `/alerts/${id}/acknowledge`, undefined],
  ] as const) {
    const refused = await stranger.visit(method, at(path, other.projectId), sent)
    expect(refused.body).toMatchObject({ code: 'NOT_FOUND' })
  }
  const muted = await stranger.visit('POST', at('/alerts/mute', other.projectId), {
    subjectId: source,
    seconds: 60,
  })
  expect(muted.body).toMatchObject({ code: 'BAD_REQUEST' })
  expect((await openBrowser(world.apiUrl).visit('GET', at('/alerts'))).status).toBe(401)
  expect((await world.api('GET', '/v1/alerts')).status).toBe(404)
})

test('another project of the organisation shows the alerts of the organisation alone', async () => {
  const { body: project } = await world.api('POST', '/v1/projects', { name: 'second' })
  const id = await open(world.projectId)
  const { body } = await owner.visit('GET', at('/alerts', project.id))
  expect(body.data).toMatchObject([{ type: 'quota.threshold' }])
  expect((await owner.visit('GET', at(`/alerts/${id}`, project.id))).status).toBe(404)
})

test('whoever acknowledges an alert first is named', async () => {
  const id = await open(world.projectId)
  const path = at(`/alerts/${id}/acknowledge`)
  const first = await member.visit('POST', path)
  expect(first.body).toMatchObject({
    acknowledgedAt: expect.any(String),
    acknowledgedBy: 'member@example.com',
  })
  expect((await owner.visit('POST', path)).body).toEqual(first.body)
})

test('a subject is muted for a time and unmuted; a mute that cannot be is refused', async () => {
  const muted = await member.visit('POST', at('/alerts/mute'), {
    subjectId: source,
    seconds: 3_600,
  })
  expect(muted.status).toBe(200)
  const { body } = await owner.visit('GET', at('/alerts/mutes'))
  expect(body.data).toEqual([{ subject: { id: source, name: 'orders' }, until: muted.body.until }])
  const shown = await owner.visit('GET', at('/alerts?state=open'))
  expect(shown.body.data).toContainEqual(expect.objectContaining({ mutedUntil: muted.body.until }))
  expect((await member.visit('POST', at('/alerts/unmute'), { subjectId: source })).status).toBe(204)
  expect((await owner.visit('GET', at('/alerts/mutes'))).body.data).toEqual([])
  for (const sent of [
    { subjectId: source, seconds: 0 },
    { subjectId: source, seconds: 31 * 86_400 },
    { subjectId: 'nonsense', seconds: 60 },
    { subjectId: 'dst_01h455vb4pex5vsknk084sn02q', seconds: 60 },
    { seconds: 60 },
    {},
  ]) {
    const refused = await member.visit('POST', at('/alerts/mute'), sent)
    expect(refused.body).toMatchObject({ code: 'BAD_REQUEST', data: expect.any(Object) })
  }
})

test('owners and admins say where alerts go; no key of the API reaches the address', async () => {
  const before = await owner.visit('GET', at('/alerts/endpoint'))
  expect(before.body).toEqual({ endpoint: null })
  for (const path of ['/alerts/test', '/alerts/endpoint/rotate-signing-secret']) {
    expect((await owner.visit('POST', at(path), {})).body).toMatchObject({ code: 'NOT_FOUND' })
  }
  const url = 'https://alerts.example.com/hook'
  const refused = await member.visit('PUT', at('/alerts/endpoint'), { url })
  expect(refused.body).toMatchObject({ code: 'FORBIDDEN' })
  for (const bad of ['ftp://example.com', 'nonsense', '', 7]) {
    const answer = await owner.visit('PUT', at('/alerts/endpoint'), { url: bad })
    expect(answer.body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'body.url' }] },
    })
  }
  const set = await owner.visit('PUT', at('/alerts/endpoint'), { url })
  expect(set.body.endpoint).toMatchObject({ url, isEnabled: true, deliveries: [] })
  const again = await owner.visit('PUT', at('/alerts/endpoint'), { url: `${url}/2` })
  expect(again.body.endpoint).toMatchObject({ url: `${url}/2` })
  expect((await member.visit('GET', at('/alerts/endpoint'))).body.endpoint.url).toBe(`${url}/2`)
  const secret = await owner.visit('GET', at('/alerts/endpoint/signing-secret'))
  expect(secret.body).toEqual({ secret: expect.stringMatching(/^whsec_/), previous: null })
  expect(secret.headers.get('cache-control')).toBe('no-store')
  const rotated = await owner.visit('POST', at('/alerts/endpoint/rotate-signing-secret'), {})
  expect(rotated.body.secret).not.toBe(secret.body.secret)
  expect((await member.visit('GET', at('/alerts/endpoint/signing-secret'))).status).toBe(403)

  const lists = ['/v1/destinations', '/v1/projects', '/v1/deliveries', '/v1/events']
  const seen = await Promise.all(lists.map(async (path) => (await world.api('GET', path)).body))
  expect(JSON.stringify(seen)).not.toContain('alerts.example.com')
  expect(JSON.stringify(seen)).not.toContain('" alerts"')
  const { rows } = await world.pool.query('select id from project where is_internal')
  expect(rows).toHaveLength(1)
  const { encodeId } = await import('../../core/ids.ts')
  const hidden = encodeId('prj', rows[0].id)
  expect((await owner.visit('GET', at('/destinations', hidden))).status).toBe(404)
  expect((await world.api('GET', `/v1/projects/${hidden}`)).status).toBe(404)
  const named = await world.api('GET', '/v1/destinations', undefined, {
    headers: { 'x-project-id': hidden },
  })
  expect(named.status).toBe(404)
  const { rows: destinations } = await world.pool.query(
    'select id from destination where project_id = $1',
    [rows[0].id],
  )
  const destination = `/v1/destinations/${encodeId('dst', destinations[0].id)}`
  expect((await world.api('GET', destination)).status).toBe(404)
  const moved = await world.api('PATCH', destination, { data: { isEnabled: false } })
  expect(moved.status).toBe(404)

  expect((await owner.visit('DELETE', at('/alerts/endpoint'))).status).toBe(204)
  expect((await owner.visit('GET', at('/alerts/endpoint'))).body).toEqual({ endpoint: null })
  expect((await owner.visit('PUT', at('/alerts/endpoint'), { url })).status).toBe(200)
})

test('two people who set the address at once leave one', async () => {
  const tenant = await world.createTenant()
  await seedPerson(world, 'both@example.com', { [tenant.organisationId]: 'owner' })
  const both = await signIn(world, 'both@example.com')
  const answers = await Promise.all(
    ['one', 'two', 'three'].map(
      async (name) =>
        await both.visit('PUT', at('/alerts/endpoint', tenant.projectId), {
          url: `https://${name}.example.com/`,
        }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  const { rows } = await world.pool.query(
    `select from destination d join project p on p.id = d.project_id
     where p.is_internal and d.organisation_id = $1`,
    [uuid('org', tenant.organisationId)],
  )
  expect(rows).toHaveLength(1)
})
