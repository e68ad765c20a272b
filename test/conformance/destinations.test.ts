import { createHmac } from 'node:crypto'

import { beforeAll, expect, test } from 'vitest'

import type { Arrival } from '../kit/endpoint.ts'
import type { Resource } from '../kit/relay.ts'
import { accept, openTenant, type Tenant } from './tenant.ts'

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

const make = async (): Promise<Resource> =>
  await tenant.make('destinations', { url: 'https://example.com' })

const CHANGES: [change: object][] = [
  [{ rateLimit: 5, rateLimitPeriod: 'second' }],
  [{ rateLimit: 5, rateLimitPeriod: 'minute' }],
  [{ rateLimit: 5, rateLimitPeriod: 'hour' }],
  [{ rateLimit: 5, rateLimitPeriod: 'day' }],
  [{ url: 'https://example.org/elsewhere' }],
]

test.each(CHANGES)('destinations: PATCH with {data: %j} changes these fields', async (change) => {
  const { updatedAt: _, ...before } = await make()
  const path = `/v1/destinations/${before.id}`
  expect(await tenant.patch(path, change)).toMatchObject({ ...before, ...change })
  expect(await tenant.get(path)).toMatchObject({ ...before, ...change })
})

test('destinations: PATCH without "a data member holding the fields" is BAD_REQUEST', async () => {
  const { id } = await make()
  const answer = await tenant.api('PATCH', `/v1/destinations/${id}`, { rateLimit: 5 })
  expect(answer).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
})

/** As the receiver of a delivery checks it, by Standard Webhooks. */
function isSignedWith(secret: string, arrival: Arrival | undefined): boolean {
  if (arrival === undefined) throw new Error('Nothing arrived')
  const { headers, body } = arrival
  const [id, at] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])]
  const mac = createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
    .update(`${id}.${at}.`)
    .update(body)
    .digest('base64')
  return String(headers['webhook-signature']).split(' ').includes(`v1,${mac}`)
}

test('destinations: GET signing-secret "reveals the signing secret"', async () => {
  const { source, destination, endpoint } = await tenant.route()
  const { secret } = await tenant.get(`/v1/destinations/${destination.id}/signing-secret`)
  await tenant.reaches(await accept(source, { body: 'signed' }), { status: 'succeeded' })
  expect(isSignedWith(secret, endpoint.arrivals[0])).toBe(true)
})

test('destinations: POST rotate-signing-secret is 409 ROTATION_OVERLAP_ACTIVE in the overlap; "force: true displaces it"', async () => {
  const { id } = await make()
  const path = `/v1/destinations/${id}/rotate-signing-secret`
  const { secret: first } = await tenant.get(`/v1/destinations/${id}/signing-secret`)
  const { secret: second, previousExpiresAt } = await tenant.post(path, {})
  expect(second).not.toBe(first)
  const refused = await tenant.api('POST', path, {})
  expect(refused.status).toBe(409)
  expect(refused.body).toEqual({
    code: 'ROTATION_OVERLAP_ACTIVE',
    status: 409,
    message: expect.any(String),
    data: { expiresAt: previousExpiresAt },
  })
  await tenant.post(path, { force: true })
  const { previous } = await tenant.get(`/v1/destinations/${id}/signing-secret`)
  expect(previous.secret).toBe(second)
})

test('destinations: POST test-delivery "sends a test delivery"', async () => {
  const { destination, endpoint } = await tenant.route()
  const path = `/v1/destinations/${destination.id}/test-delivery`
  expect(await tenant.post(path)).toMatchObject({ attempt: { responseStatus: 200 } })
  expect(endpoint.arrivals).toHaveLength(1)
})

test('destinations: POST test-delivery is 400 DESTINATION_NOT_PUBLIC when the URL resolves to a private range', async () => {
  const { id } = await tenant.make('destinations', { url: 'http://localhost:9/hook' })
  const answer = await tenant.api('POST', `/v1/destinations/${id}/test-delivery`)
  expect(answer.status).toBe(400)
  expect(answer.body).toEqual({
    code: 'DESTINATION_NOT_PUBLIC',
    status: 400,
    message: expect.any(String),
  })
})

const PRIVATE: [range: string, host: string][] = [
  ['loopback', '127.0.0.1'],
  ['RFC1918', '10.0.0.1'],
  ['RFC1918', '172.16.0.1'],
  ['RFC1918', '192.168.0.1'],
  ['CGNAT', '100.64.0.1'],
  ['link-local', '169.254.0.1'],
  ['cloud metadata', '169.254.169.254'],
]

test.each(PRIVATE)(
  'destinations: DESTINATION_NOT_PUBLIC for an address of %s, %s',
  async (_range, host) => {
    const { id } = await tenant.make('destinations', { url: `http://${host}/hook` })
    const answer = await tenant.api('POST', `/v1/destinations/${id}/test-delivery`)
    expect(answer).toMatchObject({ status: 400, body: { code: 'DESTINATION_NOT_PUBLIC' } })
  },
)

test('destinations: DELETE on a destination', async () => {
  const { id } = await make()
  expect(await tenant.api('DELETE', `/v1/destinations/${id}`)).toMatchObject({ status: 204 })
  expect(await tenant.api('GET', `/v1/destinations/${id}`)).toMatchObject({ status: 404 })
})
