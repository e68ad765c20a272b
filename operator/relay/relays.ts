import { createHash } from 'node:crypto'

import type { Postern } from '../../clients/typescript/index.ts'
import type { Logger } from '../../core/log.ts'
import type { SecretKeyRef } from '../kinds/parts.ts'
import type { Fault } from '../kinds/reasons.ts'
import { RelaySpec } from '../kinds/relay.ts'
import { keyOf, type KubeObject } from '../runtime/kube/object.ts'
import type { Store } from '../runtime/watch/store.ts'
import { BY_RELAY } from '../world/by.ts'
import type { SecretReader } from '../world/secret-reader.ts'
import type { AllowedRelays } from './allowed-relays.ts'
import { ListRoom } from './list-room.ts'
import { ownerIn } from './markers.ts'
import { Poller, type Found, type ListCall } from './poller.ts'
import { RelayClient, type Body, type Credentials } from './relay-client.ts'

/** Resources that are listed. */
export type Listed = 'connectors' | 'sources' | 'destinations' | 'connections'

/** Resources other than connectors have no sessions: a look each minute finds what a hand has changed. */
const DECLARED_POLL_MS = 60_000

/** A text that is another when anything has changed that the operator acts upon. */
const MARKS: Record<Listed, (body: Body) => string> = {
  connectors: ({ name, isDisabled, provisionedAt, onlineReplicas, updatedAt }) =>
    JSON.stringify([name, isDisabled, provisionedAt, onlineReplicas, updatedAt]),
  sources: ({ updatedAt }) => updatedAt,
  destinations: ({ updatedAt }) => updatedAt,
  connections: ({ updatedAt }) => updatedAt,
}

const LISTS: Record<Listed, (api: Postern) => ListCall> = {
  connectors: (api) => api.listConnectors,
  sources: (api) => api.listSources,
  destinations: (api) => api.listDestinations,
  connections: (api) => api.listConnections,
}

const LISTED: readonly Listed[] = ['connectors', 'sources', 'destinations', 'connections']

export interface Access {
  client: RelayClient
  baseUrl: string
  ca: string | undefined
  poller(listed: Listed, projectId: string | undefined): Poller
}

export type Resolved =
  | { kind: 'ready'; access: Access }
  /** `last` is what it was before it went: enough to delete by. */
  | { kind: 'missing'; reason: Fault; message: string; last: Access | undefined }

/** The Relays, and the objects that name them by the list `BY_RELAY`. */
export type RelayWorld = Record<'relays' | Listed, Store<KubeObject>>

export interface RelaysOptions {
  world: RelayWorld
  secrets: SecretReader
  allowed: AllowedRelays
  clusterId: string
  pollMs: number
  log: Logger
  fence: () => void
  count: (method: string, code: string) => void
  /** `users`: the keys of the Relays with that address and key. */
  changed: (users: ReadonlySet<string>, listed: Listed, found: readonly Found[] | 'all') => void
  /** The relay came, went, falls silent or refuses otherwise than before. */
  standingChanged: (users: ReadonlySet<string>, what: 'standing' | 'late') => void
}

interface Opened extends Access, AsyncDisposable {
  /** The hash of the address and the key. */
  id: string
  /** Lists no more until a poller is asked for. */
  rest(): void
  /** The Relays that name this address and key. */
  users: Set<string>
}

/** How to talk to each Relay: one client for each address and key, whoever uses it. */
export class Relays implements AsyncDisposable {
  readonly #options: RelaysOptions
  readonly #opened = new Map<string, Opened>()
  readonly #last = new Map<string, Opened>()
  readonly #room = new ListRoom()
  readonly #openedAt = performance.now()

  constructor(options: RelaysOptions) {
    this.#options = options
  }

  async resolve(namespace: string, name: string): Promise<Resolved> {
    const key = `${namespace}/${name}`
    const missing = (reason: Fault, message: string): Resolved => {
      this.settle(key)
      return { kind: 'missing', reason, message, last: this.#last.get(key) }
    }
    const relay = this.#options.world.relays.get(key)
    if (relay === undefined) return missing('RelayNotFound', `There is no Relay "${name}"`)
    const { secrets, allowed } = this.#options
    const { apiKeySecretRef: ref, baseUrl, caBundle, caSecretRef } = RelaySpec.parse(relay['spec'])
    const refusal = allowed.refusal(baseUrl)
    if (refusal !== undefined) return missing('RelayNotAllowed', refusal)
    const read = async (member: string, { name: secret, key: entry }: SecretKeyRef) =>
      await secrets.value({ namespace, member, name: secret, use: 'relay' }, entry)
    const found = await read('spec.apiKeySecretRef', ref)
    if (found.kind === 'missing') return missing('ApiKeySecretNotFound', found.message)
    const apiKey = found.value.trim()
    // No header can carry another.
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      return missing('ApiKeyInvalid', `"${ref.key}" of the Secret "${ref.name}" is no API key`)
    }
    const bundle = caSecretRef && (await read('spec.caSecretRef', caSecretRef))
    if (bundle?.kind === 'missing') return missing('CaSecretNotFound', bundle.message)
    const ca = bundle?.value ?? caBundle
    return {
      kind: 'ready',
      access: this.#open(key, { baseUrl: baseUrl.replace(/\/$/, ''), apiKey, ca }),
    }
  }

