import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Role } from '../../core/accounts/role.ts'
import { RESOURCES } from '../../core/keys/permissions.ts'
import { seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { runAdmin } from '../kit/program.ts'
import { untilBlocked } from '../kit/row-locks.ts'
import { uuid } from '../kit/seed.ts'
import { EVERYTHING, startWorld, type World } from '../kit/world.ts'

let world: World
let at: string
const browsers = new Map<Role, Browser>()
beforeAll(async () => {
  world = await startWorld({ authRequestsPerMinute: 10_000 })
  at = `/auth/organisations/${world.organisationId}`
  for (const role of ['owner', 'admin', 'member'] as const) {
    await seedPerson(world, `${role}@example.com`, { [world.organisationId]: role })
    browsers.set(role, await signIn(world, `${role}@example.com`))
  }
})
afterAll(async () => await world[Symbol.asyncDispose]())

function as(role: Role): Browser {
  const browser = browsers.get(role)
  if (browser === undefined) throw new Error(`Nobody is ${role}`)
  return browser
}

const make = async (role: Role, wish: Record<string, unknown>) =>
  await as(role).visit('POST', `${at}/keys`, { name: 'made by hand', ...wish })

test('a person makes a key, shown once, that works at once, in its project and until its end', async () => {
  const expiresAt = new Date(world.clock.now() + 60_000).toISOString()
  const made = await make('owner', {
    permissions: { sources: 'read' },
    projectId: world.projectId,
    expiresAt,
  })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    id: expect.stringMatching(/^key_/),
    key: expect.stringMatching(/^pst_sk_/),
    name: 'made by hand',
    projectId: world.projectId,
    expiresAt,
    permissions: { sources: 'read' },
  })
  const ask = async (path: string) =>
    (await world.api('GET', path, undefined, { key: made.body.key })).status
  expect(await ask('/v1/sources')).toBe(200)
  expect(await ask('/v1/destinations')).toBe(403)
  const { data } = (await as('owner').visit('GET', `${at}/keys`)).body
  const listed = data.find(({ id }: { id: string }) => id === made.body.id)
  const { user } = (await as('owner').visit('GET', '/auth/session')).body
  expect(listed).toMatchObject({ createdBy: user.id, lastUsedAt: expect.any(String) })
  expect(JSON.stringify(data)).not.toContain(made.body.key)
  world.clock.advance(61_000)
  expect(await ask('/v1/sources')).toBe(401)
})

test('rescoping keeps the text and acts on the next request; an unscoped key gets exactly the choice', async () => {
  const { key, id } = (await make('owner', { permissions: null })).body
  const ask = async (method: string, path: string, body?: unknown) =>
    (await world.api(method, path, body, { key })).status
  expect(await ask('GET', '/v1/destinations')).toBe(200)
  const rescoped = await as('admin').visit('PATCH', `${at}/keys/${id}`, {
    permissions: { sources: 'write' },
  })
  expect(rescoped).toMatchObject({ status: 200, body: { permissions: { sources: 'write' } } })
  expect(await ask('GET', '/v1/destinations')).toBe(403)
  expect(await ask('POST', '/v1/sources', { name: 'by the key' })).toBe(201)
  expect((await as('owner').visit('DELETE', `${at}/keys/${id}`)).status).toBe(204)
  expect(await ask('GET', '/v1/sources')).toBe(401)
  const late = await as('owner').visit('PATCH', `${at}/keys/${id}`, { permissions: EVERYTHING })
  expect(late.body).toMatchObject({ code: 'CONFLICT', status: 409 })
})

