import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { Provider } from '../../api/sign-on/provider.ts'
import { openBrowser, PASSWORD, seedPerson, signIn } from '../kit/browser-like.ts'
import { CLIENT, startProvider, type TestProvider } from '../kit/oidc-provider.ts'
import { startWorld, type World, type WorldOptions } from '../kit/world.ts'

let provider: TestProvider
let world: World
beforeAll(async () => {
  provider = await startProvider()
  world = await startOn(provider)
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

let owner: { invite(email: string, role?: string): Promise<unknown> }
beforeAll(async () => {
  await seedPerson(world, 'owner@example.com', { [world.organisationId]: 'owner' })
  const browser = await signIn(world, 'owner@example.com')
  const path = `/auth/organisations/${world.organisationId}/invitations`
  owner = {
    invite: async (email, role = 'member') =>
      (await browser.visit('POST', path, { email, role })).body,
  }
})
beforeEach(() => {
  provider.person = null
})

test('whoever is invited comes in with the provider, as the invitation says, and comes again', async () => {
  await owner.invite('ada@example.com', 'admin')
  provider.people.set('ada', { email: 'Ada@Example.com', email_verified: true, name: 'Ada L.' })
  const browser = openBrowser(world.apiUrl)
  const { location } = await passThrough(browser, { as: 'ada', next: '/p/x?tab=y' })
  expect(location).toBe('/p/x?tab=y')
  const session = await browser.visit('GET', '/auth/session')
  expect(session.body).toMatchObject({
    user: { email: 'ada@example.com', name: 'Ada L.' },
    organisations: [{ id: world.organisationId, role: 'admin' }],
  })
  const { rows } = await world.pool.query('select action, changes from audit where actor = $1', [
    `user:${session.body.user.id}`,
  ])
  expect(rows).toMatchObject([{ action: 'member.join', changes: { role: 'admin' } }])

  expect((await browser.visit('POST', '/auth/sign-out', {})).status).toBe(204)
  expect((await browser.visit('GET', '/auth/session')).status).toBe(401)
  // An account is known by the subject: the address may change.
  provider.people.set('ada', { email: 'other@example.com', email_verified: false })
  const again = openBrowser(world.apiUrl)
  await passThrough(again, { as: 'ada' })
  expect((await again.visit('GET', '/auth/session')).body.user).toEqual(session.body.user)
})

test('the request carries PKCE, a state and a nonce, each new', async () => {
  const before = provider.begun.length
  for (const _ of [1, 2]) await passThrough(openBrowser(world.apiUrl), { as: null })
  const [first, second] = provider.begun.slice(before)
  expect(first?.get('code_challenge_method')).toBe('S256')
  expect(first?.get('scope')).toBe('openid email profile')
  for (const name of ['state', 'nonce', 'code_challenge']) {
    expect(first?.get(name)).toMatch(/^[\w-]{43}$/)
    expect(first?.get(name)).not.toBe(second?.get(name))
  }
})

test('an account of the same verified address is linked, and its session before the sign-in ends', async () => {
  const id = await seedPerson(world, 'bea@example.com', { [world.organisationId]: 'member' })
  provider.people.set('bea', { email: 'bea@example.com', email_verified: true })
  const browser = await signIn(world, 'bea@example.com')
  const { cookie } = browser
  await passThrough(browser, { as: 'bea' })
  expect((await browser.visit('GET', '/auth/session')).body.user.id).toBe(id)
  const before = await browser.visit('GET', '/auth/session', undefined, { cookie: cookie ?? '' })
  expect(before.status).toBe(401)
  // The password still works: invited people gave it themselves.
  expect((await signIn(world, 'bea@example.com')).cookie).toBeDefined()
})

test.for([
  ['an address that is not verified', { email: 'cal@example.com', email_verified: false }],
  ['an address of which it is not said', { email: 'cal@example.com' }],
  ['no address', {}],
] as const)('%s links and makes no account', async ([, claims]) => {
  await seedPerson(world, 'cal@example.com', { [world.organisationId]: 'owner' }).catch(() => 0)
  await owner.invite('dan@example.com')
  const subject = `cal-${Math.random()}`
  provider.people.set(subject, claims)
  const browser = openBrowser(world.apiUrl)
  const { location } = await passThrough(browser, { as: subject })
  expect(location).toBe('/sign-in?problem=unverified')
  expect((await browser.visit('GET', '/auth/session')).status).toBe(401)
  const { rowCount } = await world.pool.query('select 1 from identity where subject = $1', [
    subject,
  ])
  expect(rowCount).toBe(0)
})

test('addresses of a provider that is trusted count as verified, and nothing else changes', async () => {
  await using elsewhere = await startProvider()
  await using own = await startOn(elsewhere, { trustsEmail: true })
  const id = await seedPerson(own, 'cal@example.com', { [own.organisationId]: 'owner' })
  elsewhere.people.set('silent', { email: 'cal@example.com' })
  elsewhere.people.set('stranger', { email: 'eve@example.com', email_verified: false })
  elsewhere.people.set('nameless', {})
  const arrivals = []
  for (const name of ['silent', 'stranger', 'nameless']) {
    elsewhere.person = name
    const browser = openBrowser(own.apiUrl)
    const location = await come(browser, await walk(await begin(browser)))
    const { body } = await browser.visit('GET', '/auth/session')
    arrivals.push([location, body.user?.id])
  }
  expect(arrivals).toEqual([
    ['/', id],
    ['/sign-in?problem=unknown', undefined],
    ['/sign-in?problem=unverified', undefined],
  ])
})

test('whoever nobody invited is told so, and no account is made', async () => {
  provider.people.set('eve', { email: 'eve@evil.example', email_verified: true })
  const { location } = await passThrough(openBrowser(world.apiUrl), { as: 'eve' })
  expect(location).toBe('/sign-in?problem=unknown')
  const { rowCount } = await world.pool.query(
    `select 1 from person where email = 'eve@evil.example'`,
  )
  expect(rowCount).toBe(0)
})

test('whoever turns back at the provider is told so', async () => {
  const { location } = await passThrough(openBrowser(world.apiUrl), { as: null })
  expect(location).toBe('/sign-in?problem=cancelled')
})

test('an answer with another state, of another browser, or twice, signs nobody in', async () => {
  await owner.invite('fay@example.com')
  provider.people.set('fay', { email: 'fay@example.com', email_verified: true })
  provider.person = 'fay'
  const browser = openBrowser(world.apiUrl)
  const callback = await walk(await begin(browser))
  const forged = new URL(callback)
  forged.searchParams.set('state', 'a'.repeat(43))
  expect(await come(browser, forged)).toBe('/sign-in?problem=expired')
  expect(await come(openBrowser(world.apiUrl), callback)).toBe('/sign-in?problem=expired')
  const own = browser.cookie ?? ''
  expect(await come(browser, callback)).toBe('/')
  browser.cookie = own
  expect(await come(browser, callback)).toBe('/sign-in?problem=failed')
})

test('a cookie that was changed or made by somebody else is none', async () => {
  provider.person = 'fay'
  const browser = openBrowser(world.apiUrl)
  const callback = await walk(await begin(browser))
  const [name, sealed = ''] = (browser.cookie ?? '').split('=')
  browser.cookie = `${name}=${sealed.slice(0, -6)}AAAAAA`
  expect(await come(browser, callback)).toBe('/sign-in?problem=expired')
  browser.cookie = `${name}=${Buffer.from('{"state":"x"}').toString('base64url')}`
  expect(await come(browser, callback)).toBe('/sign-in?problem=expired')
})

test('an ID token for another nonce, and a code of another sign-in, sign nobody in', async () => {
  provider.person = 'fay'
  const browser = openBrowser(world.apiUrl)
  const begun = new URL(await begin(browser))
  begun.searchParams.set('nonce', 'b'.repeat(43))
  expect(await come(browser, await walk(begun.href))).toBe('/sign-in?problem=failed')

  const other = await walk(await begin(openBrowser(world.apiUrl)))
  const mine = await walk(await begin(browser))
  mine.searchParams.set('code', other.searchParams.get('code') ?? '')
  expect(await come(browser, mine)).toBe('/sign-in?problem=failed')
  expect((await browser.visit('GET', '/auth/session')).status).toBe(401)
})

test('a sign-in that takes longer than ten minutes is begun anew', async () => {
  provider.person = 'fay'
  const browser = openBrowser(world.apiUrl)
  const callback = await walk(await begin(browser))
  world.clock.advance(11 * 60_000)
  expect(await come(browser, callback)).toBe('/sign-in?problem=expired')
})

test('a page of elsewhere is no place to go to after the sign-in', async () => {
  const pages = [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/\t/evil.example',
    '/\t\\evil.example',
    '/..\t//evil.example',
    '/%2e%2e//evil.example',
  ]
  for (const next of pages) {
    const { location } = await passThrough(openBrowser(world.apiUrl), { as: 'fay', next })
    expect(location).toBe('/')
  }
})

test('open invitations are accepted with the next sign-in, as far as there are seats', async () => {
  await owner.invite('gus@example.com')
  provider.people.set('gus', { email: 'gus@example.com', email_verified: true })
  const browser = openBrowser(world.apiUrl)
  await passThrough(browser, { as: 'gus' })
  const other = await world.createTenant('hobby')
  await seedPerson(world, 'boss@example.com', { [other.organisationId]: 'owner' })
  const boss = await signIn(world, 'boss@example.com')
  const path = `/auth/organisations/${other.organisationId}/invitations`
  await boss.visit('POST', path, { email: 'gus@example.com', role: 'admin' })
  await passThrough(browser, { as: 'gus' })
  const { organisations } = (await browser.visit('GET', '/auth/session')).body
  expect(organisations).toMatchObject([
    { id: world.organisationId, role: 'member' },
    { id: other.organisationId, role: 'admin' },
  ])
})

test('a session of the provider that is no longer fresh becomes so by signing in again', async () => {
  await owner.invite('hal@example.com', 'admin')
  provider.people.set('hal', { email: 'hal@example.com', email_verified: true })
  const browser = openBrowser(world.apiUrl)
  await passThrough(browser, { as: 'hal' })
  const path = `/auth/organisations/${world.organisationId}/keys`
  const make = async () =>
    await browser.visit('POST', path, { name: 'ci', permissions: { events: 'read' } })
  expect((await make()).status).toBe(201)
  world.clock.advance(16 * 60_000)
  expect((await make()).body).toMatchObject({ code: 'PASSWORD_REQUIRED' })
  await passThrough(browser, { as: 'hal', again: true })
  expect(provider.begun.at(-1)?.get('prompt')).toBe('login')
  expect((await make()).status).toBe(201)
})

test('whoever the provider did not ask has a session that is as old as their proof', async () => {
  await owner.invite('ivo@example.com', 'admin')
  provider.people.set('ivo', { email: 'ivo@example.com', email_verified: true })
  const browser = openBrowser(world.apiUrl)
  provider.signedInSeconds = 16 * 60
  await passThrough(browser, { as: 'ivo' })
  const path = `/auth/organisations/${world.organisationId}/keys`
  const wish = { name: 'ci', permissions: { events: 'read' } }
  expect((await browser.visit('POST', path, wish)).body).toMatchObject({
    code: 'PASSWORD_REQUIRED',
  })
  provider.signedInSeconds = 0
  await passThrough(browser, { as: 'ivo', again: true })
  expect((await browser.visit('POST', path, wish)).status).toBe(201)
})

test('claims that the userinfo endpoint alone gives are read there', async () => {
  await using elsewhere = await startProvider({ inUserinfo: true })
  await using own = await startOn(elsewhere)
  await seedPerson(own, 'ina@example.com', { [own.organisationId]: 'member' })
  elsewhere.people.set('ina', { email: 'ina@example.com', email_verified: true })
  elsewhere.person = 'ina'
  const browser = openBrowser(own.apiUrl)
  expect(await come(browser, await walk(await begin(browser)))).toBe('/')
  expect((await browser.visit('GET', '/auth/session')).body.user.email).toBe('ina@example.com')
})

test('colleagues of an allowed domain come without an invitation, as long as there are seats', async () => {
  await using elsewhere = await startProvider()
  await using own = await startOn(elsewhere, { allowedDomains: ['example.com'], plan: 'hobby' })
  // The plan has two seats, and an owner has the first.
  await seedPerson(own, 'first@example.com', { [own.organisationId]: 'owner' })
  const arrivals = []
  for (const name of ['second', 'third']) {
    elsewhere.people.set(name, { email: `${name}@example.com`, email_verified: true })
    elsewhere.person = name
    const browser = openBrowser(own.apiUrl)
    const location = await come(browser, await walk(await begin(browser)))
    const session = await browser.visit('GET', '/auth/session')
    arrivals.push({ location, organisations: session.body.organisations })
  }
  expect(arrivals).toMatchObject([
    { location: '/', organisations: [{ id: own.organisationId, role: 'member' }] },
    { location: '/sign-in?problem=seats', organisations: undefined },
  ])
  elsewhere.people.set('sub', { email: 'x@sub.example.com', email_verified: true })
  elsewhere.person = 'sub'
  const browser = openBrowser(own.apiUrl)
  expect(await come(browser, await walk(await begin(browser)))).toBe('/sign-in?problem=unknown')
})

test('the owner of an address gets nothing of an account that somebody made with it', async () => {
  await using elsewhere = await startProvider()
  await using own = await startOn(elsewhere, { signUp: 'open' })
  const email = 'jo@example.com'
  const squatter = openBrowser(own.apiUrl)
  const wish = { email, name: 'Jo', password: PASSWORD, organisationName: 'Jo Ltd' }
  const { body: made } = await squatter.visit('POST', '/auth/sign-up', wish)
  const at = `/auth/organisations/${made.organisations[0].id}`
  const { key } = (await squatter.visit('POST', `${at}/keys`, { name: 'k', permissions: null }))
    .body
  elsewhere.people.set('jo', { email, email_verified: true })
  elsewhere.person = 'jo'
  const browser = openBrowser(own.apiUrl)
  expect(await come(browser, await walk(await begin(browser)))).toBe('/')
  expect((await squatter.visit('GET', '/auth/session')).status).toBe(401)
  const body = { email, password: PASSWORD }
  expect((await squatter.visit('POST', '/auth/sign-in', body)).status).toBe(401)
  expect((await own.api('GET', '/v1/sources', undefined, { key })).status).toBe(401)
  const jo = (await browser.visit('GET', '/auth/session')).body
  expect(jo.user).toMatchObject({ email, isVerified: true })
  expect(jo.user.id).not.toBe(made.user.id)
  expect(jo.organisations).toMatchObject([{ name: email, role: 'owner' }])
  expect(jo.organisations[0].id).not.toBe(made.organisations[0].id)

  elsewhere.people.set('kim', { email: 'kim@example.com', email_verified: true, name: 'Kim' })
  elsewhere.person = 'kim'
  const kim = openBrowser(own.apiUrl)
  expect(await come(kim, await walk(await begin(kim)))).toBe('/')
  const session = await kim.visit('GET', '/auth/session')
  expect(session.body.organisations).toMatchObject([{ name: 'Kim', role: 'owner' }])
})

test('whoever is signed in to an account proves its address with the provider, and keeps everything', async () => {
  await using elsewhere = await startProvider()
  await using own = await startOn(elsewhere, { signUp: 'open' })
  const email = 'jan@example.com'
  const browser = openBrowser(own.apiUrl)
  const wish = { email, name: 'Jan', password: PASSWORD, organisationName: 'Jan Ltd' }
  const { body: made } = await browser.visit('POST', '/auth/sign-up', wish)
  expect(made.user.isVerified).toBe(false)
  elsewhere.people.set('jan', { email, email_verified: true })
  elsewhere.person = 'jan'
  expect(await come(browser, await walk(await begin(browser)))).toBe('/')
  expect((await browser.visit('GET', '/auth/session')).body).toEqual({
    ...made,
    user: { ...made.user, isVerified: true },
  })
  const again = openBrowser(own.apiUrl)
  expect((await again.visit('POST', '/auth/sign-in', { email, password: PASSWORD })).status).toBe(
    200,
  )
})

test('a colleague of an allowed domain joins no organisation that a stranger made', async () => {
  await using elsewhere = await startProvider()
  await using own = await startOn(elsewhere, { signUp: 'open', allowedDomains: ['example.com'] })
  await own.pool.query('truncate organisation cascade')
  const eve = { email: 'eve@evil.example', name: 'Eve', password: PASSWORD }
  await openBrowser(own.apiUrl).visit('POST', '/auth/sign-up', { ...eve, organisationName: 'Eve' })
  elsewhere.people.set('kay', { email: 'kay@example.com', email_verified: true })
  elsewhere.person = 'kay'
  const browser = openBrowser(own.apiUrl)
  expect(await come(browser, await walk(await begin(browser)))).toBe('/sign-in?problem=unknown')
})

test('with passwords off the provider alone signs people in', async () => {
  await using elsewhere = await startProvider()
  await using own = await startOn(elsewhere, { hasPasswords: false, signUp: 'open' })
  const id = await seedPerson(own, 'lou@example.com', { [own.organisationId]: 'owner' })
  const browser = openBrowser(own.apiUrl)
  const writes: [string, object][] = [
    ['/sign-in', { email: 'lou@example.com', password: PASSWORD }],
    ['/sign-up', { email: 'a@b.co', name: 'A', password: PASSWORD, organisationName: 'A' }],
    ['/invitations/accept', { token: 'x', email: 'a@b.co', name: 'A', password: PASSWORD }],
    ['/reset', { token: 'x', password: PASSWORD }],
    ['/forgot-password', { email: 'lou@example.com' }],
    ['/confirm-password', { password: PASSWORD }],
    ['/password', { currentPassword: PASSWORD, newPassword: PASSWORD }],
  ]
  for (const [path, body] of writes) {
    const answer = await browser.visit('POST', `/auth${path}`, body)
    expect(answer.body, path).toMatchObject({ code: 'FORBIDDEN', message: /sign in with the test/ })
  }
  expect((await browser.visit('GET', '/auth/options')).body).toMatchObject({
    hasPasswords: false,
    provider: 'the test',
  })
  elsewhere.people.set('lou', { email: 'lou@example.com', email_verified: true })
  elsewhere.person = 'lou'
  expect(await come(browser, await walk(await begin(browser)))).toBe('/')
  expect((await browser.visit('GET', '/auth/session')).body.user.id).toBe(id)
})

test('a provider that is away is told in words, and comes back without a restart', async () => {
  const elsewhere = await startProvider()
  await using own = await startOn(elsewhere)
  const { port } = new URL(elsewhere.issuer)
  await elsewhere[Symbol.asyncDispose]()
  const browser = openBrowser(own.apiUrl)
  expect(await come(browser, new URL(`${own.apiUrl}/auth/oidc`))).toBe('/sign-in?problem=away')
  await using back = await startProvider({ port: Number(port) })
  back.sendBackTo(`${own.apiUrl}/auth/callback/oidc`)
  expect(await begin(browser)).toContain(back.issuer)
})

test('without a provider there is nothing to begin', async () => {
  await using own = await startWorld({ signInsPerMinute: 1 })
  const browser = openBrowser(own.apiUrl)
  for (const path of ['/auth/oidc', '/auth/callback/oidc?code=x&state=y']) {
    expect(await come(browser, new URL(`${own.apiUrl}${path}`))).toBe('/sign-in?problem=failed')
  }
  const crowded = new URL(`${own.apiUrl}/auth/callback/oidc?code=x&state=y`)
  expect(await come(browser, crowded)).toBe('/sign-in?problem=busy')
})

type Browser = ReturnType<typeof openBrowser>

/** A world whose people sign in with this provider. */
async function startOn(
  at: TestProvider,
  { trustsEmail = false, ...options }: WorldOptions & { trustsEmail?: boolean } = {},
): Promise<World> {
  const own = await startWorld({
    signInsPerMinute: 1_000,
    authRequestsPerMinute: 10_000,
    provider: new Provider({
      issuer: at.issuer,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      name: 'the test',
      trustsEmail,
    }),
    ...options,
  })
  at.sendBackTo(`${own.apiUrl}/auth/callback/oidc`)
  return own
}

/** Signs somebody in at the provider of all tests: where the browser is at the end. */
async function passThrough(
  browser: Browser,
  { as, next, again }: { as: string | null; next?: string; again?: boolean },
): Promise<{ location: string | null }> {
  provider.person = as
  const callback = await walk(await begin(browser, { next, again }))
  return { location: await come(browser, callback) }
}

/** Where the dashboard sends a browser. */
async function begin(
  browser: Browser,
  { next, again }: { next?: string | undefined; again?: boolean | undefined } = {},
): Promise<string> {
  const query = new URLSearchParams({
    ...(next === undefined ? {} : { next }),
    ...(again === true ? { again: 'true' } : {}),
  })
  const answer = await browser.visit('GET', `/auth/oidc?${query.toString()}`)
  expect(answer.status).toBe(303)
  return answer.headers.get('location') ?? ''
}

/** Follows the provider until it sends the browser back; answers with that address. */
async function walk(start: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let address = new URL(start)
  const { origin } = address
  while (address.origin === origin) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(address, { redirect: 'manual', headers: { cookie } })
    for (const set of answer.headers.getSetCookie()) {
      const [pair = ''] = set.split(';')
      const [name = '', value = ''] = pair.split('=')
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    if (location === null)
      throw new Error(`${address.href}: ${answer.status} ${await answer.text()}`)
    address = new URL(location, address)
  }
  return address
}

/** Comes to an address of the API: where the browser is led then. */
async function come(browser: Browser, address: URL): Promise<string | null> {
  const answer = await browser.visit('GET', `${address.pathname}${address.search}`)
  expect(answer.status).toBe(303)
  return answer.headers.get('location')
}
