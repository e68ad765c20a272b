import { afterAll, beforeAll, expect, test } from 'vitest'

import { ACCOUNT_ROUTES } from '../../api/accounts/account-routes.ts'
import type { Role } from '../../core/accounts/role.ts'
import { DAY_MS } from '../../core/clock.ts'
import { openBrowser, PASSWORD, seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { runAdmin } from '../kit/program.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

const UNKNOWN = { code: 'UNAUTHORIZED', status: 401 }
const ROLES: readonly Role[] = ['owner', 'admin', 'member']

let world: World
beforeAll(async () => {
  world = await startWorld({ signInsPerMinute: 10_000, authRequestsPerMinute: 10_000 })
})
afterAll(async () => await world[Symbol.asyncDispose]())

let people = 0

/** An organisation with a member of each role, each signed in. */
async function openTeam(plan: 'hobby' | 'launch' | 'scale' | 'enterprise' = 'enterprise') {
  const tenant: Tenant = await world.createTenant(plan)
  const at = `/auth/organisations/${tenant.organisationId}`
  const join = async (role: Role) => {
    const email = `${role}-${++people}@example.com`
    const id = await seedPerson(world, email, { [tenant.organisationId]: role })
    return { id, email, browser: await signIn(world, email) }
  }
  const invite = async (browser: Browser, email: string, role: Role = 'member') =>
    await browser.visit('POST', `${at}/invitations`, { email, role })
  return { tenant, at, join, invite }
}

const below = (organisation: string, path: string) =>
  path === '' ? organisation : `${organisation}/${path}`

const accept = async (
  url: string,
  wish: Record<string, unknown>,
  browser = openBrowser(world.apiUrl),
) =>
  await browser.visit('POST', '/auth/invitations/accept', {
    token: url.split('#')[1],
    name: 'New',
    password: PASSWORD,
    ...wish,
  })

async function audited(organisationId: string, browser: Browser): Promise<string[]> {
  const { body } = await browser.visit('GET', `/auth/organisations/${organisationId}/audit`)
  return body.data.map(({ action }: { action: string }) => action)
}

test('an invitation is a link that makes its holder a member, signed in, and is good once', async () => {
  const { tenant, at, join, invite } = await openTeam()
  const owner = await join('owner')
  const made = await invite(owner.browser, 'Nia@Example.com', 'admin')
  expect(made).toMatchObject({
    status: 201,
    body: {
      id: expect.stringMatching(/^inv_/),
      email: 'nia@example.com',
      role: 'admin',
      url: expect.stringMatching(new RegExp(`^${world.apiUrl}/invite#[\\w-]{43}$`)),
      expiresAt: expect.any(String),
    },
  })
  const nia = openBrowser(world.apiUrl)
  const joined = await accept(made.body.url, { email: 'nia@example.com', name: 'Nia' }, nia)
  expect(joined).toMatchObject({
    status: 201,
    body: {
      user: { email: 'nia@example.com', name: 'Nia' },
      organisations: [{ id: tenant.organisationId, role: 'admin' }],
    },
  })
  expect((await nia.visit('GET', `${at}/members`)).body.data).toEqual([
    expect.objectContaining({ email: owner.email, role: 'owner' }),
    expect.objectContaining({ email: 'nia@example.com', role: 'admin', name: 'Nia' }),
  ])
  expect((await accept(made.body.url, { email: 'nia@example.com' })).body).toMatchObject(UNKNOWN)
  expect((await invite(owner.browser, 'nia@example.com')).body).toMatchObject({ code: 'CONFLICT' })
  const listed = await owner.browser.visit('GET', `${at}/invitations`)
  expect(listed.body.data).toMatchObject([{ id: made.body.id, acceptedAt: expect.any(String) }])
  expect(await audited(tenant.organisationId, owner.browser)).toEqual(
    expect.arrayContaining(['member.join', 'invitation.create']),
  )
})

test('twenty accept an invitation at once and one joins', async () => {
  const { at, join, invite } = await openTeam()
  const { browser } = await join('owner')
  const { url } = (await invite(browser, 'race@example.com')).body
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => await accept(url, { email: 'race@example.com' })),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(answers.filter(({ status }) => status >= 500)).toEqual([])
  expect((await browser.visit('GET', `${at}/members`)).body.data).toHaveLength(2)
})

