import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ worker: false })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

type Header = [name: string, value: string]

/** Sends bytes as they are: every text is Latin-1. Resolves to the event's id. */
async function sendRaw(
  source: Resource,
  { headers = [], query = '', body = '' }: { headers?: Header[]; query?: string; body?: string },
): Promise<string> {
  const { hostname, port } = new URL(relay.ingest.url)
  const head = [
    `POST /${source.maskId}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    `Content-Length: ${body.length}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ]
  const socket = connect(Number(port), hostname)
  socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1'))
  const answer = await text(socket)
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  return /postern-event-id: (\S+)/i.exec(answer)?.[1] ?? ''
}

const FILTERS: object[] = [
  { headers: { 'x-a': 'a' } },
  { headers: { 'x-a': 'a, a' } },
  { headers: { 'x-a': { $startsWith: 'é' } } },
  { headers: { 'user-agent': 'a' } },
  { headers: { cookie: { $in: '; ' } } },
  { headers: { 'x-token': '***' } },
  { headers: { authorization: { $exist: true } } },
  { headers: { 'content-type': { $in: 'json' } } },
  { headers: { 'set-cookie': 'a, a' } },
  { query: { q: 'é' } },
  { query: { q: ['a', 'b'] } },
  { query: { q: { $exist: true } } },
  { body: { a: 1 } },
  { body: { a: '1' } },
  { body: { a: { $gt: 9_007_199_254_740_991 } } },
  { body: { a: { $startsWith: 'é' } } },
  { body: { a: { $exist: false } } },
  { body: { a: { sizeBytes: 1 } } },
  { body: [1] },
  { body: null },
  { eventTypes: ['a*'] },
]

const part = '--b\r\nContent-Disposition: form-data; name=a'

const value = fc.constantFrom('a', 'b', '\xC3\xA9', '\xE9', 'a, a', '', 'application/json')
const name = fc.constantFrom(
  'X-A',
  'x-a',
  'User-Agent',
  'user-agent',
  'Cookie',
  'cookie',
  'Authorization',
  'Set-Cookie',
  'X-Type',
  'x-type',
  'constructor',
  'Content-Type',
)
interface Sample {
  headers: Header[]
  type: string | undefined
  query: string
  mark: string
  body: string
}

const request: fc.Arbitrary<Sample> = fc.record({
  headers: fc.array(fc.tuple(name, value), { maxLength: 6 }),
  type: fc.constantFrom(
    undefined,
    '',
    JSON_TYPE,
    'Text/Plain; charset=x',
    FORM,
    'application/a+json',
    'multipart/form-data; boundary=b',
    'application/octet-stream',
  ),
  query: fc.constantFrom('', 'q=a', 'q=a&q=b', 'q=%C3%A9', 'q=%E9', 'q', '&', 'token=x', 'q=%zz'),
  mark: fc.constantFrom('', '\xEF\xBB\xBF'),
  body: fc.constantFrom(
    '',
    '{"a":1}',
    '{"a":1.0}',
    '{"a":9007199254740993}',
    '{"a":"\xE9"}',
    '{"a":"\xC3\xA9"}',
    '[1]',
    '[1e0]',
    '1',
    'null',
    '{"a":1,"a":2}',
    'a=1',
    'a=%E9',
    'a=1&a=2',
    'payload={"a":1}',
    'payload={"a":1}&a=1',
    `${part}\r\n\r\n1\r\n--b--`,
    `${part}; filename=f\r\n\r\n1\r\n--b--`,
  ),
})

/** For each filter at least one request that matches it. */
const EXAMPLES = [
  { headers: ['X-A: a', 'User-Agent: a', 'user-agent: b', 'X-Type: a'], query: 'q=a&q=b' },
  { headers: ['X-A: a', 'x-a: a', 'Set-Cookie: a', 'Set-Cookie: a'], query: 'q=%C3%A9' },
  { headers: ['X-A: \xC3\xA9', 'Cookie: a', 'cookie: b', 'Authorization: a'], body: '{"a":1.0}' },
  { type: JSON_TYPE, body: '{"a":9007199254740993}' },
  { type: JSON_TYPE, body: '[1e0]' },
  { type: JSON_TYPE, body: '{"a":"\xC3\xA9"}' },
  { type: FORM, body: 'a=1' },
  {
    type: 'multipart/form-data; boundary=b',
    body: `${part}; filename=f\r\n\r\n1\r\n--b--`,
  },
].map(({ headers = [], type, query = '', body = '' }): [Sample] => {
  const pairs = headers.map((line): Header => [
    line.split(': ')[0] ?? '',
    line.split(': ')[1] ?? '',
  ])
  return [{ headers: pairs, type, query, mark: '', body }]
})

