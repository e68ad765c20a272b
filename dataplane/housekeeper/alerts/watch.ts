import type { Finding } from '../../../core/alerts/alert-types.ts'
import { isToTell } from '../../../core/alerts/telling.ts'
import { DAY_MS, MINUTE_MS } from '../../../core/clock.ts'
import {
  closeAlert,
  deleteOldAlerts,
  listOpenAlerts,
  lockOpenAlert,
  noteWell,
  raiseAlert,
  type OpenAlert,
} from '../../../core/db/alerts/alerts.ts'
import { cannotStore } from '../../../core/db/connection/failures.ts'
import { ALERT_DAYS, ALERT_FINDINGS_MAX, ALERT_SETTLE_MINUTES } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { wakeWorkers } from '../../../core/notices/wake.ts'
import { followEvents } from './follow-events.ts'
import type { Signal } from './signal.ts'
import { SIGNALS } from './signals.ts'
import { tellOpening, tellRecovery, type TellDeps } from './tell.ts'

const SETTLE_MS = ALERT_SETTLE_MINUTES * MINUTE_MS

/** Open alerts that one statement reads, and statements of one pass. */
const PAGE = 500
const PAGES_MAX = 20

export interface WatchDeps extends TellDeps {
  nats: NatsConnection
  log: Logger
}

/**
 * Opens, tells and closes alerts. Everything that it decides is decided by a row: any number of housekeepers may do it at
 * once, and be killed at any moment, and each notification is still stored once. (dashboard: Alerts, Mechanics)
 */
export class AlertWatch {
  readonly #deps: WatchDeps
  /** From when on all that is seen has been seen without interruption: before, silence says nothing. */
  #quietSinceMs: number
  /** By signal, when it was looked at last, on the monotonic clock. */
  readonly #lookedAt = new Map<Signal, number>()
  /** How often in a row a signal has found its subjects. */
  readonly #seen = new Map<Signal, Map<string, number>>()
  /** By type, as the last pass found it. */
  openAlerts: ReadonlyMap<string, number> = new Map()

  constructor(deps: WatchDeps) {
    this.#deps = deps
    this.#quietSinceMs = deps.clock.now()
  }

