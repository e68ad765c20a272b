import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Role } from '../../core/accounts/role.ts'
import { callCapability, seedAgent } from '../kit/agent.ts'
import { PASSWORD, seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { runAdmin } from '../kit/program.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
let at: string
const browsers = new Map<Role, Browser>()
beforeAll(async () => {
  world = await startWorld({ authRequestsPerMinute: 10_000, signInsPerMinute: 1_000 })
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

const make = async (role: Role, wish: Record<string, unknown> = {}) =>
  await as(role).visit('POST', `${at}/agents`, { name: 'claude-code', ...wish })
const works = async (token: string) =>
  (await callCapability({ apiUrl: world.apiUrl, token }, 'account.list_projects')).status

test('a member makes an agent whose token is shown once, works at once and until its end', async () => {
  const expiresAt = new Date(world.clock.now() + 60_000).toISOString()
  const made = await make('member', { expiresAt })
  const { user } = (await as('member').visit('GET', '/auth/session')).body
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    id: expect.stringMatching(/^agt_/),
    token: expect.stringMatching(/^pst_ag_[0-9A-Za-z]{43}$/),
    name: 'claude-code',
    organisationId: world.organisationId,
    memberId: user.id,
    memberEmail: 'member@example.com',
    projectId: null,
    expiresAt,
    revokedAt: null,
    lastUsedAt: null,
  })
  const { token, ...rest } = made.body
  expect(rest.tokenHint).toBe(token.slice(-4))
  expect(await works(token)).toBe(200)
  const { data } = (await as('owner').visit('GET', `${at}/agents`)).body
  const listed = data.find(({ id }: { id: string }) => id === rest.id)
  const used = { lastUsedAt: expect.any(String), lastUsedFrom: '127.0.0.1' }
  expect(listed).toEqual({ ...rest, ...used })
  expect(JSON.stringify(data)).not.toContain(token)
  world.clock.advance(61_000)
  expect(await works(token)).toBe(401)
})

test('no row of the database holds the token', async () => {
  const { token, id } = (await make('owner')).body
  const { rows } = await world.pool.query('select * from agent')
  expect(rows.length).toBeGreaterThan(0)
  expect(JSON.stringify(rows)).not.toContain(token.slice(7))
  expect((await as('owner').visit('DELETE', `${at}/agents/${id}`)).status).toBe(204)
})

test('a member revokes their own agents, an admin those of others, each for good', async () => {
  const own = (await make('member')).body
  const others = (await make('owner')).body
  const end = async (role: Role, { id }: { id: string }) =>
    (await as(role).visit('DELETE', `${at}/agents/${id}`)).status
  expect(await end('member', others)).toBe(403)
  expect(await works(others.token)).toBe(200)
  expect(await end('member', own)).toBe(204)
  expect(await end('member', own)).toBe(204)
  expect(await works(own.token)).toBe(401)
  expect(await end('admin', others)).toBe(204)
  expect(await works(others.token)).toBe(401)
  const { data } = (await as('member').visit('GET', `${at}/agents`)).body
  const listed = data.find(({ id }: { id: string }) => id === own.id)
  expect(listed.revokedAt).toEqual(expect.any(String))
})

test('an agent of another organisation is not found, and neither is one that never was', async () => {
  const other = await world.createTenant()
  const foreign = await seedAgent(world, 'owner', { organisationId: other.organisationId })
  for (const id of [foreign.id, 'agt_01h455vb4pex5vsknk084sn02q', 'nonsense']) {
    const answer = await as('owner').visit('DELETE', `${at}/agents/${id}`)
    expect(answer.body, id).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  }
  expect(await works(foreign.token)).toBe(200)
})

test('a wish that makes no sense is refused by its member', async () => {
  const past = new Date(world.clock.now() - 1).toISOString()
  const bad: [Record<string, unknown>, string][] = [
    [{ name: '' }, 'body.name'],
    [{ name: undefined }, 'body.name'],
    [{ expiresAt: past }, 'body.expiresAt'],
    [{ expiresAt: 'tomorrow' }, 'body.expiresAt'],
    [{ role: 'owner' }, 'body.role'],
  ]
  for (const [wish, path] of bad) {
    const { body } = await make('owner', wish)
    expect(body, JSON.stringify(wish)).toMatchObject({ code: 'BAD_REQUEST' })
    expect(body.data.fields[0].path).toBe(path)
  }
})

test('a member has so many agents at once; revoked ones do not count', async () => {
  await seedPerson(world, 'crowd@example.com', { [world.organisationId]: 'member' })
  const browser = await signIn(world, 'crowd@example.com')
  const add = async () => await browser.visit('POST', `${at}/agents`, { name: 'one of many' })
  const made = await Promise.all(Array.from({ length: 52 }, add))
  expect(made.filter(({ status }) => status === 201)).toHaveLength(50)
  expect(made.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'CONFLICT' })
  const first = made.find(({ status }) => status === 201)?.body.id
  await browser.visit('DELETE', `${at}/agents/${first}`)
  expect((await add()).status).toBe(201)
})