test('twenty invitations at once get the seats of the plan that are left', async () => {
  const { tenant, join, invite } = await openTeam('launch')
  const { browser } = await join('owner')
  await join('member')
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => await invite(browser, `seat-${n}@example.com`)),
  )
  const made = answers.filter(({ status }) => status === 201)
  expect(made).toHaveLength(3)
  const refused = answers.filter(({ status }) => status === 403)
  expect(refused).toHaveLength(17)
  for (const { body } of refused) expect(body.code).toBe('INVITATION_LIMIT_REACHED')
  // To accept one takes no further seat; to revoke one leaves its seat.
  const [first, second] = made
  expect((await accept(first?.body.url, { email: first?.body.email })).status).toBe(201)
  expect((await invite(browser, 'late@example.com')).body.code).toBe('INVITATION_LIMIT_REACHED')
  const path = `/auth/organisations/${tenant.organisationId}/invitations/${second?.body.id}`
  expect((await browser.visit('DELETE', path)).status).toBe(204)
  expect((await invite(browser, 'late@example.com')).status).toBe(201)
  expect((await accept(second?.body.url, { email: second?.body.email })).body).toMatchObject(
    UNKNOWN,
  )
})

test('nobody joins past the seats of a plan that became smaller', async () => {
  const { tenant, join, invite } = await openTeam('launch')
  const { browser } = await join('owner')
  await join('member')
  const { url } = (await invite(browser, 'third@example.com')).body
  const ran = await runAdmin(['organisations', 'set-plan', tenant.organisationId, 'hobby'], {
    DATABASE_URL: world.databaseUrl,
  })
  expect(ran.code).toBe(0)
  const answer = await accept(url, { email: 'third@example.com' })
  expect(answer.body).toMatchObject({ code: 'INVITATION_LIMIT_REACHED', status: 403 })
})

test('an invitation is for its address, ends after seven days, and joins the account that the address has', async () => {
  const { join, invite } = await openTeam()
  const { browser } = await join('owner')
  const other = await openTeam()
  const known = await other.join('member')
  const { url } = (await invite(browser, known.email)).body
  expect((await accept(url, { email: 'eve@example.com' })).body).toMatchObject({
    code: 'FORBIDDEN',
    status: 403,
  })
  const wrong = await accept(url, { email: known.email, password: 'a guess of it' })
  expect(wrong.body).toMatchObject(UNKNOWN)
  const joined = await accept(url, { email: known.email })
  expect(joined.status).toBe(201)
  expect(joined.body.user.id).toBe(known.id)
  expect(joined.body.organisations).toHaveLength(2)
  const late = (await invite(browser, 'late-comer@example.com')).body
  world.clock.advance(7 * DAY_MS + 1)
  expect((await accept(late.url, { email: 'late-comer@example.com' })).body).toMatchObject(UNKNOWN)
})

