import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { TESTS_PER_ORGANISATION } from '../../core/limits.ts'
import { hangs, says } from '../kit/endpoint.ts'
import { setUsage, usageOf } from '../kit/limits.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function send(id: string, body?: unknown, from = relay): Promise<Resource> {
  const path = `/v1/destinations/${id}/test-delivery`
  const answer = await from.api('POST', path, body)
  return answer
}

async function destinationAt(
  respond: Parameters<Relay['endpoint']>[0],
  fields: object = {},
): Promise<{ destination: Resource; endpoint: Awaited<ReturnType<Relay['endpoint']>> }> {
  const endpoint = await relay.endpoint(respond)
  return {
    destination: await relay.make('destinations', { url: endpoint.url, ...fields }),
    endpoint,
  }
}

test('a test is one attempt with signature, headers and auth as every delivery, and readable afterwards', async () => {
  const { destination, endpoint } = await destinationAt(says(201, { 'x-heard': 'yes' }, 'thanks'), {
    method: 'PUT',
    headers: { 'X-Own': 'mine', 'x-over': 'mine' },
    auth: { type: 'bearer', token: 's3cret' },
  })
  const { secret } = await relay.get(`/v1/destinations/${destination.id}/signing-secret`)
  const body = { order: 'Zoë', amounts: [1.5, 2] }
  const headers = { 'X-Trace': 'abc', 'x-over': 'theirs' }
  const answer = await send(destination.id, { body, headers })
  expect(answer.status).toBe(200)
  const { deliveryId, attempt } = answer.body

  expect(endpoint.arrivals).toHaveLength(1)
  const [arrival] = endpoint.arrivals
  expect(arrival?.method).toBe('PUT')
  expect(arrival?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-trace': 'abc',
    'x-own': 'mine',
    'x-over': 'mine',
    authorization: 'Bearer s3cret',
    'webhook-id': deliveryId,
    'postern-delivery-id': deliveryId,
    'postern-attempt': '1',
    'postern-attempt-trigger': 'initial',
  })
  for (const name of ['event-id', 'connection-id', 'source', 'verified-with', 'original-ip']) {
    expect(arrival?.headers).not.toHaveProperty(`postern-${name}`)
  }
  const sent = Object.fromEntries(arrival?.rawHeaders ?? [])
  expect(new Webhook(secret).verify(arrival?.body.toString() ?? '', sent)).toEqual(body)

  expect(attempt).toMatchObject({
    deliveryId,
    number: 1,
    trigger: 'initial',
    requestUrl: destination.url,
    responseStatus: 201,
    responseBody: 'thanks',
    errorCode: null,
    outcome: 'succeeded',
  })
  expect(attempt.responseHeaders).toContainEqual(['x-heard', 'yes'])
  expect(attempt.requestHeaders).toContainEqual(['X-Trace', 'abc'])
  expect(attempt.requestHeaders).toContainEqual(['content-type', 'application/json'])
  expect(attempt.requestHeaders).toContainEqual(['X-Own', '***'])
  expect(JSON.stringify(answer.body)).not.toContain('s3cret')
  expect(await relay.get(`/v1/deliveries/${deliveryId}`)).toMatchObject({
    id: deliveryId,
    eventId: null,
    connectionId: null,
    sourceId: null,
    destinationId: destination.id,
    status: 'succeeded',
    trigger: 'test',
    attemptCount: 1,
    maxAttempts: 1,
    nextAttemptAt: null,
    attempts: [attempt],
  })
})

test('a text is sent byte for byte, and nothing is needed to send something', async () => {
  const { destination, endpoint } = await destinationAt(says(200))
  const text = 'plain, Zoë\r\n'
  await send(destination.id, { body: text, headers: { 'Content-Type': 'text/plain' } })
  expect(endpoint.arrivals[0]?.body.equals(Buffer.from(text))).toBe(true)
  expect(endpoint.arrivals[0]?.headers['content-type']).toBe('text/plain')
  expect(await send(destination.id)).toMatchObject({ status: 200 })
  expect(JSON.parse(endpoint.arrivals[1]?.body.toString() ?? '')).toMatchObject({
    type: 'postern.test',
  })
  await send(destination.id, { body: 'x'.repeat(512 * 1_024) })
  expect(endpoint.arrivals[2]?.body).toHaveLength(512 * 1_024)
  expect(await send(destination.id, { body: 'x'.repeat(512 * 1_024 + 1) })).toMatchObject({
    status: 400,
    body: { code: 'BAD_REQUEST', data: { fields: [{ path: 'body.body' }] } },
  })
})

