import { beforeAll, expect, test } from 'vitest'

import type { Resource } from '../kit/relay.ts'
import { SIGNED, signed } from './signature.ts'
import { accept, openTenant, send, type Tenant } from './tenant.ts'

const BINARY = Buffer.from([0xff, 0xfe, 0x41])

let tenant: Tenant
let accepted: Resource
let binary: Resource
let rejected: Resource
beforeAll(async () => {
  tenant = await openTenant()
  const fields = { eventTypeField: 'body.type', idempotencyKeys: ['header.webhook-id'] }
  const source = await tenant.make('sources', { ...SIGNED, ...fields })
  const body = '{"type": "order.paid"}'
  accepted = await eventOf(await accept(source, { path: '?a=1&a=2', ...signed(body) }))
  binary = await eventOf(await accept(await tenant.make('sources'), { body: BINARY }))
  await send(source, { body: 'forged' })
  const { data } = await tenant.get(`/v1/events?sourceId=${source.id}&status=rejected`)
  rejected = await eventOf(data[0].id)
})

const eventOf = async (id: string): Promise<Resource> => await tenant.get(`/v1/events/${id}`)

/** The rows of the table of fields: what an accepted, a binary and a rejected event show. */
const FIELDS: [field: string, rule: string, of: () => Resource, expected: unknown][] = [
  ['id', 'prefix evt_', () => accepted, expect.stringMatching(/^evt_[0-9a-z]{26}$/)],
  ['raw', 'the body exactly as received', () => accepted, '{"type": "order.paid"}'],
  ['raw', 'a lossy rendering where it is not UTF-8', () => binary, '\uFFFD\uFFFDA'],
  ['rawBase64', 'exact bytes of the body', () => binary, BINARY.toString('base64')],
  ['isBinary', 'true when the body is not valid UTF-8', () => binary, true],
  ['isBinary', 'false when it is', () => accepted, false],
  ['eventType', "resolved by the source's eventTypeField", () => accepted, 'order.paid'],
  ['idempotencyKey', 'present if the source computes one', () => accepted, expect.any(String)],
  ['idempotencyKey', 'absent if it does not', () => binary, undefined],
  ['status', 'one of the statuses', () => accepted, 'unmatched'],
  ['rejectionReason', 'present', () => rejected, 'missing_signature_header'],
  ['rejectionReason', 'for rejected events only', () => accepted, undefined],
  ['verifiedWith', 'the verifier that ran at ingest', () => accepted, 'standardWebhooks'],
  ['payload', 'the parsed payload', () => accepted, { type: 'order.paid' }],
  [
    'headers',
    'the request headers',
    () => accepted,
    expect.arrayContaining([['webhook-id', 'msg_1']]),
  ],
  [
    'query',
    'any query parameters of the ingest URL',
    () => accepted,
    [
      ['a', '1'],
      ['a', '2'],
    ],
  ],
]

test.each(FIELDS)('event: "%s" is %s', (field, _rule, of, expected) => {
  expect(of()[field]).toEqual(expected)
})

test('event: "each event belongs to the source that received it"', async () => {
  const source = await tenant.make('sources')
  const { sourceId } = await eventOf(await accept(source))
  expect(sourceId).toBe(source.id)
})

test('event: verifiedWith is kept as of ingest, "later edits to the source do not change it"', async () => {
  await tenant.patch(`/v1/sources/${accepted.sourceId}`, { verifier: { type: 'none' } })
  expect(await eventOf(accepted.id)).toEqual(accepted)
})

test.each(['PATCH', 'PUT', 'POST', 'DELETE'])(
  'event: "immutable once written": no %s of an event',
  async (method) => {
    const answer = await tenant.api(method, `/v1/events/${accepted.id}`, { data: { raw: 'x' } })
    expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  },
)