test('ingest, replay and test-filter agree on every request', async () => {
  const destination = await relay.make('destinations', { url: 'http://127.0.0.1:9/' })
  const token = { in: 'header', name: 'x-token' }
  const source = await relay.make('sources', {
    verifier: { type: 'shared_token', token, secret: 's3cret' },
    eventTypeField: 'header.x-type',
  })
  const filters = new Map<string, object>()
  for (const filter of FILTERS) {
    filters.set((await relay.connect(source, destination, { filter })).id, filter)
  }
  const taken = (deliveries: Resource[]) =>
    deliveries
      .map(({ connectionId }) => FILTERS.indexOf(filters.get(connectionId) ?? {}))
      .toSorted((a, b) => a - b)
  const seen = new Set<number>()
  await fc.assert(
    fc.asyncProperty(request, async ({ headers, type, query, mark, body }) => {
      const typed: Header[] = type === undefined ? headers : [['content-type', type], ...headers]
      const id = await sendRaw(source, {
        headers: [['X-Token', 's3cret'], ...typed],
        query,
        body: mark + body,
      })
      const atIngest = taken((await relay.get(`/v1/events/${id}`)).deliveries)
      for (const index of atIngest) seen.add(index)
      const replayed = await relay.api('POST', `/v1/events/${id}/replay`, {})
      expect(taken(replayed.body.deliveries)).toEqual(atIngest)
    }),
    { numRuns: 80, examples: EXAMPLES },
  )
  // Each filter let some request through, so that they can disagree.
  expect(FILTERS.filter((_, index) => !seen.has(index))).toEqual([])

  const id = await sendRaw(source, {
    headers: [
      ['X-Token', 's3cret'],
      ['User-Agent', 'a'],
      ['User-Agent', 'b'],
    ],
    body: '{"a":1.0}',
  })
  const atIngest = taken((await relay.get(`/v1/events/${id}`)).deliveries)
  for (const [index, filter] of FILTERS.entries()) {
    const told = await relay.api('POST', '/v1/connections/test-filter', { filter, eventId: id })
    expect(told.body.matched, JSON.stringify(filter)).toBe(atIngest.includes(index))
  }
})

test('a captured request of Mailgun makes no second event, whatever is changed in it', async () => {
  const source = await relay.make('sources', {
    verifier: { preset: 'mailgun', secret: 'key' },
    eventTypeField: 'body.event-data.event',
  })
  const at = String(Math.floor(relay.clock.now() / 1_000))
  const token = '7'.padEnd(50, 'a')
  const signature = createHmac('sha256', 'key')
    .update(at + token)
    .digest('hex')
  const send = async (contentType: string | null, timestamp: unknown, given: string, more = '') => {
    const { status, body } = await relay.send(source, {
      headers: contentType === null ? {} : { 'content-type': contentType },
      body: `{"signature":${JSON.stringify({ timestamp, token: given, signature })},"event-data":{"event":"forged"}${more}}`,
    })
    return body.duplicate === true ? 'duplicate' : status
  }
  expect(await send(JSON_TYPE, at, token)).toBe(200)
  const heard = [
    await send(JSON_TYPE, at, token),
    await send(JSON_TYPE, Number(at), token, ',"n":1.0'),
    await send('text/plain', at, token),
    await send(null, at, token),
    await send(JSON_TYPE, at.slice(0, -1), at.slice(-1) + token),
    await send(JSON_TYPE, `${at}7`, token.slice(1)),
  ]
  expect(heard).toEqual(Array.from({ length: 6 }, () => 'duplicate'))
  for (const type of [FORM, 'application/octet-stream', 'application/jsonx']) {
    expect(await send(type, at, token), type).toBe(401)
  }
  expect(await send(JSON_TYPE, at, token, ',"signature":{}')).toBe(401)
})

test('a captured mail of a route of Mailgun makes no second event', async () => {
  const source = await relay.make('sources', {
    verifier: { preset: 'mailgunRoutes', secret: 'key' },
    idempotencyKeys: [],
  })
  const token = '7'.padEnd(50, 'a')
  const signature = createHmac('sha256', 'key').update(`1764039600${token}`).digest('hex')
  const send = async (timestamp: string, given: string, subject: string) => {
    const fields = new URLSearchParams({ timestamp, token: given, signature, subject })
    const { status, body } = await relay.send(source, {
      headers: { 'content-type': FORM },
      body: fields.toString(),
    })
    return body.duplicate === true ? 'duplicate' : status
  }
  expect(await send('1764039600', token, 'a')).toBe(200)
  expect(await send('1764039600', token, 'forged')).toBe('duplicate')
  expect(await send('17640396007', token.slice(1), 'forged')).toBe('duplicate')
  expect(await send('1764039600', `${token}b`, 'forged')).toBe(401)
})

