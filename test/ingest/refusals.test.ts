import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { newMaskId } from '../../core/keys/mask-id.ts'
import { setOverrides, setRateLimit, setUsage } from '../kit/limits.ts'
import {
  eventually,
  SOON_MS,
  startRelay,
  type Relay,
  type Resource,
  type Sent,
} from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
let plain: Resource
beforeAll(async () => {
  relay = await startRelay({ worker: false })
  plain = await relay.make('sources', { maxPayloadSizeKb: 1 })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const NUL = Buffer.from('{"a":"\0"}')
const HMAC = {
  type: 'hmac',
  secret: 'a secret of enough length',
  signature: { names: ['x-signature'], encoding: 'hex' },
}

function signed(body: string, secret = HMAC.secret): Sent {
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return { body, headers: { 'x-signature': signature, 'content-type': 'application/json' } }
}

async function storedOf(source: Resource): Promise<Resource[]> {
  return (await relay.get(`/v1/events?sourceId=${source.id}`)).data
}

const UNKNOWN: [name: string, mask: () => string][] = [
  ['no mask', () => ''],
  ['a mask that nobody has', () => newMaskId()],
  ['a mask too short', () => plain.maskId.slice(1)],
  ['a mask in capitals', () => plain.maskId.toUpperCase()],
  ['an escaped mask', () => `%${plain.maskId.charCodeAt(0).toString(16)}${plain.maskId.slice(1)}`],
  ['a bad escape', () => '%zz'],
]

test.each(UNKNOWN)('%s is 404 NOT_FOUND', async (_name, mask) => {
  const heard = await relay.send({ maskId: mask() }, { body: '{}' })
  expect(heard.status).toBe(404)
  expect(heard.body).toEqual({ ok: false, code: 'NOT_FOUND', message: expect.any(String) })
})

test('a disabled source is 404, like one that is not there', async () => {
  const source = await relay.make('sources', { isEnabled: false })
  const heard = await relay.send(source)
  const unknown = await relay.send({ maskId: newMaskId() })
  expect(heard.status).toBe(404)
  expect(heard.text).toBe(unknown.text)
})

test('a mask that was unknown a moment ago, and whose notice was lost, is known within 2 s', async () => {
  const source = await relay.make('sources', {})
  const maskId = newMaskId()
  expect(await relay.send({ maskId })).toMatchObject({ status: 404 })
  await sql`update source set mask_id = ${maskId} where id = ${uuid('src', source.id)}`.execute(
    relay.db,
  )
  await eventually(async () => {
    expect(await relay.send({ maskId })).toMatchObject({ status: 200 })
    expect(await relay.send(source)).toMatchObject({ status: 404 })
  }, SOON_MS)
})

test('a method that the source does not take is 405 with Allow and without a code', async () => {
  const source = await relay.make('sources', { allowedMethods: ['POST', 'PUT'] })
  for (const method of ['GET', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const heard = await relay.send(source, { method })
    expect(heard.status).toBe(405)
    expect(heard.headers['allow']).toBe('POST, PUT')
    expect(heard.body).toEqual({ ok: false, message: expect.any(String) })
  }
  expect(await storedOf(source)).toEqual([])
})

test('a source of kind email refuses a webhook with BAD_REQUEST', async () => {
  const source = await relay.make('sources', { kind: 'email' })
  const heard = await relay.send(source, { body: '{}' })
  expect(heard.status).toBe(400)
  expect(heard.body).toMatchObject({ ok: false, code: 'BAD_REQUEST' })
})

test('a body with a NUL byte is 415 UNSUPPORTED_BODY', async () => {
  const heard = await relay.send(plain, { body: NUL })
  expect(heard.status).toBe(415)
  expect(heard.body).toEqual({ ok: false, code: 'UNSUPPORTED_BODY', message: expect.any(String) })
})

test('exactly the limit passes and one byte more is 413 PAYLOAD_TOO_LARGE', async () => {
  const id = await relay.accept(plain, { body: 'x'.repeat(1_024) })
  expect(await relay.get(`/v1/events/${id}`)).toMatchObject({ sizeBytes: 1_024 })
  const heard = await relay.send(plain, { body: 'x'.repeat(1_025) })
  expect(heard.status).toBe(413)
  expect(heard.body).toEqual({ ok: false, code: 'PAYLOAD_TOO_LARGE', message: expect.any(String) })
})

test('5,120 KiB pass where the source allows them', async () => {
  const source = await relay.make('sources', { maxPayloadSizeKb: 5_120 })
  const body = Buffer.alloc(5_120 * 1_024, 'x')
  const id = await relay.accept(source, { body })
  expect(await relay.get(`/v1/events/${id}`)).toMatchObject({ sizeBytes: body.length })
  expect(await relay.send(source, { body: Buffer.alloc(body.length + 1, 'x') })).toMatchObject({
    status: 413,
  })
})

/** Speaks raw HTTP; resolves with all that came back once the other side has closed. */
async function speak(start: (socket: Socket) => void): Promise<string> {
  const socket = connect(Number(new URL(relay.ingest.url).port), '127.0.0.1')
  await once(socket, 'connect')
  let heard = ''
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  start(socket)
  await closed
  return heard
}

const head = (source: Resource, ...lines: string[]): string =>
  [`POST /${source.maskId} HTTP/1.1`, 'host: ingest.test', ...lines, '', ''].join('\r\n')

test('an endless chunked body is cut off with 413', async () => {
  let written = 0
  const heard = await speak((socket) => {
    socket.write(head(plain, 'transfer-encoding: chunked'))
    const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`
    const pump = (): void => {
      while (!socket.destroyed && socket.write(chunk)) written += chunk.length
    }
    socket.on('drain', pump)
    pump()
  })
  expect(heard).toMatch(/^HTTP\/1\.1 413 /)
  expect(heard).toContain('"code":"PAYLOAD_TOO_LARGE"')
  // The sender wrote only as much as the kernel's buffers on both sides took.
  expect(written).toBeLessThan(16 * 1_024 * 1_024)
})

test('an announced length above the limit is 413 before any of the body has come', async () => {
  const heard = await speak((socket) => socket.write(head(plain, 'content-length: 1025')))
  expect(heard).toMatch(/^HTTP\/1\.1 413 /)
  expect(heard).toMatch(/connection: close/i)
})

test('a body that breaks off is no event', async () => {
  const source = await relay.make('sources', {})
  await speak((socket) => {
    socket.write(`${head(source, 'content-length: 10')}abc`)
    socket.end()
    setImmediate(() => socket.destroy())
  })
  await relay.accept(source, { body: 'whole' })
  expect(await storedOf(source)).toHaveLength(1)
})

test('a request that is not HTTP is refused in the shape of ingest', async () => {
  const heard = await speak((socket) => socket.write('NONSENSE\r\n\r\n'))
  expect(heard).toMatch(/^HTTP\/1\.1 400 /)
  expect(heard).toContain('"ok":false,"code":"BAD_REQUEST"')
})

test('above the source rateLimit: 429 RATE_LIMITED with its data and three headers', async () => {
  const source = await relay.make('sources', {})
  await setRateLimit(relay, source, 2)
  const heard = await Promise.all(Array.from({ length: 4 }, () => relay.send(source)))
  expect(heard.filter(({ status }) => status === 200)).toHaveLength(2)
  const refused = heard.find(({ status }) => status === 429)
  expect(refused?.body).toEqual({
    ok: false,
    code: 'RATE_LIMITED',
    message: expect.any(String),
    data: { limit: 2, remaining: 0, retryAfterSeconds: 1 },
  })
  expect(refused?.headers).toMatchObject({
    'retry-after': '1',
    'x-ratelimit-limit': '2',
    'x-ratelimit-remaining': '0',
  })
  await relay.advance(1_000)
  expect(await relay.send(source)).toMatchObject({ status: 200 })
})

test('the organisation clamp of Hobby is 50 requests a second over all its sources', async () => {
  const { key } = await relay.createTenant('hobby')
  const sources = [await relay.make('sources', {}, key), await relay.make('sources', {}, key)]
  const startedAt = performance.now()
  const heard = await Promise.all(Array.from({ length: 120 }, (_, n) => relay.send(sources[n % 2])))
  const seconds = (performance.now() - startedAt) / 1_000
  const taken = heard.filter(({ status }) => status === 200).length
  expect(taken).toBeGreaterThanOrEqual(50)
  expect(taken).toBeLessThanOrEqual(51 + 50 * seconds)
  const refused = heard.find(({ status }) => status === 429)
  expect(refused?.body).toMatchObject({ code: 'RATE_LIMITED', data: { limit: 50 } })
})

test('at the quota of a hard-capped plan: 429 QUOTA_EXCEEDED with limit, current and resetAt', async () => {
  const { key, organisationId } = await relay.createTenant('hobby')
  const { source } = await relay.route({ key })
  await setUsage(relay, organisationId, 10_000)
  const heard = await relay.send(source)
  expect(heard.status).toBe(429)
  const now = new Date(relay.clock.now())
  const resetAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString()
  expect(heard.body).toEqual({
    ok: false,
    code: 'QUOTA_EXCEEDED',
    message: expect.any(String),
    data: { limit: 10_000, current: 10_000, resetAt },
  })
})

/** Each request fails both checks of its pair; the answer tells which came first. (decisions: Ingest) */
const ORDER: [before: string, after: string, answer: object, ask: () => Promise<unknown>][] = [
  [
    'mask',
    'method',
    { status: 404 },
    async () => relay.send(await relay.make('sources', { isEnabled: false }), { method: 'GET' }),
  ],
  [
    'method',
    'kind',
    { status: 405 },
    async () => relay.send(await relay.make('sources', { kind: 'email' }), { method: 'GET' }),
  ],
  [
    'kind',
    'source rate limit',
    { status: 400 },
    async () => {
      const source = await relay.make('sources', { kind: 'email' })
      await setRateLimit(relay, source, 1)
      await relay.send(source)
      return await relay.send(source)
    },
  ],
  [
    'source rate limit',
    'organisation clamp',
    { status: 429, body: { data: { limit: 1 } } },
    async () => {
      const { source, other } = await clamped(2)
      await setRateLimit(relay, source, 1)
      await Promise.all([relay.send(source), relay.send(other)])
      return await relay.send(source)
    },
  ],
  [
    'organisation clamp',
    'size',
    { status: 429, body: { data: { limit: 1 } } },
    async () => {
      const { source, other } = await clamped(1)
      await relay.send(other)
      return await relay.send(source, { body: 'x'.repeat(1_025) })
    },
  ],
  [
    'size',
    'NUL bytes',
    { status: 413 },
    async () => relay.send(plain, { body: Buffer.alloc(1_025) }),
  ],
  [
    'NUL bytes',
    'verification',
    { status: 415 },
    async () => relay.send(await relay.make('sources', { verifier: HMAC }), { body: NUL }),
  ],
  [
    'verification',
    'deduplication',
    { status: 401 },
    async () => {
      const source = await relay.make('sources', { verifier: HMAC, idempotencyKeys: ['body.id'] })
      await relay.accept(source, signed('{"id":1}'))
      return await relay.send(source, signed('{"id":1}', 'another secret'))
    },
  ],
  [
    'deduplication',
    'quota',
    { status: 200, body: { ok: true, duplicate: true } },
    async () => {
      const { key, organisationId } = await relay.createTenant('hobby')
      const { source } = await relay.route({ key, source: { idempotencyKeys: ['header.id'] } })
      await relay.accept(source, { headers: { id: '1' } })
      await setUsage(relay, organisationId, 10_000)
      return await relay.send(source, { headers: { id: '1' } })
    },
  ],
]

test.each(ORDER)('%s is checked before %s', async (_before, _after, answer, ask) => {
  expect(await ask()).toMatchObject(answer)
})

/** Two sources of an organisation that may send so many requests a second. */
async function clamped(perSecond: number): Promise<{ source: Resource; other: Resource }> {
  const { key, organisationId } = await relay.createTenant('enterprise')
  const source = await relay.make('sources', { maxPayloadSizeKb: 1 }, key)
  const other = await relay.make('sources', {}, key)
  await setOverrides(relay, organisationId, { ingestRequestsPerSecond: perSecond })
  return { source, other }
}
