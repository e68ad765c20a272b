import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'

import { expect, test } from 'vitest'

import { problemOf } from './problem.ts'
import { RelayClient } from './relay-client.ts'
import { RelayAway, RelayPaused } from './relay-error.ts'

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: NodeJS.Dict<string | string[]>
  body: string
  port: number | undefined
}

/** A relay that answers as it is told, and a client of it. */
async function openRelay(answer: (response: ServerResponse) => void) {
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
  const client = new RelayClient(credentials, { fence, count })
  return {
    client,
    seen,
    told,
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
  await using relay = await openRelay(says(200, { data: [], nextCursor: null }))
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

test('a refusal is a problem of the object, in the words of the relay', async () => {
  const refusal = { status: 409, code: 'CONFLICT', message: 'The name is taken' }
  await using relay = await openRelay(says(409, refusal))
  const error = await faultOf(relay.client.api.createConnector({ body: { name: 'shop' } }))
  expect(problemOf(error)).toMatchObject({ reason: 'NameConflict', message: 'The name is taken' })
  expect(relay.client.standing?.kind).toBe('good')
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
    message: 'The key is unknown',
  })
  expect(refused.seen).toHaveLength(1)

  const tooMany = says(429, { status: 429, message: 'Too many' }, { 'retry-after': '60' })
  await using paused = await openRelay(tooMany)
  expect(problemOf(await faultOf(paused.client.api.listSources()))?.reason).toBe('RateLimited')
  expect(problemOf(await faultOf(paused.client.api.listSources()))?.reason).toBe('RateLimited')
  expect(paused.seen).toHaveLength(1)
})

test('a success that is no JSON is no word of the relay about the object', async () => {
  await using relay = await openRelay(says(200, '<html>'))
  const error = await faultOf(relay.client.api.listSources())
  expect(error).toBeInstanceOf(Error)
  expect(problemOf(error)).toBeUndefined()
})
