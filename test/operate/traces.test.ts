import { spawn } from 'node:child_process'

import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { readSettings } from '../../core/config.ts'
import {
  startCollector,
  type CollectedSpan,
  type Collector,
} from '../../core/tracing/collector.fixture.ts'
import { RawSmtp } from '../email/mailbox.ts'
import { inTurn, says } from '../kit/endpoint.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { scratch } from '../kit/servers.ts'
import { ROOT } from '../kit/source-files.ts'
import { openGateway, type GatewayProcess } from '../tunnel/gateway.ts'

/** OpenTelemetry's numbers of kinds, plus one. */
const [INTERNAL, SERVER, CLIENT, PRODUCER] = [1, 2, 3, 4]
const ERROR = 2
const PARENT = { traceId: 'af7651916cd43dd8448eb211c80319c1', spanId: 'b7ad6b7169203331' }

let collector: Collector
let relay: Relay
let gateway: GatewayProcess
beforeAll(async () => {
  collector = await startCollector()
  const traces = tracesTo(collector)
  relay = await startRelay({ traces, gatewayUrl: 'ws://gateway.test', mailDomain: 'mail.test' })
  gateway = await openGateway(relay, 'gateway', undefined, traces)
  relay.deps.gatewayUrl = gateway.url
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
})

function tracesTo({ url }: Collector, env: Record<string, string> = {}) {
  return readSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_BSP_SCHEDULE_DELAY: '30',
    ...env,
  })
}

function traceOf(eventId: string): string {
  return uuid('evt', eventId).replaceAll('-', '')
}

/** The spans of a trace by name, once there are so many of each. */
async function spansOf(
  traceId: string,
  expected: Record<string, number>,
): Promise<Record<string, CollectedSpan[]>> {
  return await eventually(() => {
    const spans = collector.spans.filter((span) => span.traceId === traceId)
    const named = Map.groupBy(spans, ({ name }) => name)
    const counts = [...named].map(([name, { length }]) => [name, length])
    expect(Object.fromEntries(counts)).toEqual(expected)
    return Object.fromEntries(
      [...named].map(([name, own]) => [name, own.toSorted((a, b) => a.startMs - b.startMs)]),
    )
  })
}

const RETRIES = { retryPolicy: { strategy: 'schedule', scheduleSeconds: [1] } }

test('the trace of an event has its request, and below it store, publish, waits and attempts', async () => {
  const { source, destination, endpoint } = await relay.route({
    destination: RETRIES,
    respond: inTurn(says(500), says(200)),
  })
  const eventId = await relay.accept(source, { headers: { tracestate: 'vendor=lost' } })
  const delivery = await relay.reaches(eventId, { status: 'succeeded', attemptCount: 2 })
  const traceId = traceOf(eventId)
  const found = await spansOf(traceId, {
    'ingest request': 1,
    store: 1,
    publish: 1,
    wait: 2,
    attempt: 2,
  })
  const [request] = found['ingest request'] ?? []
  const [store] = found['store'] ?? []
  const [publish] = found['publish'] ?? []
  const [firstWait, secondWait] = found['wait'] ?? []
  const [first, second] = found['attempt'] ?? []

  expect(request).toMatchObject({
    parentSpanId: '',
    kind: SERVER,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'postern.outcome': 'stored',
      'postern.event.id': eventId,
      'postern.source.id': source.id,
    },
    resource: { 'service.name': 'postern-ingest' },
  })
  const below = { parentSpanId: request?.spanId }
  expect(store).toMatchObject({ ...below, kind: CLIENT, resource: request?.resource })
  expect(publish).toMatchObject({ ...below, kind: PRODUCER, status: { code: 0 } })
  expect(firstWait).toMatchObject({ ...below, kind: INTERNAL })
  expect(first).toMatchObject({
    ...below,
    kind: CLIENT,
    status: { code: ERROR, message: 'bad_response: 500' },
    links: [],
    attributes: {
      'http.response.status_code': 500,
      'error.type': 'bad_response',
      'server.address': '127.0.0.1',
      'postern.attempt.number': 1,
      'postern.attempt.trigger': 'initial',
      'postern.outcome': 'failed',
      'postern.delivery.id': delivery.id,
      'postern.destination.id': destination.id,
    },
    resource: { 'service.name': 'postern-worker' },
  })
  expect(second).toMatchObject({
    ...below,
    status: { code: 0 },
    links: [{ traceId, spanId: first?.spanId }],
    attributes: { 'postern.attempt.number': 2, 'postern.outcome': 'succeeded' },
  })
  const spans = Object.values(found).flat()
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  expect(spans.filter(({ startMs, endMs }) => endMs < startMs)).toEqual([])
  expect(store?.startMs).toBeGreaterThanOrEqual(request?.startMs ?? Infinity)
  expect(store?.endMs).toBeLessThanOrEqual(request?.endMs ?? 0)
  expect(firstWait?.endMs).toBeCloseTo(first?.startMs ?? 0, 0)
  expect(secondWait?.startMs).toBeGreaterThan(first?.endMs ?? Infinity)

  // The destination continues below the attempt that reaches it.
  expect(endpoint.arrivals.map(({ headers }) => headers['traceparent'])).toEqual([
    `00-${traceId}-${first?.spanId}-01`,
    `00-${traceId}-${second?.spanId}-01`,
  ])
  // It belongs to a traceparent that was not there.
  expect(endpoint.arrivals.map(({ headers }) => headers['tracestate'])).toEqual([
    undefined,
    undefined,
  ])
})

