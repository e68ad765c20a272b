import { afterAll, beforeAll, expect, test } from 'vitest'

import { openBrowser, PASSWORD, seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { startMailServer, textOf, type MailServer } from '../kit/mail-server.ts'
import { eventually } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let server: MailServer
let world: World
beforeAll(async () => {
  server = await startMailServer()
  world = await startWorld({
    smtpUrl: server.url,
    signUp: 'open',
    signInsPerMinute: 10_000,
    authRequestsPerMinute: 10_000,
  })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const wishOf = (email: string) => ({
  email,
  name: 'Sue',
  password: PASSWORD,
  organisationName: 'Sue Ltd',
})

/** The last mail to an address that has these words. */
async function mailTo(email: string, words: RegExp): Promise<string> {
  return await eventually(() => {
    const texts = server.received.filter(({ to }) => to.includes(email)).map(textOf)
    const found = texts.findLast((text) => words.test(text))
    if (found === undefined) throw new Error(`No such mail to ${email}: ${texts.join('\n')}`)
    return found
  })
}

async function tokenTo(email: string, page: string): Promise<string> {
  const link = new RegExp(`https://relay\\.test/${page}#([\\w-]{43})`)
  return link.exec(await mailTo(email, link))?.[1] ?? ''
}

const people = async (email: string) =>
  (await world.pool.query('select 1 from person where email = $1', [email])).rowCount

/** An account of the sort that was made before its address was proved, with an organisation of its own. */
async function impostor(email: string) {
  const { organisationId } = await world.createTenant()
  await seedPerson(world, email, { [organisationId]: 'owner' })
  await world.pool.query('update person set email_verified_at = null where email = $1', [email])
  return { organisationId, browser: await signIn(world, email) }
}

const post = async (browser: Browser, path: string, body: object) =>
  await browser.visit('POST', `/auth${path}`, body)

test('a sign-up makes no account and mails a link, with which the owner of the address makes one', async () => {
  const email = 'sue@example.com'
  const stranger = openBrowser(world.apiUrl)
  const asked = await post(stranger, '/sign-up', wishOf('Sue@Example.com'))
  expect([asked.status, asked.body, stranger.cookie]).toEqual([202, undefined, undefined])
  const token = await tokenTo(email, 'sign-up')
  expect(await people(email)).toBe(0)
  expect((await post(stranger, '/sign-in', { email, password: PASSWORD })).status).toBe(401)

  const sue = openBrowser(world.apiUrl)
  const made = await post(sue, '/sign-up', { ...wishOf(email), password: 'her own words', token })
  expect(made).toMatchObject({
    status: 201,
    body: {
      user: { email, isVerified: true },
      organisations: [{ name: 'Sue Ltd', role: 'owner' }],
    },
  })
  expect((await sue.visit('GET', '/auth/session')).body).toEqual(made.body)
  const again = await post(stranger, '/sign-up', { ...wishOf(email), token })
  expect(again.body).toMatchObject({ code: 'UNAUTHORIZED' })
  expect((await post(stranger, '/sign-in', { email, password: PASSWORD })).status).toBe(401)
})

test('a link for signing up is good for its address alone and for a day, and ends with the use of another', async () => {
  const email = 'tom@example.com'
  const browser = openBrowser(world.apiUrl)
  const seen = new Set<string>()
  const ask = async () => {
    expect((await post(browser, '/sign-up/link', { email })).status).toBe(202)
    const token = await eventually(async () => {
      const found = await tokenTo(email, 'sign-up')
      if (seen.has(found)) throw new Error('There is no new mail')
      return found
    })
    seen.add(token)
    return token
  }
  const use = async (token: string) =>
    (await post(browser, '/sign-up', { ...wishOf(email), token })).status
  const first = await ask()
  const other = await post(browser, '/sign-up', { ...wishOf('eve@example.com'), token: first })
  expect(other.body).toMatchObject({ code: 'FORBIDDEN' })
  expect((await post(browser, '/sign-up', { ...wishOf(email), token: 'x' })).status).toBe(401)
  world.clock.advance(24 * 3_600_000 + 1)
  expect(await use(first)).toBe(401)
  expect([await people(email), await people('eve@example.com')]).toEqual([0, 0])
  const [second, third] = [await ask(), await ask()]
  expect(await use(second)).toBe(201)
  expect(await use(third)).toBe(401)
})

test('twenty use a link for signing up at once and one account is made', async () => {
  const email = 'ufo@example.com'
  await post(openBrowser(world.apiUrl), '/sign-up/link', { email })
  const token = await tokenTo(email, 'sign-up')
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      async () => await post(openBrowser(world.apiUrl), '/sign-up', { ...wishOf(email), token }),
    ),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(19)
  expect(await people(email)).toBe(1)
})

test('signing up says the same of an address that has an account, which a mail tells its owner', async () => {
  const email = 'uma@example.com'
  await seedPerson(world, email, { [world.organisationId]: 'member' })
  const browser = openBrowser(world.apiUrl)
  for (const [path, body] of [
    ['/sign-up', wishOf(email)],
    ['/sign-up/link', { email }],
  ] as const) {
    const asked = await post(browser, path, body)
    expect([asked.status, asked.body]).toEqual([202, undefined])
  }
  const text = await mailTo(email, /There is one already/)
  expect(text).toContain('https://relay.test/sign-in')
  expect(text).not.toContain('#')
})

test('the owner of an address who asks for a new password gets nothing of an account that was made before', async () => {
  const email = 'vic@corp.example'
  const { organisationId, browser } = await impostor(email)
  const at = `/organisations/${organisationId}`
  const { key } = (await post(browser, `${at}/keys`, { name: 'k', permissions: null })).body
  const { token: agent } = (await post(browser, `${at}/agents`, { name: 'a' })).body
  await seedPerson(world, 'second@evil.example', { [organisationId]: 'owner' })

  const victim = openBrowser(world.apiUrl)
  await post(victim, '/forgot-password', { email })
  const token = await tokenTo(email, 'reset')
  expect(await mailTo(email, /never proved/)).toContain('begins a new account')
  expect((await post(victim, '/reset', { token, password: 'her own words' })).status).toBe(204)
  const session = await post(victim, '/sign-in', { email, password: 'her own words' })
  expect(session.body).toMatchObject({ user: { email, name: email, isVerified: true } })
  expect(session.body.organisations).toMatchObject([{ name: email, role: 'owner' }])
  expect(session.body.organisations[0].id).not.toBe(organisationId)

  expect((await browser.visit('GET', '/auth/session')).status).toBe(401)
  expect((await post(victim, '/sign-in', { email, password: PASSWORD })).status).toBe(401)
  expect((await world.api('GET', '/v1/sources', undefined, { key })).status).toBe(401)
  const called = await fetch(`${world.apiUrl}/capabilities/sources.list`, {
    method: 'POST',
    headers: { authorization: `Bearer ${agent}`, 'content-type': 'application/json' },
    body: '{}',
  })
  expect(called.status).toBe(401)
  const { rows } = await world.pool.query(
    'select action, actor from audit where organisation_id = $1 and actor = $2 order by id',
    [uuid('org', organisationId), 'postern'],
  )
  expect(rows.map(({ action }) => action)).toEqual([
    'api_key.revoke',
    'agent.revoke',
    'member.remove',
  ])
})

test('the owner of an address who signs up gets nothing of an account that was made before', async () => {
  const email = 'wim@corp.example'
  const { organisationId, browser } = await impostor(email)
  const victim = openBrowser(world.apiUrl)
  await post(victim, '/sign-up/link', { email })
  const token = await tokenTo(email, 'sign-up')
  const made = await post(victim, '/sign-up', { ...wishOf(email), token })
  expect(made.body.organisations).toMatchObject([{ name: 'Sue Ltd' }])
  expect(made.body.organisations[0].id).not.toBe(organisationId)
  expect((await browser.visit('GET', '/auth/session')).status).toBe(401)
})

test('a person proves the address by a mailed link, in their own session alone, and mails invitations then', async () => {
  const email = 'xia@example.com'
  const { organisationId, browser } = await impostor(email)
  const invite = async (to: string) =>
    (await post(browser, `/organisations/${organisationId}/invitations`, { email: to })).body
  expect(await invite('one@example.com')).toMatchObject({
    isMailed: false,
    url: expect.stringContaining('/invite#'),
  })
  expect((await post(browser, '/verify/link', {})).status).toBe(202)
  const token = await tokenTo(email, 'verify')
  await seedPerson(world, 'yan@example.com', {})
  const other = await signIn(world, 'yan@example.com')
  expect((await post(other, '/verify', { token })).status).toBe(401)
  expect((await post(openBrowser(world.apiUrl), '/verify', { token })).status).toBe(401)
  const proved = await post(browser, '/verify', { token })
  expect(proved).toMatchObject({ status: 200, body: { user: { email, isVerified: true } } })
  expect((await post(browser, '/verify', { token })).status).toBe(401)
  expect(await invite('two@example.com')).toMatchObject({ isMailed: true })
})

test('an invitation of a stranger does not prove the address of whoever accepts it; the own organisation vouches', async () => {
  const strangers = await world.createTenant()
  const accounts = []
  for (const organisationId of [strangers.organisationId, world.organisationId]) {
    const boss = `boss-${organisationId.slice(-9)}@example.com`
    await seedPerson(world, boss, { [organisationId]: 'owner' })
    const browser = await signIn(world, boss)
    const email = `new-${organisationId.slice(-9)}@corp.example`
    const path = `/organisations/${organisationId}/invitations`
    const { url } = (await post(browser, path, { email })).body
    const body = { token: url.split('#')[1], email, name: 'N', password: PASSWORD }
    accounts.push((await post(openBrowser(world.apiUrl), '/invitations/accept', body)).body)
  }
  expect(accounts.map(({ user }) => user.isVerified)).toEqual([false, true])
})

test('without a mail server an account is made at once, its address is not proved, and no link can be mailed', async () => {
  await using own = await startWorld({ signUp: 'open' })
  const browser = openBrowser(own.apiUrl)
  const made = await post(browser, '/sign-up', wishOf('zoe@example.com'))
  expect(made).toMatchObject({ status: 201, body: { user: { isVerified: false } } })
  for (const [path, body] of [
    ['/verify/link', {}],
    ['/sign-up/link', { email: 'zoe@example.com' }],
  ] as const) {
    expect((await post(browser, path, body)).body).toMatchObject({ code: 'FORBIDDEN' })
  }
  await using closed = await startWorld({ smtpUrl: server.url })
  const refused = await post(openBrowser(closed.apiUrl), '/sign-up/link', { email: 'q@b.co' })
  expect(refused.body).toMatchObject({ code: 'FORBIDDEN' })
})
