import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { Agent, request } from 'undici'
import { expect, vi } from 'vitest'

import { buildApp } from '../../api/app.ts'
import type { Deps } from '../../api/deps.ts'
import { LiveStreams } from '../../api/events/live/live-streams.ts'
import type { Settings } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { compileCidrs, isReachable } from '../../core/egress/address.ts'
import { openEgress } from '../../core/egress/egress.ts'
import { ensureDeliveryStream } from '../../core/jetstream/delivery-stream.ts'
import { INGEST_STATEMENT_TIMEOUT_MS, SOCKETS_MAX } from '../../core/limits.ts'
import { openNats } from '../../core/nats.ts'
import type { CertificateFiles } from '../../core/settings/certificate.ts'
import { openTracing } from '../../core/tracing/open-tracing.ts'
import type { Tracing } from '../../core/tracing/tracing.ts'
import { startHousekeeper } from '../../dataplane/housekeeper/housekeeper.ts'
import { openIngest } from '../../dataplane/ingest/ingest.ts'
import type { SpoolSettings } from '../../dataplane/ingest/spool/spool.ts'
import { openMetrics } from '../../dataplane/worker/in-flight/metrics.ts'
import { startWorker, type Worker } from '../../dataplane/worker/worker.ts'
import { callApi, type Answer } from './call-api.ts'
import { startEndpoint, type Endpoint, type Respond } from './endpoint.ts'
import { parseScrape, type Scrape } from './scrape.ts'
import { IN_MEMORY, scratch, startTestNats } from './servers.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

/** Whatever the API answers with: tests look into all of it. */
export type Resource = Answer['body']

/** The answer of ingest to a sender. */
export interface IngestReply {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** Parsed JSON; undefined when the text is none. */
  body: Resource
}

export interface Sent {
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET' | 'HEAD' | 'OPTIONS'
  /** Appended to the mask id: a path, a query or both. */
  path?: string
  headers?: Record<string, string> | string[]
  body?: string | Buffer
  /** The ingest process to send to, when not the first. */
  to?: IngestProcess
}

export interface IngestProcess {
  url: string
  /** Where it takes mail; undefined: it takes none. */
  smtpPort: number | undefined
  registry: Registry
  app: FastifyInstance
  /** Rejects while it cannot accept: what /readyz asks. */
  ready(): Promise<void>
  stop(): Promise<void>
}

export interface WorkerProcess {
  name: string
  registry: Registry
  partitions: Worker['partitions']
  /** The present value of one of its metrics. */
  metric(name: string): Promise<number>
  stop(): Promise<void>
}

/** A source, a connection and a destination whose requests are recorded. */
export interface Route {
  source: Resource
  destination: Resource
  connection: Resource
  endpoint: Endpoint
}

interface RouteFields {
  source?: Resource
  destination?: Resource
  connection?: Resource
  respond?: Respond
  /** Key of the tenant, when not the world's. */
  key?: string
}

export interface RelayOptions extends WorldOptions {
  /** Ranges that deliveries may reach beside public addresses: loopback by default. */
  deliveryCidrs?: readonly string[]
  /** Private ranges that ingest may fetch keys from: none by default. */
  keyCidrs?: readonly string[]
  /** The certificate of its listener of mail, which there is with a `mailDomain`. */
  certificate?: CertificateFiles
  /** Attempts that a worker may have under way. */
  socketsMax?: number
  /** Compiled destinations that a worker keeps. */
  destinationsMax?: number
  /** Settings of traces, which are off without them. */
  traces?: Settings
  /** False: events are stored and published, and wait for `startWorker`. */
  worker?: boolean
}

