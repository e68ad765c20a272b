import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'

import { expect, test } from 'vitest'

import { openAllowedRelays } from './allowed-relays.ts'
import { problemOf } from './problem.ts'
import { RelayClient } from './relay-client.ts'
import { NotPostern, RelayAway, RelayNotAllowed, RelayPaused } from './relay-error.ts'

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: NodeJS.Dict<string | string[]>
  body: string
  port: number | undefined
}

const LIST = { data: [], nextCursor: null }

/** A relay that answers as it is told, and a client of it. */
async function openRelay(answer: (response: ServerResponse) => void, callMs?: number) {
  const seen: Seen[] = []
  const told: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { method, url, headers, socket } = request
      seen.push({ method, url, headers, body, port: socket.remotePort })
      answer(response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const credentials = { baseUrl: `http://127.0.0.1:${port}`, apiKey: 'pst_sk_1', ca: undefined }
  const count = (method: string, code: string): void => void told.push(`${method} ${code}`)
  const fence = (): void => void told.push('fence')
  const { lookupFor } = openAllowedRelays([{ cidrs: ['127.0.0.1'], ports: [port ?? 0] }], [])
  const lookup = lookupFor(credentials.baseUrl)
  const client = new RelayClient(credentials, {
    fence,
    count,
    lookup,
    ...(callMs !== undefined && { callMs }),
  })
  return {
    client,
    seen,
    told,
    port,
    async [Symbol.asyncDispose]() {
      await client.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

function says(status: number, body: object | string, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (response: ServerResponse): void => void response.writeHead(status, headers).end(text)
}

async function faultOf(called: Promise<unknown>): Promise<unknown> {
  return await called.then(
    () => undefined,
    (error: unknown) => error,
  )
}

test('calls go out as the operator’s, over one connection, and only writes pass the fence', async () => {
  await using relay = await openRelay(says(200, LIST))
  const { client, seen, told } = relay
  await client.api.listConnectors({ limit: 100, sortDir: 'asc', projectId: 'prj_1' })
  await client.api.createConnector({ body: { name: 'shop' }, idempotencyKey: 'operator/1' })
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /v1/connectors?limit=100&sortDir=asc',
    'POST /v1/connectors',
  ])
  expect(seen[0]?.headers).toMatchObject({
    authorization: 'Bearer pst_sk_1',
    'user-agent': 'postern-operator',
    'x-project-id': 'prj_1',
  })
  expect(seen[1]?.headers).toMatchObject({ 'idempotency-key': 'operator/1' })
  expect(seen[1]?.body).toBe('{"name":"shop"}')
  expect(seen[1]?.port).toBe(seen[0]?.port)
  expect(told).toEqual(['GET 200', 'fence', 'POST 200'])
})

test('a refusal is a problem of the object, in the words of a relay that has proved to be one', async () => {
  const refusal = { status: 409, code: 'CONFLICT', message: 'The name is taken' }
  const answers = [says(409, refusal), says(200, LIST), says(409, refusal)]
  await using relay = await openRelay((response) => answers.shift()?.(response))
  const { api, standing } = relay.client
  const create = async (): Promise<unknown> =>
    await faultOf(api.createConnector({ body: { name: 'shop' } }))
  expect(problemOf(await create())).toMatchObject({
    reason: 'NameConflict',
    message: 'The relay answers 409 CONFLICT',
  })
  await api.listConnectors()
  expect(problemOf(await create())).toMatchObject({ message: 'The name is taken' })
  expect(standing).toBeUndefined()
  expect(relay.client.standing?.kind).toBe('good')
})

test.for<[what: string, status: number, body: object | string]>([
  ['a web page', 200, '<html>s3cret</html>'],
  ['an empty object', 200, {}],
  ['an empty list', 200, []],
  ['a list of something else', 200, { data: [{ secret: 's3cret' }], nextCursor: null }],
  ['a redirect', 302, ''],
  ['a page of a proxy that refuses', 403, '<html>s3cret</html>'],
  ['a proxy that wants a password', 401, 's3cret'],
  ['a refusal of an API server', 403, { kind: 'Status', message: 's3cret', code: 403 }],
  ['a refusal of something else', 400, { code: 'bad', message: 's3cret' }],
  ['a code of ours with a status that is another', 400, { code: 'FORBIDDEN', message: 's3cret' }],
  ['ingest of a Postern', 404, { status: 404, code: 'NOT_FOUND', message: 's3cret' }],
])('%s is no Postern, and nothing of its answer goes on to people', async ([, status, body]) => {
  await using relay = await openRelay(says(status, body, { location: 'https://s3cret.test/' }))
  const error = await faultOf(relay.client.api.listConnectors())
  expect(error).toBeInstanceOf(NotPostern)
  expect(problemOf(error)).toMatchObject({ reason: 'NotPostern', isStalled: false })
  expect(relay.client.standing?.kind).toBe('foreign')
  expect(JSON.stringify([problemOf(error), relay.client.standing])).not.toContain('s3cret')
})

test.for<[what: string, status: number, body: string]>([
  ['200 with a page', 200, '<html>'],
  ['200 with nothing', 200, ''],
  ['404 with a page to a deletion', 404, '<html>'],
])('%s is no success of a write', async ([, status, body]) => {
  await using relay = await openRelay(says(status, body))
  const error = await faultOf(relay.client.api.deleteConnector({ id: 'cnr_1' }))
  expect(error).toBeInstanceOf(NotPostern)
})

test('the text of a refusal is that of nobody until a list has come', async () => {
  const refusal = { status: 401, code: 'UNAUTHORIZED', message: 's3cret' }
  await using relay = await openRelay(says(401, refusal))
  const error = await faultOf(relay.client.api.listConnectors())
  expect(problemOf(error)).toMatchObject({
    reason: 'CredentialsInvalid',
    message: 'The relay answers 401 UNAUTHORIZED',
  })
  expect(relay.client.standing?.message).not.toContain('s3cret')
})

test('calls that the key was refused are named until such a call succeeds', async () => {
  const refusal = { status: 403, code: 'INSUFFICIENT_API_KEY_PERMISSIONS', message: 'x' }
  const answers = [says(200, LIST), says(403, refusal), says(200, { id: 'cnr_1' })]
  await using relay = await openRelay((response) => answers.shift()?.(response))
  const { api } = relay.client
  await api.listConnectors()
  await faultOf(api.createConnector({ body: { name: 'shop' } }))
  expect(relay.client.lacked).toEqual(['POST connectors'])
  await api.createConnector({ body: { name: 'shop' } })
  expect(relay.client.lacked).toEqual([])
})

test('a name that leads to an address which no Relay may name is never dialled', async () => {
  await using relay = await openRelay(says(200, LIST))
  const { lookupFor } = openAllowedRelays([], [])
  const baseUrl = `http://localhost:${relay.port}`
  const how = { fence() {}, count() {}, lookup: lookupFor(baseUrl) }
  const client = new RelayClient({ baseUrl, apiKey: 'pst_sk_1', ca: undefined }, how)
  const error = await faultOf(client.api.listConnectors())
  expect(error).toBeInstanceOf(RelayNotAllowed)
  expect(problemOf(error)).toMatchObject({ reason: 'RelayNotAllowed', isStalled: true })
  expect(relay.seen).toEqual([])
  await client.close()
})

test('a fault of the server is a relay that is away, once', async () => {
  await using relay = await openRelay(says(503, { status: 503, message: 'x' }))
  const error = await faultOf(relay.client.api.listSources())
  expect(error).toBeInstanceOf(RelayAway)
  expect(problemOf(error)?.reason).toBe('RelayUnavailable')
  expect(relay.seen).toHaveLength(1)
  expect(relay.client.standing?.kind).toBe('away')
})

test('a key that is refused, or has called too often, makes no further call for a while', async () => {
  const unknown = { status: 401, code: 'UNAUTHORIZED', message: 'The key is unknown' }
  await using refused = await openRelay(says(401, unknown))
  const first = await faultOf(refused.client.api.listSources())
  expect(problemOf(first)?.reason).toBe('CredentialsInvalid')
  const second = await faultOf(refused.client.patientApi.listSources())
  expect(second).toBeInstanceOf(RelayPaused)
  expect(problemOf(second)).toMatchObject({
    reason: 'CredentialsInvalid',
    message: 'The relay answers 401 UNAUTHORIZED',
  })
  expect(refused.seen).toHaveLength(1)

  const tooMany = says(429, { status: 429, message: 'Too many' }, { 'retry-after': '60' })
  await using paused = await openRelay(tooMany)
  expect(problemOf(await faultOf(paused.client.api.listSources()))?.reason).toBe('RateLimited')
  expect(problemOf(await faultOf(paused.client.api.listSources()))?.reason).toBe('RateLimited')
  expect(paused.seen).toHaveLength(1)
})

test('an answer that comes byte by byte is given up as a whole', async () => {
  const trickles = (response: ServerResponse): void => {
    response.writeHead(200)
    const timer = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(timer))
  }
  await using relay = await openRelay(trickles, 200)
  const began = performance.now()
  const fault = await faultOf(relay.client.api.listSources())
  expect(fault).toBeInstanceOf(RelayAway)
  expect(problemOf(fault)?.reason).toBe('RelayUnavailable')
  expect(performance.now() - began).toBeGreaterThanOrEqual(190)
})
