import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from '../../../core/log.ts'
import { ApiError, isStatus } from '../kube/api-error.ts'
import type { KubeClient } from '../kube/client.ts'
import { keyOf, type Kind, type KubeObject } from '../kube/object.ts'
import { Backoff } from './backoff.ts'
import { linesOf } from './lines.ts'
import type { Store } from './store.ts'

/** A server ends a watch after this time, so that watchers spread over its replicas. */
const WATCH_SECONDS_MIN = 300
const WATCH_SECONDS_MAX = 600
/** The server sends a bookmark each minute: after two that did not come the link is dead. */
const SILENT_MS = 150_000
const FIRST_MS = 800
const MAX_MS = 30_000
/** A watch that lived this long was a good one. */
const HEALTHY_MS = 60_000

export interface ReflectorOptions<T extends KubeObject> {
  client: KubeClient
  kind: Kind
  /** Left out: all namespaces. */
  namespace: string | undefined
  labels?: string | undefined
  /** Objects come without what is in them. */
  metadataOnly?: boolean
  store: Store<T>
  /** Keeps of an object what is read of it. */
  trim: (object: KubeObject) => T
  log: Logger
  backoff?: Backoff
  /** For a test that does not want to wait for a minute. */
  healthyMs?: number
}

/**
 * Keeps a store like the API server: lists, then watches from there. A link that breaks goes on where it was; where the
 * server has forgotten that place (410), it lists again. Every failure waits before it tries again.
 */
export class Reflector<T extends KubeObject> {
  readonly synced: Promise<void>
  readonly #options: ReflectorOptions<T>
  readonly #backoff: Backoff
  readonly #isSynced = Promise.withResolvers<void>()
  #version: string | undefined
  #hasSynced = false
  /** Ignores objects of another namespace that are in the same store. */
  readonly #own = new Set<string>()

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#backoff = options.backoff ?? new Backoff({ firstMs: FIRST_MS, maxMs: MAX_MS })
    this.synced = this.#isSynced.promise
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, kind, healthyMs = HEALTHY_MS } = this.#options
    while (!signal.aborted) {
      const began = performance.now()
      let fault: unknown
      try {
        if (this.#version === undefined) await this.#list(signal)
        await this.#watch(signal)
      } catch (error) {
        if (signal.aborted) return
        fault = error
        // The place is forgotten; a copy of the list has another.
        if (isStatus(error, 410)) this.#version = undefined
        log[this.#hasSynced ? 'debug' : 'warn']({ err: error, kind: kind.plural }, 'A watch broke')
      }
      if (performance.now() - began > healthyMs) this.#backoff.reset()
      const wished = fault instanceof ApiError ? (fault.retryAfterMs ?? 0) : 0
      const waitMs = Math.max(this.#backoff.next(), wished)
      await sleep(waitMs, undefined, { signal }).catch(() => {})
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, kind, namespace, labels, metadataOnly, trim } = this.#options
    const where = { namespace, labels, metadataOnly, signal }
    const { items, resourceVersion } = await client.list(kind, where)
    const objects = items.map(trim)
    const kept = new Set(objects.map(keyOf))
    for (const key of this.#own) if (!kept.has(key)) this.#remove(key)
    for (const object of objects) this.#put(object)
    this.#version = resourceVersion
    this.#hasSynced = true
    this.#isSynced.resolve()
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, kind, namespace, labels, metadataOnly } = this.#options
    const spread = Math.random() * (WATCH_SECONDS_MAX - WATCH_SECONDS_MIN)
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: this.#version ?? '',
      timeoutSeconds: String(Math.round(WATCH_SECONDS_MIN + spread)),
      ...(labels !== undefined && { labelSelector: labels }),
    }
    const watched = { query, metadataOnly, silentMs: SILENT_MS, signal }
    const stream = await client.watch(kind, namespace, watched)
    for await (const line of linesOf(stream)) if (line !== '') this.#take(line)
  }

  #take(line: string): void {
    const { trim } = this.#options
    const { type, object }: { type: string; object: KubeObject & { code?: number } } =
      JSON.parse(line)
    if (type === 'ERROR') throw new ApiError('watch', object.code ?? 500, JSON.stringify(object))
    if (type === 'ADDED' || type === 'MODIFIED') this.#put(trim(object))
    else if (type === 'DELETED') this.#remove(keyOf(object))
    this.#version = object.metadata.resourceVersion ?? this.#version
  }

  #put(object: T): void {
    this.#own.add(keyOf(object))
    this.#told(() => this.#options.store.put(object))
  }

  #remove(key: string): void {
    this.#own.delete(key)
    this.#told(() => this.#options.store.remove(key))
  }

  /** A listener that throws loses its own change, not the watch. */
  #told(change: () => void): void {
    try {
      change()
    } catch (error) {
      this.#options.log.error({ err: error }, 'A listener of a store failed')
    }
  }
}
