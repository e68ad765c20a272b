import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Dispatcher } from 'undici'

import type { Clock } from '../../core/clock.ts'
import type { Db, Pool } from '../../core/db/connection/db.ts'
import { writeActivity, type SourceActivity } from '../../core/db/events/ingest/ingest-sources.ts'
import { Presence } from '../../core/db/processes/presence.ts'
import { compileCidrs } from '../../core/egress/address.ts'
import { newId } from '../../core/ids.ts'
import { MAIL_ARRIVING_BYTES_MAX } from '../../core/limits.ts'
import { withoutRedaction, type Logger } from '../../core/log.ts'
import type { NatsConnection } from '../../core/nats.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { EventNotices } from '../../core/notices/event-notices.ts'
import type { Plans } from '../../core/plans/plans.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import type { Tracing } from '../../core/tracing/tracing.ts'
import { KeyStore } from '../../core/verify/keys.ts'
import type { BatcherOptions } from '../batcher.ts'
import { followConfig } from '../config-feed.ts'
import { every } from '../every.ts'
import { EventBatches } from './accept/event-batches.ts'
import type { Fallback } from './accept/event.ts'
import { openIngestMetrics, type IngestMetrics } from './accept/ingest-metrics.ts'
import { Publisher } from './accept/publisher.ts'
import { Sources } from './accept/sources.ts'
import { openStore } from './accept/store.ts'
import { ArrivingBytes } from './budgets/arriving-bytes.ts'
import { IngestLimits } from './budgets/limits.ts'
import { RejectionCounts } from './budgets/rejection-counts.ts'
import { Rejections } from './budgets/rejections.ts'
import { MailListener, type MailSettings } from './email/listener.ts'
import { openMailMetrics } from './email/mail-metrics.ts'
import { MailReader } from './email/message/mail-reader.ts'
import type { MailDeps } from './email/receive.ts'
import { BodyReader } from './http/body.ts'
import type { HandleDeps } from './http/handle.ts'
import { Handshakes } from './http/handshakes.ts'
import { SecretUsage } from './http/secret-usage.ts'
import { buildServer } from './http/server.ts'
import { measureSpool } from './spool/spool-metrics.ts'
import type { SpoolSettings } from './spool/spool.ts'
import { openSpooling, runSpooling } from './spool/spooling.ts'
import { IngestTraces } from './trace/ingest-traces.ts'

/** More lanes make smaller batches: two cost 6 % more CPU at 500/s, and the answer came later (measured). */
const STORE: BatcherOptions = {
  itemsMax: 256,
  bytesMax: 8 * 1024 * 1024,
  lanes: 1,
  windowMs: 0,
  queueMax: 4_096,
  queueBytesMax: 64 * 1024 * 1024,
}

/** Senders hang up after some 10 s: a later answer is not read, and the sender repeats the request. */
const STORE_WAIT_MS = 6_000

const ACTIVITY_MS = 1_000
const UNSTORED_MS = 1_000

/** (decisions: Rotation, keys, roles) */
const SECRET_USAGE_MS = 1_000

export interface IngestDeps {
  pool: Pool
  db: Db
  nats: NatsConnection
  clock: Clock
  log: Logger
  keyring: Keyring
  plans: Plans
  /** Reaches public addresses only: for keys and confirmations. */
  dispatcher: Dispatcher
  ingestUrl: string
  trustedProxies: readonly string[]
  /** Unique among running ingest processes; one that restarts takes its former self's place. */
  name: string
  registry: Registry
  /** How it takes mail. Undefined: it takes none. */
  mail?: MailSettings | undefined
  /** Where events go while PostgreSQL is away. Undefined: nowhere, they are answered 503. */
  spool?: SpoolSettings | undefined
  /** Undefined while traces are off. */
  tracing?: Tracing | undefined
}

/** The ingest listener and what is asked of its process. */
interface Ingest extends AsyncDisposable {
  app: FastifyInstance
  /** The listener of mail. */
  mail: MailListener | undefined
  /** Rejects while it cannot accept. */
  ready(): Promise<void>
}

