import { setTimeout as sleep } from 'node:timers/promises'

import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'

import type { Config } from '../../../core/config.ts'
import { SpoolReader, type SpooledMessage } from '../../../core/jetstream/spool-reader.ts'
import {
  appendToSpool,
  ensureSpool,
  isRefusal,
  removeFromSpool,
  setAside,
  spooledAt,
  type SpoolLengths,
  type SpoolSize,
} from '../../../core/jetstream/spool-stream.ts'
import { encodeSpooled, type SpooledEvent } from '../../../core/jetstream/spooled-event.ts'
import { spoolSubject } from '../../../core/jetstream/stream-subjects.ts'
import type { Logger } from '../../../core/log.ts'
import { isConnected, openNats, type NatsConnection } from '../../../core/nats.ts'
import { spoolFilesOf, type NatsFileValues } from '../../../core/settings/nats-files.ts'
import type { NatsFiles } from '../../../core/urls/nats-urls.ts'

/**
 * How long a spool may answer nothing before events are answered 503: three servers of which one is killed have a new leader
 * after 4 to 9 s, and senders wait some 10 s.
 */
const PATIENCE_MS = 9_000
const AGAIN_MS = 100
const ANSWER_MS = 2_000

/** Beside the data of a message: the key of the event, and the stream that it is for. */
const HEADERS_BYTES = 1_024

/** The server would never take it. */
class TooLarge extends Error {
  override readonly name = 'TooLarge'

  constructor(bytes: number, mostBytes: number) {
    super(
      `The spool takes ${mostBytes} bytes at most, and the event has ${bytes}: see max_payload of NATS`,
    )
  }
}

/** Undefined `url` is the cluster that carries the deliveries. */
export interface SpoolSettings extends SpoolSize {
  url: string | undefined
  files?: NatsFiles
}

/** A server of its own, or copies on three; with neither there is no store whose word is as good as PostgreSQL's. */
export function spoolSettings(
  config: Pick<Config, 'SPOOL_NATS_URL' | 'SPOOL_REPLICAS' | 'SPOOL_MAX_MB'> & NatsFileValues,
): SpoolSettings | undefined {
  const { SPOOL_NATS_URL: url, SPOOL_REPLICAS: replicas, SPOOL_MAX_MB } = config
  if (url === undefined && replicas === undefined) return undefined
  const maxBytes = SPOOL_MAX_MB * 1024 * 1024
  return { url, files: spoolFilesOf(config), replicas: replicas ?? 1, maxBytes }
}

interface SpoolDeps {
  nats: NatsConnection
  log: Logger
}

interface Connection {
  nats: NatsConnection
  manager: JetStreamManager
}

/** The durable stream that takes events while PostgreSQL is away. Ingest starts and works without it. */
export class Spool implements AsyncDisposable {
  readonly #deps: SpoolDeps
  readonly #settings: SpoolSettings
  #connection: Connection | undefined
  #isThere = false
  /** All on the monotonic clock: since when looks find nothing; when events could not be kept, and since when that is so. */
  #lostSince: number | undefined
  #failedAt = Number.NEGATIVE_INFINITY
  #silentSince = 0
  #lengths: SpoolLengths = {}
  /** Events that this process has put into it. */
  kept = 0

  constructor(deps: SpoolDeps, settings: SpoolSettings) {
    this.#deps = deps
    this.#settings = settings
  }

  get isUsable(): boolean {
    return this.#isThere && this.#connection !== undefined && isConnected(this.#connection.nats)
  }

  /** Events in it, as of the last look. */
  get length(): number {
    return Object.values(this.#lengths).reduce((sum, length) => sum + length, 0)
  }

  /** Whether a share has events, as of the last look. */
  has(share: string): boolean {
    return (this.#lengths[share] ?? 0) > 0
  }

  /** To be called now and then: connects, makes the stream and counts what it holds. */
  async look(): Promise<void> {
    try {
      this.#connection ??= await this.#connect()
      if (!isConnected(this.#connection.nats)) throw new Error('The spool is not connected')
      this.#lengths = await ensureSpool(this.#connection.manager, this.#settings)
      this.#isThere = true
      this.#lostSince = undefined
    } catch (error) {
      this.#isThere = false
      this.#lostSince ??= performance.now()
      throw error
    }
  }

  /**
   * Resolves once the event is durable, or an event of its key is. A cluster that has lost a server is without a leader for
   * some seconds: until then it is tried again. Twice in the spool is once in PostgreSQL, where an event is known by its id.
   */
  async keep(event: SpooledEvent): Promise<'kept' | 'duplicate'> {
    const data = encodeSpooled(event)
    for (let tries = 0; ; tries++) {
      try {
        const outcome = await this.#append(event, data, tries > 0)
        this.#failedAt = Number.NEGATIVE_INFINITY
        this.#isThere = true
        if (outcome === 'kept') this.kept++
        return outcome
      } catch (error) {
        const isLasting = error instanceof TooLarge || isRefusal(error)
        if (isLasting || this.#silentMs() > PATIENCE_MS) throw error
      }
      await sleep(AGAIN_MS)
    }
  }

  /** Call it at a failure: returns how long the spool has failed. A failure long after the last starts a new count. */
  #silentMs(): number {
    const now = performance.now()
    if (now - this.#failedAt > PATIENCE_MS) this.#silentSince = this.#lostSince ?? now
    this.#failedAt = now
    return now - this.#silentSince
  }

  async #append(
    event: SpooledEvent,
    data: Buffer,
    isAgain: boolean,
  ): Promise<'kept' | 'duplicate'> {
    const { nats, manager } = this.#open()
    // While disconnected the client would keep messages in memory, to send them when their sender was told to try again.
    if (!isConnected(nats)) throw new Error('The spool is not connected')
    const mostBytes = (nats.info?.max_payload ?? Infinity) - HEADERS_BYTES
    // The client would say so as well, each time that it is asked: those behind would wait for nothing.
    if (data.length > mostBytes) throw new TooLarge(data.length, mostBytes)
    const key = event.dedupeKey === null ? undefined : `${event.sourceId}:${event.dedupeKey}`
    const subject = spoolSubject(event.sourceId)
    const { isDuplicate, sequence } = await appendToSpool(nats, { subject, data, key })
    if (!isDuplicate) return 'kept'
    // The one before may have been the first try of this very event, made durable without a word.
    const known = isAgain ? await spooledAt(manager, sequence) : undefined
    return known !== undefined && data.equals(known) ? 'kept' : 'duplicate'
  }

  async read(share: string): Promise<SpoolReader> {
    return await SpoolReader.open({ ...this.#open(), share })
  }

  async remove(share: string, through: number): Promise<void> {
    await removeFromSpool(this.#open().manager, share, through)
  }

  async setAside(message: SpooledMessage): Promise<void> {
    await setAside(this.#open().nats, message.data)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#settings.url !== undefined) await this.#connection?.nats.close()
  }

  async #connect(): Promise<Connection> {
    const { url, files } = this.#settings
    const { log, nats: shared } = this.#deps
    const nats = url === undefined ? shared : await openNats(url, 'ingest spool', log, files)
    return { nats, manager: await jetstreamManager(nats, { checkAPI: false, timeout: ANSWER_MS }) }
  }

  #open(): Connection {
    if (this.#connection === undefined) throw new Error('The spool is away')
    return this.#connection
  }
}