/** A world whose data plane runs: ingest, worker and housekeeper, on a NATS server and a clock of their own. */
export interface Relay extends World {
  stopNats(): Promise<void>
  /** After it was stopped: on the same port, with what it held. */
  restartNats(): Promise<void>
  ingest: IngestProcess
  openIngest(): Promise<IngestProcess>
  startWorker(): Promise<void>
  /** Starts a further worker, beside those that run. */
  openWorker(name: string): Promise<WorkerProcess>
  /** Lets it finish what it has in hand, as a shutdown does. */
  stopWorker(): Promise<void>
  send(source: Resource, sent?: Sent): Promise<IngestReply>
  /** Sends, expects the 200 of a stored event and returns the event's id. */
  accept(source: Resource, sent?: Sent): Promise<string>
  acceptMany(source: Resource, count: number): Promise<string[]>
  endpoint(respond?: Respond): Promise<Endpoint>
  /** Creates a resource and returns it. */
  make(kind: string, fields: object, key?: string): Promise<Resource>
  /** Changes a resource and returns it. */
  change(kind: string, id: string, data: object): Promise<Resource>
  get(path: string, key?: string): Promise<Resource>
  route(fields?: RouteFields): Promise<Route>
  connect(source: Resource, destination: Resource, fields?: object): Promise<Resource>
  /** The newest delivery of an event, with its attempts. */
  deliveryOf(eventId: string): Promise<Resource>
  /** Waits until the event's newest delivery looks like this. */
  reaches(eventId: string, expected: object, withinMs?: number): Promise<Resource>
  /** The metrics of all its processes. */
  scrape(): Promise<Scrape>
  /** Sets the clock of all processes ahead, or back. */
  advance(ms: number): Promise<void>
}

const POOL_MAX = 4
const POLL_MS = 15

/** For what is promised within 2 s, on a machine that may stand still meanwhile. */
export const SOON_MS = 4_000

/** Asks again and again until the expectation holds. */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = 12_000): Promise<T> {
  return await vi.waitFor(look, { timeout: withinMs, interval: POLL_MS })
}