test('a member grants a key every write but that on billing, and widens none to it', async () => {
  for (const [permissions, resource] of [
    [{ billing: 'write' }, 'billing'],
    [{ sources: 'write', billing: 'write' }, 'billing'],
    [EVERYTHING, 'billing'],
  ] as const) {
    const refused = await make('member', { permissions })
    expect(refused.body).toMatchObject({ code: 'FORBIDDEN', status: 403 })
    expect(refused.body.message).toContain(resource)
    expect((await make('admin', { permissions })).status).toBe(201)
  }
  for (const resource of RESOURCES.filter((one) => one !== 'billing')) {
    expect((await make('member', { permissions: { [resource]: 'write' } })).status).toBe(201)
  }
  const own = await make('member', { permissions: null })
  expect(own.status).toBe(201)
  expect((await make('member', { permissions: { events: 'read', billing: 'read' } })).status).toBe(
    201,
  )
  const widen = async (permissions: unknown) =>
    (await as('member').visit('PATCH', `${at}/keys/${own.body.id}`, { permissions })).status
  expect(await widen({ billing: 'write' })).toBe(403)
  expect(await widen({ billing: 'read', sources: 'write' })).toBe(200)
})

test('a person who is removed, or may less, while the request comes in makes and changes no key', async () => {
  await using own = await startWorld()
  const { organisationId, pool } = own
  const id = await seedPerson(own, 'leaves@example.com', { [organisationId]: 'admin' })
  const browser = await signIn(own, 'leaves@example.com')
  const path = `/auth/organisations/${organisationId}/keys`
  const key = await browser.visit('POST', path, { name: 'first', permissions: { events: 'read' } })
  expect(key.status).toBe(201)
  const wish = { permissions: { billing: 'write' } }
  const ask = {
    POST: async () => await browser.visit('POST', path, { name: 'late', ...wish }),
    PATCH: async () => await browser.visit('PATCH', `${path}/${key.body.id}`, wish),
  }
  for (const [change, status] of [
    [`update membership set role = 'member' where person_id = $1`, 403],
    ['delete from membership where person_id = $1', 404],
  ] as const) {
    for (const method of ['POST', 'PATCH'] as const) {
      await pool.query(`insert into membership (organisation_id, person_id, role, created_at)
        values ('${uuid('org', organisationId)}', '${uuid('usr', id)}', 'admin', now())
        on conflict (organisation_id, person_id) do update set role = 'admin'`)
      const holder = await pool.connect()
      await holder.query('begin')
      await holder.query('select from organisation where id = $1 for no key update', [
        uuid('org', organisationId),
      ])
      const asked = ask[method]()
      await untilBlocked(pool, 1)
      await holder.query(change, [uuid('usr', id)])
      await holder.query('commit')
      holder.release()
      expect((await asked).status, `${method}: ${change}`).toBe(status)
    }
  }
  const { rows } = await pool.query('select name, permissions from api_key where created_by = $1', [
    uuid('usr', id),
  ])
  expect(rows).toEqual([{ name: 'first', permissions: { events: 'read' } }])
})

test('a member changes and ends their own keys, and none of others', async () => {
  const theirs = (await make('owner', { permissions: { events: 'read' } })).body
  const own = (await make('member', { permissions: { events: 'read' } })).body
  const path = ({ id }: { id: string }) => `${at}/keys/${id}`
  const change = { permissions: { sources: 'read' } }
  expect((await as('member').visit('PATCH', path(theirs), change)).status).toBe(403)
  expect((await as('member').visit('DELETE', path(theirs))).status).toBe(403)
  expect((await world.api('GET', '/v1/events', undefined, { key: theirs.key })).status).toBe(200)
  expect((await as('member').visit('PATCH', path(own), change)).status).toBe(200)
  expect((await as('member').visit('DELETE', path(own))).status).toBe(204)
})

test('a wish that makes no sense is refused by its member', async () => {
  const past = new Date(world.clock.now() - 1).toISOString()
  const other = await world.createTenant()
  const bad: [Record<string, unknown>, string][] = [
    [{ permissions: {} }, 'body.permissions'],
    [{ permissions: { sources: 'none' } }, 'body.permissions'],
    [{ permissions: { nonsense: 'read' } }, 'body.permissions.nonsense'],
    [{}, 'body.permissions'],
    [{ permissions: null, expiresAt: past }, 'body.expiresAt'],
    [{ permissions: null, name: '' }, 'body.name'],
  ]
  for (const [wish, path] of bad) {
    const { body } = await make('owner', wish)
    expect(body, JSON.stringify(wish)).toMatchObject({ code: 'BAD_REQUEST' })
    expect(body.data.fields[0].path).toContain(path)
  }
  const foreign = await make('owner', { permissions: null, projectId: other.projectId })
  expect(foreign.body).toMatchObject({ code: 'NOT_FOUND', status: 404 })
})

