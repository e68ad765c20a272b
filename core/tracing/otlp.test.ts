import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { openClock } from '../clock.ts'
import { readSettings } from '../config.ts'
import { newId } from '../ids.ts'
import { startCollector, type Collector } from './collector.fixture.ts'
import { openTracing } from './open-tracing.ts'
import { newSpanId, traceIdOf } from './trace-context.ts'
import type { NewSpan, Tracing } from './tracing.ts'

let collector: Collector
beforeEach(async () => {
  collector = await startCollector()
})
afterEach(async () => await collector[Symbol.asyncDispose]())

const lines: string[] = []
const log = pino({ level: 'info' }, { write: (line) => lines.push(line) })
const clock = openClock()

interface Opened extends AsyncDisposable {
  tracing: Tracing
  count(outcome: string): Promise<number>
}

/** With a short delay before a batch goes out, unless the settings have another. */
async function open(env: Record<string, string> = {}): Promise<Opened> {
  lines.length = 0
  const registry = new Registry()
  const settings = readSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    INSTANCE_NAME: 'one',
    ...env,
  })
  const tracing = await openTracing({ settings, role: 'worker', clock, log, registry })
  if (tracing === undefined) throw new Error('Traces are off')
  return {
    tracing,
    async count(outcome) {
      const read = await registry.getSingleMetric('postern_trace_spans_total')?.get()
      return read?.values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? Number.NaN
    },
    [Symbol.asyncDispose]: async () => await tracing[Symbol.asyncDispose](),
  }
}

function span(fields: Partial<NewSpan> = {}): NewSpan {
  return {
    name: 'attempt',
    kind: 'client',
    traceId: traceIdOf(newId(Date.now())),
    spanId: newSpanId(),
    parentSpanId: undefined,
    startedAt: performance.now() - 5,
    endedAt: performance.now(),
    attributes: {},
    ...fields,
  }
}

const soon = async (look: () => void | Promise<void>): Promise<void> =>
  await vi.waitFor(look, { timeout: 10_000, interval: 10 })

test.for([
  ['http/protobuf', 'application/x-protobuf', 'none'],
  ['http/protobuf', 'application/x-protobuf', 'gzip'],
  ['http/json', 'application/json', 'none'],
  ['http/json', 'application/json', 'gzip'],
] as const)(
  'a span arrives as it was recorded: %s, %s, %s',
  async ([protocol, type, compression]) => {
    await using opened = await open({
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_COMPRESSION: compression,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=s%20ecret,x=general',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x=own',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,service.version=9',
    })
    const parentSpanId = newSpanId()
    const follows = newSpanId()
    const given = span({
      parentSpanId,
      follows,
      fault: 'timeout',
      attributes: { text: 'é', whole: 7, part: 1.5, yes: true, none: undefined, nil: null },
    })
    opened.tracing.record(given)
    await soon(() => expect(collector.spans).toHaveLength(1))
    const { traceId, spanId } = given
    expect(collector.spans[0]).toMatchObject({
      traceId,
      spanId,
      parentSpanId,
      name: 'attempt',
      kind: 3,
      attributes: { text: 'é', whole: 7, part: 1.5, yes: true },
      links: [{ traceId, spanId: follows }],
      status: { code: 2, message: 'timeout' },
      resource: {
        'service.name': 'postern-worker',
        'service.instance.id': 'one',
        'service.version': '9',
        'postern.role': 'worker',
        'deployment.environment': 'test',
      },
    })
    const { startMs = 0, endMs = 0 } = collector.spans[0] ?? {}
    expect(endMs - startMs).toBeCloseTo(given.endedAt - given.startedAt, 2)
    expect(Math.abs(Date.now() - endMs)).toBeLessThan(5_000)
    const [request] = collector.requests
    expect(request?.path).toBe('/v1/traces')
    expect(request?.headers).toMatchObject({ 'content-type': type, 'api-key': 's ecret', x: 'own' })
    await soon(async () => expect(await opened.count('exported')).toBe(1))
  },
)

test('the endpoint for traces alone is used as it is, and OTEL_SERVICE_NAME names the service', async () => {
  await using opened = await open({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/intake`,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1/nobody',
    OTEL_SERVICE_NAME: 'relay',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other',
  })
  opened.tracing.record(span())
  await soon(() => expect(collector.spans).toHaveLength(1))
  expect(collector.requests[0]?.path).toBe('/intake')
  expect(collector.spans[0]?.resource['service.name']).toBe('relay')
})

test.for([
  {},
  { OTEL_TRACES_SAMPLER: 'always_on' },
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' },
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_EXPORTER: 'none' },
])('traces are off with %j', async (env) => {
  const registry = new Registry()
  const settings = readSettings(env)
  expect(await openTracing({ settings, role: 'worker', clock, log, registry })).toBeUndefined()
})

test('a process that ends sends what it has', async () => {
  {
    await using opened = await open({
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '40',
    })
    for (let n = 0; n < 1_800; n++) opened.tracing.record(span())
  }
  expect(collector.spans).toHaveLength(1_800)
})

test('a collector that is away is named once, costs spans alone, and gets those that follow', async () => {
  await collector.stop()
  await using opened = await open({ OTEL_EXPORTER_OTLP_TIMEOUT: '300' })
  for (let n = 1; n <= 3; n++) {
    opened.tracing.record(span())
    await soon(async () => expect(await opened.count('failed')).toBe(n))
  }
  const said = lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30)
  expect(said).toEqual([expect.objectContaining({ msg: 'Cannot send traces' })])
  await collector.start()
  opened.tracing.record(span())
  await soon(() => expect(collector.spans).toHaveLength(1))
  await soon(() => expect(lines.join()).toContain('Traces are sent again'))
})

test('past the bound of the queue spans are dropped and counted', async () => {
  collector.status = undefined
  await using opened = await open({ OTEL_BSP_MAX_QUEUE_SIZE: '10' })
  for (let n = 0; n < 25; n++) opened.tracing.record(span())
  expect(await opened.count('dropped')).toBe(15)
})

test('a collector that never answers holds the end of a process up for seconds, not for its time-out', async () => {
  collector.status = undefined
  const opened = await open()
  opened.tracing.record(span())
  await soon(() => expect(collector.requests).toHaveLength(1))
  const startedAt = performance.now()
  await opened[Symbol.asyncDispose]()
  expect(performance.now() - startedAt).toBeLessThan(8_000)
})

test('a refusal of the collector is a failure, and its status is in the line', async () => {
  collector.status = 401
  await using opened = await open()
  opened.tracing.record(span())
  await soon(async () => expect(await opened.count('failed')).toBe(1))
  expect(lines.join()).toMatch(/Unauthorized|401/)
})

test('a clock that was set moves the times of later spans', async () => {
  let shiftMs = 0
  const registry = new Registry()
  const settings = readSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
  })
  const shifted = { now: () => Date.now() + shiftMs }
  await using tracing = await openTracing({ settings, role: 'w', clock: shifted, log, registry })
  tracing?.record(span())
  shiftMs = 3_600_000
  tracing?.record(span())
  await soon(() => expect(collector.spans).toHaveLength(2))
  const [first, second] = collector.spans
  expect((second?.endMs ?? 0) - (first?.endMs ?? 0)).toBeGreaterThan(3_500_000)
})