/** Disposing of a relay stops everything that it started. */
export async function startRelay(options: RelayOptions = {}): Promise<Relay> {
  const stack = new AsyncDisposableStack()
  try {
    return await openRelay(stack, options)
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

async function openRelay(stack: AsyncDisposableStack, options: RelayOptions): Promise<Relay> {
  const own = stack.use(await startWorld(options))
  const directory = stack.use(scratch(IN_MEMORY))
  let natsServer = await startTestNats(directory.path)
  stack.defer(async () => await natsServer.stop())
  const world = stack.use(await onNats(own, natsServer.url))
  const manager = await ensureDeliveryStream(world.nats)
  const { pool, nats, clock } = world
  const registry = new Registry()
  const dashboardUrl = world.apiUrl
  stack.use(
    startHousekeeper({ ...world.deps, pool, nats, manager, name: 'test', registry, dashboardUrl }),
  )

  const ingests = new Set<IngestProcess>()
  const open = async (): Promise<IngestProcess> => {
    const opened = await openIngestOn(
      { ...world, ...world.deps, certificate: options.certificate, traces: options.traces },
      `ingest-${ingests.size}`,
      options.keyCidrs,
    )
    ingests.add(opened)
    return opened
  }
  let worker: WorkerProcess | undefined
  const workers = new Set<WorkerProcess>()
  const stopWorker = async (): Promise<void> => {
    const running = worker
    worker = undefined
    await running?.stop()
  }
  const openWorker = async (name: string): Promise<WorkerProcess> => {
    const { deliveryCidrs: allowCidrs = ['127.0.0.0/8'], socketsMax = SOCKETS_MAX } = options
    const { destinationsMax } = options
    const installation = { ...world, ...world.deps, traces: options.traces }
    const limits = { socketsMax, destinationsMax }
    const opened = await openWorkerOn(installation, name, { allowCidrs, ...limits })
    workers.add(opened)
    return opened
  }
  const runWorker = async (): Promise<void> => {
    worker = await openWorker('worker')
  }
  stack.defer(async () => {
    await Promise.all(Array.from(workers, async (running) => await running.stop()))
  })
  stack.defer(async () => {
    for (const process of ingests) await process.stop()
  })
  const endpoints = new Set<Endpoint>()
  stack.defer(async () => {
    for (const endpoint of endpoints) await endpoint[Symbol.asyncDispose]()
  })
  const agent = stack.adopt(
    new Agent({ connections: 64 }),
    async (opened) => await opened.destroy(),
  )
  const ingest = await open()
  world.deps.ingestServiceUrl = ingest.url
  if (options.worker !== false) await runWorker()
  const calls = callsOf(world, async (respond) => {
    const endpoint = await startEndpoint(respond)
    endpoints.add(endpoint)
    return endpoint
  })
  const send = async (source: Resource, sent: Sent = {}): Promise<IngestReply> =>
    await sendTo(agent, `${(sent.to ?? ingest).url}/${source.maskId}`, sent)
  const accept: Relay['accept'] = async (source, sent) => {
    const heard = await send(source, sent)
    if (heard.status !== 200) throw new Error(`Ingest answered ${heard.status}: ${heard.text}`)
    return String(heard.headers['postern-event-id'])
  }
  return {
    ...world,
    ...calls,
    stopNats: async () => await natsServer.stop(),
    async restartNats() {
      natsServer = await startTestNats(directory.path)
    },
    ingest,
    openIngest: open,
    startWorker: runWorker,
    openWorker,
    stopWorker,
    send,
    accept,
    acceptMany: async (source, count) =>
      await Promise.all(Array.from({ length: count }, async () => await accept(source))),
    async scrape() {
      const ofProcesses = [...ingests, ...workers].map((process) => process.registry)
      const all = [world.deps.registry, registry, ...ofProcesses]
      const texts = await Promise.all(all.map(async (one) => await one.metrics()))
      return parseScrape(texts.join('\n'))
    },
    async advance(ms) {
      clock.advance(ms)
    },
    [Symbol.asyncDispose]: async () => await stack.disposeAsync(),
  }
}

/** The same world with its management API on another NATS server. */
async function onNats(world: World, natsUrl: string): Promise<World> {
  const stack = new AsyncDisposableStack()
  const nats = await openNats(natsUrl, 'api', world.deps.log)
  stack.defer(async () => await nats.close())
  const registry = new Registry()
  const eventStreams = new LiveStreams({ ...world.deps, nats, registry })
  const deps = { ...world.deps, nats, registry, eventStreams }
  const app = stack.use(buildApp(deps))
  const apiUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    ...world,
    natsUrl,
    nats,
    deps,
    app,
    apiUrl,
    api: async (method, path, body, asked) =>
      await callApi(apiUrl, { method, path, body }, { key: world.key, ...asked }),
    [Symbol.asyncDispose]: async () => await stack.disposeAsync(),
  }
}

/** The parts of an installation that a process of the data plane needs. */
type Installation = Pick<World, 'databaseUrl' | 'natsUrl' | 'keyring'> &
  Pick<Deps, 'clock' | 'log' | 'plans' | 'ingestUrl'> & {
    mailDomain?: string | undefined
    spool?: SpoolSettings
    certificate?: CertificateFiles | undefined
    trustedProxies?: readonly string[]
    traces?: Settings | undefined
  }

/** A further ingest process, with connections of its own as a process has. */
export async function openIngestOn(
  installation: Installation,
  name: string,
  keyCidrs: readonly string[] = [],
): Promise<IngestProcess> {
  const { databaseUrl, natsUrl, clock, keyring, plans, log, ingestUrl, spool, traces } =
    installation
  const { mailDomain: domain, certificate, trustedProxies = [] } = installation
  const stack = new AsyncDisposableStack()
  const pool = openPool({
    url: databaseUrl,
    max: POOL_MAX,
    log,
    statementTimeoutMs: INGEST_STATEMENT_TIMEOUT_MS,
    planning: 'inserts',
  })
  const db = stack.use(openDb(pool))
  const nats = await openNats(natsUrl, name, log)
  stack.defer(async () => await nats.close())
  const egress = stack.use(openEgress(keyCidrs))
  const registry = new Registry()
  const tracing = await openTraces({ traces, clock, log, registry }, 'ingest')
  stack.use(tracing)
  const ingest = stack.use(
    await openIngest({
      pool,
      db,
      nats,
      clock,
      log,
      keyring,
      plans,
      dispatcher: egress.dispatcher,
      ingestUrl,
      trustedProxies,
      mail: domain === undefined ? undefined : { domain, certificate },
      name,
      registry,
      spool,
      tracing,
    }),
  )
  const url = await ingest.app.listen({ host: '127.0.0.1', port: 0 })
  const smtpPort = await ingest.mail?.listen(0, '127.0.0.1')
  return { ...ingest, url, smtpPort, registry, stop: async () => await stack.disposeAsync() }
}

interface Limits {
  socketsMax: number
  destinationsMax: number | undefined
}

async function openWorkerOn(
  { databaseUrl, natsUrl, clock, keyring, plans, log, traces }: Installation,
  name: string,
  { allowCidrs, ...limits }: { allowCidrs: readonly string[] } & Limits,
): Promise<WorkerProcess> {
  const stack = new AsyncDisposableStack()
  const pool = openPool({ url: databaseUrl, max: POOL_MAX, log, planning: 'lookups' })
  const db = stack.use(openDb(pool))
  const nats = await openNats(natsUrl, name, log)
  stack.defer(async () => await nats.close())
  const allowed = compileCidrs(allowCidrs)
  const registry = new Registry()
  const tracing = await openTraces({ traces, clock, log, registry }, 'worker')
  stack.use(tracing)
  const worker = stack.use(
    await startWorker({
      pool,
      db,
      nats,
      clock,
      log,
      keyring,
      plans,
      isAllowed: (address) => isReachable(address, allowed),
      name,
      random: Math.random,
      ...limits,
      metrics: openMetrics(registry),
      tracing,
    }),
  )
  return {
    name,
    registry,
    partitions: () => worker.partitions(),
    async metric(metric) {
      const read = await registry.getSingleMetric(metric)?.get()
      return read?.values[0]?.value ?? Number.NaN
    },
    stop: async () => await stack.disposeAsync(),
  }
}

/** Undefined without settings for them. */
export async function openTraces(
  { traces, ...deps }: Pick<Deps, 'clock' | 'log' | 'registry'> & { traces: Settings | undefined },
  role: string,
): Promise<Tracing | undefined> {
  return traces && (await openTracing({ ...deps, settings: traces, role }))
}

async function sendTo(agent: Agent, address: string, sent: Sent): Promise<IngestReply> {
  const { method = 'POST', path = '', headers = {}, body = '' } = sent
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const response = await request(`${address}${path}`, {
    dispatcher: agent,
    method,
    headers,
    ...(hasBody && { body }),
  })
  const text = await response.body.text()
  return { status: response.statusCode, headers: response.headers, text, body: jsonOf(text) }
}

function jsonOf(text: string): Resource {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Calls = Pick<
  Relay,
  'endpoint' | 'make' | 'change' | 'get' | 'route' | 'connect' | 'deliveryOf' | 'reaches'
>

function callsOf(world: World, endpoint: (respond?: Respond) => Promise<Endpoint>): Calls {
  let count = 0
  const call = async (method: string, path: string, body?: object, key?: string) => {
    const answer = await world.api(method, path, body, { key: key ?? world.key })
    if (answer.status < 300) return answer.body
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  const make: Calls['make'] = async (kind, fields, key) =>
    await call('POST', `/v1/${kind}`, { name: `${kind} ${++count}`, ...fields }, key)
  const get: Calls['get'] = async (path, key) => await call('GET', path, undefined, key)
  const deliveryOf: Calls['deliveryOf'] = async (eventId) => {
    const event = await get(`/v1/events/${eventId}`)
    const [newest] = event.deliveries
    if (newest === undefined) throw new Error(`Event ${eventId} has no delivery`)
    return await get(`/v1/deliveries/${newest.id}`)
  }
  return {
    endpoint,
    make,
    get,
    deliveryOf,
    change: async (kind, id, data) => await call('PATCH', `/v1/${kind}/${id}`, { data }),
    connect: async (source, destination, fields) =>
      await make('connections', { sourceId: source.id, destinationId: destination.id, ...fields }),
    async route({ source, destination, connection, respond, key } = {}) {
      const opened = await endpoint(respond)
      const from = await make('sources', source ?? {}, key)
      const to = await make('destinations', { url: opened.url, ...destination }, key)
      const ends = { sourceId: from.id, destinationId: to.id }
      const between = await make('connections', { ...ends, ...connection }, key)
      return { source: from, destination: to, connection: between, endpoint: opened }
    },
    async reaches(eventId, expected, withinMs) {
      return await eventually(async () => {
        const delivery = await deliveryOf(eventId)
        expect(delivery).toMatchObject(expected)
        return delivery
      }, withinMs)
    },
  }
}
