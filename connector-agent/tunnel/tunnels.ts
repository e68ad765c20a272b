import type { LinkEnd } from '../../core/tunnel/link.ts'
import { CLOSE } from '../../core/tunnel/protocol.ts'
import { backoffMs, waitMs } from './backoff.ts'
import type { Dialled } from './dial.ts'
import { Nudge } from './nudge.ts'
import type { Session } from './session.ts'

/** Sessions to keep, each to another gateway. */
const SESSIONS = 2
/** A session that ends sooner counts as a failure to connect. */
const GOOD_MS = 10_000
/** After a gateway said that it goes, the next one is dialled within this time. */
const MOVE_MS = 500
/** How often a second gateway is looked for while there is but one; when there are more, the next may be another. */
const LOOK_MS = [30_000, 60_000] as const
/** For requests that a session has got by the time it is seen that none is wanted: longer than any attempt may take. */
const LATE_MS = 65_000
const RETRY_MS = [1_000, 5_000] as const

export type Refused = Extract<Dialled, { kind: 'refused' }>

interface TunnelsDeps {
  /** Dials, and makes the session in the moment in which the socket opens. */
  dial(gateways: readonly string[]): Promise<{ dialled: Dialled; session: Session | undefined }>
  opened(session: Session): void
  ended(session: Session, end: LinkEnd): void
  refused(refused: Refused): void
  failed(error: Error): void
  random: () => number
}

/**
 * Keeps sessions to two gateways, for ever: dials, waits and dials again. A gateway that goes away is replaced before it
 * is gone.
 */
export class Tunnels {
  readonly #deps: TunnelsDeps
  readonly #sessions = new Set<Session>()
  readonly #nudge = new Nudge()
  #isHeld = true
  #isStopped = false

  constructor(deps: TunnelsDeps) {
    this.#deps = deps
  }

  /** The sessions that take requests. */
  get open(): Session[] {
    return [...this.#sessions].filter(({ isLeaving }) => !isLeaving)
  }

  get inFlight(): number {
    let count = 0
    for (const { streams } of this.#sessions) count += streams.inFlight
    return count
  }

  /** Never ends before `stop()`. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: SESSIONS }, async (_, slot) => await this.#keep(slot)))
  }

  /** Dials nothing, until it may again. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    this.#nudge.now()
  }

  /** Dials nothing more, and ends all sessions, each when what it has in flight is done. */
  async drain(reason: string, withinMs: number): Promise<void> {
    this.stop()
    const endAt = performance.now() + withinMs
    // A dial that is under way may open one more meanwhile.
    while (this.#sessions.size > 0) {
      const leftMs = endAt - performance.now()
      await Promise.all(
        [...this.#sessions].map(async (session) => await session.drain(reason, leftMs)),
      )
    }
  }

  close(reason: string): void {
    for (const session of this.#sessions) session.close(CLOSE.GOING_AWAY, reason)
  }

  stop(): void {
    this.#isStopped = true
    this.#nudge.now()
  }

  async #keep(slot: number): Promise<void> {
    let failures = 0
    while (!this.#isStopped) {
      // The second looks for another gateway than that of the first.
      if (this.#isHeld || (slot > 0 && this.open.length === 0)) {
        await this.#nudge.wait(LOOK_MS[1])
        continue
      }
      const { dialled, session } = await this.#deps.dial(this.open.map(({ gateway }) => gateway))
      if (session !== undefined) {
        if (dialled.kind === 'open') session.gateway = dialled.gateway
        const isGood = await this.#live(session)
        failures = isGood ? 0 : failures + 1
        await this.#rest(
          session.isLeaving
            ? this.#deps.random() * MOVE_MS
            : backoffMs(failures, this.#deps.random),
        )
      } else if (dialled.kind === 'refused' && dialled.status === 409) {
        this.#deps.refused(dialled)
        failures = 0
        const [least, most] = (dialled.gateways ?? 1) > this.open.length ? RETRY_MS : LOOK_MS
        await this.#rest(least + this.#deps.random() * (most - least))
      } else {
        if (dialled.kind === 'refused') this.#deps.refused(dialled)
        if (dialled.kind === 'failed') this.#deps.failed(dialled.error)
        const retryAfter = dialled.kind === 'refused' ? dialled.retryAfterMs : undefined
        await this.#rest(waitMs(failures++, retryAfter, this.#deps.random))
      }
    }
  }

  /** Until the session ends or its gateway goes away. Tells whether it was good for something. */
  async #live(session: Session): Promise<boolean> {
    this.#sessions.add(session)
    this.#deps.opened(session)
    this.#nudge.now()
    void session.ended.then((end) => {
      this.#sessions.delete(session)
      this.#deps.ended(session, end)
      return undefined
    })
    // It was wanted when it was dialled. Requests that the gateway sends it all the same are refused or answered, not cut.
    if (this.#isHeld || this.#isStopped) void session.drain('The agent takes no requests', LATE_MS)
    await session.leaving
    return session.isLeaving || performance.now() - session.openedAt > GOOD_MS
  }

  async #rest(ms: number): Promise<void> {
    if (!this.#isStopped) await this.#nudge.wait(ms)
  }
}
