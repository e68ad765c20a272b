import { afterAll, beforeAll, expect, test } from 'vitest'

import { callCapability, seedAgent } from '../kit/agent.ts'
import { openBrowser, PASSWORD, seedPerson, setupToken, signIn } from '../kit/browser-like.ts'
import { runAdmin } from '../kit/program.ts'
import { seedEvent, seedRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

/** Requests come through a proxy that is believed. */
let world: World
beforeAll(async () => {
  world = await startWorld({ trustedProxies: ['127.0.0.0/8'], signInsPerMinute: 100 })
  await seedPerson(world, 'owner@example.com', { [world.organisationId]: 'owner' })
})
afterAll(async () => await world[Symbol.asyncDispose]())

const CLIENT = '203.0.113.7'
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

interface Entry {
  action: string
  subjectId: string
  address: string | null
}

async function audit(of = world): Promise<Entry[]> {
  const owner = await signIn(of, 'owner@example.com')
  return (await owner.visit('GET', `/auth/organisations/${of.organisationId}/audit`)).body.data
}

async function addressOf(action: string, of = world): Promise<string | null | undefined> {
  return (await audit(of)).find((entry) => entry.action === action)?.address
}

test('the audit says where a key, a person and an agent came from', async () => {
  const made = await world.api('POST', '/v1/sources', { name: 'by a key' }, from(CLIENT))
  expect(made.status).toBe(201)
  expect(await addressOf('source.create')).toBe(CLIENT)

  const owner = await signIn(world, 'owner@example.com')
  const connection = { name: 'by a person', url: 'https://example.com/' }
  const there = `/app/api/${world.projectId}/destinations`
  expect((await owner.visit('POST', there, connection, from('2001:db8::7'))).status).toBe(201)
  expect(await addressOf('destination.create')).toBe('2001:db8::7')
  const path = `/auth/organisations/${world.organisationId}`
  expect((await owner.visit('PATCH', path, { name: 'Renamed' }, from(CLIENT))).status).toBe(200)
  expect(await addressOf('organisation.update')).toBe(CLIENT)

  const shop = await seedRoute(world, 'shop')
  const eventId = await seedEvent(world, shop)
  const { token } = await seedAgent(world, 'member')
  const input = { eventId, projectId: world.projectId }
  const caller = { apiUrl: world.apiUrl, token, ...from('203.0.113.8') }
  expect((await callCapability(caller, 'events.replay', input)).status).toBe(200)
  expect(await addressOf('event.replay')).toBe('203.0.113.8')
})

test('hops that a client invents in front of a proxy are in no audit, nor is what is no address', async () => {
  const names = ['invented', 'nonsense', 'zoned'] as const
  const forwarded = {
    invented: `198.51.100.1, ${CLIENT}`,
    nonsense: '<script>alert(1)</script>',
    zoned: 'fe80::7%eth0',
  }
  const seen: Record<string, string | null | undefined> = {}
  for (const name of names) {
    const { body } = await world.api('POST', '/v1/sources', { name }, from(forwarded[name]))
    seen[name] = (await audit()).find(({ subjectId }) => subjectId === body.id)?.address
  }
  expect(seen).toEqual({ invented: CLIENT, nonsense: '127.0.0.1', zoned: 'fe80::7' })
})

test('without a trusted proxy a forged X-Forwarded-For is in no audit', async () => {
  await using own = await startWorld()
  await seedPerson(own, 'owner@example.com', { [own.organisationId]: 'owner' })
  await own.api('POST', '/v1/sources', { name: 'forged' }, from(CLIENT))
  expect(await addressOf('source.create', own)).toBe('127.0.0.1')
  const { data } = (
    await (
      await signIn(own, 'owner@example.com')
    ).visit('GET', `/auth/organisations/${own.organisationId}/keys`)
  ).body
  expect(data[0]).toMatchObject({ lastUsedFrom: '127.0.0.1' })
})

test('the command line has no address', async () => {
  const words = ['organisations', 'set-plan', world.organisationId, 'scale']
  expect(await runAdmin(words, { DATABASE_URL: world.databaseUrl })).toMatchObject({ code: 0 })
  expect(await addressOf('organisation.set-plan')).toBeNull()
})

test('the first owner and whoever is invited come from somewhere', async () => {
  await using own = await startWorld({ trustedProxies: ['127.0.0.0/8'] })
  const person = { email: 'owner@example.com', name: 'Ada', password: PASSWORD }
  const token = await setupToken(own)
  const first = openBrowser(own.apiUrl)
  expect(
    (await first.visit('POST', '/auth/setup', { token, ...person }, from(CLIENT))).status,
  ).toBe(201)
  expect(await addressOf('member.join', own)).toBe(CLIENT)
  const path = `/auth/organisations/${own.organisationId}/invitations`
  const invited = await first.visit('POST', path, { email: 'bob@example.com' }, from(CLIENT))
  const [, hash = ''] = String(invited.body.url).split('#')
  const bob = { token: hash, email: 'bob@example.com', name: 'Bob', password: PASSWORD }
  const second = openBrowser(own.apiUrl)
  const joined = await second.visit('POST', '/auth/invitations/accept', bob, from('203.0.113.9'))
  expect(joined.status).toBe(201)
  expect(await addressOf('member.join', own)).toBe('203.0.113.9')
})

test('keys and agents say where they were last used, to those who answer for them', async () => {
  const { id, key } = await world.createKey({ sources: 'read' })
  const agent = await seedAgent(world, 'member')
  const path = `/auth/organisations/${world.organisationId}`
  const owner = await signIn(world, 'owner@example.com')
  await seedPerson(world, 'other@example.com', { [world.organisationId]: 'member' })
  const other = await signIn(world, 'other@example.com')
  const listed = async (browser: typeof owner, kind: string, one: string) =>
    (await browser.visit('GET', `${path}/${kind}`)).body.data.find(
      (each: { id: string }) => each.id === one,
    ).lastUsedFrom
  expect(await listed(owner, 'keys', id)).toBeNull()
  expect(await listed(owner, 'agents', agent.id)).toBeNull()
  for (const address of ['203.0.113.20', '203.0.113.21']) {
    await world.api('GET', '/v1/sources', undefined, { key, ...from(address) })
    const caller = { apiUrl: world.apiUrl, token: agent.token, ...from(address) }
    await callCapability(caller, 'account.list_projects')
    expect(await listed(owner, 'keys', id)).toBe(address)
    expect(await listed(owner, 'agents', agent.id)).toBe(address)
  }
  expect(await listed(other, 'keys', id)).toBeNull()
  expect(await listed(other, 'agents', agent.id)).toBeNull()
})
