import { beforeAll, expect, test } from 'vitest'

import type { Answer } from '../kit/call-api.ts'
import { says } from '../kit/endpoint.ts'
import type { IngestReply, Resource } from '../kit/relay.ts'
import { admin } from './admin.ts'
import { changed, OTHER_SECRET, SIGNED, signed } from './signature.ts'
import { accept, call, openTenant, send, type Tenant } from './tenant.ts'

let tenant: Tenant
let reading: { key: string }
let spent: Spent
beforeAll(async () => {
  ;[tenant, spent] = await Promise.all([openTenant(), spend()])
  reading = await tenant.makeKey({ permissions: { sources: 'read' } })
})

const MESSAGE = expect.any(String)
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/)
const FIELDS = { fields: [{ path: expect.any(String), message: MESSAGE }] }
const nobody = '0'.repeat(26)

const rotatedSource = async (): Promise<string> => {
  const { id, ...source } = await tenant.make('sources', SIGNED)
  await tenant.post(`/v1/sources/${id}/rotate-secret`, { secret: OTHER_SECRET })
  await accept(source, signed('{}', { secret: OTHER_SECRET }))
  return `/v1/sources/${id}`
}

/** Makes an organisation that has used up its quota of one delivery. */
interface Spent {
  owner: Tenant
  source: Resource
  eventId: string
}

async function spend(): Promise<Spent> {
  const owner = await openTenant('hobby')
  await admin('organisations', 'override', owner.organisationId, '--set', 'deliveryQuota=1')
  const source = await owner.make('sources')
  const destination = await owner.make('destinations', { url: 'https://example.com' })
  await owner.connect(source, destination)
  return { owner, source, eventId: await accept(source) }
}

type Ask = () => Promise<Answer>

