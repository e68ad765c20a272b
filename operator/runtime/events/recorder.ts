import { createHash } from 'node:crypto'

import type { Logger } from '../../../core/log.ts'
import type { KubeClient } from '../kube/client.ts'
import { apiVersionOf, type Kind, type KubeObject } from '../kube/object.ts'

const EVENT: Kind = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events' }

/** For one object: so many at once, and one more each five minutes. */
const BURST = 25
const REFILL_MS = 300_000
/** The same again within this time is counted in the event that is there. */
const SERIES_MS = 600_000
const OBJECTS_MAX = 4_000
const NOTE_LENGTH_MAX = 1_000

export interface Happening {
  type: 'Normal' | 'Warning'
  reason: string
  /** In what the operator was engaged, such as `Provisioning`. */
  action: string
  note: string
}

export interface RecorderOptions {
  client: KubeClient
  controller: string
  instance: string
  log: Logger
  now?: () => number
}

interface Series {
  name: string
  at: number
  count: number
}

interface Seen {
  tokens: number
  at: number
  series: Map<string, Series>
}

/** Events that people see with `kubectl describe`. They are told once for each change, and never hold work up. */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #seen = new Map<string, Seen>()
  #count = 0

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  tell(kind: Kind, object: KubeObject, happening: Happening): void {
    const { log } = this.#options
    void this.#told(kind, object, happening).catch((error: unknown) => {
      log.debug({ err: error, reason: happening.reason }, 'Cannot record an event')
    })
  }

  async #told(kind: Kind, object: KubeObject, happening: Happening): Promise<void> {
    const now = (this.#options.now ?? Date.now)()
    const seen = this.#seenOf(object.metadata.uid ?? '', now)
    const text = `${happening.type} ${happening.reason} ${happening.note}`
    const before = seen.series.get(text)
    if (before !== undefined && now - before.at < SERIES_MS) {
      before.count++
      before.at = now
      // Each doubling: an event that comes every second is written ten times, not a thousand.
      if (Number.isInteger(Math.log2(before.count))) await this.#addTo(object, before, now)
      return
    }
    if (seen.tokens < 1) return
    seen.tokens--
    const name = this.#nameOf(object, text, now)
    seen.series.set(text, { name, at: now, count: 1 })
    await this.#create(kind, object, { ...happening, name, now })
  }

  #seenOf(uid: string, now: number): Seen {
    const found = this.#seen.get(uid) ?? { tokens: BURST, at: now, series: new Map() }
    this.#seen.delete(uid)
    this.#seen.set(uid, found)
    const [oldest] = this.#seen.keys()
    if (this.#seen.size > OBJECTS_MAX && oldest !== undefined) this.#seen.delete(oldest)
    found.tokens = Math.min(BURST, found.tokens + (now - found.at) / REFILL_MS)
    found.at = now
    for (const [text, { at }] of found.series) {
      if (now - at >= SERIES_MS) found.series.delete(text)
    }
    return found
  }

  #nameOf({ metadata }: KubeObject, text: string, now: number): string {
    const hash = createHash('sha256').update(`${metadata.uid} ${text} ${now} ${this.#count++}`)
    return `${metadata.name.slice(0, 200)}.${hash.digest('hex').slice(0, 16)}`
  }

  async #create(
    kind: Kind,
    { metadata }: KubeObject,
    { name, now, ...happening }: Happening & { name: string; now: number },
  ): Promise<void> {
    const { client, controller, instance } = this.#options
    const { namespace = 'default' } = metadata
    await client.create(EVENT, {
      metadata: { name, namespace },
      eventTime: microTime(now),
      reportingController: controller,
      reportingInstance: instance,
      action: happening.action,
      reason: happening.reason,
      type: happening.type,
      note: happening.note.slice(0, NOTE_LENGTH_MAX),
      regarding: {
        apiVersion: apiVersionOf(kind),
        kind: kind.kind,
        name: metadata.name,
        namespace,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
      },
    })
  }

  async #addTo({ metadata }: KubeObject, series: Series, now: number): Promise<void> {
    const { namespace = 'default' } = metadata
    const patch = { series: { count: series.count, lastObservedTime: microTime(now) } }
    await this.#options.client.merge(EVENT, { namespace, name: series.name }, patch)
  }
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}