test('a role decides who invites, changes and removes whom', async () => {
  const { at, join, invite } = await openTeam()
  const [owner, admin, member] = await Promise.all(ROLES.map(join))
  if (owner === undefined || admin === undefined || member === undefined) throw new Error('Nobody')
  const role = async ({ browser }: typeof owner, { id }: typeof owner, wish: Role) =>
    (await browser.visit('PATCH', `${at}/members/${id}`, { role: wish })).status
  const remove = async ({ browser }: typeof owner, { id }: typeof owner) =>
    (await browser.visit('DELETE', `${at}/members/${id}`)).status
  expect((await invite(member.browser, 'a@example.com')).body).toMatchObject({
    code: 'FORBIDDEN',
    message: 'Cannot do this as a member: it needs an owner or an admin',
  })
  expect((await invite(admin.browser, 'a@example.com', 'owner')).status).toBe(403)
  expect((await invite(admin.browser, 'a@example.com', 'admin')).status).toBe(201)
  for (const path of ['invitations', 'audit']) {
    expect((await member.browser.visit('GET', `${at}/${path}`)).status).toBe(403)
  }
  expect(await role(member, member, 'admin')).toBe(403)
  expect(await role(admin, admin, 'owner')).toBe(403)
  expect(await role(admin, owner, 'member')).toBe(403)
  expect(await remove(admin, owner)).toBe(403)
  expect(await remove(member, admin)).toBe(403)
  expect(await role(owner, owner, 'admin')).toBe(409)
  expect(await remove(owner, owner)).toBe(409)
  expect(await role(owner, admin, 'owner')).toBe(200)
  expect(await role(admin, owner, 'admin')).toBe(200)
  expect(await remove(admin, owner)).toBe(200)
  expect((await owner.browser.visit('GET', `${at}/members`)).status).toBe(404)
  expect(await remove(member, member)).toBe(200)
})

test('owners and admins rename their organisation, members do not, and the audit has both names', async () => {
  const { at: path, tenant, join } = await openTeam()
  const [owner, admin, member] = await Promise.all(ROLES.map(join))
  if (owner === undefined || admin === undefined || member === undefined) throw new Error('Nobody')
  const rename = async ({ browser }: typeof owner, name: unknown) =>
    await browser.visit('PATCH', path, { name })
  expect((await rename(member, 'Mine')).body).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  for (const name of ['', ' blanks ', 'x'.repeat(256), 7, undefined]) {
    expect((await rename(admin, name)).body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'body.name' }] },
    })
  }
  const renamed = await rename(admin, 'Shoes Ltd')
  const shown = { id: tenant.organisationId, name: 'Shoes Ltd', role: 'admin' }
  expect(renamed).toMatchObject({ status: 200, body: shown })
  const { organisations } = (await member.browser.visit('GET', '/auth/session')).body
  expect(organisations).toEqual([{ ...shown, role: 'member' }])
  expect((await rename(owner, 'Shoes Ltd')).status).toBe(200)
  const { data } = (await owner.browser.visit('GET', `${path}/audit`)).body
  const entries = data.filter(({ action }: { action: string }) => action === 'organisation.update')
  expect(entries).toMatchObject([
    {
      subjectId: tenant.organisationId,
      actor: `user:${admin.id}`,
      changes: { name: 'Shoes Ltd', before: expect.any(String) },
    },
  ])
})

test('a person changes their own name, and others of the organisation see it', async () => {
  const { at: path, join } = await openTeam()
  const [owner, member] = [await join('owner'), await join('member')]
  const answer = await member.browser.visit('PATCH', '/auth/session', { name: 'Ada L.' })
  expect(answer).toMatchObject({ status: 200, body: { user: { id: member.id, name: 'Ada L.' } } })
  const { data } = (await owner.browser.visit('GET', `${path}/members`)).body
  expect(data).toContainEqual(expect.objectContaining({ id: member.id, name: 'Ada L.' }))
  expect((await member.browser.visit('PATCH', '/auth/session', { name: '' })).body).toMatchObject({
    data: { fields: [{ path: 'body.name' }] },
  })
  const stranger = openBrowser(world.apiUrl)
  expect((await stranger.visit('PATCH', '/auth/session', { name: 'Eve' })).status).toBe(401)
})

test('the list of members says when each was last seen', async () => {
  const { at: path, join } = await openTeam()
  const [owner, member] = [await join('owner'), await join('member')]
  const seen = async () => {
    const { data } = (await owner.browser.visit('GET', `${path}/members`)).body
    return data.find(({ id }: { id: string }) => id === member.id).lastSeenAt
  }
  world.clock.advance(DAY_MS)
  const fromMs = world.clock.now()
  await member.browser.visit('GET', '/auth/session')
  const toMs = world.clock.now()
  world.clock.advance(60_000)
  const lastMs = Date.parse(await seen())
  expect([fromMs <= lastMs, lastMs <= toMs]).toEqual([true, true])
  await member.browser.visit('POST', '/auth/sign-out')
  expect(await seen()).toBeNull()
})

