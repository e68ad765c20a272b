import { afterAll, beforeAll, expect, test } from 'vitest'

import { work } from '../../core/accounts/password.ts'
import { DAY_MS } from '../../core/clock.ts'
import { insertSession } from '../../core/db/accounts/sessions.ts'
import { newId } from '../../core/ids.ts'
import { hashSecret } from '../../core/keys/secret-text.ts'
import { pruneAccounts } from '../../dataplane/housekeeper/tasks/accounts.ts'
import {
  openBrowser,
  PASSWORD,
  seedPerson,
  setupToken,
  signIn,
  type Browser,
} from '../kit/browser-like.ts'
import { uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

const REFUSED = { code: 'UNAUTHORIZED', status: 401 }

let world: World
beforeAll(async () => {
  world = await startWorld({ signInsPerMinute: 1_000, authRequestsPerMinute: 10_000 })
})
afterAll(async () => await world[Symbol.asyncDispose]())

test('the setup link makes the first owner, signed in, and is good once', async () => {
  await using own = await startWorld()
  const token = await setupToken(own)
  const browser = openBrowser(own.apiUrl)
  const wish = { token, email: 'Ada@Example.com', name: 'Ada', password: PASSWORD }
  const made = await browser.visit('POST', '/auth/setup', wish)
  expect(made).toMatchObject({
    status: 201,
    body: {
      user: { id: expect.stringMatching(/^usr_/), email: 'ada@example.com', name: 'Ada' },
      organisations: [{ id: own.organisationId, name: 'Test', role: 'owner' }],
    },
  })
  expect((await browser.visit('GET', '/auth/session')).body).toEqual(made.body)
  const again = await openBrowser(own.apiUrl).visit('POST', '/auth/setup', {
    ...wish,
    email: 'eve@example.com',
  })
  expect(again.body).toMatchObject(REFUSED)
  await expect(setupToken(own)).rejects.toThrow('There is an owner already')
})

test('the setup link stays good when a stranger signs up first, whose organisation is not the own one', async () => {
  await using own = await startWorld({ signUp: 'open' })
  await own.pool.query('truncate organisation cascade')
  const token = await setupToken(own)
  const wish = { email: 'eve@example.com', name: 'Eve', password: PASSWORD }
  const stranger = openBrowser(own.apiUrl)
  await stranger.visit('POST', '/auth/sign-up', { ...wish, organisationName: 'Eve Ltd' })
  const isSetUp = async () => (await stranger.visit('GET', '/auth/options')).body.isSetUp
  expect(await isSetUp()).toBe(false)
  const made = await openBrowser(own.apiUrl).visit('POST', '/auth/setup', {
    ...wish,
    token,
    email: 'ada@example.com',
  })
  expect(made.body.organisations).toMatchObject([{ name: 'Main', role: 'owner' }])
  expect(await isSetUp()).toBe(true)
  await expect(setupToken(own)).rejects.toThrow('There is an owner already')
})

test('twenty use a setup link at once and one becomes the owner', async () => {
  await using own = await startWorld()
  const token = await setupToken(own)
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const wish = { token, email: `p${n}@example.com`, name: 'P', password: PASSWORD }
      return await openBrowser(own.apiUrl).visit('POST', '/auth/setup', wish)
    }),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(19)
  expect((await own.pool.query('select 1 from person')).rowCount).toBe(1)
})

test('a setup link ends after a day, and when another is made', async () => {
  await using own = await startWorld()
  const [first, second] = [await setupToken(own), await setupToken(own)]
  const use = async (token: string) => {
    const wish = { token, email: 'ada@example.com', name: 'Ada', password: PASSWORD }
    return (await openBrowser(own.apiUrl).visit('POST', '/auth/setup', wish)).status
  }
  expect(await use(first)).toBe(401)
  own.clock.advance(DAY_MS + 1)
  expect(await use(second)).toBe(401)
  expect(await use(await setupToken(own))).toBe(201)
})

