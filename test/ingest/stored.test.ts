import { gzipSync } from 'node:zlib'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually, SOON_MS, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
let plain: Resource
beforeAll(async () => {
  relay = await startRelay()
  plain = await relay.make('sources', { name: 'plain' })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const JSON_TYPE = { 'content-type': 'application/json' }

test('a stored request is answered 200 with the event id in body and header', async () => {
  const heard = await relay.send(plain, { body: '{"a":1}', headers: JSON_TYPE })
  const eventId = heard.headers['postern-event-id']
  expect(heard).toMatchObject({ status: 200, body: { ok: true, eventId } })
  expect(Object.keys(heard.body)).toEqual(['ok', 'eventId'])
  expect(eventId).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{26}$/)
  expect(await relay.get(`/v1/events/${String(eventId)}`)).toMatchObject({ raw: '{"a":1}' })
})

test('path after the mask, query, headers and remote address are kept as they came', async () => {
  const id = await relay.accept(plain, {
    path: '/a/%2F/b%zz?x=1&x=%20two&y',
    headers: ['X-Twice', 'one', 'x-twice', 'two', 'Content-Type', 'text/plain'],
    body: 'hello',
  })
  const event = await relay.get(`/v1/events/${id}`)
  expect(event).toMatchObject({
    path: '/a/%2F/b%zz',
    method: 'POST',
    contentType: 'text/plain',
    remoteIp: '127.0.0.1',
    sizeBytes: 5,
    payload: null,
    query: [
      ['x', '1'],
      ['x', ' two'],
      ['y', ''],
    ],
  })
  expect(event.headers).toEqual(
    expect.arrayContaining([
      ['X-Twice', 'one'],
      ['x-twice', 'two'],
    ]),
  )
})

const BODIES: [name: string, body: Buffer, type: string, expected: object][] = [
  ['JSON', Buffer.from('{"n":1.50}'), 'application/json', { payload: { n: 1.5 } }],
  [
    'a form',
    Buffer.from('a=1&b=x+y'),
    'application/x-www-form-urlencoded',
    { payload: { a: '1', b: 'x y' } },
  ],
  ['broken JSON', Buffer.from('{"a":'), 'application/json', { payload: null, isBinary: false }],
  ['escaped NUL', Buffer.from('{"a":"\\u0000\\ud800"}'), 'application/json', { isBinary: false }],
  [
    'invalid UTF-8',
    Buffer.from([0xff, 0xfe, 0x41]),
    'text/plain',
    { isBinary: true, raw: '\uFFFD\uFFFDA' },
  ],
  [
    'a byte order mark',
    Buffer.from('\uFEFF{"a":1}'),
    'application/json',
    { isBinary: false, payload: { a: 1 } },
  ],
  ['CRLF', Buffer.from('a\r\nb\r\n'), 'text/plain', { raw: 'a\r\nb\r\n' }],
  ['nothing', Buffer.alloc(0), 'application/json', { raw: '', sizeBytes: 0, payload: null }],
]

test.each(BODIES)('a body of %s is kept byte for byte', async (_name, body, type, expected) => {
  const id = await relay.accept(plain, { body, headers: { 'content-type': type } })
  const event = await relay.get(`/v1/events/${id}`)
  expect(event).toMatchObject({ ...expected, sizeBytes: body.length })
  expect(Buffer.from(event.rawBase64, 'base64')).toEqual(body)
})

test('a compressed body is not inflated, and reaches the destination as it came', async () => {
  const { source, endpoint } = await relay.route()
  // The header of gzip holds NUL bytes, which ingest refuses: what is left would not survive an attempt to inflate it.
  const body = Buffer.from(gzipSync('{"a":1}').map((byte) => (byte === 0 ? 1 : byte)))
  const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
  const id = await relay.accept(source, { body, headers })
  const event = await relay.get(`/v1/events/${id}`)
  expect(Buffer.from(event.rawBase64, 'base64')).toEqual(body)
  const [arrival] = await eventually(() => {
    expect(endpoint.arrivals).toHaveLength(1)
    return endpoint.arrivals
  })
  expect(arrival?.body).toEqual(body)
  expect(arrival?.headers['content-encoding']).toBe('gzip')
})

test('a %00 in the query and in a selected value do not fail the request or its neighbours', async () => {
  const source = await relay.make('sources', {
    eventTypeField: 'query.type',
    idempotencyKeys: ['body.id'],
  })
  const bodies = ['{"id":"\\u0000"}', '{"id":"\\ud800"}', '{"id":"b"}', '{"id":"c"}']
  const ids = await Promise.all(
    bodies.map((body) => relay.accept(source, { path: '?type=%00', body, headers: JSON_TYPE })),
  )
  const event = await relay.get(`/v1/events/${ids[0] ?? ''}`)
  expect(event).toMatchObject({ eventType: '\uFFFD', status: 'unmatched' })
})

const STATUSES: [status: string, connections: object[], body: string][] = [
  ['unmatched', [], '{"type":"a"}'],
  ['unmatched', [{ isEnabled: false }], '{"type":"a"}'],
  ['received', [{}], '{"type":"a"}'],
  [
    'received',
    [{ filter: { eventTypes: ['b'] } }, { filter: { eventTypes: ['a*'] } }],
    '{"type":"ab"}',
  ],
  ['filtered', [{ filter: { eventTypes: ['b'] } }], '{"type":"a"}'],
  [
    'filtered',
    [{ filter: { body: { n: { $gt: 5 } } } }, { isEnabled: false }],
    '{"type":"a","n":5}',
  ],
]

test.each(STATUSES)('an event is %s with connections %j', async (status, connections, body) => {
  const source = await relay.make('sources', { eventTypeField: 'body.type' })
  const endpoint = await relay.endpoint()
  const destination = await relay.make('destinations', { url: endpoint.url })
  for (const fields of connections) await relay.connect(source, destination, fields)
  const id = await relay.accept(source, { body, headers: JSON_TYPE })
  const event = await relay.get(`/v1/events/${id}`)
  expect(event.status).toBe(status)
  expect(event.deliveries).toHaveLength(status === 'received' ? 1 : 0)
})

const RESPONSES: [response: object, status: number, text: string, type?: string][] = [
  [{ kind: 'empty' }, 200, '', 'text/plain; charset=utf-8'],
  [{ kind: 'empty', status: 204 }, 204, ''],
  [{ kind: 'static', body: '<ok/>', contentType: 'text/xml' }, 200, '<ok/>', 'text/xml'],
  [{ kind: 'static', body: '[accepted]' }, 200, '[accepted]', 'text/plain; charset=utf-8'],
]

test.each(RESPONSES)(
  'ingestResponse %j changes the answer and nothing else',
  async (ingestResponse, status, text, type) => {
    const source = await relay.make('sources', { ingestResponse, idempotencyKeys: ['body.id'] })
    const sent = { body: '{"id":1}', headers: JSON_TYPE }
    const heard = await relay.send(source, sent)
    expect(heard).toMatchObject({ status, text })
    expect(heard.headers['content-type']).toBe(type)
    const isChosen = text !== ''
    expect(heard.headers['x-content-type-options']).toBe(isChosen ? 'nosniff' : undefined)
    expect(heard.headers['content-security-policy']).toBe(isChosen ? 'sandbox' : undefined)
    expect(heard.headers['postern-event-id']).toMatch(/^evt_/)
    const again = await relay.send(source, sent)
    expect(again).toMatchObject({ status, text })
    expect(again.headers['postern-event-id']).toBeUndefined()
  },
)

test('each allowed method is taken and shown, with its body', async () => {
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const
  const source = await relay.make('sources', { allowedMethods: methods })
  for (const method of methods) {
    const id = await relay.accept(source, { method, body: 'x' })
    expect(await relay.get(`/v1/events/${id}`)).toMatchObject({
      method,
      raw: method === 'GET' ? '' : 'x',
    })
  }
})

test('HEAD on an enabled source is 200 and stores nothing', async () => {
  const source = await relay.make('sources', {})
  expect(await relay.send(source, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
  const { data } = await relay.get(`/v1/events?sourceId=${source.id}`)
  expect(data).toEqual([])
})

test('a new source takes webhooks, and a new connection gets them, as soon as the 201 is there', async () => {
  await relay.openIngest()
  const second = await relay.openIngest()
  for (let round = 0; round < 10; round++) {
    const { source, endpoint } = await relay.route()
    await relay.accept(source, { to: second })
    const other = await relay.make('destinations', { url: endpoint.url })
    await relay.connect(source, other)
    const id = await relay.accept(source, { to: second })
    expect((await relay.get(`/v1/events/${id}`)).deliveries).toHaveLength(2)
  }
})

test('a changed filter, a toggle and a deletion hold as soon as they are answered', async () => {
  const { source, connection } = await relay.route({ source: { eventTypeField: 'body.type' } })
  const statusNow = async (): Promise<string> => {
    const id = await relay.accept(source, { body: '{"type":"a"}', headers: JSON_TYPE })
    return (await relay.get(`/v1/events/${id}`)).status
  }
  const change = (data: object): Promise<Resource> =>
    relay.change('connections', connection.id, data)
  const steps: [expected: string, act: () => Promise<unknown>][] = [
    ['received', async () => undefined],
    ['filtered', () => change({ filter: { eventTypes: ['b'] } })],
    ['received', () => change({ filter: { eventTypes: ['a'] } })],
    ['unmatched', () => change({ isEnabled: false })],
    ['received', () => change({ isEnabled: true, filter: null })],
    ['unmatched', () => relay.api('DELETE', `/v1/connections/${connection.id}`)],
  ]
  for (const [expected, act] of steps) {
    await act()
    expect(await statusNow()).toBe(expected)
  }
  await relay.change('sources', source.id, { isEnabled: false })
  expect(await relay.send(source)).toMatchObject({ status: 404 })
  await relay.change('sources', source.id, { isEnabled: true })
  expect(await relay.send(source)).toMatchObject({ status: 200 })
})

test('lastEventAt of a source follows within 2 s', async () => {
  const source = await relay.make('sources', {})
  const sentAtMs = relay.clock.now()
  await relay.accept(source)
  await eventually(async () => {
    const { lastEventAt } = await relay.get(`/v1/sources/${source.id}`)
    expect(Date.parse(lastEventAt)).toBeGreaterThanOrEqual(sentAtMs)
  }, SOON_MS)
})