const ANSWERS: [name: string, respond: Parameters<Relay['endpoint']>[0], attempt: object][] = [
  ['500', says(500), { responseStatus: 500, errorCode: 'bad_response', outcome: 'failed' }],
  ['302', says(302), { responseStatus: 302, errorCode: 'bad_response', outcome: 'failed' }],
  ['410', says(410), { responseStatus: 410, errorCode: 'bad_response', outcome: 'failed' }],
  ['429', says(429), { responseStatus: 429, errorCode: 'bad_response', outcome: 'busy' }],
  ['no answer', hangs, { responseStatus: null, errorCode: 'timeout', outcome: 'failed' }],
]

test.each(ANSWERS)(
  '%s is a 200 with the attempt, and never tried again',
  async (_name, respond, expected) => {
    const { destination, endpoint } = await destinationAt(respond, { timeoutMs: 1_000 })
    const { status, body } = await send(destination.id)
    expect(status).toBe(200)
    expect(body.attempt).toMatchObject(expected)
    await relay.advance(86_400_000)
    const route = await relay.route()
    await relay.reaches(await relay.accept(route.source), { status: 'succeeded' })
    expect(endpoint.arrivals).toHaveLength(1)
    const delivery = await relay.get(`/v1/deliveries/${body.deliveryId}`)
    expect(delivery).toMatchObject({ status: 'failed', attemptCount: 1, nextAttemptAt: null })
    const failed = await relay.get(`/v1/deliveries?status=failed&destinationId=${destination.id}`)
    expect(failed.data.map(({ id }: Resource) => id)).toEqual([body.deliveryId])
    // Not even a 410 disables what was only tested.
    expect(await relay.get(`/v1/destinations/${destination.id}`)).toMatchObject({ isEnabled: true })
    for (const action of ['retry', 'cancel']) {
      const path = `/v1/deliveries/${body.deliveryId}/${action}`
      expect((await relay.api('POST', path)).body).toMatchObject({ code: 'CONFLICT' })
    }
  },
)

test('a connection that is refused is an attempt too', async () => {
  const destination = await relay.make('destinations', { url: 'http://127.0.0.1:9/' })
  expect((await send(destination.id)).body.attempt).toMatchObject({
    responseStatus: null,
    errorCode: 'connection_refused',
    outcome: 'failed',
  })
})

test('a test is outside pacing, quota, usage and the destination being disabled', async () => {
  const { key, organisationId } = await relay.createTenant('hobby')
  const endpoint = await relay.endpoint()
  const paced = { rateLimit: 1, rateLimitPeriod: 'day', isEnabled: false, url: endpoint.url }
  const { id } = await relay.make('destinations', paced, key)
  await setUsage(relay, organisationId, 10_000)
  const path = `/v1/destinations/${id}/test-delivery`
  for (let n = 0; n < 3; n++) {
    expect((await relay.api('POST', path, undefined, { key })).status).toBe(200)
  }
  expect(endpoint.arrivals).toHaveLength(3)
  expect(await usageOf(relay, organisationId)).toBe(10_000)
  for (const table of [
    'delivery_waiting',
    'delivery_delta',
    'delivery_minute',
    'delivery_rollup',
    'pacing',
  ]) {
    const column = table === 'pacing' ? 'scope_id' : 'destination_id'
    const text = `select from ${table} where ${column} = $1`
    const { rowCount } = await relay.pool.query(text, [uuid('dst', id)])
    expect(rowCount, table).toBe(0)
  }
})

test('the settings that count are those of the moment', async () => {
  const { destination, endpoint } = await destinationAt(says(200))
  const other = await relay.endpoint()
  await send(destination.id)
  await relay.change('destinations', destination.id, { url: other.url, headers: { 'x-new': '1' } })
  await send(destination.id)
  expect(endpoint.arrivals).toHaveLength(1)
  expect(other.arrivals[0]?.headers['x-new']).toBe('1')
})

test('headers that a destination may not set are refused by name', async () => {
  const { destination, endpoint } = await destinationAt(says(200))
  for (const name of ['Host', 'content-length', 'cookie', 'webhook-id', 'postern-attempt', 'a b']) {
    expect((await send(destination.id, { headers: { [name]: 'x' } })).body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: `body.headers.${name}` }] },
    })
  }
  expect(endpoint.arrivals).toHaveLength(0)
})