/** The rows of the table of codes that `/v1` answers; what stands elsewhere is said in docs/conformance.md. */
const CODES: [status: number, code: string, condition: string, data: unknown, ask: Ask][] = [
  [
    400,
    'BAD_REQUEST',
    'validation failed',
    FIELDS,
    async () => await tenant.api('POST', '/v1/sources', { name: '' }),
  ],
  [
    400,
    'BAD_REQUEST',
    'replay of a rejected event',
    FIELDS,
    async () => {
      const source = await tenant.make('sources', SIGNED)
      await send(source)
      const { data } = await tenant.get(`/v1/events?sourceId=${source.id}`)
      return await tenant.api('POST', `/v1/events/${data[0].id}/replay`)
    },
  ],
  [
    400,
    'BAD_REQUEST',
    'private delivery not configured on the deployment',
    FIELDS,
    async () => {
      const fields = { name: 'private', mode: 'private', url: 'http://inside.test/' }
      return await tenant.api('POST', '/v1/destinations', fields)
    },
  ],
  [
    400,
    'DESTINATION_NOT_PUBLIC',
    'URL resolves to a private or reserved range',
    undefined,
    async () => {
      const { id } = await tenant.make('destinations', { url: 'http://localhost:9/' })
      return await tenant.api('POST', `/v1/destinations/${id}/test-delivery`)
    },
  ],
  [401, 'UNAUTHORIZED', 'API key missing', undefined, async () => await call('GET', '/v1/sources')],
  [
    403,
    'INSUFFICIENT_API_KEY_PERMISSIONS',
    'resource not granted read and write',
    undefined,
    async () => await call('POST', '/v1/sources', { name: 'x' }, reading),
  ],
  [
    403,
    'INSUFFICIENT_API_KEY_PERMISSIONS',
    'resource not granted at all',
    undefined,
    async () => await call('GET', '/v1/events', undefined, reading),
  ],
  [
    404,
    'NOT_FOUND',
    'missing',
    undefined,
    async () => await tenant.api('GET', `/v1/sources/src_${nobody}`),
  ],
  [
    404,
    'NOT_FOUND',
    'belongs to another organisation',
    undefined,
    async () => await tenant.api('GET', `/v1/sources/${spent.source.id}`),
  ],
  [
    404,
    'NOT_FOUND',
    'belongs to another project',
    undefined,
    async () => {
      const { id } = await tenant.make('projects')
      const source = await tenant.make('sources')
      const options = { headers: { 'x-project-id': id } }
      return await tenant.api('GET', `/v1/sources/${source.id}`, undefined, options)
    },
  ],
  [
    404,
    'NOT_FOUND',
    'a foreign X-Project-Id',
    undefined,
    async () => {
      const options = { headers: { 'x-project-id': spent.owner.projectId } }
      return await tenant.api('GET', '/v1/sources', undefined, options)
    },
  ],
  [
    409,
    'CONFLICT',
    'delivery is throttled',
    undefined,
    async () => {
      const { source } = await tenant.route({ respond: says(429) })
      const { id } = await tenant.reaches(await accept(source), { status: 'throttled' })
      return await tenant.api('POST', `/v1/deliveries/${id}/retry`)
    },
  ],
  [
    409,
    'ROTATION_IN_USE',
    'new secret already verified requests',
    { count: 1, lastSeenAt: TIME },
    async () => await tenant.api('POST', `${await rotatedSource()}/cancel-rotation`),
  ],
  [
    409,
    'ROTATION_OVERLAP_ACTIVE',
    'previous secret of a source in its overlap window',
    { expiresAt: TIME },
    async () => await tenant.api('POST', `${await rotatedSource()}/rotate-secret`),
  ],
  [
    409,
    'ROTATION_OVERLAP_ACTIVE',
    'previous secret of a destination in its overlap window',
    { expiresAt: TIME },
    async () => {
      const { id } = await tenant.make('destinations', { url: 'https://example.com' })
      const path = `/v1/destinations/${id}/rotate-signing-secret`
      await tenant.post(path)
      return await tenant.api('POST', path)
    },
  ],
  [
    429,
    'QUOTA_EXCEEDED',
    'replay at the delivery quota',
    { limit: 1, current: 1, resetAt: TIME },
    async () => await spent.owner.api('POST', `/v1/events/${spent.eventId}/replay`),
  ],
  [
    429,
    'RATE_LIMITED',
    'throughput limit of test-signature',
    { limit: 5, remaining: 0, retryAfterSeconds: expect.any(Number) },
    async () => {
      const { id } = await tenant.make('sources', SIGNED)
      const path = `/v1/sources/${id}/test-signature`
      const asked = Array.from({ length: 20 }, async () => await tenant.api('POST', path, signed()))
      const answers = await Promise.all(asked)
      return answers.find((answer) => answer.status === 429) ?? answers[0] ?? never()
    },
  ],
]

test.each(CODES)('errors, /v1: %i %s: %s', async (...[status, code, , data, ask]) => {
  const answer = await ask()
  expect(answer.status).toBe(status)
  expect(answer.body).toEqual({ code, status, message: MESSAGE, data })
})

/** The rows of the table of codes that ingest answers. */
const INGEST: [
  status: number,
  code: string,
  condition: string,
  data: unknown,
  ask: () => Promise<IngestReply>,
][] = [
  [
    400,
    'BAD_REQUEST',
    'email source receiving an HTTP webhook',
    { fields: [] },
    async () => await send(await tenant.make('sources', { kind: 'email' })),
  ],
  [
    401,
    'UNAUTHORIZED',
    'signature verification failed',
    undefined,
    async () => await send(await tenant.make('sources', SIGNED)),
  ],
  [404, 'NOT_FOUND', 'missing', undefined, async () => await send({ maskId: 'nobody' })],
  [
    415,
    'UNSUPPORTED_BODY',
    'body contains NUL bytes',
    undefined,
    async () => await send(await tenant.make('sources'), { body: '\0' }),
  ],
  [
    413,
    'PAYLOAD_TOO_LARGE',
    "body exceeds the source's maxPayloadSizeKb",
    undefined,
    async () => {
      const source = await tenant.make('sources', { maxPayloadSizeKb: 1 })
      return await send(source, { body: 'x'.repeat(1_025) })
    },
  ],
  [
    429,
    'QUOTA_EXCEEDED',
    'delivery quota for the window is used',
    { limit: 1, current: 1, resetAt: TIME },
    async () => await send(spent.source),
  ],
  [
    429,
    'RATE_LIMITED',
    'throughput limit hit',
    { limit: 1, remaining: 0, retryAfterSeconds: 1 },
    async () => {
      const source = await tenant.make('sources')
      await admin('sources', 'set-rate-limit', source.id, '1')
      const heard = await untilRefused(source)
      expect(heard.headers).toMatchObject({
        'retry-after': '1',
        'x-ratelimit-limit': '1',
        'x-ratelimit-remaining': '0',
      })
      return heard
    },
  ],
]