test('an installation without an organisation gets one with its first owner', async () => {
  await using own = await startWorld()
  await own.pool.query('truncate organisation cascade')
  const browser = openBrowser(own.apiUrl)
  const wish = { token: await setupToken(own), email: 'a@b.co', name: 'A', password: PASSWORD }
  const made = await browser.visit('POST', '/auth/setup', wish)
  expect(made.body.organisations).toMatchObject([{ name: 'Main', role: 'owner' }])
  const { data } = (await browser.visit('GET', '/auth/projects')).body
  const organisationId = made.body.organisations[0].id
  expect(data).toEqual([
    {
      id: expect.stringMatching(/^prj_/),
      organisationId,
      name: 'Default',
      isDefault: true,
      createdAt: expect.any(String),
    },
  ])
  const sources = await browser.visit('POST', `/app/api/${data[0].id}/sources`, { name: 'first' })
  expect(sources.status).toBe(201)
})

test('a person signs in, reads who they are, signs out; the cookie is dead then', async () => {
  await seedPerson(world, 'bea@example.com', { [world.organisationId]: 'member' })
  const browser = await signIn(world, 'bea@example.com')
  const { cookie } = browser
  expect(browser.setCookie).toMatch(
    /^postern=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
  )
  const session = await browser.visit('GET', '/auth/session')
  expect(session.headers.get('cache-control')).toBe('no-store')
  expect(session.body).toMatchObject({
    user: { email: 'bea@example.com' },
    organisations: [{ id: world.organisationId, role: 'member' }],
  })
  expect((await browser.visit('POST', '/auth/sign-out')).status).toBe(204)
  expect(browser.cookie).not.toContain('postern=')
  const dead = await browser.visit('GET', '/auth/session', undefined, { cookie: cookie ?? '' })
  expect(dead.body).toMatchObject(REFUSED)
})

test('behind TLS the cookie can be set by the host alone and is sent over TLS alone', async () => {
  await using own = await startWorld({ trustedProxies: ['127.0.0.0/8'] })
  await seedPerson(own, 'tls@example.com', {})
  const origin = own.apiUrl.replace('http:', 'https:')
  const forwarded = { headers: { 'x-forwarded-proto': 'https' }, origin }
  const browser = openBrowser(own.apiUrl)
  const body = { email: 'tls@example.com', password: PASSWORD }
  expect((await browser.visit('POST', '/auth/sign-in', body, forwarded)).status).toBe(200)
  expect(browser.setCookie).toMatch(
    /^__Host-postern=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  )
  expect((await browser.visit('GET', '/auth/session', undefined, forwarded)).status).toBe(200)
  const plain = browser.cookie?.replace('__Host-', '') ?? ''
  const tossed = await browser.visit('GET', '/auth/session', undefined, {
    ...forwarded,
    cookie: plain,
  })
  expect(tossed.status).toBe(401)
})

test('a wrong password and an unknown person get one answer for the same work', async () => {
  await seedPerson(world, 'cal@example.com', {})
  const tries = ['cal@example.com', 'nobody@example.com'].map((email) => ({
    email,
    password: 'wrong password',
  }))
  const seen = []
  for (const body of tries) {
    const before = work.hashes
    const { status, body: said } = await openBrowser(world.apiUrl).visit(
      'POST',
      '/auth/sign-in',
      body,
    )
    seen.push({ status, said, hashes: work.hashes - before })
  }
  expect(seen[0]).toMatchObject({ status: 401, said: REFUSED, hashes: 1 })
  expect(seen[1]).toEqual(seen[0])
})

test('a session that was there before the sign-in ends with it: nobody can fix one for another', async () => {
  await seedPerson(world, 'dan@example.com', {})
  await seedPerson(world, 'eve@example.com', {})
  const eve = await signIn(world, 'eve@example.com')
  const planted = eve.cookie ?? ''
  const dan = openBrowser(world.apiUrl)
  const body = { email: 'dan@example.com', password: PASSWORD }
  await dan.visit('POST', '/auth/sign-in', body, { cookie: planted })
  expect(dan.cookie).not.toBe(planted)
  expect((await dan.visit('GET', '/auth/session')).body.user.email).toBe('dan@example.com')
  expect((await eve.visit('GET', '/auth/session')).status).toBe(401)
  const invented = `postern=${'a'.repeat(43)}`
  await dan.visit('POST', '/auth/sign-in', body, { cookie: invented })
  expect(dan.cookie).not.toBe(invented)
  expect((await dan.visit('GET', '/auth/session', undefined, { cookie: invented })).status).toBe(
    401,
  )
})

