import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  countWaiting,
  keepWaiting,
  type CountedWaiting,
  type Undispatched,
} from '../../../core/db/deliveries/read/waiting-counts.ts'
import { readWatermark } from '../../../core/db/deliveries/upkeep/sweep.ts'
import { noteBacklogs, type Backlog } from '../../../core/db/statistics/backlog.ts'
import { firstIdAt, timeOfId } from '../../../core/ids.ts'
import { INGEST_STATEMENT_TIMEOUT_MS } from '../../../core/limits.ts'
import type { Rest } from '../../every.ts'

/** A first attempt that has not ended after this long waits. */
const MOMENT_MS = 1_000

/** A delivery that is younger may not be committed yet. */
const SETTLED_MS = INGEST_STATEMENT_TIMEOUT_MS + 1_000

/** Waiting rows of one statement: 2 ms, which nobody beside it notices. */
const STEP_ROWS = 2_000

/** Pauses, in durations of a step: a thirtieth of one core at most. A million rows take about a minute. */
const PAUSES = 29
const PAUSE_MAX_MS = 30_000

/** From the end of a walk to the next, and from one that found nothing. */
const REST_MS = 1_000
const IDLE_MS = 4_000

/** Between two steps, however quick they are. */
const STEPS_MS = 100

/** Between two notes of what waits: a chart shows no span shorter than a minute. */
const NOTES_MS = 10_000

/** All that waits, as the last walk found it. */
export interface WaitingTotals {
  pending: number
  throttled: number
  /** Time has come for these, and no worker has begun. */
  due: number
  /** How long the oldest had waited for its first attempt. */
  oldestFirstMs: number
}

/** A walk over the waiting rows, by their ids. */
interface Walk {
  afterId: string
  /** By project. */
  counted: Map<string, CountedWaiting>
}

/**
 * Counts what waits, again and again and from the rows themselves: nothing can drift, and no write of the hot path
 * carries a counter. Step by step: one statement over a long backlog would take a core from whoever waits for an answer.
 * The longer steps take, the longer the next one is put off; one that was slow by chance is not taken for the rule.
 */
export class WaitingCounts {
  readonly #db: Db
  readonly #clock: Clock
  #walk: Walk | undefined
  #fromId: string | undefined
  /** On the monotonic clock. */
  #dueAt = 0
  #lastMs = 0
  #noteAt = 0
  /** Undefined before the first walk has ended. */
  totals: WaitingTotals | undefined

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** The next step, when it is due. Returns when the one after it is. */
  async step(): Promise<Rest> {
    const startedAt = performance.now()
    if (startedAt < this.#dueAt) return { restMs: this.#dueAt - startedAt }
    const walk = this.#walk ?? { afterId: firstIdAt(0), counted: new Map() }
    // Start over when it fails.
    this.#walk = undefined
    const { counted, lastId } = await countWaiting(this.#db, {
      afterId: walk.afterId,
      limit: STEP_ROWS,
      nowMs: this.#clock.now(),
    })
    for (const row of counted) addTo(walk.counted, row)
    let restMs = STEPS_MS
    if (lastId === undefined)
      restMs = (await this.#keep([...walk.counted.values()])) ? REST_MS : IDLE_MS
    else this.#walk = { ...walk, afterId: lastId }
    const endedAt = performance.now()
    const tookMs = endedAt - startedAt
    const pauseMs = Math.min(PAUSE_MAX_MS, Math.min(tookMs, this.#lastMs) * PAUSES)
    this.#dueAt = endedAt + Math.max(restMs, pauseMs)
    this.#lastMs = tookMs
    return { restMs: this.#dueAt - endedAt }
  }

  /** Whether something waits. */
  async #keep(counted: readonly CountedWaiting[]): Promise<boolean> {
    const nowMs = this.#clock.now()
    const watermark = await readWatermark(this.#db)
    if (this.#fromId === undefined || watermark > this.#fromId) this.#fromId = watermark
    const untilId = firstIdAt(nowMs - MOMENT_MS)
    const range = { fromId: this.#fromId, untilId }
    const unbegun = await keepWaiting(this.#db, counted, range)
    const undispatched = unbegun.reduce((total, one) => total + one.undispatched, 0)
    const [first] = unbegun.map(({ oldest }) => oldest).toSorted()
    await this.#note(counted, unbegun, nowMs)
    this.totals = {
      pending: undispatched + sum(counted, 'pending'),
      throttled: sum(counted, 'throttled'),
      due: undispatched + sum(counted, 'due'),
      oldestFirstMs: first === undefined ? 0 : nowMs - timeOfId(first),
    }
    const settledId = firstIdAt(nowMs - SETTLED_MS)
    // Below the first that waits all is done, except for what is not committed yet.
    const walkedTo = first !== undefined && first < settledId ? first : settledId
    if (walkedTo > this.#fromId) this.#fromId = walkedTo
    return counted.length > 0 || first !== undefined
  }

  /** For the chart of what waited: now and then, because every write would be a dead row. */
  async #note(
    counted: readonly CountedWaiting[],
    unbegun: readonly Undispatched[],
    nowMs: number,
  ): Promise<void> {
    const at = performance.now()
    if (at < this.#noteAt || counted.length + unbegun.length === 0) return
    this.#noteAt = at + NOTES_MS
    await noteBacklogs(this.#db, backlogsOf(counted, unbegun, nowMs), nowMs)
  }
}

function backlogsOf(
  counted: readonly CountedWaiting[],
  unbegun: readonly Undispatched[],
  nowMs: number,
): Backlog[] {
  const waits = [
    ...counted.map((one) => ({
      projectId: one.projectId,
      waiting: one.pending + one.throttled,
      oldest: one.oldestPendingId,
    })),
    ...unbegun.map(({ projectId, undispatched: waiting, oldest }) => ({
      projectId,
      waiting,
      oldest,
    })),
  ]
  const ageOf = (id: string | null): number => (id === null ? 0 : Math.max(0, nowMs - timeOfId(id)))
  return [...Map.groupBy(waits, ({ projectId }) => projectId)].map(([projectId, parts]) => ({
    projectId,
    waiting: parts.reduce((total, { waiting }) => total + waiting, 0),
    oldestMs: Math.max(...parts.map(({ oldest }) => ageOf(oldest))),
  }))
}

function addTo(
  sums: Map<string, CountedWaiting>,
  { projectId, pending, throttled, due, oldestPendingId }: CountedWaiting,
): void {
  if (pending + throttled + due === 0) return
  const former = sums.get(projectId) ?? { pending: 0, throttled: 0, due: 0, oldestPendingId: null }
  sums.set(projectId, {
    projectId,
    pending: former.pending + pending,
    throttled: former.throttled + throttled,
    due: former.due + due,
    // A walk goes from the oldest on.
    oldestPendingId: former.oldestPendingId ?? oldestPendingId,
  })
}

function sum(counted: readonly CountedWaiting[], kind: 'pending' | 'throttled' | 'due'): number {
  return counted.reduce((total, one) => total + one[kind], 0)
}
