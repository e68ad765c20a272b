import { once } from 'node:events'
import { createServer } from 'node:http'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { all, openPostern, PosternError, type Postern } from '../../clients/typescript/index.ts'
import { inTurn, says, startEndpoint } from '../kit/endpoint.ts'
import { startRelay, type Relay } from '../kit/relay.ts'

let relay: Relay
let postern: Postern
beforeAll(async () => {
  relay = await startRelay()
  postern = openPostern({ url: relay.apiUrl, apiKey: relay.key })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}

/** The refusal of a call. */
async function refusalOf(called: Promise<unknown>): Promise<PosternError> {
  const error: unknown = await called.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof PosternError)) throw new Error('It was no refusal', { cause: error })
  return error
}

test('a webhook goes from a source to a destination that the client made, and is replayed', async () => {
  await using endpoint = await startEndpoint()
  const source = await postern.createSource({
    body: { name: 'client', verifier: { type: 'none' }, eventTypeField: 'body.type' },
  })
  const destination = await postern.createDestination({
    body: { name: 'client', url: endpoint.url },
    idempotencyKey: 'client-destination',
  })
  const again = await postern.createDestination({
    body: { name: 'client', url: endpoint.url },
    idempotencyKey: 'client-destination',
  })
  expect(again.id).toBe(destination.id)
  await postern.upsertConnection({
    name: 'client',
    body: { sourceId: source.id, destinationId: destination.id, filter: { eventTypes: ['paid'] } },
  })
  const id = await relay.accept(source, { body: '{"type":"paid"}' })
  await relay.reaches(id, { status: 'succeeded' })
  const { verdict, deliveries } = await postern.getEventTimeline({ id })
  expect(verdict.cause).toBe('delivered')
  expect(deliveries[0]?.attempts[0]?.responseStatus).toBe(200)
  const replay = await postern.replayEvent({ id })
  expect(replay.deliveries).toHaveLength(1)
  const changed = await postern.updateSource({
    id: source.id,
    body: { data: { metadata: { team: 'payments' } } },
  })
  expect(changed.metadata).toEqual({ team: 'payments' })
  expect(await postern.deleteSource({ id: source.id, cascade: true })).toBeUndefined()
})

test('a refusal has its code, its data, the faults of its members and the id of the request', async () => {
  const missing = await refusalOf(postern.getSource({ id: 'src_01jcqhrpsefh09tekf3cp3tkjz' }))
  expect(missing).toMatchObject({ status: 404, code: 'NOT_FOUND', name: 'PosternError' })
  expect(missing.requestId).toMatch(/^[\w-]{8,}$/)
  const faulty = await refusalOf(postern.createDestination({ body: { name: '', url: 'nowhere' } }))
  expect(faulty.is('BAD_REQUEST') && faulty.data.fields.map(({ path }) => path)).toEqual([
    'body.name',
    'body.url',
  ])
  expect(faulty.fault('name')).toMatch(/character/)
  const stranger = openPostern({ url: relay.apiUrl, apiKey: 'pst_sk_nobody' })
  expect((await refusalOf(stranger.listSources())).code).toBe('UNAUTHORIZED')
})

test('a list is read to its end, or up to a number, whatever the size of a page', async () => {
  const { id: projectId } = await postern.createProject({ body: { name: 'of many' } })
  const names = Array.from({ length: 7 }, (_, n) => `many-${n}`)
  for (const name of names) await postern.createSource({ projectId, body: { name } })
  const wish = { projectId, sortBy: 'name', sortDir: 'asc' } as const
  const whole = await collect(all(postern.listSources, { ...wish, limit: 3 }))
  expect(whole.map(({ name }) => name)).toEqual(names)
  const some = await collect(all(postern.listSources, { ...wish, limit: 2 }, { max: 5 }))
  expect(some.map(({ name }) => name)).toEqual(names.slice(0, 5))
  expect(await collect(all(postern.listSources, wish, { max: 0 }))).toEqual([])
})

test('new events come as a stream, which goes on behind the last message', async () => {
  const source = await postern.createSource({ body: { name: 'streamed' } })
  const heard: string[] = []
  let lastEventId: string | undefined
  const sent: string[] = []
  for await (const message of postern.streamEvents({ sourceId: source.id })) {
    if (message.type === 'ready') sent.push(await relay.accept(source, { body: '{}' }))
    if (message.type !== 'event.created') continue
    heard.push(message.data.id)
    lastEventId = message.id
    break
  }
  sent.push(await relay.accept(source, { body: '{}' }))
  for await (const message of postern.streamEvents({ sourceId: source.id, lastEventId })) {
    if (message.type !== 'event.created') continue
    heard.push(message.data.id)
    break
  }
  expect(heard).toEqual(sent)
  const refused = postern.streamEvents({ sourceId: source.id, lastEventId: 'nonsense' })
  expect((await refusalOf(refused.next())).code).toBe('BAD_REQUEST')
})

const ok = says(200, { 'content-type': 'application/json' }, '{"data":[],"nextCursor":null}')

test('a call that may be repeated is sent again after 503, any other is not', async () => {
  await using server = await startEndpoint(inTurn(says(503, { 'retry-after': '1' }), ok))
  const client = openPostern({ url: new URL(server.url).origin, apiKey: 'k' })
  expect(await client.listEvents()).toEqual({ data: [], nextCursor: null })
  expect(server.arrivals).toHaveLength(2)
  expect((server.arrivals[1]?.atMs ?? 0) - (server.arrivals[0]?.atMs ?? 0)).toBeGreaterThan(900)

  server.respond = says(503)
  expect((await refusalOf(client.createSource({ body: { name: 'x' } }))).status).toBe(503)
  expect(server.arrivals).toHaveLength(3)
  expect((await refusalOf(client.getUsage())).status).toBe(503)
  expect(server.arrivals).toHaveLength(6)
})

test('a wait that is longer than a caller has is told, with its seconds', async () => {
  await using server = await startEndpoint(says(429, { 'retry-after': '3600' }))
  const client = openPostern({ url: new URL(server.url).origin })
  const error = await refusalOf(client.listEvents())
  expect(error).toMatchObject({ status: 429, code: undefined, retryAfterSeconds: 3600 })
  expect(server.arrivals).toHaveLength(1)
})

test('a server that is no Postern is told from one, and nobody there is no refusal', async () => {
  await using server = await startEndpoint(says(200, {}, '<html>'))
  const client = openPostern({ url: new URL(server.url).origin, retries: 0 })
  const error = await refusalOf(client.listEvents())
  expect(error.code).toBeUndefined()
  expect(error.message).toContain('no JSON')
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const address = closed.address()
  const port = typeof address === 'object' ? address?.port : undefined
  closed.close()
  await once(closed, 'close')
  const nobody = openPostern({ url: `http://127.0.0.1:${port}`, retries: 0 })
  await expect(nobody.listEvents()).rejects.not.toBeInstanceOf(PosternError)
})

test('a call ends when its caller gives up, or its time has passed', async () => {
  await using server = await startEndpoint(() => undefined)
  const url = new URL(server.url).origin
  const stop = new AbortController()
  const called = openPostern({ url }).listEvents({ signal: stop.signal })
  stop.abort(new Error('given up'))
  await expect(called).rejects.toThrow('given up')
  const hasty = openPostern({ url, timeoutMs: 50, retries: 0 })
  await expect(hasty.listEvents()).rejects.toThrow(/timeout|aborted/i)
})