test('making an agent asks for the password again a quarter of an hour later', async () => {
  await using own = await startWorld()
  await seedPerson(own, 'owner@example.com', { [own.organisationId]: 'owner' })
  const browser = await signIn(own, 'owner@example.com')
  own.clock.advance(16 * 60_000)
  const path = `/auth/organisations/${own.organisationId}/agents`
  const answer = await browser.visit('POST', path, { name: 'late' })
  expect(answer.body).toMatchObject({ code: 'PASSWORD_REQUIRED', status: 403 })
  await browser.visit('POST', '/auth/confirm-password', { password: PASSWORD })
  expect((await browser.visit('POST', path, { name: 'late' })).status).toBe(201)
})

test('the agents of a member who is removed end for good, also if the member comes back', async () => {
  const personId = await seedPerson(world, 'leaver@example.com', {
    [world.organisationId]: 'admin',
  })
  const browser = await signIn(world, 'leaver@example.com')
  const { token, id } = (await browser.visit('POST', `${at}/agents`, { name: 'left' })).body
  expect(await works(token)).toBe(200)
  expect((await as('owner').visit('DELETE', `${at}/members/${personId}`)).status).toBe(200)
  expect(await works(token)).toBe(401)
  const invited = await as('owner').visit('POST', `${at}/invitations`, {
    email: 'leaver@example.com',
  })
  const [, invitation] = invited.body.url.split('#')
  const joined = await browser.visit('POST', '/auth/invitations/accept', {
    token: invitation,
    email: 'leaver@example.com',
    password: PASSWORD,
  })
  expect(joined.status).toBe(201)
  expect(await works(token)).toBe(401)
  const audit = (await as('owner').visit('GET', `${at}/audit`)).body.data
  const entry = audit.find(({ subjectId }: { subjectId: string }) => subjectId === id)
  expect(entry).toMatchObject({ action: 'agent.revoke', subjectKind: 'agent' })
})

test('agents are made, listed and revoked from the command line', async () => {
  const admin = async (...words: string[]) => {
    const ran = await runAdmin(words, { DATABASE_URL: world.databaseUrl })
    return ran.code === 0 ? JSON.parse(ran.stdout) : ran
  }
  const made = await admin('agents', 'create', '--member', 'Member@example.com', '--name', 'cli')
  expect(made).toMatchObject({ token: expect.stringMatching(/^pst_ag_/), name: 'cli' })
  expect(await works(made.token)).toBe(200)
  const list = await admin('agents', 'list', '--organisation', world.organisationId)
  expect(list.map(({ id }: { id: string }) => id)).toContain(made.id)
  expect(JSON.stringify(list)).not.toContain(made.token)
  expect((await admin('agents', 'revoke', made.id)).revokedAt).toEqual(expect.any(String))
  expect(await works(made.token)).toBe(401)
  const nobody = await admin('agents', 'create', '--member', 'nobody@example.com', '--name', 'x')
  expect(nobody).toMatchObject({ code: 1, stdout: '' })
  const nameless = await admin('agents', 'create', '--member', 'member@example.com')
  expect(nameless).toMatchObject({ code: 2, stdout: '' })
})