test('keys ask for the password again a quarter of an hour later', async () => {
  await using own = await startWorld()
  await seedPerson(own, 'owner@example.com', { [own.organisationId]: 'owner' })
  const browser = await signIn(own, 'owner@example.com')
  own.clock.advance(16 * 60_000)
  const path = `/auth/organisations/${own.organisationId}/keys`
  const answer = await browser.visit('POST', path, { name: 'k', permissions: null })
  expect(answer.body).toMatchObject({ code: 'PASSWORD_REQUIRED', status: 403 })
  expect((await browser.visit('GET', path)).status).toBe(200)
})

test('checkout changes the plan and is written in the ledger; a negotiated plan blocks it', async () => {
  const tenant = await world.createTenant('hobby')
  await seedPerson(world, 'buyer@example.com', { [tenant.organisationId]: 'owner' })
  await seedPerson(world, 'looker@example.com', { [tenant.organisationId]: 'member' })
  const path = `/auth/organisations/${tenant.organisationId}/checkout`
  const [buyer, looker] = [
    await signIn(world, 'buyer@example.com'),
    await signIn(world, 'looker@example.com'),
  ]
  const refused = await looker.visit('POST', path, { plan: 'scale' })
  expect(refused.body).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  expect(await buyer.visit('POST', path, { plan: 'scale' })).toMatchObject({
    status: 200,
    body: { plan: 'scale' },
  })
  const admin = async (...words: string[]) =>
    await runAdmin(words, { DATABASE_URL: world.databaseUrl })
  const ledger = await admin('ledger', 'list', '--organisation', tenant.organisationId)
  expect(ledger.stdout).toContain('scale')
  const same = await buyer.visit('POST', path, { plan: 'scale' })
  expect(same.body).toMatchObject({ code: 'CONFLICT' })
  await admin('organisations', 'override', tenant.organisationId, '--set', 'seats=50')
  const blocked = await buyer.visit('POST', path, { plan: 'launch' })
  expect(blocked.body).toMatchObject({ code: 'NEGOTIATED_PLAN_OVERRIDE', status: 403 })
  expect(Object.keys(blocked.body).toSorted()).toEqual(['code', 'message', 'status'])
})

test('the audit says who did what, newest first, page by page', async () => {
  const tenant = await world.createTenant()
  await seedPerson(world, 'keeper@example.com', { [tenant.organisationId]: 'owner' })
  const browser = await signIn(world, 'keeper@example.com')
  const path = `/auth/organisations/${tenant.organisationId}`
  for (const name of ['one', 'two', 'three']) {
    await browser.visit('POST', `${path}/keys`, { name, permissions: null })
  }
  const headers = { 'x-project-id': tenant.projectId }
  await world.api('POST', '/v1/sources', { name: 'by key' }, { key: tenant.key, headers })
  const seen: Record<string, unknown>[] = []
  let cursor = ''
  for (let page = 0; page < 10; page++) {
    const { body } = await browser.visit('GET', `${path}/audit?limit=2${cursor}`)
    seen.push(...body.data)
    if (body.nextCursor === null) break
    cursor = `&cursor=${body.nextCursor}`
  }
  expect(seen.map(({ action }) => action)).toEqual([
    'source.create',
    'api_key.create',
    'api_key.create',
    'api_key.create',
    'api_key.create',
    'organisation.create',
  ])
  expect(seen[0]).toMatchObject({
    actor: expect.stringMatching(/^key:key_/),
    actorName: 'test',
    subjectId: expect.stringMatching(/^src_/),
    projectId: tenant.projectId,
  })
  expect(seen[1]).toMatchObject({
    actor: expect.stringMatching(/^user:usr_/),
    actorName: 'keeper@example.com',
    subjectId: expect.stringMatching(/^key_/),
    changes: { name: 'three' },
  })
})