test('a payload is shown with its numbers as they were sent', async () => {
  const source = await relay.make('sources', {})
  const body = '{"id":12345678901234567891,"price":1.50,"far":1e400,"zero":-0,"plain":[1,0.5]}'
  const id = await sendRaw(source, { headers: [['content-type', JSON_TYPE]], body })
  const response = await fetch(`${relay.apiUrl}/v1/events/${id}`, {
    headers: { authorization: `Bearer ${relay.key}` },
  })
  expect(await response.text()).toContain(`"payload":${body}`)
})

test('a filter on a number that a double cannot hold is refused, and its neighbours do not pass', async () => {
  const destination = await relay.make('destinations', { url: 'http://127.0.0.1:9/' })
  const source = await relay.make('sources', {})
  const connection = { name: 'big', sourceId: source.id, destinationId: destination.id }
  const write = (account: string) =>
    JSON.stringify({ ...connection, filter: { body: { account: 0 } } }).replace(
      ':0}',
      `:${account}}`,
    )
  const refused = await relay.api('POST', '/v1/connections', write('7100000000000000123'))
  expect(refused).toMatchObject({
    status: 400,
    body: { data: { fields: [{ path: 'body.filter.body.account' }] } },
  })
  const made = await relay.api('POST', '/v1/connections', write('7.1e18'))
  expect(made).toMatchObject({ status: 201, body: { filter: { body: { account: 7.1e18 } } } })
  for (const [account, deliveries] of [
    ['7100000000000000000', 1],
    ['71e17', 1],
    ['7100000000000000123', 0],
    ['7100000000000000001', 0],
  ] as const) {
    const body = `{"account":${account}}`
    const id = await sendRaw(source, { headers: [['content-type', JSON_TYPE]], body })
    const event = await relay.get(`/v1/events/${id}`)
    expect(event.deliveries, account).toHaveLength(deliveries)
    const sample = `{"filter":{"body":{"account":7.1e18}},"sample":{"body":${body}}}`
    const told = await relay.api('POST', '/v1/connections/test-filter', sample)
    expect(told.body.matched, account).toBe(deliveries === 1)
  }
})

test('ids that parsing could have made one are two events, and the same id is one', async () => {
  const source = await relay.make('sources', { idempotencyKeys: ['body.id'] })
  const send = async (type: string, body: string) =>
    await sendRaw(source, { headers: [['content-type', type]], body })
  for (const [type, bodies] of [
    [FORM, ['id=%E9', 'id=%E8', 'id=', 'id=+']],
    [JSON_TYPE, ['{"id":1e400}', '{"id":2e400}', '{"id":12345678901234567890}']],
    [JSON_TYPE, ['{"id":12345678901234567891}', '{"id":"\xE9"}', '{"id":"\xE8"}']],
    [JSON_TYPE, [String.raw`{"id":"\ud83d"}`, String.raw`{"id":"\ud83e"}`, '{"id":""}']],
  ] as const) {
    for (const body of bodies) expect(await send(type, body), body).toMatch(/^evt_/)
  }
  expect(await send(JSON_TYPE, '{"id":12345678901234567891}')).toBe('')
  expect(await send('text/plain', '\xEF\xBB\xBF{"id":12345678901234567891}')).toBe('')
})

test('a header is shown as the text it is, and reads the same to a selector', async () => {
  const source = await relay.make('sources', { eventTypeField: 'header.x-type' })
  for (const [bytes, shown] of [
    ['caf\xC3\xA9', 'café'],
    ['caf\xE9', 'café'],
  ] as const) {
    const id = await sendRaw(source, { headers: [['X-Type', bytes]] })
    const event = await relay.get(`/v1/events/${id}`)
    expect(event).toMatchObject({ eventType: shown })
    expect(event.headers).toContainEqual(['X-Type', shown])
  }
})

test('a form of very many fields stalls nobody: it is not parsed', async () => {
  const source = await relay.make('sources', { eventTypeField: 'body.a', maxPayloadSizeKb: 5_120 })
  const startedAt = performance.now()
  const body = 'a&'.repeat(2_000_000)
  const id = await sendRaw(source, { headers: [['content-type', FORM]], body })
  expect(await relay.get(`/v1/events/${id}`)).toMatchObject({ eventType: null, payload: null })
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})
