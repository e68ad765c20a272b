import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from '../../log.ts'
import { nowDoing } from '../../loop/watch.ts'
import type { Db } from '../connection/db.ts'
import { ping } from '../connection/ping.ts'
import { forgetProcess, PROCESS_LIVE_MS, reportProcess, type ProcessIdentity } from './processes.ts'

export interface PresenceOptions {
  db: Db
  log: Logger
  identity: ProcessIdentity
}

/** Reports that a process lives, from the first report to its disposal. Each report is a commit, which readiness relies on. */
export class Presence implements AsyncDisposable {
  readonly #options: PresenceOptions
  readonly #stop = new AbortController()
  readonly #reports: Promise<void>
  #committedAt = performance.now()

  /** Rejects when the first report cannot be written. */
  static async begin(options: PresenceOptions): Promise<Presence> {
    await reportProcess(options.db, options.identity)
    return new Presence(options)
  }

  private constructor(options: PresenceOptions) {
    this.#options = options
    this.#reports = this.#run()
  }

  /** Rejects while PostgreSQL does not answer, or has committed no report in the time that a process is taken for live. */
  async check(): Promise<void> {
    await ping(this.#options.db)
    const silentMs = performance.now() - this.#committedAt
    if (silentMs < PROCESS_LIVE_MS) return
    throw new Error(`PostgreSQL has committed nothing for ${Math.floor(silentMs / 1_000)} s`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#reports
    const { db, log, identity } = this.#options
    await forgetProcess(db, identity.id).catch((err: unknown) =>
      log.warn({ err }, 'Cannot deregister the process'),
    )
  }

  async #run(): Promise<void> {
    const { db, log, identity } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      await sleep(PROCESS_LIVE_MS / 3, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      try {
        nowDoing('presence')
        await reportProcess(db, identity)
        this.#committedAt = performance.now()
      } catch (err) {
        log.warn({ err, task: 'presence' }, 'A periodic task failed')
      }
    }
  }
}
