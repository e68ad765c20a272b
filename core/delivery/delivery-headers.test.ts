import { expect, test } from 'vitest'

import {
  deliveryHeaders,
  type DeliveryFacts,
  forbiddenDestinationHeader,
  headerFault,
  MASKED_VALUE,
  parseHeaders,
} from './delivery-headers.ts'

const FACTS: DeliveryFacts = {
  deliveryId: 'dlv_1',
  timestampSeconds: 1_700_000_000,
  signature: 'v1,abc',
  eventId: 'evt_1',
  attempt: 2,
  attemptTrigger: 'automatic',
  sourceName: 'orders',
  connectionId: 'con_1',
  verifiedWith: 'github',
  remoteIp: '192.0.2.1',
}

type Pair = [name: string, value: string]

function built(eventHeaders: Pair[], own: Pair[] = [], facts: Partial<DeliveryFacts> = {}): Pair[] {
  const flat = deliveryHeaders(eventHeaders, { ...FACTS, ...facts }, own)
  expect(flat.length % 2).toBe(0)
  return flat.flatMap((name, index): Pair[] =>
    index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [],
  )
}

const OURS = built([])

test('deliveryHeaders() says all that is known of the attempt', () => {
  expect(Object.fromEntries(OURS)).toEqual({
    'webhook-id': 'dlv_1',
    'webhook-timestamp': '1700000000',
    'webhook-signature': 'v1,abc',
    'postern-event-id': 'evt_1',
    'postern-delivery-id': 'dlv_1',
    'postern-attempt': '2',
    'postern-attempt-trigger': 'automatic',
    'postern-source': 'orders',
    'postern-connection-id': 'con_1',
    'postern-verified-with': 'github',
    'postern-original-ip': '192.0.2.1',
    'postern-hops': '1',
  })
})

test('deliveryHeaders() leaves out what a test delivery does not have', () => {
  const none = {
    eventId: null,
    sourceName: null,
    connectionId: null,
    verifiedWith: null,
    remoteIp: null,
  }
  const names = built([], [], none).map(([name]) => name)
  expect(names.filter((name) => name.startsWith('postern-'))).toEqual([
    'postern-delivery-id',
    'postern-attempt',
    'postern-attempt-trigger',
    'postern-hops',
  ])
})

test('deliveryHeaders() forwards end-to-end headers as they came, twice where they came twice', () => {
  const sent: Pair[] = [
    ['Content-Type', 'application/json'],
    ['X-Hub-Signature-256', 'sha256=00'],
    ['Content-Encoding', 'gzip'],
    ['Authorization', 'Bearer of-the-sender'],
    ['X-Twice', '1'],
    ['x-twice', '2'],
    ['Via', ''],
  ]
  expect(built(sent)).toEqual([...sent, ...OURS])
})

test.for([
  'Connection',
  'Keep-Alive',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'Proxy-Connection',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
  'Host',
  'Content-Length',
  'Cookie',
  'Expect',
  'Postern-Event-Id',
  'POSTERN-ORIGINAL-IP',
  'postern-anything',
  'postern_event_id',
  'Postern.Verified.With',
  'webhook_id',
  'Webhook_Signature',
  'webhook.timestamp',
  'transfer_encoding',
])('deliveryHeaders() does not forward the sender’s %s', (name) => {
  expect(built([[name, 'sender']])).toEqual(OURS)
})

test.for<[sent: Pair[], hops: string]>([
  [[], '1'],
  [[['Postern-Hops', '1']], '2'],
  [[['postern-hops', '4']], '5'],
  [
    [
      ['postern-hops', '2'],
      ['postern-hops', '1, 3'],
    ],
    '4',
  ],
  [[['postern-hops', 'many']], '1'],
  [[['postern-hops', '-1']], '1'],
])('deliveryHeaders() of an event with %j says %s hops', ([sent, hops]) => {
  expect(built(sent).filter(([name]) => name === 'postern-hops')).toEqual([['postern-hops', hops]])
})

test('deliveryHeaders() reads names rightly however many there were before', () => {
  for (let n = 0; n < 5_000; n++) {
    const sent: Pair[] = [
      [`X-${n}`, '1'],
      [`Webhook-${n}`, '2'],
      [`Postern-${n}`, '3'],
    ]
    const expected: Pair[] = [
      [`X-${n}`, '1'],
      [`postern-original-webhook-${n}`, '2'],
    ]
    expect(built(sent).slice(0, 2)).toEqual(expected)
  }
})