test('the database holds no token and no password', async () => {
  await seedPerson(world, 'fay@example.com', {})
  const browser = await signIn(world, 'fay@example.com')
  const token = /^postern=([^;]+)/.exec(browser.cookie ?? '')?.[1] ?? ''
  const { rows } = await world.pool.query('select token_hash from session where token_hash = $1', [
    hashSecret(token),
  ])
  expect(rows).toHaveLength(1)
  const asCookie = `postern=${rows[0].token_hash.toString('base64url')}`
  expect(
    (await browser.visit('GET', '/auth/session', undefined, { cookie: asCookie })).status,
  ).toBe(401)
  const people = await world.pool.query('select password_hash from person')
  for (const { password_hash: hash } of people.rows) {
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  }
})

test('a session lasts seven days past its last request, and thirty in all', async () => {
  await using own = await startWorld()
  await seedPerson(own, 'gus@example.com', {})
  const idle = await signIn(own, 'gus@example.com')
  const busy = await signIn(own, 'gus@example.com')
  const looks = async (browser: typeof idle) => (await browser.visit('GET', '/auth/session')).status
  for (const _ of [1, 2, 3, 4]) {
    own.clock.advance(6 * DAY_MS)
    expect(await looks(busy)).toBe(200)
  }
  expect(await looks(idle)).toBe(401)
  own.clock.advance(6 * DAY_MS)
  expect(await looks(busy)).toBe(401)
})

test('a changed password ends the other sessions; signing out everywhere ends them all', async () => {
  await seedPerson(world, 'hal@example.com', {})
  const [here, there] = [
    await signIn(world, 'hal@example.com'),
    await signIn(world, 'hal@example.com'),
  ]
  const change = async (currentPassword: string) =>
    await here.visit('POST', '/auth/password', { currentPassword, newPassword: 'another password' })
  expect((await change('a wrong one')).body).toMatchObject({
    code: 'BAD_REQUEST',
    data: { fields: [{ path: 'body.currentPassword', message: 'Is not your password' }] },
  })
  expect((await there.visit('GET', '/auth/session')).status).toBe(200)
  expect((await change(PASSWORD)).status).toBe(204)
  expect((await there.visit('GET', '/auth/session')).status).toBe(401)
  expect((await here.visit('GET', '/auth/session')).status).toBe(200)
  const browser = openBrowser(world.apiUrl)
  const body = { email: 'hal@example.com', password: 'another password' }
  expect((await browser.visit('POST', '/auth/sign-in', body)).status).toBe(200)
  expect((await here.visit('POST', '/auth/sign-out', { everywhere: true })).status).toBe(204)
  expect((await browser.visit('GET', '/auth/session')).status).toBe(401)
})

test('a write of another site, or of none, is refused before it is looked at', async () => {
  await seedPerson(world, 'ina@example.com', { [world.organisationId]: 'owner' })
  const browser = await signIn(world, 'ina@example.com')
  const writes: [string, unknown][] = [
    ['/auth/sign-in', { email: 'ina@example.com', password: PASSWORD }],
    ['/auth/sign-out', undefined],
    [`/app/api/${world.projectId}/sources`, { name: 'forged' }],
  ]
  for (const [path, body] of writes) {
    for (const origin of [
      'https://evil.example',
      'null',
      world.apiUrl.replace('127', '128'),
      null,
    ]) {
      const answer = await browser.visit('POST', path, body, { origin })
      expect(answer.body, `${path} from ${origin}`).toMatchObject({
        code: 'FORBIDDEN',
        status: 403,
      })
    }
  }
  const { rowCount } = await world.pool.query(`select 1 from source where name = 'forged'`)
  expect(rowCount).toBe(0)
  expect((await browser.visit('GET', '/auth/session')).status).toBe(200)
})

test('a body that is not declared as JSON is refused', async () => {
  const headers = { 'content-type': 'text/plain' }
  const body = { email: 'ina@example.com', password: PASSWORD }
  const answer = await openBrowser(world.apiUrl).visit('POST', '/auth/sign-in', body, { headers })
  expect(answer.body).toMatchObject({
    code: 'BAD_REQUEST',
    data: { fields: [{ path: 'headers.content-type' }] },
  })
})