test('a traceparent of the sender is the parent, and its tracestate goes on', async () => {
  const { source, endpoint } = await relay.route()
  const eventId = await relay.accept(source, {
    headers: { traceparent: `00-${PARENT.traceId}-${PARENT.spanId}-01`, tracestate: 'vendor=1' },
  })
  await relay.reaches(eventId, { status: 'succeeded' })
  const all = { 'ingest request': 1, store: 1, publish: 1, wait: 1, attempt: 1 }
  const found = await spansOf(PARENT.traceId, all)
  const [request] = found['ingest request'] ?? []
  const [attempt] = found['attempt'] ?? []
  expect(request?.parentSpanId).toBe(PARENT.spanId)
  expect(attempt?.parentSpanId).toBe(request?.spanId)
  const [arrival] = endpoint.arrivals
  expect(arrival?.rawHeaders.filter(([name]) => /^traceparent$/i.test(name))).toEqual([
    ['traceparent', `00-${PARENT.traceId}-${attempt?.spanId}-01`],
  ])
  expect(arrival?.headers['tracestate']).toBe('vendor=1')
})

test('a trace that its sender does not record is not recorded, and goes on as such', async () => {
  const { source, endpoint } = await relay.route()
  const traceId = 'c'.repeat(32)
  await relay.accept(source, { headers: { traceparent: `00-${traceId}-${PARENT.spanId}-00` } })
  const recorded = await relay.accept(source)
  await spansOf(traceOf(recorded), {
    'ingest request': 1,
    store: 1,
    publish: 1,
    wait: 1,
    attempt: 1,
  })
  expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([])
  const sent = endpoint.arrivals.map(({ headers }) => String(headers['traceparent']))
  expect(sent).toContainEqual(expect.stringMatching(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`)))
  expect(sent.join()).not.toContain(PARENT.spanId)
})

test('a retry by hand and a replay link to what was first', async () => {
  const { source } = await relay.route()
  const eventId = await relay.accept(source)
  const { id } = await relay.reaches(eventId, { status: 'succeeded' })
  const traceId = traceOf(eventId)
  expect((await relay.api('POST', `/v1/deliveries/${id}/retry`)).status).toBe(202)
  await eventually(async () => {
    expect((await relay.deliveryOf(eventId)).attempts).toHaveLength(2)
  })
  expect((await relay.api('POST', `/v1/events/${eventId}/replay`, {})).status).toBe(202)
  const found = await spansOf(traceId, {
    'ingest request': 1,
    store: 1,
    publish: 1,
    wait: 3,
    attempt: 3,
  })
  const [request] = found['ingest request'] ?? []
  const [first, byHand, replay] = found['attempt'] ?? []
  expect(byHand).toMatchObject({
    links: [{ traceId, spanId: first?.spanId }],
    attributes: { 'postern.attempt.trigger': 'manual' },
  })
  expect(replay).toMatchObject({ links: [{ traceId, spanId: request?.spanId }] })
  expect(replay?.attributes['postern.delivery.id']).not.toBe(id)
})

test('a refused request has a trace of its own, and a rejected one that of its event', async () => {
  const refused = await relay.make('sources', { verifier: { preset: 'github', secret: 's' } })
  await relay.send(refused, { body: '{}' })
  await relay.send(refused, { method: 'DELETE' })
  const requests = await eventually(() => {
    const own = collector.spans.filter(
      ({ attributes }) => attributes['postern.source.id'] === refused.id,
    )
    expect(own).toHaveLength(2)
    return own
  })
  const [rejected, notAllowed] = requests.toSorted((a, b) => a.startMs - b.startMs)
  expect(rejected?.attributes).toMatchObject({ 'postern.outcome': 'rejected' })
  expect(rejected?.traceId).toBe(traceOf(String(rejected?.attributes['postern.event.id'])))
  expect(collector.spans).toContainEqual(
    expect.objectContaining({ name: 'store', parentSpanId: rejected?.spanId }),
  )
  expect(notAllowed?.attributes).toMatchObject({ 'http.response.status_code': 405 })
  expect(notAllowed?.traceId).not.toBe(rejected?.traceId)
})

test('a mail begins the trace of its event as a request does', async () => {
  const endpoint = await relay.endpoint()
  const source = await relay.make('sources', { kind: 'email' })
  const destination = await relay.make('destinations', { url: endpoint.url })
  await relay.connect(source, destination)
  using client = new RawSmtp(relay.ingest.smtpPort ?? 0)
  expect(await client.begin(source.ingestAddress)).toMatchObject({ code: 354 })
  const { text } = await client.message('From: a@example.net\r\nSubject: 1\r\n\r\nHello\r\n')
  const [eventId = ''] = /evt_\w+/.exec(text) ?? []
  const all = { 'ingest mail': 1, store: 1, publish: 1, wait: 1, attempt: 1 }
  const found = await spansOf(traceOf(eventId), all)
  const [mail] = found['ingest mail'] ?? []
  expect(mail?.attributes).toMatchObject({
    'postern.outcome': 'stored',
    'postern.smtp.code': 250,
    'postern.source.id': source.id,
  })
  expect(found['attempt']?.[0]?.parentSpanId).toBe(mail?.spanId)
})

test('an attempt through a connector goes on through gateway and agent', async () => {
  const endpoint = await relay.endpoint()
  const connector = await relay.make('connectors', {})
  using state = scratch()
  const agent = spawn(process.execPath, ['connector-agent/main.ts', '--allow-loopback'], {
    cwd: ROOT,
    env: {
      ...SURROUNDINGS,
      POSTERN_URL: relay.apiUrl,
      POSTERN_ENROLLMENT_KEY: connector.enrollmentKey,
      POSTERN_ALLOW: new URL(endpoint.url).origin,
      STATE_DIR: state.path,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '30',
    },
    stdio: 'ignore',
  })
  try {
    const source = await relay.make('sources', {})
    const destination = await relay.make('destinations', {
      url: endpoint.url,
      mode: 'private',
      connectorId: connector.id,
    })
    await relay.connect(source, destination)
    const eventId = await relay.accept(source)
    await relay.reaches(eventId, { status: 'succeeded' }, 40_000)
    const all = { 'ingest request': 1, store: 1, publish: 1, wait: 1, attempt: 1 }
    const found = await spansOf(traceOf(eventId), { ...all, gateway: 1, agent: 1 })
    const [attempt] = found['attempt'] ?? []
    const [passed] = found['gateway'] ?? []
    const [made] = found['agent'] ?? []
    expect(attempt?.attributes['postern.connector.id']).toBe(connector.id)
    expect(passed).toMatchObject({
      parentSpanId: attempt?.spanId,
      kind: SERVER,
      attributes: { 'http.response.status_code': 200, 'postern.connector.id': connector.id },
      resource: { 'service.name': 'postern-gateway' },
    })
    expect(made).toMatchObject({
      parentSpanId: passed?.spanId,
      kind: CLIENT,
      attributes: { 'http.response.status_code': 200 },
      resource: { 'service.name': 'postern-connector' },
    })
    expect(endpoint.arrivals[0]?.headers['traceparent']).toBe(
      `00-${traceOf(eventId)}-${made?.spanId}-01`,
    )
  } finally {
    agent.kill('SIGKILL')
  }
})

test('a test delivery has a trace of its own', async () => {
  const endpoint = await relay.endpoint()
  const { id } = await relay.make('destinations', { url: endpoint.url })
  const { body } = await relay.api('POST', `/v1/destinations/${id}/test-delivery`)
  const traceId = uuid('dlv', body.deliveryId).replaceAll('-', '')
  const { attempt } = await spansOf(traceId, { attempt: 1 })
  expect(attempt?.[0]).toMatchObject({ parentSpanId: '', links: [] })
  expect(endpoint.arrivals[0]?.headers['traceparent']).toContain(traceId)
})

test('deliveries that NATS does not take show in the span of their publishing', async () => {
  const { source } = await relay.route()
  await relay.stopNats()
  try {
    const traceId = traceOf(await relay.accept(source))
    const { publish } = await spansOf(traceId, { 'ingest request': 1, store: 1, publish: 1 })
    expect(publish?.[0]?.status).toMatchObject({
      code: ERROR,
      message: expect.stringMatching(/^1 not acknowledged/),
    })
  } finally {
    await relay.restartNats()
  }
})

test('no span has a secret, a body, a path or a query', async () => {
  const { source } = await relay.route({
    source: { verifier: { type: 'basic_auth', username: 'me', secret: 'hunter2' } },
    destination: { auth: { type: 'bearer', token: 'hunter2' } },
  })
  const authorization = `Basic ${Buffer.from('me:hunter2').toString('base64')}`
  const eventId = await relay.accept(source, {
    path: '/x?key=hunter2',
    headers: { authorization, 'x-own': 'hunter2' },
    body: 'hunter2',
  })
  await relay.reaches(eventId, { status: 'succeeded' })
  const all = { 'ingest request': 1, store: 1, publish: 1, wait: 1, attempt: 1 }
  await spansOf(traceOf(eventId), all)
  const text = JSON.stringify(collector.spans)
  for (const secret of ['hunter2', authorization.slice(6), source.maskId, '/hook']) {
    expect(text).not.toContain(secret)
  }
})

test('at a ratio of 0.3 each trace is there as a whole or not at all', async () => {
  await using own = await startCollector()
  await using other = await startRelay({
    traces: tracesTo(own, {
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.3',
    }),
  })
  const { source, endpoint } = await other.route()
  const eventIds = await other.acceptMany(source, 100)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(100))
  const flagged = endpoint.arrivals
    .map(({ headers }) => String(headers['traceparent']).split('-'))
    .filter(([, , , flags]) => flags === '01')
    .map(([, traceId = '']) => traceId)
  expect(flagged.length).toBeGreaterThan(5)
  expect(flagged.length).toBeLessThan(65)
  expect(flagged.filter((id) => !eventIds.some((eventId) => traceOf(eventId) === id))).toEqual([])
  await eventually(() => {
    const counts = Map.groupBy(own.spans, ({ traceId }) => traceId)
    expect([...counts.keys()].toSorted()).toEqual(flagged.toSorted())
    expect(new Set([...counts.values()].map((spans) => spans.length))).toEqual(new Set([5]))
  })
})

test('a collector that is away costs no event, and its traces come when it is back', async () => {
  const lines: Resource[] = []
  const log = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) })
  await using own = await startCollector()
  await own.stop()
  await using other = await startRelay({
    log,
    traces: tracesTo(own, { OTEL_EXPORTER_OTLP_TIMEOUT: '200' }),
  })
  const { source } = await other.route()
  for (const eventId of await other.acceptMany(source, 30)) {
    await other.reaches(eventId, { status: 'succeeded' })
  }
  const failed = (): Resource[] => lines.filter(({ msg }) => msg === 'Cannot send traces')
  // Ingest and worker, each once.
  await eventually(() => expect(failed()).toHaveLength(2))
  await own.start()
  await other.accept(source)
  await eventually(() => expect(own.spans.map(({ name }) => name)).toContain('attempt'))
  expect(failed()).toHaveLength(2)
})

test('while traces are off, the headers of a sender go on as they came', async () => {
  await using other = await startRelay()
  const { source, endpoint } = await other.route()
  const traceparent = `00-${PARENT.traceId}-${PARENT.spanId}-01`
  await other.accept(source, { headers: { traceparent, tracestate: 'vendor=1' } })
  await other.accept(source)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  const sent = endpoint.arrivals.map(({ headers }) => [headers.traceparent, headers['tracestate']])
  expect(sent).toContainEqual([traceparent, 'vendor=1'])
  expect(sent).toContainEqual([undefined, undefined])
})