test('two owners who leave at once leave one behind', async () => {
  const { at, join } = await openTeam()
  const owners = [await join('owner'), await join('owner')]
  const leave = async ({ id, browser }: (typeof owners)[number]) =>
    (await browser.visit('DELETE', `${at}/members/${id}`)).status
  const statuses = await Promise.all(owners.map(leave))
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.filter((status) => status === 409)).toHaveLength(1)
})

test('people who are no members find nothing of an organisation', async () => {
  const mine = await openTeam()
  const theirs = await openTeam()
  const owner = await mine.join('owner')
  const other = await theirs.join('owner')
  const invitation = (await theirs.invite(other.browser, 'x@example.com')).body
  const key = (
    await other.browser.visit('POST', `${theirs.at}/keys`, { name: 'k', permissions: null })
  ).body
  const agent = (await other.browser.visit('POST', `${theirs.at}/agents`, { name: 'a' })).body
  const paths: [string, string, unknown?][] = [
    ['GET', 'members'],
    ['PATCH', `members/${other.id}`, { role: 'member' }],
    ['DELETE', `members/${other.id}`],
    ['GET', 'invitations'],
    ['POST', 'invitations', { email: 'y@example.com' }],
    ['DELETE', `invitations/${invitation.id}`],
    ['GET', 'keys'],
    ['POST', 'keys', { name: 'k', permissions: null }],
    ['PATCH', `keys/${key.id}`, { permissions: { events: 'read' } }],
    ['DELETE', `keys/${key.id}`],
    ['POST', 'checkout', { plan: 'scale' }],
    ['GET', 'audit'],
    ['PATCH', '', { name: 'Taken over' }],
    ['GET', 'agents'],
    ['POST', 'agents', { name: 'a' }],
    ['DELETE', `agents/${agent.id}`],
  ]
  const asked = paths.map(([method, path]) => `${method} ${path.replace(/\/\w+$/, '/:id')}`)
  const routes = ACCOUNT_ROUTES.filter(({ params }) => 'org' in params).map(
    ({ method, path }) =>
      `${method} ${path.replace(/^\/organisations\/:org\/?/, '').replace(/:\w+$/, ':id')}`,
  )
  expect(asked.toSorted()).toEqual(routes.toSorted())
  for (const [method, path, body] of paths) {
    const foreign = await owner.browser.visit(method, below(theirs.at, path), body)
    expect(foreign.body, path).toEqual({
      code: 'NOT_FOUND',
      status: 404,
      message: `Cannot find organisation "${theirs.tenant.organisationId}"`,
    })
    if (!/_/.test(path)) continue
    // Nor by way of one's own organisation.
    const through = await owner.browser.visit(method, below(mine.at, path), body)
    expect(through.body, path).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  }
  const { body } = await other.browser.visit('GET', `${theirs.at}/keys`)
  expect(body.data).toMatchObject([
    { permissions: expect.anything() },
    { id: key.id, revokedAt: null },
  ])
})

test("sign-up is closed unless it is open; open, it makes an organisation of the person's own", async () => {
  const wish = {
    email: 'sue@example.com',
    name: 'Sue',
    password: PASSWORD,
    organisationName: 'Sue Ltd',
  }
  const closed = await openBrowser(world.apiUrl).visit('POST', '/auth/sign-up', wish)
  expect(closed.body).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  await using own = await startWorld({ signUp: 'open' })
  const browser = openBrowser(own.apiUrl)
  const made = await browser.visit('POST', '/auth/sign-up', wish)
  expect(made).toMatchObject({
    status: 201,
    body: {
      user: { email: 'sue@example.com' },
      organisations: [{ name: 'Sue Ltd', role: 'owner' }],
    },
  })
  expect((await browser.visit('GET', '/auth/session')).body).toEqual(made.body)
  const again = await openBrowser(own.apiUrl).visit('POST', '/auth/sign-up', wish)
  expect(again.body).toMatchObject({ code: 'CONFLICT', status: 409 })
  const options = await browser.visit('GET', '/auth/options')
  expect(options.body).toEqual({
    isSetUp: false,
    signUp: 'open',
    isMailing: false,
    hasSelfServicePlans: true,
    hasPasswords: true,
    provider: null,
  })
})