test('an address has ten attempts to sign in a minute and sixty other requests', async () => {
  await using own = await startWorld()
  const browser = openBrowser(own.apiUrl)
  const guess = async (headers = {}) =>
    await browser.visit('POST', '/auth/sign-in', { email: 'a@b.co', password: 'x' }, { headers })
  const guesses = await Promise.all(Array.from({ length: 15 }, async () => await guess()))
  expect(guesses.filter(({ status }) => status === 401)).toHaveLength(10)
  const refused = guesses.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(5)
  expect(refused[0]?.body).toMatchObject({ code: 'RATE_LIMITED', data: { limit: 10 } })
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(50)
  // No proxy is trusted here, so that nobody can speak for another address.
  expect((await guess({ 'x-forwarded-for': '203.0.113.9' })).status).toBe(429)
  const others = await Promise.all(
    Array.from({ length: 65 }, async () => (await browser.visit('GET', '/auth/session')).status),
  )
  expect(others.filter((status) => status === 401)).toHaveLength(60)
  expect(others.filter((status) => status === 429)).toHaveLength(5)
  own.clock.advance(61_000)
  expect((await guess()).status).toBe(401)
})

test('behind a trusted proxy each address counts for itself, and an IPv6 network as one', async () => {
  await using own = await startWorld({ trustedProxies: ['127.0.0.0/8'], signInsPerMinute: 2 })
  const guess = async (address: string) => {
    const headers = { 'x-forwarded-for': address }
    const body = { email: `${address.replaceAll(':', '-')}@b.co`, password: 'x' }
    return (await openBrowser(own.apiUrl).visit('POST', '/auth/sign-in', body, { headers })).status
  }
  const statuses: number[] = []
  for (const address of ['203.0.113.9', '203.0.113.9', '203.0.113.9', '203.0.113.10']) {
    statuses.push(await guess(address))
  }
  // Whoever invents hops in front is still known by the last.
  statuses.push(await guess('198.51.100.1, 203.0.113.9'))
  expect(statuses).toEqual([401, 401, 429, 401, 429])
  const network: number[] = []
  for (const address of [
    '2001:db8::1',
    '2001:db8:0:0:1::2',
    '2001:db8:0:0:ffff::',
    '2001:db8:0:1::1',
  ]) {
    network.push(await guess(address))
  }
  expect(network).toEqual([401, 401, 429, 401])
})

test('an account is not guessed at from many addresses', async () => {
  await using own = await startWorld({ trustedProxies: ['127.0.0.0/8'] })
  await seedPerson(own, 'jo@example.com', {})
  const guess = async (n: number, password: string) => {
    const headers = { 'x-forwarded-for': `203.0.113.${n}` }
    const body = { email: 'jo@example.com', password }
    return await openBrowser(own.apiUrl).visit('POST', '/auth/sign-in', body, { headers })
  }
  const statuses = []
  for (let n = 0; n < 20; n++) statuses.push((await guess(n, 'wrong')).status)
  expect(new Set(statuses)).toEqual(new Set([401]))
  const late = await guess(100, 'wrong')
  expect(late.body).toMatchObject({ code: 'RATE_LIMITED', data: { limit: 20 } })
})

test('strangers who use up the attempts of an account shut out neither its known browsers nor its sessions', async () => {
  const email = 'max@example.com'
  await seedPerson(world, email, {})
  const known = await signIn(world, email)
  const away = await signIn(world, email)
  await away.visit('POST', '/auth/sign-out')
  const enter = async (browser: Browser, password = PASSWORD) =>
    (await browser.visit('POST', '/auth/sign-in', { email, password })).status
  const stranger = openBrowser(world.apiUrl)
  for (let n = 0; n < 20; n++) expect(await enter(stranger, 'wrong')).toBe(401)
  expect(await enter(stranger)).toBe(429)
  expect(await enter(away)).toBe(200)
  expect((await known.visit('POST', '/auth/confirm-password', { password: PASSWORD })).status).toBe(
    204,
  )
  const wish = { currentPassword: PASSWORD, newPassword: PASSWORD }
  expect((await known.visit('POST', '/auth/password', wish)).status).toBe(204)
  expect(await enter(stranger), 'strangers stay out').toBe(429)
  expect(await enter(known), 'the browser that changed the password is known').toBe(200)
  expect(await enter(away), 'another one is a stranger by the change').toBe(429)
})

