import { afterAll, beforeAll, expect, test } from 'vitest'

import { takeDueMails } from '../../core/db/alerts/alert-mails.ts'
import { newId } from '../../core/ids.ts'
import { openMailer } from '../../core/mail/mailer.ts'
import { sendAlertMails } from '../../dataplane/housekeeper/alerts/send-mails.ts'
import { seedPerson, signIn } from '../kit/browser-like.ts'
import { startMailServer, textOf } from '../kit/mail-server.ts'
import { seedConnector } from '../kit/seed-connector.ts'
import { uuid } from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'
import { look, MINUTE_MS, openWatch } from './desk.ts'

const FROM = 'Postern <postern@example.com>'

let world: World
beforeAll(async () => {
  world = await startWorld({ signInsPerMinute: 1_000, authRequestsPerMinute: 10_000 })
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** A tenant with people of each role, and connectors that were seen last so long ago. */
async function silentTenant(name: string, connectors: number): Promise<Tenant> {
  const tenant = await world.createTenant()
  for (const role of ['owner', 'admin', 'member'] as const) {
    await seedPerson(world, `${role}@${name}.example.com`, { [tenant.organisationId]: role })
  }
  for (let count = 0; count < connectors; count++) {
    const { connectorId } = await seedConnector({ ...world, ...tenant })
    await world.pool.query('update connector set last_seen_at = $2 where id = $1', [
      uuid('cnr', connectorId),
      new Date(world.clock.now()),
    ])
  }
  world.clock.advance(6 * MINUTE_MS)
  return tenant
}

async function lookTwice(): Promise<void> {
  const watches = [openWatch(world, { hasMail: true }), openWatch(world, { hasMail: true })]
  await look(...watches)
  await look(...watches)
}

const send = async (url: string): Promise<void> => {
  const deps = {
    ...world.deps,
    dashboardUrl: world.apiUrl,
    mailer: openMailer({ url, from: FROM }),
  }
  const always = (): boolean => true
  await Promise.all([sendAlertMails(deps, always), sendAlertMails(deps, always)])
}

test('owners and admins get one mail for all that is open, and members none, from two housekeepers', async () => {
  await using server = await startMailServer()
  const tenant = await silentTenant('one', 2)
  await lookTwice()
  await send(server.url)
  await send(server.url)
  expect(new Set(server.received.map(({ to }) => to[0]))).toEqual(
    new Set(['admin@one.example.com', 'owner@one.example.com']),
  )
  expect(server.received).toHaveLength(2)
  const [mail] = server.received
  expect(mail?.raw).toMatch(/^Subject: 2 alerts of Test\r$/m)
  const text = mail === undefined ? '' : textOf(mail)
  expect(text.match(/has had no replica since/g)).toHaveLength(2)
  expect(text).toContain(`/p/${tenant.projectId}/connectors/cnr_`)
  const { rows } = await world.pool.query('select from alert_mail')
  expect(rows).toEqual([])
})

test('when two senders look at once, a single one takes what is due to a person', async () => {
  await silentTenant('both', 30)
  await lookTwice()
  const waiting = 'select count(*)::int as count from alert_mail'
  const { rows } = await world.pool.query(waiting)
  for (let round = 0; round < 20; round++) {
    await world.pool.query(`update alert_mail set due_at = $1`, [new Date(world.clock.now())])
    const take = async () =>
      await takeDueMails(world.db, world.clock.now(), { limit: 200, firstWaitSeconds: 60 })
    const [one, other] = await Promise.all([take(), take()])
    expect(one.length + other.length).toBe(rows[0].count)
    const people = new Set(one.map(({ personId }) => personId))
    expect(other.filter(({ personId }) => people.has(personId))).toEqual([])
  }
  await world.pool.query('delete from alert_mail')
})

test('nobody gets a mail of what they do not want to hear of', async () => {
  await using server = await startMailServer()
  const tenant = await silentTenant('two', 1)
  const owner = await signIn(world, 'owner@two.example.com')
  const path = `/app/api/${tenant.projectId}/alerts/mails`
  const chosen = await owner.visit('PUT', path, { unwanted: ['connector.offline'] })
  expect(chosen.body).toMatchObject({ isOffered: false, unwanted: ['connector.offline'] })
  expect((await owner.visit('GET', path)).body).toEqual(chosen.body)
  expect((await owner.visit('PUT', path, { unwanted: ['nonsense'] })).status).toBe(400)
  await lookTwice()
  await send(server.url)
  expect(server.received.map(({ to }) => to)).toEqual([['admin@two.example.com']])
  const { body } = await owner.visit('GET', `/app/api/${tenant.projectId}/alerts`)
  expect(body.data).toMatchObject([{ notifications: [{ mails: 1, delivery: null }] }])
})

test('a mail that the server does not take is sent later, and one that it refuses for good is given up', async () => {
  await silentTenant('three', 1)
  await lookTwice()
  const busy = await startMailServer({ refusal: { code: 450, message: 'Later' } })
  await send(busy.url)
  await busy[Symbol.asyncDispose]()
  await using server = await startMailServer()
  await send(server.url)
  expect(server.received).toEqual([])
  world.clock.advance(2 * MINUTE_MS)
  await send(server.url)
  expect(server.received).toHaveLength(2)

  await silentTenant('four', 1)
  await lookTwice()
  await using refusing = await startMailServer({ refusal: { code: 550, message: 'Never' } })
  await send(refusing.url)
  const { rows } = await world.pool.query('select from alert_mail')
  expect(rows).toEqual([])
})

test('somebody who becomes a member gets no mail that waited for them', async () => {
  await using server = await startMailServer()
  const { organisationId } = await silentTenant('five', 1)
  await lookTwice()
  await world.pool.query(
    `update membership set role = 'member' where organisation_id = $1 and role = 'admin'`,
    [uuid('org', organisationId)],
  )
  await send(server.url)
  expect(server.received.map(({ to }) => to)).toEqual([['owner@five.example.com']])
  const { rows } = await world.pool.query('select from alert_mail')
  expect(rows).toEqual([])
})

test('a housekeeper that lost its lease leaves the other letters to the next one', async () => {
  await using server = await startMailServer()
  await silentTenant('six', 1)
  await lookTwice()
  const mailer = openMailer({ url: server.url, from: FROM })
  const mayGoOn = (): boolean => server.received.length === 0
  await sendAlertMails({ ...world.deps, dashboardUrl: world.apiUrl, mailer }, mayGoOn)
  expect(server.received).toHaveLength(1)
  world.clock.advance(2 * MINUTE_MS)
  await send(server.url)
  expect(new Set(server.received.map(({ to }) => to[0]))).toEqual(
    new Set(['admin@six.example.com', 'owner@six.example.com']),
  )
  expect(server.received).toHaveLength(2)
})

test('an address gets six letters in an hour at most; what came meanwhile is in the next one', async () => {
  await using server = await startMailServer()
  const { organisationId } = await silentTenant('seven', 0)
  const keep = async (count: number): Promise<void> => {
    const { rows } = await world.pool.query(
      `select person_id from membership where organisation_id = $1 and role = 'owner'`,
      [uuid('org', organisationId)],
    )
    for (let n = 0; n < count; n++) {
      await world.pool.query(`insert into alert_mail values ($1, $2, $3, $4, $5)`, [
        newId(world.clock.now()),
        uuid('org', organisationId),
        rows[0].person_id,
        { subject: 'S', summary: 'PAY NOW at http://evil.test/1', advice: null, url: 'u' },
        new Date(world.clock.now()),
      ])
    }
  }
  for (let minute = 0; minute < 7; minute++) {
    await keep(10)
    await send(server.url)
    world.clock.advance(MINUTE_MS)
  }
  expect(server.received).toHaveLength(3)
  await world.pool.query(`update public_limit set tat = tat - interval '20 minutes'`)
  world.clock.advance(20 * MINUTE_MS)
  await send(server.url)
  expect(server.received).toHaveLength(4)
  const [digest] = server.received.slice(3)
  const text = digest === undefined ? '' : textOf(digest)
  expect(digest?.raw).toMatch(/^Subject: 40 alerts of Test\r$/m)
  expect(text.match(/PAY NOW at /g)).toHaveLength(20)
  expect(text).toContain('And 20 more')
  expect(digest?.raw).not.toContain('evil')
  expect((await world.pool.query('select from alert_mail')).rowCount).toBe(0)
})

test('a mail program ends the mails of one person with a click, without a session', async () => {
  await using server = await startMailServer()
  const tenant = await silentTenant('eight', 1)
  await lookTwice()
  await send(server.url)
  const mail = server.received.find(({ to }) => to.includes('owner@eight.example.com'))
  const headers = mail?.raw.split('\r\n\r\n')[0]?.replaceAll(/\r\n[ \t]+/g, '') ?? ''
  expect(headers).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/im)
  const [, url = ''] = /^List-Unsubscribe: ?<([^>]+)>\r?$/im.exec(headers) ?? []
  const click = async (address: string, method = 'POST') =>
    await fetch(address, {
      method,
      ...(method === 'POST' && { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }),
    })
  const choice = async () => {
    const owner = await signIn(world, 'owner@eight.example.com')
    return (await owner.visit('GET', `/app/api/${tenant.projectId}/alerts/mails`)).body.unwanted
  }
  const asked = await click(url, 'GET')
  expect(await asked.text()).toContain('<form method="post">')
  expect(await choice()).toEqual([])
  expect((await click(url.replace(/.{6}$/, 'AAAAAA'))).status).toBe(404)
  expect((await click(url.replace(/\?.*/, ''))).status).toBe(404)
  expect(await choice()).toEqual([])
  expect((await click(url)).status).toBe(200)
  expect(await choice()).toContain('connector.recovered')
  expect((await click(url)).status).toBe(200)
  await world.pool.query(`delete from membership where organisation_id = $1`, [
    uuid('org', tenant.organisationId),
  ])
  expect((await click(url)).status, 'of a person who is no member any more').toBe(200)
})
