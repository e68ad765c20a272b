import { createHmac } from 'node:crypto'

import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { newSigningSecret } from '../../core/delivery/signature.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import {
  openDestinationSecrets,
  sealDestinationSecrets,
} from '../../core/secrets/destination-secrets.ts'
import { type Arrival, type Endpoint } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function firstOf(endpoint: Endpoint): Promise<Arrival> {
  return await eventually(() => {
    const [arrival] = endpoint.arrivals
    if (arrival === undefined) throw new Error('Nothing has arrived')
    return arrival
  })
}

async function signingSecretOf(destination: Resource): Promise<string> {
  const { rows } = await sql<{ secrets: Buffer }>`select secrets from destination
    where id = ${uuid('dst', destination.id)}`.execute(relay.db)
  const row = { ...rowOf(destination), secrets: rows[0]?.secrets ?? Buffer.alloc(0) }
  return openDestinationSecrets(relay.keyring, row).signing.current
}

function rowOf(destination: Resource): { id: string; organisationId: string } {
  return { id: uuid('dst', destination.id), organisationId: uuid('org', relay.organisationId) }
}

test('an attempt carries the end-to-end headers, ours, and nothing of the connection before', async () => {
  const { source, destination, connection, endpoint } = await relay.route({
    source: { name: 'Zoë shop' },
  })
  const body = '{"n":1.50}'
  const eventId = await relay.accept(source, {
    path: '/orders?x=1',
    body,
    headers: Object.entries({
      'Content-Type': 'application/json',
      'X-Hub-Signature-256': 'sha256=00',
      'X-Latin': 'caf\u00e9',
      'X-Twice': 'one',
      'x-twice': 'two',
      Cookie: 'a=b',
      TE: 'trailers',
      'Proxy-Authorization': 'Basic eA==',
      'Webhook-Id': 'theirs',
      'Webhook-Signature': 'v1,theirs',
      'Postern-Event-Id': 'forged',
      postern_event_id: 'forged',
    }).flat(),
  })
  const delivery = await relay.reaches(eventId, { status: 'succeeded' })
  const arrival = await firstOf(endpoint)
  const at = arrival.headers['webhook-timestamp']
  expect(Math.abs(relay.clock.now() / 1_000 - Number(at))).toBeLessThan(5)
  expect(arrival).toMatchObject({ method: 'POST', target: '/hook', body: Buffer.from(body) })
  const signature = String(arrival.headers['webhook-signature'])
  expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
  const lines = arrival.rawHeaders.map(([name, value]) => `${name.toLowerCase()}: ${value}`)
  expect(lines.toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'connection: keep-alive',
    `content-length: ${body.length}`,
    'content-type: application/json',
    `host: ${new URL(endpoint.url).host}`,
    'postern-attempt-trigger: initial',
    'postern-attempt: 1',
    `postern-connection-id: ${connection.id}`,
    `postern-delivery-id: ${delivery.id}`,
    `postern-event-id: ${eventId}`,
    'postern-hops: 1',
    'postern-original-ip: 127.0.0.1',
    'postern-original-webhook-id: theirs',
    'postern-original-webhook-signature: v1,theirs',
    'postern-source: Zo%C3%AB%20shop',
    'postern-verified-with: none',
    `webhook-id: ${delivery.id}`,
    `webhook-signature: ${signature}`,
    `webhook-timestamp: ${String(at)}`,
    'x-hub-signature-256: sha256=00',
    'x-latin: caf\u00e9',
    'x-twice: one',
    'x-twice: two',
  ])
  expect(delivery.destinationId).toBe(destination.id)
})

test('method, url, query and headers of the destination win over those of the event', async () => {
  const endpoint = await relay.endpoint()
  const destination = await relay.make('destinations', {
    url: `${endpoint.url}/fixed?a=1`,
    method: 'PUT',
    headers: { 'Content-Type': 'text/x', 'X-Own': 'mine' },
  })
  const source = await relay.make('sources', { allowedMethods: ['PATCH'] })
  await relay.connect(source, destination)
  const eventId = await relay.accept(source, {
    method: 'PATCH',
    path: '/theirs?b=2',
    headers: { 'content-type': 'application/json', 'x-own': 'theirs', 'x-other': 'theirs' },
  })
  const arrival = await firstOf(endpoint)
  expect(arrival).toMatchObject({ method: 'PUT', target: '/hook/fixed?a=1' })
  expect(arrival.headers).toMatchObject({
    'content-type': 'text/x',
    'x-own': 'mine',
    'x-other': 'theirs',
  })
  const { attempts } = await relay.reaches(eventId, { status: 'succeeded' })
  expect(attempts[0]).toMatchObject({ requestUrl: destination.url, outcome: 'succeeded' })
})

