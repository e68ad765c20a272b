import { once } from 'node:events'
import { connect } from 'node:net'

import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { says } from '../kit/endpoint.ts'
import { talk } from '../kit/raw-socket.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
const lines: Resource[] = []
beforeAll(async () => {
  const log = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) })
  relay = await startRelay({ log })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function lineWith(expected: object): Promise<Resource> {
  return await eventually(() => {
    expect(lines).toContainEqual(expect.objectContaining(expected))
    return lines.find((line) =>
      Object.entries(expected).every(([name, value]) => line[name] === value),
    )
  })
}

/** Three decimals at most. */
const isShort = (ms: number): boolean => Math.abs(ms * 1_000 - Math.round(ms * 1_000)) < 1e-6

test('a stored event has a line at ingest and one for each attempt, with its id', async () => {
  const { source, destination } = await relay.route({ respond: says(500) })
  const eventId = await relay.accept(source)
  const ingest = await lineWith({ msg: 'Handled a request', eventId })
  expect(ingest).toMatchObject({ sourceId: source.id, outcome: 'stored', status: 200 })
  const attempt = await lineWith({ msg: 'Attempted a delivery', eventId })
  expect(attempt).toMatchObject({
    destinationId: destination.id,
    attempt: 1,
    trigger: 'initial',
    outcome: 'failed',
    errorCode: 'bad_response',
    responseStatus: 500,
  })
  expect([ingest.durationMs, attempt.durationMs].every(isShort)).toBe(true)
})

test('each refusal of ingest has a line with its outcome and its reason', async () => {
  const refused = await relay.make('sources', { verifier: { preset: 'github', secret: 's' } })
  const small = await relay.make('sources', { maxPayloadSizeKb: 1 })
  await relay.send(refused, { body: '{}' })
  await relay.send(small, { body: 'x'.repeat(2_000) })
  await relay.send(small, { body: Buffer.alloc(2) })
  await relay.send(small, { method: 'DELETE' })
  await relay.send({ maskId: 'nowhere' })
  const expected: [Resource, string, number, RegExp][] = [
    [refused, 'rejected', 401, /^Signature verification failed$/],
    [small, 'too_large', 413, /larger than 1 KiB/],
    [small, 'unsupported_body', 415, /NUL/],
    [small, 'bad_request', 405, /takes POST/],
    [undefined, 'not_found', 404, /no source/],
  ]
  for (const [source, outcome, status, reason] of expected) {
    const line = await lineWith({ outcome, status })
    expect(line.sourceId).toBe(source?.id)
    expect(line.reason).toMatch(reason)
  }
  expect((await lineWith({ outcome: 'rejected' })).rejectionReason).toBe('missing_signature_header')
})

test('bytes that are no request have a line, and count once', async () => {
  const before = await relay.scrape()
  const { answers } = await talk(relay.ingest.url, { parts: ['NOT HTTP\r\n\r\n'] })
  expect(answers[0]?.status).toBe(400)
  expect((await lineWith({ outcome: 'bad_request', status: 400 })).reason).toMatch(/not valid HTTP/)
  const source = await relay.make('sources', {})
  const head = `POST /${source.maskId} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`
  await talk(relay.ingest.url, { parts: [head, 'zz\r\n'] })
  const total = 'postern_ingest_requests_total'
  await eventually(async () => {
    const scrape = await relay.scrape()
    expect(scrape.sum(total) - before.sum(total)).toBe(2)
    expect(scrape.sum('postern_ingest_requests_in_flight')).toBe(0)
  })
})

test('a sender that goes away is no failure of ingest', async () => {
  const source = await relay.make('sources', {})
  const head = `POST /${source.maskId} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf`
  const { port } = new URL(relay.ingest.url)
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(head)
  await eventually(async () => {
    expect((await relay.scrape()).sum('postern_ingest_requests_in_flight')).toBe(1)
  })
  socket.resetAndDestroy()
  await lineWith({ outcome: 'aborted', sourceId: source.id })
})

test('X-Request-Id finds the line of each request of the API, whatever came of it', async () => {
  const asked: [string, string, number, object][] = [
    ['GET', '/v1/sources', 200, { route: '/v1/sources' }],
    ['GET', '/v1/events/evt_none', 404, { route: '/v1/events/:id', code: 'NOT_FOUND' }],
    ['POST', '/v1/sources', 400, { route: '/v1/sources', code: 'BAD_REQUEST' }],
    ['GET', '/nowhere', 404, { route: 'none', code: 'NOT_FOUND' }],
    ['GET', '/', 200, { route: '/' }],
  ]
  for (const [method, path, status, expected] of asked) {
    const body = method === 'POST' ? {} : undefined
    const { headers } = await relay.api(method, path, body)
    const line = await lineWith({ requestId: headers.get('x-request-id') })
    expect(line).toMatchObject({ msg: 'Answered', level: 30, method, status, ...expected })
    expect(isShort(line.durationMs)).toBe(true)
  }
})

test('X-Request-Id of an answer to what is no request finds a line too', async () => {
  const { answers } = await talk(relay.apiUrl, { parts: ['NOT HTTP\r\n\r\n'] })
  const requestId = answers[0]?.headers['x-request-id']
  expect(await lineWith({ requestId })).toMatchObject({ status: 400, code: 'BAD_REQUEST' })
})

test('GET / of the API answers with links that lead somewhere', async () => {
  const { api: _prefix, name: _name, ...links } = (await relay.api('GET', '/')).body
  expect(Object.keys(links)).toEqual(['docs', 'openapi', 'health'])
  for (const path of Object.values(links)) {
    expect((await fetch(`${relay.apiUrl}${String(path)}`)).status).toBe(200)
  }
})
