import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from '../../../core/log.ts'
import { isStatus } from '../kube/api-error.ts'
import type { KubeClient } from '../kube/client.ts'
import type { Kind, KubeObject } from '../kube/object.ts'

const LEASE: Kind = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
}

/** A holder that renews no more is replaced after the first; it stops by itself after the second. */
export interface LeaseTimes {
  durationMs: number
  deadlineMs: number
  retryMs: number
}

/** Shorter than the deadline, so that one answer that does not come costs one try. */
const REQUEST_TIMEOUT_MS = 3_000

const TIMES: LeaseTimes = { durationMs: 10_000, deadlineMs: 7_000, retryMs: 2_000 }

export interface ElectorOptions {
  /** Without a fence: the lease is what the fence stands on. */
  client: KubeClient
  namespace: string
  name: string
  /** Unique among running processes; one that is started again under its name takes its own lease back. */
  identity: string
  log: Logger
  times?: LeaseTimes
}

export class LostLease extends Error {
  override readonly name = 'LostLease'
}

/**
 * The lease that one process holds and the others wait for. Clocks of two machines are never compared: a waiting process
 * measures, on its own clock, how long the lease has stayed as it is.
 */
export class Elector {
  readonly #options: ElectorOptions
  readonly #times: LeaseTimes
  #isTaken = false
  #seen: { text: string; at: number } | undefined
  /** Number of holders so far, ours among them: another process of our name has another. */
  #term: number | undefined
  #leadsUntil = Number.NEGATIVE_INFINITY
  /** The lease as we last wrote it. */
  #written: KubeObject | undefined

  constructor(options: ElectorOptions) {
    this.#options = options
    this.#times = options.times ?? TIMES
  }

  get isLeader(): boolean {
    return performance.now() < this.#leadsUntil
  }

  /** Throws when this process may not write. It reads the clock: a process that was frozen does not know it otherwise. */
  readonly fence = (): void => {
    if (!this.isLeader) throw new LostLease('This process does not hold the lease')
  }

  /** Waits until the lease is ours. */
  async acquire(signal: AbortSignal): Promise<void> {
    const { log, name, identity } = this.#options
    for (;;) {
      signal.throwIfAborted()
      if (await this.#tried()) {
        log.info({ lease: name, identity }, 'Acquired the lease')
        return
      }
      await sleep(this.#times.retryMs * (0.8 + Math.random() * 0.4), undefined, { signal })
    }
  }

  /** Keeps the lease. Throws LostLease when it cannot any longer; ends when the signal is given. */
  async hold(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#times.retryMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      this.fence()
      const isOurs = await this.#tried()
      if (!isOurs && this.#isTaken) {
        this.#leadsUntil = Number.NEGATIVE_INFINITY
        throw new LostLease('Another process has taken the lease')
      }
      this.fence()
    }
  }

  /** Gives the lease back, so that the next one need not wait. */
  async release(): Promise<void> {
    const { client, namespace, name, identity, log } = this.#options
    if (!this.isLeader) return
    try {
      const lease = await client.get(LEASE, namespace, name, REQUEST_TIMEOUT_MS)
      this.#leadsUntil = Number.NEGATIVE_INFINITY
      if (lease === undefined || lease['spec'].holderIdentity !== identity) return
      const spec = { ...lease['spec'], holderIdentity: '', leaseDurationSeconds: 1 }
      await client.replace(LEASE, { ...lease, spec }, REQUEST_TIMEOUT_MS)
    } catch (error) {
      log.warn({ err: error }, 'Cannot give the lease back: the next holder waits until it ends')
    }
  }

  /** Whether the lease is ours after this try. */
  async #tried(): Promise<boolean> {
    const { client, namespace, name, log } = this.#options
    // The lease counts from before the request: the answer may be late.
    const began = performance.now()
    try {
      if (!(await this.#isRenewed())) {
        const lease = await client.get(LEASE, namespace, name, REQUEST_TIMEOUT_MS)
        const term = lease === undefined ? 0 : this.#termFor(lease)
        if (term === undefined) return false
        const metadata = lease?.metadata ?? { namespace, name }
        const ours = { metadata, spec: this.#spec(lease, term) }
        this.#written =
          lease === undefined
            ? await client.create(LEASE, ours, REQUEST_TIMEOUT_MS)
            : await client.replace(LEASE, ours, REQUEST_TIMEOUT_MS)
        this.#term = term
      }
    } catch (error) {
      // Whoever came first has it; the next look says so.
      if (!isStatus(error, 409)) log.warn({ err: error, lease: name }, 'Cannot renew the lease')
      return false
    }
    this.#leadsUntil = began + this.#times.deadlineMs
    return true
  }

  /** Without a look first: the version of our last write tells the server whether anybody has written since. */
  async #isRenewed(): Promise<boolean> {
    const written = this.#written
    this.#written = undefined
    if (written === undefined || this.#term === undefined) return false
    const ours = { metadata: written.metadata, spec: this.#spec(written, this.#term) }
    try {
      this.#written = await this.#options.client.replace(LEASE, ours, REQUEST_TIMEOUT_MS)
      return true
    } catch (error) {
      if (isStatus(error, 404, 409)) return false
      throw error
    }
  }

  /** The term to write into a lease that we hold or may take; undefined when it is another's. */
  #termFor(lease: KubeObject): number | undefined {
    const { identity } = this.#options
    const spec = specOf(lease)
    if (this.#term !== undefined) {
      if (spec.holderIdentity === identity && spec.leaseTransitions === this.#term)
        return this.#term
      this.#isTaken = true
      return undefined
    }
    const next = spec.leaseTransitions + 1
    if (spec.holderIdentity === '' || spec.holderIdentity === identity) return next
    const text = JSON.stringify(spec)
    const now = performance.now()
    if (this.#seen?.text !== text) this.#seen = { text, at: now }
    return now - this.#seen.at < spec.leaseDurationSeconds * 1_000 ? undefined : next
  }

  #spec(lease: KubeObject | undefined, term: number): object {
    const now = new Date().toISOString().replace('Z', '000Z')
    const acquireTime = term === this.#term ? lease?.['spec'].acquireTime : now
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#times.durationMs / 1_000),
      acquireTime,
      renewTime: now,
      leaseTransitions: term,
    }
  }
}

interface LeaseSpec {
  holderIdentity: string
  leaseTransitions: number
  leaseDurationSeconds: number
  renewTime: string
}

function specOf({ spec }: KubeObject): LeaseSpec {
  return {
    holderIdentity: spec?.holderIdentity ?? '',
    leaseTransitions: spec?.leaseTransitions ?? 0,
    leaseDurationSeconds: spec?.leaseDurationSeconds ?? 0,
    renewTime: spec?.renewTime ?? '',
  }
}