  /** Looks at the signals that are due; with `isAll` at every one. */
  async pass({ isAll = false }: { isAll?: boolean } = {}): Promise<void> {
    const { clock, nats } = this.#deps
    // A moment that lies ahead was before the clock was set back.
    this.#quietSinceMs = Math.min(this.#quietSinceMs, clock.now())
    const mayOpen = clock.now() - this.#quietSinceMs >= SETTLE_MS
    try {
      if (await this.#pass({ isAll, mayOpen })) wakeWorkers(nats)
    } catch (error) {
      if (cannotStore(error)) this.#quietSinceMs = clock.now()
      throw error
    }
  }

  /** Deletes what nobody needs any more. */
  async prune(): Promise<void> {
    const { db, clock } = this.#deps
    const nowMs = clock.now()
    await deleteOldAlerts(db, new Date(nowMs - ALERT_DAYS * DAY_MS), new Date(nowMs))
  }

  /** Whether something may have been told. */
  async #pass({ isAll, mayOpen }: { isAll: boolean; mayOpen: boolean }): Promise<boolean> {
    const due = SIGNALS.filter((signal) => isAll || this.#isDue(signal))
    let hasTold = mayOpen && (await followEvents(this.#deps)) > 0
    let open = await this.#readOpen()
    const failures: unknown[] = []
    for (const signal of due) {
      const own = open.filter(({ type }) => type === signal.type)
      try {
        if (await this.#closeOf(signal, own)) hasTold = true
        if (mayOpen && (await this.#openOf(signal, own))) open = await this.#readOpen()
      } catch (error) {
        // The other signals are looked at all the same.
        failures.push(error)
      }
    }
    if (await this.#tellOf(open)) hasTold = true
    this.openAlerts = countsOf(open)
    if (failures.length > 0) throw failures[0]
    return hasTold
  }

  #isDue(signal: Signal): boolean {
    const now = performance.now()
    const lookedAt = this.#lookedAt.get(signal) ?? Number.NEGATIVE_INFINITY
    // A pass may come a little early.
    if (now - lookedAt < signal.everyMs * 0.9) return false
    this.#lookedAt.set(signal, now)
    return true
  }

  async #readOpen(): Promise<OpenAlert[]> {
    const open: OpenAlert[] = []
    for (let page = 0, afterId: string | undefined; page < PAGES_MAX; page++) {
      const rows = await listOpenAlerts(this.#deps.db, { afterId, limit: PAGE })
      open.push(...rows)
      afterId = rows.at(-1)?.id
      if (rows.length < PAGE) break
    }
    return open
  }

  /** Whether something new is open. */
  async #openOf(signal: Signal, own: readonly OpenAlert[]): Promise<boolean> {
    const found = await signal.find(this.#deps, this.#deps.clock.now())
    const levels = new Map(own.map(({ subjectId, level }) => [subjectId, level]))
    const fresh = found.filter(({ subjectId, level }) => level > (levels.get(subjectId) ?? 0))
    const ripe = this.#ripe(signal, fresh).slice(0, ALERT_FINDINGS_MAX)
    for (const finding of ripe) {
      await this.#carefully(finding, async () => {
        const { db, clock } = this.#deps
        await db.transaction().execute(async (tx) => await raiseAlert(tx, finding, clock.now()))
      })
    }
    return ripe.length > 0
  }

  /** The findings that so many looks in a row have made. */
  #ripe(signal: Signal, found: readonly Finding[]): Finding[] {
    const before = this.#seen.get(signal)
    const seen = new Map(
      found.map(({ subjectId }) => [subjectId, (before?.get(subjectId) ?? 0) + 1]),
    )
    this.#seen.set(signal, seen)
    return found.filter(({ subjectId }) => (seen.get(subjectId) ?? 0) >= signal.looks)
  }

  /** Whether a recovery may have been told. */
  async #closeOf(signal: Signal, own: readonly OpenAlert[]): Promise<boolean> {
    if (own.length === 0) return false
    const { db, clock } = this.#deps
    const nowMs = clock.now()
    const standings = await signal.look(this.#deps, own, nowMs)
    let hasClosed = false
    for (const alert of own) {
      const standing = standings.get(alert.id)
      await this.#carefully(alert, async () => {
        if (standing === undefined) {
          if (alert.wellSinceMs !== null) await noteWell(db, alert.id, null)
          return
        }
        const isLong = nowMs - (alert.wellSinceMs ?? nowMs) >= signal.wellMs
        if (standing === 'well' && !isLong) {
          if (alert.wellSinceMs === null) await noteWell(db, alert.id, new Date(nowMs))
          return
        }
        await this.#close(alert, standing === 'well')
        hasClosed = true
      })
    }
    return hasClosed
  }

  async #close(alert: OpenAlert, isRecovered: boolean): Promise<void> {
    const { db, clock } = this.#deps
    await db.transaction().execute(async (tx) => {
      const closed = await closeAlert(tx, alert.id, clock.now())
      if (closed !== undefined && isRecovered) await tellRecovery(tx, this.#deps, closed)
    })
  }

  /** Tells of what is open and untold: new ones, and those that waited for the end of a mute or of half an hour. */
  async #tellOf(open: readonly OpenAlert[]): Promise<boolean> {
    const { db, clock, hasMail } = this.#deps
    const nowMs = clock.now()
    const untold = open.filter(
      (alert) =>
        (alert.hasEndpoint || hasMail) &&
        isToTell({ ...alert, isAcknowledged: alert.acknowledgedAtMs !== null }, nowMs),
    )
    for (const alert of untold) {
      await this.#carefully(alert, async () => {
        await db.transaction().execute(async (tx) => {
          const present = await lockOpenAlert(tx, alert)
          if (present !== undefined) await tellOpening(tx, this.#deps, present)
        })
      })
    }
    return untold.length > 0
  }

  /** An alert that cannot be written, because its subject was just deleted, must not keep the others back. */
  async #carefully(
    { type, subjectId }: Pick<Finding, 'type' | 'subjectId'>,
    act: () => Promise<void>,
  ): Promise<void> {
    try {
      await act()
    } catch (err) {
      this.#deps.log.warn({ err, type, subjectId }, 'Cannot write an alert')
    }
  }
}

function countsOf(open: readonly OpenAlert[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { type } of open) counts.set(type, (counts.get(type) ?? 0) + 1)
  return counts
}
