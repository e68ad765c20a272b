import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'

import type { Config } from '../../core/config.ts'
import type { Logger } from '../../core/log.ts'
import { isConnected, openNats, type NatsConnection } from '../../core/stream/nats.ts'
import {
  appendToSpool,
  ensureSpool,
  readSpool,
  removeFromSpool,
  setAside,
  type SpooledMessage,
  type SpoolSize,
} from '../../core/stream/spool-stream.ts'
import { encodeSpooled, type SpooledEvent } from '../../core/stream/spooled-event.ts'

/** Undefined `url` is the cluster that carries the deliveries. */
export interface SpoolSettings extends SpoolSize {
  url: string | undefined
}

/** A server of its own, or copies on three; with neither there is no store whose word is as good as PostgreSQL's. */
export function spoolSettings(
  config: Pick<Config, 'SPOOL_NATS_URL' | 'SPOOL_REPLICAS' | 'SPOOL_MAX_MB'>,
): SpoolSettings | undefined {
  const { SPOOL_NATS_URL: url, SPOOL_REPLICAS: replicas, SPOOL_MAX_MB } = config
  if (url === undefined && replicas === undefined) return undefined
  return { url, replicas: replicas ?? 1, maxBytes: SPOOL_MAX_MB * 1024 * 1024 }
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
  /** Events in it, as of the last look. */
  length = 0
  /** Events that this process has put into it. */
  kept = 0

  constructor(deps: SpoolDeps, settings: SpoolSettings) {
    this.#deps = deps
    this.#settings = settings
  }

  get isUsable(): boolean {
    return this.#isThere && this.#connection !== undefined && isConnected(this.#connection.nats)
  }

  /** To be called now and then: connects, makes the stream and counts what it holds. */
  async look(): Promise<void> {
    try {
      this.#connection ??= await this.#connect()
      if (!isConnected(this.#connection.nats)) throw new Error('The spool is not connected')
      this.length = await ensureSpool(this.#connection.manager, this.#settings)
      this.#isThere = true
    } catch (error) {
      this.#isThere = false
      throw error
    }
  }

  /** Resolves once the event is durable, or an event of its key is. */
  async keep(event: SpooledEvent): Promise<'kept' | 'duplicate'> {
    // While disconnected the client would keep messages in memory, to send them when their sender was told to try again.
    if (!this.isUsable) throw new Error('The spool is away')
    const key = event.dedupeKey === null ? undefined : `${event.sourceId}:${event.dedupeKey}`
    const outcome = await appendToSpool(this.#open().nats, encodeSpooled(event), key)
    if (outcome === 'kept') this.kept++
    return outcome
  }

  async read(limits: { limit: number; bytesMax: number }): Promise<SpooledMessage[]> {
    return await readSpool(this.#open().manager, limits)
  }

  async remove(through: number): Promise<void> {
    await removeFromSpool(this.#open().manager, through)
  }

  async setAside(message: SpooledMessage): Promise<void> {
    await setAside(this.#open().nats, message.data)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#settings.url !== undefined) await this.#connection?.nats.close()
  }

  async #connect(): Promise<Connection> {
    const { url } = this.#settings
    const { log } = this.#deps
    const nats =
      url === undefined ? this.#deps.nats : await openNats(url, 'ingest spool', log, false)
    return { nats, manager: await jetstreamManager(nats, { checkAPI: false }) }
  }

  #open(): Connection {
    if (this.#connection === undefined) throw new Error('The spool is away')
    return this.#connection
  }
}