test('a known browser and a session have twenty attempts of their own, and no more', async () => {
  const email = 'nia@example.com'
  await seedPerson(world, email, {})
  const browser = await signIn(world, email)
  const confirm = async () =>
    (await browser.visit('POST', '/auth/confirm-password', { password: 'wrong' })).status
  for (let n = 0; n < 20; n++) expect(await confirm()).toBe(400)
  expect(await confirm()).toBe(429)
  const guess = async (password: string) =>
    (await browser.visit('POST', '/auth/sign-in', { email, password })).status
  for (let n = 0; n < 40; n++) expect(await guess('wrong')).toBe(401)
  expect(await guess(PASSWORD), 'those of strangers are used up as well').toBe(429)
})

test('a cookie of a known browser is good for its own account and password, unaltered, for 180 days', async () => {
  await using own = await startWorld({ signInsPerMinute: 1_000 })
  const email = 'oda@example.com'
  await seedPerson(own, email, {})
  await seedPerson(own, 'pat@example.com', {})
  const oda = await signIn(own, email)
  const pat = await signIn(own, 'pat@example.com')
  const cookieOf = (browser: Browser) => /postern-known-[^;]+/.exec(browser.cookie ?? '')?.[0] ?? ''
  const [name = '', sealed = ''] = cookieOf(oda).split('=')
  const enter = async (cookie: string) =>
    await openBrowser(own.apiUrl).visit(
      'POST',
      '/auth/sign-in',
      { email, password: 'wrong' },
      { cookie },
    )
  for (let n = 0; n < 20; n++) await enter('')
  const forged = [
    '',
    `${name}=${cookieOf(pat).split('=')[1]}`,
    `${name}=${sealed.slice(0, -6)}AAAAAA`,
    `${name}=${Buffer.from('{"id":"x"}').toString('base64url')}`,
    `${name}=${'A'.repeat(2_000)}`,
  ]
  for (const cookie of forged) expect((await enter(cookie)).status, cookie).toBe(429)
  expect((await enter(`${name}=${sealed}`)).status).toBe(401)
  own.clock.advance(181 * DAY_MS)
  expect((await enter(`${name}=${sealed}`)).status).toBe(429)
})

test('no password is hashed for a link that is not good, nor for an address that is taken', async () => {
  await using own = await startWorld({ signUp: 'open', authRequestsPerMinute: 1_000 })
  await seedPerson(own, 'taken@example.com', {})
  const browser = openBrowser(own.apiUrl)
  const before = work.hashes
  const person = { email: 'taken@example.com', name: 'P', password: PASSWORD }
  const answers = [
    await browser.visit('POST', '/auth/reset', { token: 'x', password: PASSWORD }),
    await browser.visit('POST', '/auth/setup', { ...person, token: 'x' }),
    await browser.visit('POST', '/auth/invitations/accept', { ...person, token: 'x' }),
    await browser.visit('POST', '/auth/sign-up', { ...person, organisationName: 'O' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 409])
  expect(work.hashes).toBe(before)
})

test('a person has fifty sessions; the oldest ends', async () => {
  const personId = uuid('usr', await seedPerson(world, 'kim@example.com', {}))
  const first = await signIn(world, 'kim@example.com')
  const add = async (n: number) => {
    world.clock.advance(1)
    const now = new Date(world.clock.now())
    const tokenHash = hashSecret(`token-${n}`)
    await insertSession(world.db, {
      id: newId(now.getTime()),
      tokenHash,
      personId,
      now,
      authenticatedAt: now,
    })
  }
  for (let n = 0; n < 49; n++) await add(n)
  expect((await first.visit('GET', '/auth/session')).status).toBe(200)
  await add(49)
  expect((await first.visit('GET', '/auth/session')).status).toBe(401)
})

test('the housekeeper forgets sessions, links and windows that have ended, and no others', async () => {
  await using own = await startWorld()
  await seedPerson(own, 'lee@example.com', {})
  const browser = await signIn(own, 'lee@example.com')
  await setupToken(own)
  const rows = async () =>
    await Promise.all(
      ['session', 'account_link', 'account_limit'].map(
        async (table) => (await own.pool.query(`select 1 from ${table}`)).rowCount,
      ),
    )
  await pruneAccounts(own.db, own.clock.now())
  expect(await rows()).toEqual([1, 1, 1])
  expect((await browser.visit('GET', '/auth/session')).status).toBe(200)
  await pruneAccounts(own.db, own.clock.now() + 8 * DAY_MS)
  expect(await rows()).toEqual([0, 0, 0])
})
