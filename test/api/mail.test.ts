import { afterAll, beforeAll, expect, test } from 'vitest'

import { MailFailed, openMailer } from '../../core/mail/mailer.ts'
import { openBrowser, PASSWORD, seedPerson, signIn } from '../kit/browser-like.ts'
import { startMailServer, textOf, type MailServer } from '../kit/mail-server.ts'
import { eventually } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { MAIL_ORIGIN, startWorld, type World } from '../kit/world.ts'

const from = 'Postern <postern@relay.test>'
const mail = { to: 'ada@example.com', subject: 'Hello', text: 'Words\n', html: '<p>Words</p>' }

let server: MailServer
let world: World
beforeAll(async () => {
  server = await startMailServer()
  world = await startWorld({
    smtpUrl: server.url,
    signInsPerMinute: 1_000,
    authRequestsPerMinute: 10_000,
  })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test('a mail arrives as text and as HTML, from whom the settings say, and says that a program sent it', async () => {
  await using own = await startMailServer()
  await openMailer({ url: own.url, from }).send(mail)
  const [got] = own.received
  expect(got).toMatchObject({ from: 'postern@relay.test', to: ['ada@example.com'] })
  expect(got?.raw).toMatch(/^from: Postern <postern@relay\.test>$/im)
  expect(got?.raw).toMatch(/^auto-submitted: auto-generated$/im)
  expect(got?.raw).toMatch(/text\/plain[^]*Words[^]*text\/html[^]*<p>Words<\/p>/)
})

test('nothing in a name or a subject makes a header or a recipient of its own', async () => {
  await using own = await startMailServer()
  const subject = 'Hello\r\nBcc: eve@example.com\r\n\r\nEvil'
  await openMailer({ url: own.url, from }).send({ ...mail, subject })
  expect(own.received[0]?.to).toEqual(['ada@example.com'])
  expect(own.received[0]?.raw).not.toMatch(/^bcc:/im)
  await expect(
    openMailer({ url: own.url, from }).send({ ...mail, to: 'ada@example.com, eve@example.com' }),
  ).rejects.toThrow(MailFailed)
})

test('the user and the password of the URL are given; wrong ones are told without the password', async () => {
  await using own = await startMailServer({ login: { user: 'relay', password: 'open-sesame' } })
  await openMailer({ url: own.url, from }).send(mail)
  expect(own.received).toHaveLength(1)
  const wrong = own.url.replace('sesame', 'barley')
  const failure = await openMailer({ url: wrong, from })
    .send(mail)
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(MailFailed)
  expect(String(failure)).not.toContain('barley')
})

test('a refusal for good is told from one for now', async () => {
  await using never = await startMailServer({ refusal: { code: 550, message: 'No such user' } })
  await using later = await startMailServer({ refusal: { code: 451, message: 'Come again' } })
  const failure = async (url: string) =>
    await openMailer({ url, from })
      .send(mail)
      .catch((error: unknown) => error)
  expect(await failure(never.url)).toMatchObject({ isLasting: true, message: /No such user/ })
  expect(await failure(later.url)).toMatchObject({ isLasting: false })
  expect(await failure('smtp://127.0.0.1:1')).toMatchObject({ isLasting: false })
})

test('a mail server that says nothing is given up', async () => {
  await using own = await startMailServer({ isSilent: true })
  const failure = await openMailer({ url: own.url, from })
    .send(mail)
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({ name: 'MailFailed', isLasting: false })
})

test('whoever forgot the password gets a link by mail, which sets a new one once', async () => {
  const email = 'lost@example.com'
  await seedPerson(world, email, { [world.organisationId]: 'member' })
  const there = await signIn(world, email)
  const asked = await openBrowser(world.apiUrl).visit('POST', '/auth/forgot-password', {
    email: 'Lost@Example.com',
  })
  expect(asked.status).toBe(202)
  const token = await eventually(() => tokenTo(email, 'reset'))
  const browser = openBrowser(world.apiUrl)
  const wish = { token, password: 'a quite new password' }
  expect((await browser.visit('POST', '/auth/reset', wish)).status).toBe(204)
  expect((await browser.visit('POST', '/auth/reset', wish)).status).toBe(401)
  expect((await there.visit('GET', '/auth/session')).status).toBe(401)
  const body = { email, password: 'a quite new password' }
  expect((await browser.visit('POST', '/auth/sign-in', body)).status).toBe(200)
  const { rows } = await world.pool.query('select 1 from account_link')
  expect(rows).toEqual([])
})

test('asking for a link says the same of an account that is not there, and sends nothing', async () => {
  const before = server.received.length
  const ask = async (email: string) =>
    await openBrowser(world.apiUrl).visit('POST', '/auth/forgot-password', { email })
  await seedPerson(world, 'there@example.com', {})
  const [there, nowhere] = [await ask('there@example.com'), await ask('nowhere@example.com')]
  expect({ status: nowhere.status, body: nowhere.body }).toEqual({
    status: there.status,
    body: there.body,
  })
  await eventually(() => expect(server.received.length).toBeGreaterThan(before))
  expect(server.received.slice(before).map(({ to }) => to)).toEqual([['there@example.com']])
})

test('a mailed link ends after an hour and with the use of another, and not when another is mailed', async () => {
  await using own = await startWorld({ smtpUrl: server.url })
  const email = 'late@example.com'
  await seedPerson(own, email, {})
  const ask = async () => {
    const before = server.received.length
    await openBrowser(own.apiUrl).visit('POST', '/auth/forgot-password', { email })
    await eventually(() => expect(server.received.length).toBeGreaterThan(before))
    return tokenTo(email, 'reset')
  }
  const use = async (token: string) => {
    const wish = { token, password: PASSWORD }
    return (await openBrowser(own.apiUrl).visit('POST', '/auth/reset', wish)).status
  }
  const [first, second] = [await ask(), await ask()]
  expect(await use(first)).toBe(204)
  expect(await use(second)).toBe(401)
  const third = await ask()
  own.clock.advance(61 * 60_000)
  expect(await use(third)).toBe(401)
  expect(await use(await ask())).toBe(204)
})

test('a link that was mailed ends when the person changes the password, and the audit has the change', async () => {
  const email = 'changed@example.com'
  const personId = await seedPerson(world, email, { [world.organisationId]: 'member' })
  const browser = await signIn(world, email)
  await openBrowser(world.apiUrl).visit('POST', '/auth/forgot-password', { email })
  const token = await eventually(() => tokenTo(email, 'reset'))
  const wish = { currentPassword: PASSWORD, newPassword: 'a quite new password' }
  expect((await browser.visit('POST', '/auth/password', wish)).status).toBe(204)
  const reset = { token, password: 'that of somebody else' }
  expect((await openBrowser(world.apiUrl).visit('POST', '/auth/reset', reset)).status).toBe(401)
  const { rows } = await world.pool.query(
    `select subject_id from audit where action = 'user.change-password'`,
  )
  expect(rows).toEqual([{ subject_id: uuid('usr', personId) }])
})

test('an address gets five mails and no more; the link of the last one stays good', async () => {
  const email = 'flooded@example.com'
  await seedPerson(world, email, {})
  const ask = async () =>
    await openBrowser(world.apiUrl).visit('POST', '/auth/forgot-password', { email })
  const mails = () => server.received.filter(({ to }) => to.includes(email)).length
  for (let count = 1; count <= 5; count++) {
    await ask()
    await eventually(() => expect(mails()).toBe(count))
  }
  const token = tokenTo(email, 'reset')
  for (const _ of [1, 2, 3]) expect((await ask()).status).toBe(202)
  const wish = { token, password: PASSWORD }
  expect((await openBrowser(world.apiUrl).visit('POST', '/auth/reset', wish)).status).toBe(204)
  expect(mails()).toBe(5)
})

test('strangers who ask for links use up neither those of the owner nor the invitations of an admin', async () => {
  await using own = await startWorld({
    smtpUrl: server.url,
    trustedProxies: ['127.0.0.0/8'],
    signInsPerMinute: 1_000,
  })
  const email = 'sought@example.com'
  await seedPerson(own, email, {})
  await seedPerson(own, 'boss@example.com', { [own.organisationId]: 'owner' })
  const known = await signIn(own, email)
  const boss = await signIn(own, 'boss@example.com')
  const mails = () => server.received.filter(({ to }) => to.includes(email)).length
  const ask = async (address: string, browser = openBrowser(own.apiUrl)) => {
    const headers = { 'x-forwarded-for': address }
    await browser.visit('POST', '/auth/forgot-password', { email }, { headers })
    await settled(own)
  }
  for (let n = 0; n < 6; n++) await ask('203.0.113.1')
  expect(mails()).toBe(5)
  await ask('198.51.100.1')
  expect(mails(), 'another client asks').toBe(6)
  for (let n = 0; n < 10; n++) await ask(`203.0.114.${n}`)
  expect(mails(), 'all strangers together have ten').toBe(10)
  const token = tokenTo(email, 'reset')
  await ask('198.51.100.2')
  expect(mails()).toBe(10)
  await ask('198.51.100.2', known)
  expect(mails(), 'a browser that signed in before asks').toBe(11)
  const path = `/auth/organisations/${own.organisationId}/invitations`
  expect((await boss.visit('POST', path, { email })).body).toMatchObject({ isMailed: true })
  const wish = { token, password: PASSWORD }
  expect((await openBrowser(own.apiUrl).visit('POST', '/auth/reset', wish)).status).toBe(204)
})

test('an organisation mails twenty invitations a day, five of them to one address, without links in names', async () => {
  const { organisationId } = await world.createTenant()
  const email = 'prize@example.com'
  await seedPerson(world, email, { [organisationId]: 'owner' })
  const owner = await signIn(world, email)
  const at = `/auth/organisations/${organisationId}`
  await owner.visit('PATCH', '/auth/session', { name: 'WIN 1000 EUR: http://evil.test/win' })
  await owner.visit('PATCH', at, { name: 'Claim at evil.test/claim now' })
  const invite = async (to: string): Promise<boolean> =>
    (await owner.visit('POST', `${at}/invitations`, { email: to })).body.isMailed
  const mailed: boolean[] = []
  for (let n = 0; n < 6; n++) mailed.push(await invite('one@example.com'))
  expect(mailed).toEqual([true, true, true, true, true, false])
  const { raw = '' } = server.received.at(-1) ?? {}
  expect(raw.replaceAll(/=\r\n/g, '')).not.toContain('evil')
  for (let n = 0; n < 17; n++) mailed.push(await invite(`other-${n}@example.com`))
  expect(mailed.filter(Boolean)).toHaveLength(20)
})

test('an invitation is mailed with its link, whatever host the request names', async () => {
  await seedPerson(world, 'boss@example.com', { [world.organisationId]: 'owner' })
  const boss = await signIn(world, 'boss@example.com')
  const path = `/auth/organisations/${world.organisationId}/invitations`
  const made = await boss.visit('POST', path, { email: 'new@example.com', role: 'admin' })
  expect(made).toMatchObject({ status: 201, body: { isMailed: true } })
  const token = tokenTo('new@example.com', 'invite')
  const text = textOf(server.received.at(-1) ?? { from: '', to: [], raw: '' })
  expect(text).toContain(`${MAIL_ORIGIN}/invite#${token}`)
  expect(text).toContain('Somebody invites you to join "Test" as an admin')
  const wish = { token, email: 'new@example.com', name: 'New', password: PASSWORD }
  const joined = await openBrowser(world.apiUrl).visit('POST', '/auth/invitations/accept', wish)
  expect(joined.status).toBe(201)
})

test('an invitation is made although its mail is refused; the link is in the answer', async () => {
  await using broken = await startMailServer({ refusal: { code: 550, message: 'Go away' } })
  await using own = await startWorld({ smtpUrl: broken.url })
  await seedPerson(own, 'boss@example.com', { [own.organisationId]: 'owner' })
  const boss = await signIn(own, 'boss@example.com')
  const path = `/auth/organisations/${own.organisationId}/invitations`
  const made = await boss.visit('POST', path, { email: 'new@example.com' })
  expect(made).toMatchObject({
    status: 201,
    body: { isMailed: false, url: expect.stringContaining('/invite#') },
  })
})

test('without a mail server nobody can ask for a link, and options say so', async () => {
  await using own = await startWorld()
  const browser = openBrowser(own.apiUrl)
  const asked = await browser.visit('POST', '/auth/forgot-password', { email: 'a@b.co' })
  expect(asked.body).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  expect((await browser.visit('GET', '/auth/options')).body).toMatchObject({ isMailing: false })
  const mailing = await openBrowser(world.apiUrl).visit('GET', '/auth/options')
  expect(mailing.body).toMatchObject({ isMailing: true })
})

/** Waits for the letters that are written behind the answers. */
async function settled({ deps }: World): Promise<void> {
  await deps.post?.[Symbol.asyncDispose]()
}

/** The token of the last link of a page that was mailed to an address. */
function tokenTo(email: string, page: 'reset' | 'invite'): string {
  const last = server.received.findLast(({ to }) => to.includes(email))
  if (last === undefined) throw new Error(`No mail came to ${email}`)
  const token = new RegExp(`${MAIL_ORIGIN}/${page}#([\\w-]+)`).exec(textOf(last))?.[1]
  if (token === undefined) throw new Error(`The mail has no link: ${last.raw}`)
  return token
}
