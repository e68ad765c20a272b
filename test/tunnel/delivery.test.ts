import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { CallerLimits } from '../../api/auth/caller-limits.ts'
import type { Perform } from '../../connector-agent/tunnel/streams.ts'
import { liveProcesses } from '../../core/db/processes/processes.ts'
import { PIECE_BYTES } from '../../core/tunnel/call.ts'
import { STREAM_WINDOW_BYTES } from '../../core/tunnel/protocol.ts'
import { eventually, SOON_MS, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { answers, startAgent, type TestAgent } from './agent.ts'
import { openGateway, type GatewayProcess } from './gateway.ts'

const NOTHING = Buffer.alloc(0)
const PHASES = { dnsMs: 1.5, connectMs: 2.5, tlsMs: null, firstByteMs: 9, totalMs: 12 }

let relay: Relay
let gateway: GatewayProcess
beforeAll(async () => {
  relay = await startRelay({ gatewayUrl: 'ws://gateway.test' })
  gateway = await openGateway(relay, 'gateway one')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
})

interface PrivateRoute {
  source: Resource
  destination: Resource
  connector: Resource
}

async function privateRoute(fields: object = {}, connector?: Resource): Promise<PrivateRoute> {
  const through = connector ?? (await relay.make('connectors', {}))
  const source = await relay.make('sources', {})
  const destination = await relay.make('destinations', {
    url: 'http://billing.internal:8080/hook?a=1',
    mode: 'private',
    connectorId: through.id,
    ...fields,
  })
  await relay.connect(source, destination)
  return { source, destination, connector: through }
}

let instances = 0
async function enrol(connector: Resource): Promise<{ id: string; token: string }> {
  relay.deps.callers = new CallerLimits()
  await relay.pool.query('delete from public_limit')
  const startedAt = new Date().toISOString()
  const body = { instanceName: `agent ${++instances}`, version: '1', startedAt }
  const response = await fetch(`${relay.apiUrl}/v1/connectors/bootstrap`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${connector.enrollmentKey}`,
    },
    body: JSON.stringify(body),
  })
  const answer: Resource = await response.json()
  expect(response.status, JSON.stringify(answer)).toBe(200)
  return { id: answer.replicaId, token: answer.heartbeatToken }
}

async function connect(
  connector: Resource,
  perform: Perform = answers(200),
  at = gateway,
): Promise<TestAgent & { id: string }> {
  const { id, token } = await enrol(connector)
  return Object.assign(await startAgent(at.url, token, perform), { id })
}

/** Keeps what it was asked and answers 200. */
function recording(): { perform: Perform; heads: Parameters<Perform>[0][]; bodies: string[] } {
  const heads: Parameters<Perform>[0][] = []
  const bodies: string[] = []
  const perform: Perform = async (head, body) => {
    const parts: Buffer[] = []
    for await (const part of body) parts.push(Buffer.from(part))
    heads.push(head)
    bodies.push(Buffer.concat(parts).toString())
    return {
      kind: 'response',
      head: { status: 200, headers: [['X-Served-By', 'billing']], phases: PHASES },
      body: Buffer.from('thanks'),
    }
  }
  return { perform, heads, bodies }
}

test('a delivery goes through the connector as it would go to a public destination', async () => {
  const { source, connector } = await privateRoute({ headers: { 'x-own': 'yes' } })
  const { perform, heads, bodies } = recording()
  using agent = await connect(connector, perform)
  const headers = { 'content-type': 'application/json' }
  const eventId = await relay.accept(source, { headers, body: '{"n":1}' })
  const delivery = await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
  expect(delivery.attempts).toMatchObject([
    {
      number: 1,
      outcome: 'succeeded',
      responseStatus: 200,
      responseHeaders: [['x-served-by', 'billing']],
      responseBody: 'thanks',
      errorCode: null,
      replicaId: agent.id,
      requestUrl: 'http://billing.internal:8080/hook?a=1',
      durationMs: 12,
      phases: { dnsMs: 1.5, connectMs: 2.5, tlsMs: 0, firstByteMs: 9, totalMs: 12 },
    },
  ])
  expect(bodies).toEqual(['{"n":1}'])
  expect(heads).toMatchObject([
    { method: 'POST', url: 'http://billing.internal:8080/hook?a=1', bodyBytes: 7 },
  ])
  const sent = new Map(heads[0]?.headers)
  expect(sent.get('webhook-id')).toBe(delivery.id)
  expect(sent.get('webhook-signature')).toMatch(/^v1,/)
  expect(sent.get('x-own')).toBe('yes')
})

test('a delivery whose connector is offline waits, spends no attempt, and goes out within a second of a replica', async () => {
  const { source, connector } = await privateRoute()
  const eventIds = await relay.acceptMany(source, 40)
  for (const eventId of eventIds.slice(0, 3)) {
    const waiting = await relay.reaches(eventId, {
      status: 'pending',
      lastError: 'connector_offline',
      attemptCount: 0,
    })
    expect(waiting.attempts).toEqual([])
  }
  const { verdict } = await relay.get(`/v1/events/${eventIds[0]}/timeline`)
  expect(verdict).toMatchObject({ cause: 'connector_offline' })
  // Long enough for the waits between probes to have grown.
  await sleep(4_000)
  const { perform, heads } = recording()
  const { token } = await enrol(connector)
  const startedAt = performance.now()
  using _agent = await startAgent(gateway.url, token, perform)
  await eventually(() => expect(heads.length).toBeGreaterThan(0), SOON_MS)
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  for (const eventId of eventIds) {
    await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1, lastError: null })
  }
  expect(heads).toHaveLength(40)
  // The oldest is the probe.
  const [first] = heads.map(({ headers }) => new Map(headers).get('webhook-id'))
  const deliveries = await Promise.all(eventIds.map((id) => relay.deliveryOf(id)))
  expect(first).toBe(deliveries.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1))[0])
})

test('a manual retry to an offline connector waits as well', async () => {
  const { source, connector, destination } = await privateRoute()
  const agent = await connect(connector)
  const eventId = await relay.accept(source)
  const { id } = await relay.reaches(eventId, { status: 'succeeded' })
  agent.link?.cut()
  await eventually(async () => {
    expect(await relay.get(`/v1/connectors/${connector.id}`)).toMatchObject({ onlineReplicas: 0 })
  })
  expect((await relay.api('POST', `/v1/deliveries/${id}/retry`)).status).toBe(202)
  await relay.reaches(eventId, { status: 'pending', lastError: 'connector_offline' })
  using _again = await connect(connector)
  const done = await relay.reaches(eventId, { status: 'succeeded' })
  expect(done.attempts).toHaveLength(2)
  expect(destination.mode).toBe('private')
})

test('an offline connector holds up nobody else', async () => {
  const { source: offline } = await privateRoute()
  const { source } = await relay.route()
  await relay.acceptMany(offline, 50)
  const startedAt = performance.now()
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  expect(performance.now() - startedAt).toBeLessThan(2_000)
})

test('failures at the agent are recorded as what they are', async () => {
  const { source, connector } = await privateRoute()
  const codes = [
    'connection_refused',
    'host_not_allowed',
    'timeout',
    'dns_error',
    'tls_error',
  ] as const
  let code: (typeof codes)[number] = 'timeout'
  using agent = await connect(connector, async () => ({
    kind: 'failure',
    failure: { code, message: 'as told', isUnsent: true, phases: { ...PHASES, firstByteMs: null } },
  }))
  for (const next of codes) {
    code = next
    const delivery = await relay.reaches(await relay.accept(source), {
      status: 'pending',
      lastError: code,
      attemptCount: 1,
    })
    expect(delivery.attempts).toMatchObject([{ errorCode: code, replicaId: agent.id }])
  }
})

test('429 from behind a connector is a busy destination, and 410 disables it', async () => {
  const { source, connector } = await privateRoute()
  let status = 429
  using _agent = await connect(connector, async (head, body, signal) =>
    answers(status)(head, body, signal),
  )
  await relay.reaches(await relay.accept(source), {
    status: 'throttled',
    throttledReason: 'destination_busy',
  })
  status = 410
  const other = await privateRoute({}, connector)
  await relay.reaches(await relay.accept(other.source), { status: 'failed' })
  await eventually(async () => {
    const { disabledReason } = await relay.get(`/v1/destinations/${other.destination.id}`)
    expect(disabledReason).toBe('gone')
  })
})

test('a session that is cut in the middle of a request loses one attempt, and the retry goes to the other replica', async () => {
  const retryPolicy = { strategy: 'linear', initialDelaySeconds: 1, maxAttempts: 5 }
  const { source, connector } = await privateRoute({ retryPolicy })
  const asked = Promise.withResolvers<undefined>()
  const agent = await connect(connector, async (_head, body) => {
    for await (const part of body) void part
    asked.resolve(undefined)
    return await new Promise(() => {})
  })
  const eventId = await relay.accept(source)
  await asked.promise
  using other = await connect(connector)
  agent.link?.cut()
  const delivery = await relay.reaches(eventId, { status: 'succeeded', attemptCount: 2 })
  expect(delivery.attempts).toMatchObject([
    { errorCode: 'connector_lost', replicaId: agent.id, outcome: 'failed' },
    { errorCode: null, replicaId: other.id },
  ])
})

test('requests that a leaving agent refuses go to another at once, without an attempt', async () => {
  const { source, connector } = await privateRoute()
  const agent = await connect(connector)
  using other = await connect(connector)
  const going = relay.acceptMany(source, 60)
  agent.streams?.goAway('restart')
  for (const eventId of await going) {
    const { attempts } = await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
    expect(attempts).toHaveLength(1)
  }
  expect(other.streams?.inFlight).toBe(0)
})

test('a full connector waits without an attempt, and stops nobody from getting through afterwards', async () => {
  const connector = await relay.make('connectors', {})
  const routes = await Promise.all(
    Array.from({ length: 3 }, () => privateRoute({ maxConcurrency: 60 }, connector)),
  )
  let release: () => void = () => {}
  const open = new Promise<void>((resolve) => {
    release = resolve
  })
  let most = 0
  let now = 0
  using _agent = await connect(connector, async (head, body, signal) => {
    most = Math.max(most, ++now)
    await open
    now--
    return await answers(200)(head, body, signal)
  })
  const events = await Promise.all(routes.map(({ source }) => relay.acceptMany(source, 40)))
  await eventually(() => expect(now).toBe(64))
  const waiting = await eventually(async () => {
    const deliveries = await Promise.all(
      events.flat().map(async (id) => await relay.deliveryOf(id)),
    )
    const found = deliveries.find(({ lastError }) => lastError === 'connector_full')
    expect(found).toMatchObject({ status: 'pending', attemptCount: 0 })
    return found
  })
  const { verdict } = await relay.get(`/v1/events/${waiting?.eventId}/timeline`)
  expect(verdict).toMatchObject({
    cause: 'destination_saturated',
    sentence: expect.stringContaining('its replicas have as many requests as they take at once'),
  })
  await sleep(1_000)
  release()
  for (const eventId of events.flat()) {
    const { attempts } = await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
    expect(attempts).toHaveLength(1)
  }
  expect(most).toBe(64)
})

test('a body of 5 MiB arrives whole, within the windows of gateway and agent', async () => {
  const { source, connector } = await privateRoute()
  await relay.change('sources', source.id, { maxPayloadSizeKb: 5120 })
  const parts: Buffer[] = []
  let most = 0
  using _agent = await connect(connector, async (_head, body) => {
    for await (const part of body) {
      parts.push(Buffer.from(part))
      most = Math.max(most, await gateway.metric('postern_gateway_body_bytes'))
    }
    return { kind: 'response', head: { status: 200, headers: [], phases: PHASES }, body: NOTHING }
  })
  const answered = await gateway.metric('postern_gateway_streams_total')
  const body = 'x'.repeat(5120 * 1024)
  await relay.reaches(await relay.accept(source, { body }), { status: 'succeeded' })
  expect(Buffer.concat(parts).toString() === body).toBe(true)
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(PIECE_BYTES + STREAM_WINDOW_BYTES)
  expect(await gateway.metric('postern_gateway_body_bytes')).toBe(0)
  expect(await gateway.metric('postern_gateway_streams_in_flight')).toBe(0)
  expect(await gateway.metric('postern_gateway_streams_total')).toBe(answered + 1)
})

test('a test delivery goes through the connector too, and says when it is offline', async () => {
  const { destination, connector } = await privateRoute()
  const path = `/v1/destinations/${destination.id}/test-delivery`
  const offline = await relay.api('POST', path, {})
  expect(offline).toMatchObject({
    status: 200,
    body: { attempt: { outcome: 'failed', errorCode: 'connector_offline', replicaId: null } },
  })
  using agent = await connect(connector)
  expect(await relay.api('POST', path, { body: { a: 1 } })).toMatchObject({
    status: 200,
    body: { attempt: { outcome: 'succeeded', responseStatus: 200, replicaId: agent.id } },
  })
})

test('nothing reaches a revoked replica after a second, and nothing that was accepted is lost', async () => {
  const { source, connector } = await privateRoute()
  const seen = { revoked: [] as number[], other: 0 }
  const agent = await connect(connector, async (head, body, signal) => {
    seen.revoked.push(performance.now())
    return await answers(200)(head, body, signal)
  })
  using _other = await connect(connector, async (head, body, signal) => {
    seen.other++
    return await answers(200)(head, body, signal)
  })
  const eventIds: string[] = []
  const load = (async () => {
    for (let n = 0; n < 60; n++) {
      eventIds.push(...(await relay.acceptMany(source, 5)))
      await sleep(30)
    }
  })()
  await sleep(600)
  const revoked = await relay.api(
    'POST',
    `/v1/connectors/${connector.id}/replicas/${agent.id}/revoke`,
  )
  const revokedAt = performance.now()
  expect(revoked.status).toBe(200)
  await load
  for (const eventId of eventIds) await relay.reaches(eventId, { status: 'succeeded' }, 30_000)
  expect(seen.revoked.length).toBeGreaterThan(0)
  expect(seen.other).toBeGreaterThan(0)
  expect(Math.max(...seen.revoked) - revokedAt).toBeLessThan(1_000)
})

test('a worker that stops waits for what agents are doing', async () => {
  const { source, connector } = await privateRoute()
  const answer = Promise.withResolvers<void>()
  let requests = 0
  using _agent = await connect(connector, async (...request) => {
    requests++
    await answer.promise
    return await answers(200)(...request)
  })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'in_flight' })
  const stopping = relay.stopWorker()
  await eventually(async () => expect(await liveProcesses(relay.db, 'worker')).toEqual([]))
  await sleep(100)
  answer.resolve()
  await stopping
  expect(await relay.deliveryOf(eventId)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
  expect(requests).toBe(1)
  await relay.startWorker()
})

test('a gateway that drains costs no attempt: the agent has a session at another', async () => {
  await using leaving = await openGateway(relay, 'leaving')
  const { source, connector } = await privateRoute()
  const { token } = await enrol(connector)
  using first = await startAgent(leaving.url, token)
  using _second = await startAgent(gateway.url, token, answers(200), [first.gateway])
  const going = relay.acceptMany(source, 40)
  await leaving.drain()
  for (const eventId of await going) {
    const delivery = await relay.reaches(eventId, { status: 'succeeded' })
    expect(delivery.attemptCount).toBe(1)
  }
})
