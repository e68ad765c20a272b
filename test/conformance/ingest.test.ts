import { beforeAll, expect, test } from 'vitest'

import { OTHER_SECRET, SIGNED, signed } from './signature.ts'
import { accept, openTenant, send, type Tenant } from './tenant.ts'

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

test('ingest, Stored: 200 {ok: true, eventId}', async () => {
  const heard = await send(await tenant.make('sources'), { body: '{}' })
  expect(heard.status).toBe(200)
  expect(heard.body).toEqual({ ok: true, eventId: expect.stringMatching(/^evt_/) })
})

test('ingest, Duplicate: 200 {ok: true, duplicate: true}; no second event; not counted against quota', async () => {
  const { source } = await tenant.route({ source: { idempotencyKeys: ['body.id'] } })
  const sent = { headers: { 'content-type': 'application/json' }, body: '{"id":1}' }
  const id = await accept(source, sent)
  const usage = await tenant.get('/v1/billing/usage')
  const heard = await send(source, sent)
  expect(heard.status).toBe(200)
  expect(heard.body).toEqual({ ok: true, duplicate: true })
  const { data } = await tenant.get(`/v1/events?sourceId=${source.id}`)
  expect(data).toMatchObject([{ id }])
  expect((await tenant.get(`/v1/events/${id}`)).deliveries).toHaveLength(1)
  expect(await tenant.get('/v1/billing/usage')).toEqual(usage)
})

test('ingest, Duplicate: without idempotencyKeys the same request is another event', async () => {
  const source = await tenant.make('sources')
  expect(await accept(source, { body: '1' })).not.toBe(await accept(source, { body: '1' }))
})

test('ingest, Failure: {ok: false, code, message, data?}', async () => {
  const heard = await send({ maskId: 'nobody' })
  expect(heard.status).toBe(404)
  expect(heard.body).toEqual({ ok: false, code: 'NOT_FOUND', message: expect.any(String) })
})

const REFUSED: [rule: string, code: string, fields: object, body: Buffer<ArrayBuffer>][] = [
  ['a body containing NUL bytes', 'UNSUPPORTED_BODY', {}, Buffer.from('a\0b')],
  [
    'a body larger than maxPayloadSizeKb',
    'PAYLOAD_TOO_LARGE',
    { maxPayloadSizeKb: 1 },
    Buffer.alloc(1_025, 'x'),
  ],
  [
    'an HTTP webhook to a source that ingests email',
    'BAD_REQUEST',
    { kind: 'email' },
    Buffer.of(1),
  ],
]

test.each(REFUSED)(
  'ingest: %s is refused, %s, and nothing is stored',
  async (_rule, code, fields, body) => {
    const source = await tenant.make('sources', fields)
    expect((await send(source, { body })).body).toMatchObject({ ok: false, code })
    expect(await tenant.get(`/v1/events?sourceId=${source.id}`)).toMatchObject({ data: [] })
  },
)

const CAUSES: [cause: string, sent: () => { body: string; headers?: Record<string, string> }][] = [
  ['another secret', () => signed('{}', { secret: OTHER_SECRET })],
  ['no signature', () => ({ body: '{}' })],
  ['an old request', () => signed('{}', { ageSeconds: 3_600 })],
]

test.each(CAUSES)(
  'ingest authentication: %s gives 401 UNAUTHORIZED "Signature verification failed", stored as rejected',
  async (_cause, sent) => {
    const source = await tenant.make('sources', SIGNED)
    const heard = await send(source, sent())
    expect(heard.status).toBe(401)
    expect(heard.body).toEqual({
      ok: false,
      code: 'UNAUTHORIZED',
      message: 'Signature verification failed',
    })
    const { data } = await tenant.get(`/v1/events?sourceId=${source.id}`)
    expect(data).toMatchObject([{ status: 'rejected' }])
  },
)

test('ingest authentication: "the webhook-id header, which the MAC covers"', async () => {
  const source = await tenant.make('sources', SIGNED)
  const sent = signed('{}', { id: 'msg_1' })
  await accept(source, sent)
  const moved = { ...sent, headers: { ...sent.headers, 'webhook-id': 'msg_2' } }
  expect(await send(source, moved)).toMatchObject({ status: 401 })
})