test('deliveryHeaders() drops what a connection header names, wherever it stands', () => {
  const sent: Pair[] = [
    ['X-Early', '1'],
    ['cOnnection', 'close, X-Early,x-late'],
    ['X-Late', '2'],
    ['X-Kept', '3'],
  ]
  expect(built(sent)).toEqual([['X-Kept', '3'], ...OURS])
})

test('deliveryHeaders() drops the header whose value was masked as the shared secret', () => {
  expect(built([['X-Gitlab-Token', MASKED_VALUE]])).toEqual(OURS)
})

test('deliveryHeaders() keeps the sender’s webhook-* under another name', () => {
  const sent: Pair[] = [
    ['Webhook-Id', 'msg_1'],
    ['webhook-signature', 'v1,x'],
  ]
  expect(built(sent)).toEqual([
    ['postern-original-webhook-id', 'msg_1'],
    ['postern-original-webhook-signature', 'v1,x'],
    ...OURS,
  ])
})

test('the destination’s own headers come last and win, the later over the earlier', () => {
  const sent: Pair[] = [
    ['x-env', 'sender'],
    ['Authorization', 'Bearer of-the-sender'],
    ['X-Kept', ''],
  ]
  const own: Pair[] = [
    ['authorization', 'Basic auth'],
    ['X-Env', 'ours'],
    ['AUTHORIZATION', 'Bearer own'],
  ]
  expect(built(sent, own)).toEqual([
    ['X-Kept', ''],
    ...OURS,
    ['X-Env', 'ours'],
    ['AUTHORIZATION', 'Bearer own'],
  ])
})

test('a source name that a header cannot carry travels percent-encoded', () => {
  const headers = Object.fromEntries(built([], [], { sourceName: 'Zoë\nX: 1\ud800' }))
  expect(headers['postern-source']).toBe('Zo%C3%AB%0AX%3A%201%EF%BF%BD')
})

test.for([
  ['X-Api-Key', 'abc'],
  ['authorization', 'Bearer x'],
  ['x-empty', ''],
  ['x-tab', 'a\tb é'],
] as const)('headerFault(%j, %j) finds none', ([name, value]) => {
  expect(headerFault(name, value)).toBeUndefined()
})

test.for([
  ['host', 'x', 'may not set'],
  ['Cookie', 'x', 'may not set'],
  ['content-length', '1', 'may not set'],
  ['Transfer-Encoding', 'chunked', 'may not set'],
  ['expect', '100-continue', 'may not set'],
  ['webhook-id', 'x', 'may not set'],
  ['Postern-Source', 'x', 'may not set'],
  ['bad name', 'x', 'is not a header name'],
  ['', 'x', 'is not a header name'],
  ['é', 'x', 'is not a header name'],
  ['x'.repeat(257), 'x', 'is not a header name'],
  ['X-A', 'two\r\nlines', 'must hold only characters'],
  ['X-A', 'nul\0', 'must hold only characters'],
  ['X-A', '☃', 'must hold only characters'],
  ['X-A', 'x'.repeat(8_193), 'must be at most 8192'],
] as const)('headerFault(%j, %j) is "%s"', ([name, value, fault]) => {
  expect(headerFault(name, value)).toContain(fault)
})

test('forbiddenDestinationHeader() leaves headers that only begin alike', () => {
  for (const name of ['webhook', 'posternal', 'hostname', 'x-webhook-id', 'content-type']) {
    expect(forbiddenDestinationHeader(name)).toBe(false)
  }
})

test('parseHeaders() takes names with their values, as they are stored', () => {
  expect(parseHeaders('[["X-Näme","a \\"quoted\\" välue"],["a",""]]')).toEqual([
    ['X-Näme', 'a "quoted" välue'],
    ['a', ''],
  ])
})

test.for([
  '',
  '"no list"',
  '[["name","value"],["name"]]',
  '[["name","value","more"]]',
  '[["name",1]]',
  '[{"0":"name","1":"value","length":2}]',
])('parseHeaders() refuses %s', (json) => {
  expect(() => parseHeaders(json)).toThrow(/headers|JSON/)
})

test('deliveryHeaders() forwards the type of a mail’s body and none of the mail’s headers', () => {
  const sent: Pair[] = [
    ['content-type', 'application/json'],
    ['Subject', 'x'],
    ['Authorization', 'y'],
    ['postern-hops', '5'],
  ]
  expect(built(sent, [], { verifiedWith: 'email' })).toEqual([
    ['content-type', 'application/json'],
    ...built([], [], { verifiedWith: 'email' }),
  ])
})