  /** Objects of one lane share an address and a key, and with them a pace. */
  laneOf(key: string): string {
    return this.#last.get(key)?.id ?? key
  }

  /**
   * For a Relay that is gone, or whose key is. Objects that are being deleted still need it; without any its key is used no
   * more, and without an object at all it is forgotten.
   */
  settle(key: string): void {
    const opened = this.#last.get(key)
    const { world } = this.#options
    if (opened === undefined || this.#isWhole(key)) return
    const objects = LISTED.flatMap((listed) => world[listed].by(BY_RELAY, key))
    if (objects.length === 0) {
      this.#last.delete(key)
      opened.users.delete(key)
      if (opened.users.size === 0) void this.#close(opened)
    } else if (objects.every(({ metadata }) => metadata.deletionTimestamp === undefined)) {
      const others = [...opened.users].filter((user) => user !== key && this.#isWhole(user))
      if (others.length === 0) opened.rest()
    }
  }

  /** How long ago the relay took a call. A Relay that was never called, for want of a key, counts from when it was made. */
  contactAgeMs(relay: KubeObject): number {
    const client = this.#last.get(keyOf(relay))?.client
    if (client !== undefined) return performance.now() - client.contactedAt
    const madeMs = Math.max(0, Date.now() - Date.parse(relay.metadata.creationTimestamp ?? ''))
    const openMs = performance.now() - this.#openedAt
    return madeMs < openMs ? madeMs : openMs
  }

  /** It is there, and so is the Secret with its key. */
  #isWhole(key: string): boolean {
    const { world, secrets } = this.#options
    const relay = world.relays.get(key)
    if (relay === undefined) return false
    const { namespace = '' } = relay.metadata
    const { name } = RelaySpec.parse(relay['spec']).apiKeySecretRef
    return secrets.unusable({ namespace, name, member: '', use: 'relay' }) === undefined
  }

  #open(key: string, credentials: Credentials): Access {
    const id = createHash('sha256').update(JSON.stringify(credentials)).digest('hex')
    const found = this.#opened.get(id) ?? this.#connect(id, credentials)
    this.#opened.set(id, found)
    const before = this.#last.get(key)
    if (before !== found) {
      found.users.add(key)
      this.#last.set(key, found)
      before?.users.delete(key)
      if (before?.users.size === 0) void this.#close(before)
    }
    return found
  }

  #connect(id: string, credentials: Credentials): Opened {
    const { allowed, clusterId, pollMs, log, fence, count, changed, standingChanged } =
      this.#options
    const users = new Set<string>()
    const room = this.#room
    const lookup = allowed.lookupFor(credentials.baseUrl)
    const client = new RelayClient(credentials, {
      fence,
      count,
      lookup,
      changed: (what) => standingChanged(users, what),
    })
    const pollers = new Map<string, { poller: Poller; stop: AbortController }>()
    const rest = (): void => {
      for (const { poller, stop } of pollers.values()) {
        stop.abort()
        poller.close()
      }
      pollers.clear()
    }
    return {
      id,
      rest,
      client,
      baseUrl: credentials.baseUrl,
      ca: credentials.ca,
      users,
      poller(listed, projectId) {
        const name = `${listed} ${projectId ?? ''}`
        const known = pollers.get(name)
        if (known !== undefined) return known.poller
        const poller = new Poller({
          client,
          list: LISTS[listed](client.api),
          room,
          projectId,
          mark: MARKS[listed],
          ownerOf: ownerIn(clusterId),
          pollMs: listed === 'connectors' ? pollMs : Math.max(pollMs, DECLARED_POLL_MS),
          log: log.child({ listed }),
          changed: (found) => changed(users, listed, found),
        })
        const stop = new AbortController()
        pollers.set(name, { poller, stop })
        void poller.run(stop.signal)
        return poller
      },
      async [Symbol.asyncDispose]() {
        rest()
        await client.close()
      },
    }
  }

  async #close(opened: Opened): Promise<void> {
    for (const [id, other] of this.#opened) if (other === opened) this.#opened.delete(id)
    await opened[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      Array.from(this.#opened.values(), async (one) => await one[Symbol.asyncDispose]()),
    )
  }
}