test('a person who forgot the password sets a new one with a printed link, once, and is signed out', async () => {
  await using own = await startWorld()
  const email = 'lost@example.com'
  await seedPerson(own, email, { [own.organisationId]: 'member' })
  const browser = await signIn(own, email)
  const print = async (...words: string[]) =>
    await runAdmin(['users', ...words], {
      DATABASE_URL: own.databaseUrl,
      API_URL: 'https://relay.test',
    })
  const ran = await print('reset-link', email.toUpperCase())
  expect(ran).toMatchObject({ stderr: '', code: 0 })
  const { url } = JSON.parse(ran.stdout)
  expect(url).toMatch(/^https:\/\/relay\.test\/reset#[\w-]{43}$/)
  const reset = async (password: string) =>
    await openBrowser(own.apiUrl).visit('POST', '/auth/reset', {
      token: url.split('#')[1],
      password,
    })
  expect((await reset('short')).body).toMatchObject({
    code: 'BAD_REQUEST',
    data: { fields: [{ path: 'body.password' }] },
  })
  expect((await reset('a new password')).status).toBe(204)
  expect((await reset('another password')).body).toMatchObject(UNKNOWN)
  expect((await browser.visit('GET', '/auth/session')).status).toBe(401)
  const sign = async (password: string) =>
    (await openBrowser(own.apiUrl).visit('POST', '/auth/sign-in', { email, password })).status
  expect(await sign(PASSWORD)).toBe(401)
  expect(await sign('a new password')).toBe(200)
  const unknown = await print('reset-link', 'nobody@example.com')
  expect(unknown).toMatchObject({
    code: 1,
    stderr: 'There is no account for "nobody@example.com"\n',
  })
})

test('users setup-link prints a link until there is an owner', async () => {
  await using own = await startWorld()
  const print = async () =>
    await runAdmin(['users', 'setup-link'], { DATABASE_URL: own.databaseUrl, API_PORT: '9999' })
  const { url } = JSON.parse((await print()).stdout)
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:9999\/setup#/)
  const wish = { token: url.split('#')[1], email: 'a@b.co', name: 'A', password: PASSWORD }
  expect((await openBrowser(own.apiUrl).visit('POST', '/auth/setup', wish)).status).toBe(201)
  expect(await print()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is an owner'),
  })
})

test('an address makes five organisations a day where anybody may sign up, and its network twenty', async () => {
  await using own = await startWorld({
    signUp: 'open',
    signUpsPerDay: 5,
    trustedProxies: ['127.0.0.0/8'],
    authRequestsPerMinute: 1_000,
  })
  let strangers = 0
  const signUp = async (address: string) => {
    const wish = { email: `p${strangers++}@example.com`, name: 'P', password: PASSWORD }
    const body = { ...wish, organisationName: 'O' }
    const headers = { 'x-forwarded-for': address }
    return await openBrowser(own.apiUrl).visit('POST', '/auth/sign-up', body, { headers })
  }
  const made = async (addresses: readonly string[]) => {
    let count = 0
    for (const address of addresses) if ((await signUp(address)).status === 201) count++
    return count
  }
  expect(await made(Array.from({ length: 8 }, () => '203.0.113.1'))).toBe(5)
  const refused = await signUp('203.0.113.1')
  expect(refused.body).toMatchObject({ code: 'RATE_LIMITED', data: { limit: 5 } })
  expect(await made(Array.from({ length: 20 }, (_, n) => `203.0.113.${n + 2}`))).toBe(15)
  expect(await made(['198.51.100.1'])).toBe(1)
  expect(await made(Array.from({ length: 25 }, (_, n) => `2001:db8:0:${n}::1`))).toBe(20)
  expect(await made(['2001:db8:1::1'])).toBe(1)
})