test('a private destination is BAD_REQUEST while no private delivery is configured', async () => {
  const { destination, endpoint } = await destinationAt(says(200))
  await relay.db
    .updateTable('destination')
    .set({ mode: 'private' })
    .where('id', '=', uuid('dst', destination.id))
    .execute()
  expect((await send(destination.id)).body).toMatchObject({ code: 'BAD_REQUEST', status: 400 })
  expect(endpoint.arrivals).toHaveLength(0)
})

const NOT_PUBLIC = [
  '127.0.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f.1',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.1.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.1',
  '192.0.2.1',
  '198.51.100.1',
  '203.0.113.1',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:10.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::169.254.169.254]',
  '[2002:7f00:1::]',
  '[2002:a00:1::]',
  'localhost',
]

test('a URL that is, hides or resolves to a private or reserved address is 400 DESTINATION_NOT_PUBLIC', async () => {
  const all = ['0.0.0.0/0', '::/0']
  await using closed = await startRelay({ allowCidrs: all, deliveryCidrs: [] })
  for (const host of NOT_PUBLIC) {
    const { id } = await closed.make('destinations', { url: `http://${host}:9/hook` })
    const { status, body } = await send(id, {}, closed)
    expect(body, host).toEqual({
      code: 'DESTINATION_NOT_PUBLIC',
      status: 400,
      message: expect.any(String),
    })
    expect(status).toBe(400)
  }
  expect((await closed.get('/v1/deliveries')).data).toEqual([])
})

test('DELIVERY_ALLOW_CIDRS opens what it names and no more', async () => {
  const deliveryCidrs = ['127.0.0.1/32', '10.1.0.0/16']
  await using some = await startRelay({ allowCidrs: ['0.0.0.0/0', '::/0'], deliveryCidrs })
  const endpoint = await some.endpoint()
  const { port } = new URL(endpoint.url)
  const codeAt = async (host: string): Promise<unknown> => {
    const { id } = await some.make('destinations', {
      url: `http://${host}:${port}/`,
      timeoutMs: 1_000,
    })
    const { body } = await send(id, {}, some)
    return body.code ?? body.attempt.responseStatus ?? 'attempted'
  }
  expect(await codeAt('127.0.0.1')).toBe(200)
  expect(await codeAt('localhost')).toBe(200)
  expect(await codeAt('10.1.2.3')).toBe('attempted')
  for (const host of ['127.0.0.2', '10.2.0.1', '192.168.0.1', '[::1]']) {
    expect(await codeAt(host), host).toBe('DESTINATION_NOT_PUBLIC')
  }
})

test('a name that does not resolve is an attempt with dns_error', async () => {
  const destination = await relay.make('destinations', { url: 'http://nowhere.invalid/' })
  expect((await send(destination.id)).body.attempt).toMatchObject({ errorCode: 'dns_error' })
})

test('without a worker the answer is 503 with Retry-After and nothing is stored', async () => {
  await using idle = await startRelay({ worker: false })
  const { id } = await idle.make('destinations', { url: 'http://127.0.0.1:9/' })
  const answer = await send(id, {}, idle)
  expect(answer.status).toBe(503)
  expect(answer.body).toEqual({
    status: 503,
    message: expect.any(String),
    data: { requestId: answer.headers.get('x-request-id') },
  })
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
  expect((await idle.get('/v1/deliveries')).data).toEqual([])
  await idle.startWorker()
  await eventually(async () => expect((await send(id, {}, idle)).status).toBe(200))
})

test('hanging test deliveries of one organisation leave places to others', async () => {
  const { destination } = await destinationAt(hangs, { timeoutMs: 8_000 })
  const tests = Array.from(
    { length: TESTS_PER_ORGANISATION + 4 },
    async () => await send(destination.id),
  )
  const other = await relay.createTenant()
  const endpoint = await relay.endpoint()
  const theirs = await relay.make('destinations', { url: endpoint.url }, other.key)
  const path = `/v1/destinations/${theirs.id}/test-delivery`
  const startedAt = performance.now()
  const answer = await relay.api('POST', path, undefined, { key: other.key })
  expect(answer.status).toBe(200)
  expect(performance.now() - startedAt).toBeLessThan(6_000)
  const statuses = (await Promise.all(tests)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(TESTS_PER_ORGANISATION)
  expect(statuses.filter((status) => status === 429)).toHaveLength(4)
})
