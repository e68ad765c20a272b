import { afterAll, beforeAll, expect, test } from 'vitest'

import { seedPerson, signIn } from '../kit/browser-like.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'

/** Requests come through a proxy that is trusted, which writes the address of the client in one form or another. */
let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ trustedProxies: ['127.0.0.0/8'], signInsPerMinute: 100 })
  await seedPerson(relay, 'owner@example.com', { [relay.organisationId]: 'owner' })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const PROXY = '127.0.0.1'
const FORMS = [
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51234', '203.0.113.7'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['::FFFF:203.0.113.7', '203.0.113.7'],
  ['unknown', PROXY],
  ['x'.repeat(100), PROXY],
] as const

async function lastAddressInAudit(): Promise<string> {
  const owner = await signIn(relay, 'owner@example.com')
  const path = `/auth/organisations/${relay.organisationId}/audit`
  const { body } = await owner.visit('GET', path)
  return body.data.find(({ action }: { action: string }) => action === 'source.create').address
}

test.for(FORMS)(
  'a client that a proxy writes as "%s" is %s to ingest and to the API',
  async ([forwarded, expected], { task }) => {
    const headers = { 'x-forwarded-for': forwarded }
    const { source, endpoint } = await relay.route()
    const id = await relay.accept(source, { headers })
    expect(await relay.get(`/v1/events/${id}`)).toMatchObject({ remoteIp: expected })
    await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
    expect(endpoint.arrivals[0]?.headers['postern-original-ip']).toBe(expected)

    const created = await relay.api('POST', '/v1/sources', { name: task.id }, { headers })
    expect(created.status).toBe(201)
    expect(await lastAddressInAudit()).toBe(expected)
  },
)

test('ip_allow_list compares the address without the port that a proxy writes', async () => {
  const verifier = { type: 'ip_allow_list', cidrs: ['203.0.113.0/24'] }
  const source = await relay.make('sources', { name: 'allowed', verifier })
  const statusOf = async (forwarded: string): Promise<number> =>
    (await relay.send(source, { headers: { 'x-forwarded-for': forwarded } })).status
  expect(await statusOf('203.0.113.7:51234')).toBe(200)
  expect(await statusOf('203.0.114.7:51234')).toBe(401)
  expect(await statusOf('unknown')).toBe(401)
})