test('the official package accepts the signature, under both secrets during an overlap', async () => {
  const { source, destination, endpoint } = await relay.route()
  const current = await signingSecretOf(destination)
  const previous = newSigningSecret()
  const until = new Date(relay.clock.now() + 60_000)
  const id = uuid('dst', destination.id)
  const sealed = sealDestinationSecrets(relay.keyring, rowOf(destination), {
    signing: { current, previous },
    headers: {},
    auth: null,
  })
  await sql`update destination set secrets = ${sealed}, previous_signing_secret_expires_at = ${until}
    where id = ${id}`.execute(relay.db)
  await announceChanges(relay, [{ kind: 'destination', id }])
  const body = '{"text":"Zoë 🙂"}'
  await relay.accept(source, { body })
  const arrival = await firstOf(endpoint)
  const headers = Object.fromEntries(arrival.rawHeaders)
  for (const secret of [current, previous]) {
    expect(new Webhook(secret).verify(arrival.body.toString(), headers)).toEqual(JSON.parse(body))
  }
  expect(headers['webhook-signature']?.split(' ')).toHaveLength(2)
  const stranger = new Webhook(newSigningSecret())
  expect(() => stranger.verify(arrival.body.toString(), headers)).toThrow('No matching signature')
})

test('a destination that is its own source ends after 5 hops', async () => {
  const source = await relay.make('sources', {})
  const ingestUrl = `${relay.ingest.url}/${source.maskId}`
  await relay.connect(source, await relay.make('destinations', { url: ingestUrl }))
  const eventId = await relay.accept(source)
  await eventually(async () => {
    const { data } = await relay.get(`/v1/deliveries?status=pending&errorCode=bad_response`)
    expect(data).toHaveLength(1)
  })
  const { data } = await relay.get(`/v1/events?sourceId=${source.id}`)
  expect(data).toHaveLength(6)
  const last = await relay.deliveryOf(data[0].id)
  expect(last.attempts[0]).toMatchObject({ responseStatus: 400 })
  expect(JSON.parse(last.attempts[0].responseBody)).toMatchObject({
    code: 'BAD_REQUEST',
    data: { fields: [{ path: 'headers.postern-hops' }] },
  })
  await relay.reaches(eventId, { status: 'succeeded' })
})

const SIZES: [name: string, body: Buffer][] = [
  ['no bytes', Buffer.alloc(0)],
  ['bytes that are not text', Buffer.from([0xff, 0xfe, 0x80, 0x0d, 0x0a])],
  ['64 KiB, the most that a message carries', Buffer.alloc(64 * 1_024, 'x')],
  ['100 KiB, read from the row', Buffer.alloc(100 * 1_024, 'y')],
  ['5 MiB', Buffer.alloc(5 * 1_024 * 1_024, 'z')],
]

test.each(SIZES)('%s reach the destination as they came, signed', async (_name, body) => {
  const { source, destination, endpoint } = await relay.route({
    source: { maxPayloadSizeKb: 5_120 },
  })
  await relay.accept(source, { body })
  const arrival = await firstOf(endpoint)
  expect(arrival.body.equals(body)).toBe(true)
  const secret = (await signingSecretOf(destination)).slice('whsec_'.length)
  const { 'webhook-id': id, 'webhook-timestamp': at } = arrival.headers
  const mac = createHmac('sha256', Buffer.from(secret, 'base64'))
  mac.update(`${String(id)}.${String(at)}.`).update(body)
  expect(arrival.headers['webhook-signature']).toBe(`v1,${mac.digest('base64')}`)
})

const AUTHS: [type: string, auth: object, expected: string][] = [
  [
    'basic',
    { type: 'basic', username: 'me', password: 'pä:ss' },
    `Basic ${Buffer.from('me:pä:ss').toString('base64')}`,
  ],
  ['bearer', { type: 'bearer', token: 'abc' }, 'Bearer abc'],
]

test.each(AUTHS)(
  'auth %s takes the place of the event authorization',
  async (_type, auth, expected) => {
    const { source, endpoint } = await relay.route({ destination: { auth } })
    await relay.accept(source, { headers: { authorization: 'theirs' } })
    expect((await firstOf(endpoint)).headers.authorization).toBe(expected)
  },
)