test.each(INGEST)('errors, ingest: %i %s: %s', async (...[status, code, , data, ask]) => {
  const heard = await ask()
  expect(heard.status).toBe(status)
  expect(heard.body).toEqual({ ok: false, code, message: MESSAGE, data })
})

/** A limit that is set beside a running relay is noticed by it within a moment. */
async function untilRefused(source: { maskId: string }): Promise<IngestReply> {
  for (;;) {
    const heard = await send(source)
    if (heard.status === 429) return heard
  }
}

function never(): never {
  throw new Error('Nothing was answered')
}

test('errors, envelopes: "validation failures (BAD_REQUEST) include field-level details"', async () => {
  const wrong = { name: '', maxPayloadSizeKb: 'big', misspelt: 1 }
  const { body } = await tenant.api('POST', '/v1/sources', wrong)
  const paths = body.data.fields.map(({ path }: { path: string }) => path)
  expect(paths.toSorted()).toEqual(['body.maxPayloadSizeKb', 'body.misspelt', 'body.name'])
})

const asana = { verifier: { preset: 'asana' } }
const versioned = {
  verifier: {
    type: 'hmac',
    secret: 'a secret of enough length',
    signature: { names: ['x-signature'], encoding: 'hex' },
    requiredHeaders: { 'x-version': '1' },
  },
}

type Signed = ReturnType<typeof signed>

/** The table of rejection reasons, one request for each. */
const REASONS: [reason: string, source: object, sent: () => Signed][] = [
  ['signature_mismatch', SIGNED, () => signed('{}', { secret: OTHER_SECRET })],
  ['missing_signature_header', SIGNED, () => changed(signed(), { 'webhook-signature': undefined })],
  ['missing_id_header', SIGNED, () => changed(signed(), { 'webhook-id': undefined })],
  ['missing_timestamp_header', SIGNED, () => changed(signed(), { 'webhook-timestamp': undefined })],
  ['malformed_signature_header', SIGNED, () => changed(signed(), { 'webhook-signature': '?' })],
  ['malformed_timestamp', SIGNED, () => changed(signed(), { 'webhook-timestamp': 'noon' })],
  ['timestamp_out_of_tolerance', SIGNED, () => signed('{}', { ageSeconds: 3_600 })],
  ['verifier_misconfigured', asana, () => ({ body: '{}', headers: { 'x-hook-signature': 'ab' } })],
  [
    'unsupported_verifier',
    versioned,
    () => ({ body: '{}', headers: { 'x-signature': 'ab'.repeat(32), 'x-version': '2' } }),
  ],
]

test.each(REASONS)(
  'errors, rejection reasons: %s is stored, told by test-signature, never in the ingest response',
  async (reason, fields, sent) => {
    const source = await tenant.make('sources', fields)
    const heard = await send(source, sent())
    expect(heard.body).toMatchObject({ message: 'Signature verification failed' })
    expect(heard.text).not.toContain(reason)
    const { data } = await tenant.get(`/v1/events?status=rejected&sourceId=${source.id}`)
    expect(data).toMatchObject([{ rejectionReason: reason }])
    const diagnosis = await tenant.post(`/v1/sources/${source.id}/test-signature`, sent())
    expect(diagnosis).toMatchObject({ valid: false, reason })
  },
)