/** The ingest listener, ready to listen, and what runs beside it. Disposing of it answers what it has accepted first. */
export async function openIngest(deps: IngestDeps): Promise<Ingest> {
  const { db, nats, clock, log } = deps
  const stop = new AbortController()
  const processId = newId(clock.now())
  const identity = { id: processId, role: 'ingest', name: deps.name }
  const spooling = deps.spool && openSpooling({ ...deps, identity }, deps.spool)
  const sources = new Sources({ ...deps, isAway: spooling?.isAway })
  const activity = new Activity(clock)
  const secretUsage = new SecretUsage({ db, nats, clock, log, processId })
  const unstored = new RejectionCounts(db, clock)
  const publisher = new Publisher(nats)
  const traces = deps.tracing && new IngestTraces(deps.tracing, clock)
  const metrics = openIngestMetrics(deps.registry, publisher)
  const store = openBatches(deps, metrics, spooling?.outage)
  const notices = new EventNotices(nats)
  const limits = new IngestLimits({ nats, clock, log, processId })
  const accepting = {
    clock,
    log,
    requestLog: withoutRedaction(log),
    sources,
    store,
    publisher,
    traces,
    notices,
    limits,
    rejections: new Rejections(clock),
    unstored,
    noteEvent: (source: { id: string }) => activity.noteEvent(source.id),
  }
  const handshakes = openHandshakes(deps, activity)
  const app = openServer(deps, { ...accepting, metrics, handshakes, secretUsage })
  const mail = deps.mail && openMail(deps, accepting, deps.mail)
  const feed = await followConfig({ db, nats, log, processId, signal: stop.signal }, (changes) =>
    sources.forget(changes),
  )
  const gathered: Gathered = [activity, secretUsage, unstored]
  const presence = await Presence.begin({ db, log, identity })
  const tasks = reportOften(deps, gathered, stop.signal)
  if (spooling === undefined) measureSpool(deps.registry, undefined)
  else {
    const noteEvent = (sourceId: string): void => activity.noteEvent(sourceId)
    const drainDeps = { ...deps, sources, publisher, traces, notices, noteEvent }
    tasks.push(runSpooling(spooling, drainDeps, stop.signal))
  }
  return {
    app,
    mail: mail?.listener,
    async ready() {
      if (spooling?.spool.isUsable === true) return
      await presence.check()
      if (store.isOverdue) throw new Error('PostgreSQL does not commit events')
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([app.close(), mail?.close()])
      await store.drain()
      stop.abort()
      await feed.done
      await Promise.all(tasks)
      await flush(deps, gathered)
      await presence[Symbol.asyncDispose]()
      limits[Symbol.dispose]()
      await nats.flush()
      publisher[Symbol.dispose]()
      notices[Symbol.dispose]()
    },
  }
}

function openBatches(
  deps: IngestDeps,
  metrics: IngestMetrics,
  fallback: Fallback | undefined,
): EventBatches {
  const store = openStore(deps, fallback)
  // With a spool, a batch that waits is spooled instead.
  const options = fallback === undefined ? { ...STORE, waitMaxMs: STORE_WAIT_MS } : STORE
  return new EventBatches(options, async (events) => {
    metrics.observeBatch(events.length)
    return await store(events)
  })
}

function openServer(
  { dispatcher, ingestUrl, trustedProxies }: IngestDeps,
  parts: Omit<HandleDeps, 'bodies' | 'keys' | 'ingestUrl'>,
): FastifyInstance {
  const own = { bodies: new BodyReader(), keys: new KeyStore(dispatcher), ingestUrl }
  return buildServer({ ...parts, ...own }, compileCidrs(trustedProxies))
}

/** The listener of mail, with the thread that reads it. */
function openMail(
  { registry, trustedProxies }: IngestDeps,
  accepting: Omit<MailDeps, 'metrics' | 'reader' | 'domain'>,
  { domain, certificate }: MailSettings,
): { listener: MailListener; close: () => Promise<void> } {
  const reader = new MailReader(accepting.log)
  const metrics = openMailMetrics(registry, () => listener.connections)
  const listener = new MailListener(
    { ...accepting, metrics, reader, domain, arriving: new ArrivingBytes(MAIL_ARRIVING_BYTES_MAX) },
    { certificate, trusted: compileCidrs(trustedProxies), registry },
  )
  return {
    listener,
    async close() {
      await listener[Symbol.asyncDispose]()
      await reader[Symbol.asyncDispose]()
    },
  }
}

function openHandshakes(deps: IngestDeps, activity: Activity): Handshakes {
  return new Handshakes({
    ...deps,
    note: (source) => activity.noteHandshake(source.id),
    forget: (source) => announceChanges(deps, [{ kind: 'source', id: source.id }]),
  })
}

/** Counts gathered in memory and written periodically. */
type Gathered = [Activity, SecretUsage, RejectionCounts]

function reportOften(
  { db, log }: IngestDeps,
  [activity, secretUsage, unstored]: Gathered,
  signal: AbortSignal,
): Promise<void>[] {
  const options = (name: string) => ({ signal, log, name })
  return [
    every(ACTIVITY_MS, options('activity'), () => activity.flush(db)),
    every(SECRET_USAGE_MS, options('secret usage'), () => secretUsage.flush()),
    every(UNSTORED_MS, options('unstored rejections'), () => unstored.flush()),
  ]
}

async function flush(
  { db, log }: IngestDeps,
  [activity, secretUsage, unstored]: Gathered,
): Promise<void> {
  try {
    await activity.flush(db)
    await secretUsage.flush()
    await unstored.flush()
  } catch (err) {
    log.warn({ err }, 'Cannot write the last counts of the process')
  }
}

/** When sources last heard from their senders, gathered here and written now and then. */
class Activity {
  readonly #clock: Clock
  readonly #seen = new Map<string, SourceActivity>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  noteEvent(sourceId: string): void {
    this.#of(sourceId).lastEventAtMs = this.#clock.now()
  }

  noteHandshake(sourceId: string): void {
    this.#of(sourceId).lastHandshakeAtMs = this.#clock.now()
  }

  async flush(db: Db): Promise<void> {
    if (this.#seen.size === 0) return
    const seen = [...this.#seen.values()]
    this.#seen.clear()
    await writeActivity(db, seen)
  }

  #of(sourceId: string): SourceActivity {
    let seen = this.#seen.get(sourceId)
    if (seen === undefined) {
      seen = { sourceId, lastEventAtMs: null, lastHandshakeAtMs: null }
      this.#seen.set(sourceId, seen)
    }
    return seen
  }
}
