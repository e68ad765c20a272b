import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { MINUTE_MS } from '../../core/clock.ts'
import { deleteMembership, setRole } from '../../core/db/accounts/memberships.ts'
import { openBrowser, PASSWORD, seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { uuid } from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

let world: World
let other: Tenant
let owner: Browser
let member: Browser

beforeAll(async () => {
  world = await startWorld({ signInsPerMinute: 1_000, authRequestsPerMinute: 10_000 })
  other = await world.createTenant()
  await seedPerson(world, 'owner@example.com', { [world.organisationId]: 'owner' })
  await seedPerson(world, 'member@example.com', { [world.organisationId]: 'member' })
  owner = await signIn(world, 'owner@example.com')
  member = await signIn(world, 'member@example.com')
})
afterAll(async () => await world[Symbol.asyncDispose]())

const at = (path: string, projectId = world.projectId) => `/app/api/${projectId}${path}`

test('a person works with the routes of the API, and the audit names them', async () => {
  const made = await owner.visit('POST', at('/sources'), { name: 'by hand' })
  expect(made.status).toBe(201)
  expect(made.headers.get('cache-control')).toBe('no-store')
  const byKey = await world.api('GET', `/v1/sources/${made.body.id}`)
  expect(byKey.body).toEqual(made.body)
  expect((await owner.visit('GET', at(`/sources/${made.body.id}`))).body).toEqual(byKey.body)
  const { rows } = await world.pool.query('select actor from audit where subject_id = $1', [
    uuid('src', made.body.id),
  ])
  const { user } = (await owner.visit('GET', '/auth/session')).body
  expect(rows).toEqual([{ actor: `user:${user.id}` }])
})

test('schemas and errors are those of /v1', async () => {
  const bodies = [{ name: '' }, { name: 'x', nonsense: 1 }, {}]
  for (const body of bodies) {
    const [here, there] = [
      await owner.visit('POST', at('/sources'), body),
      await world.api('POST', '/v1/sources', body),
    ]
    expect(here.status).toBe(400)
    expect(here.body).toEqual(there.body)
  }
})

test('a cookie never works on /v1, and a key never on /app/api', async () => {
  const cookie = owner.cookie ?? ''
  const onV1 = await fetch(`${world.apiUrl}/v1/sources`, { headers: { cookie } })
  expect(onV1.status).toBe(401)
  const asBearer = await fetch(`${world.apiUrl}/v1/sources`, {
    headers: { authorization: `Bearer ${cookie.split('=')[1]}` },
  })
  expect(asBearer.status).toBe(401)
  for (const headers of [
    { authorization: `Bearer ${world.key}` },
    { authorization: `Bearer ${world.key}`, cookie: `postern=${world.key}` },
  ]) {
    const answer = await fetch(`${world.apiUrl}${at('/sources')}`, { headers })
    expect(await answer.json()).toMatchObject({ code: 'UNAUTHORIZED', status: 401 })
  }
})

test('a member may what an unscoped key may, and is refused the rest as a member', async () => {
  const made = await member.visit('POST', at('/sources'), { name: 'by a member' })
  expect(made.status).toBe(201)
  const refused = await member.visit('DELETE', at(`/sources/${made.body.id}`))
  expect(refused.body).toEqual({
    code: 'FORBIDDEN',
    status: 403,
    message: 'Cannot do this as a member: it needs an owner or an admin',
  })
  expect((await owner.visit('DELETE', at(`/sources/${made.body.id}`))).status).toBe(204)
})

test('a role that is lowered, and a membership that ends, act on the next request', async () => {
  const id = await seedPerson(world, 'admin@example.com', { [world.organisationId]: 'admin' })
  const place = { organisationId: uuid('org', world.organisationId), personId: uuid('usr', id) }
  const browser = await signIn(world, 'admin@example.com')
  const make = async (name: string) =>
    (await browser.visit('POST', at('/sources'), { name })).body.id
  const remove = async (source: string) =>
    (await browser.visit('DELETE', at(`/sources/${source}`))).status
  const [first, second] = [await make('one'), await make('two')]
  expect(await remove(first)).toBe(204)
  await setRole(world.db, { ...place, role: 'member' })
  expect(await remove(second)).toBe(403)
  await deleteMembership(world.db, place.organisationId, place.personId)
  const gone = await browser.visit('GET', at('/sources'))
  expect(gone.body).toMatchObject({ code: 'NOT_FOUND', status: 404 })
})

test('a project of another organisation is not found, like none at all', async () => {
  for (const projectId of [other.projectId, 'prj_01h455vb4pex5vsknk084sn02q', 'nonsense']) {
    const answer = await owner.visit('GET', at('/sources', projectId))
    expect(answer.body).toEqual({
      code: 'NOT_FOUND',
      status: 404,
      message: `Cannot find project "${projectId}"`,
    })
  }
  const reached = (await owner.visit('GET', '/auth/projects')).body.data
  expect(reached).toMatchObject([{ id: world.projectId, organisationId: world.organisationId }])
  // Without a session nobody is told whether a project exists.
  const nobody = openBrowser(world.apiUrl)
  const answers = [world.projectId, 'nonsense'].map(
    async (projectId) => (await nobody.visit('GET', at('/sources', projectId))).body,
  )
  const [real, invented] = await Promise.all(answers)
  expect(real).toMatchObject({ code: 'UNAUTHORIZED' })
  expect(real).toEqual(invented)
})

test('a resource of another project of the organisation is found in its own path alone', async () => {
  const made = await owner.visit('POST', at('/sources'), { name: 'in the first' })
  const second = (await owner.visit('POST', at('/projects'), { name: 'second' })).body.id
  expect((await owner.visit('GET', at(`/sources/${made.body.id}`, second))).status).toBe(404)
  expect((await owner.visit('DELETE', at(`/sources/${made.body.id}`, second))).status).toBe(404)
  expect((await owner.visit('GET', at(`/sources/${made.body.id}`))).status).toBe(200)
  expect((await owner.visit('GET', at('/sources', second))).body.data).toEqual([])
})

test('a secret asks for the password again a quarter of an hour later', async () => {
  const made = await owner.visit('POST', at('/destinations'), {
    name: 'signed',
    url: 'http://127.0.0.1:9/',
  })
  const reveal = async () =>
    await owner.visit('GET', at(`/destinations/${made.body.id}/signing-secret`))
  expect((await reveal()).status).toBe(200)
  world.clock.advance(16 * MINUTE_MS)
  expect((await reveal()).body).toMatchObject({ code: 'PASSWORD_REQUIRED', status: 403 })
  expect((await owner.visit('GET', at('/destinations'))).status).toBe(200)
  const confirm = async (password: string) =>
    (await owner.visit('POST', '/auth/confirm-password', { password })).status
  expect(await confirm('a wrong one')).toBe(400)
  expect((await reveal()).status).toBe(403)
  expect(await confirm(PASSWORD)).toBe(204)
  expect((await reveal()).status).toBe(200)
})

test("an Idempotency-Key is the person's own", async () => {
  const headers = { 'idempotency-key': 'same' }
  const make = async (browser: Browser, name: string) =>
    await browser.visit('POST', at('/sources'), { name }, { headers })
  const first = await make(owner, 'idempotent')
  expect((await make(owner, 'idempotent')).body).toEqual(first.body)
  expect((await make(member, 'of the member')).body.id).not.toBe(first.body.id)
})

test('events stream to a session until it ends or the role of the person changes', async () => {
  const id = await seedPerson(world, 'viewer@example.com', { [world.organisationId]: 'admin' })
  const place = { organisationId: uuid('org', world.organisationId), personId: uuid('usr', id) }
  const ends: [string, (browser: Browser) => Promise<unknown>][] = [
    ['lowered', async () => await setRole(world.db, { ...place, role: 'member' })],
    ['signed out', async (browser) => await browser.visit('POST', '/auth/sign-out')],
    ['removed', async () => await deleteMembership(world.db, place.organisationId, place.personId)],
  ]
  for (const [name, end] of ends) {
    const browser = await signIn(world, 'viewer@example.com')
    const stop = new AbortController()
    const stream = await fetch(`${world.apiUrl}${at('/events/stream')}`, {
      headers: { cookie: browser.cookie ?? '' },
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(30_000)]),
    })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    const text = stream.text()
    expect(await Promise.race([text, sleep(2_500)]), name).toBeUndefined()
    await end(browser)
    // The stream ends from that side, or this waits until its signal throws.
    expect(await text, name).toContain(':')
    stop.abort()
  }
})

test('a session has as many requests a minute as a key', async () => {
  await using own = await startWorld({ requestsPerMinute: 5 })
  await seedPerson(own, 'fast@example.com', { [own.organisationId]: 'owner' })
  const browser = await signIn(own, 'fast@example.com')
  const answers = await Promise.all(
    Array.from(
      { length: 8 },
      async () => await browser.visit('GET', at('/sources', own.projectId)),
    ),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  const refused = answers.find(({ status }) => status === 429)
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
})
