import { setTimeout as sleep } from 'node:timers/promises'

import type { Db } from '../../core/db/connection/db.ts'
import {
  standingsOfReplicas,
  type GoodReplica,
  type Standing,
} from '../../core/db/connectors/connector-standing.ts'
import type { Logger } from '../../core/log.ts'
import type { NatsConnection } from '../../core/nats.ts'
import { noticeOnline } from '../../core/notices/connector-notices.ts'
import type { LinkEnd, LinkTiming, Wire } from '../../core/tunnel/link.ts'
import { CLOSE } from '../../core/tunnel/protocol.ts'
import type { Calls } from './calls.ts'
import type { SessionRows } from './sessions/session-rows.ts'
import { Session } from './sessions/session.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { BodyBudget } from './streams/body-budget.ts'

interface KeeperDeps {
  db: Db
  nats: NatsConnection
  log: Logger
  gatewayName: string
  timing: LinkTiming | undefined
  sessions: Sessions
  budget: BodyBudget
  calls: Calls
  rows: SessionRows
  closed(code: number): void
}

/** Agents have this long to dial another gateway before this one lets go of sessions that are at rest. */
const PARTING_MS = 1_000
const DRAIN_LOOK_MS = 50
/** The longest request and what surrounds it: whoever runs a gateway gives it more to stop. */
const DRAIN_MS = 65_000

/** Opens sessions, and ends those that may not be. */
export class Keeper {
  readonly #deps: KeeperDeps

  constructor(deps: KeeperDeps) {
    this.#deps = deps
  }

  open(wire: Wire, owner: GoodReplica): void {
    const { sessions, budget, gatewayName, timing, rows, log } = this.#deps
    for (const former of sessions.ofReplica(owner.replicaId)) {
      former.close(CLOSE.DUPLICATE, 'The replica dialled this gateway again')
    }
    const session = new Session(
      wire,
      owner,
      {
        budget,
        gatewayName,
        timing,
        changed: () => this.#follow(owner.connectorId),
        closed: (closing, end) => this.#forget(closing, end),
      },
      owner.allowedHosts,
    )
    if (owner.isDisabled) {
      session.close(CLOSE.DISABLED, 'The connector is disabled')
      return
    }
    sessions.add(session)
    rows.opened(session)
    this.#follow(owner.connectorId)
    log.info({ replicaId: owner.replicaId, connectorId: owner.connectorId }, 'A session opened')
    // Between the look at its token and now it may have been revoked, and the notice found no session.
    this.#look([session]).catch((err: unknown) => log.warn({ err }, 'Cannot look at a session'))
  }

  /** Looks what holds now for these connectors. */
  async look(connectorIds: readonly string[]): Promise<void> {
    await this.#look(connectorIds.flatMap((id) => [...this.#deps.sessions.of(id)]))
  }

  /** Makes rows and sessions what they should be, whatever was missed. */
  async sweep(): Promise<void> {
    await this.#deps.rows.settle()
    await this.#look(this.#deps.sessions.all())
  }

  /** Sends agents elsewhere and waits until their requests in flight are answered. */
  async drain(): Promise<void> {
    const { sessions } = this.#deps
    for (const session of sessions.all()) session.goAway('The gateway is going away')
    for (const connectorId of sessions.connectors()) this.#follow(connectorId)
    const startedAt = performance.now()
    while (sessions.count > 0 && performance.now() - startedAt < DRAIN_MS) {
      if (performance.now() - startedAt > PARTING_MS) this.closeAll((each) => each === 0)
      await sleep(DRAIN_LOOK_MS)
    }
  }

  closeAll(isSo: (inFlight: number) => boolean): void {
    for (const session of this.#deps.sessions.all()) {
      if (isSo(session.streams.inFlight)) {
        session.close(CLOSE.GOING_AWAY, 'The gateway is going away')
      }
    }
  }

  #follow(connectorId: string): void {
    const { calls, nats } = this.#deps
    if (calls.follow(connectorId)) noticeOnline(nats, connectorId)
  }

  #forget(session: Session, { code, reason, fault }: LinkEnd): void {
    const { sessions, rows, log } = this.#deps
    const { replicaId, connectorId } = session.owner
    sessions.remove(session)
    this.#follow(connectorId)
    rows.closed(session)
    this.#deps.closed(code)
    const ended = { replicaId, connectorId, code, reason }
    if (fault === undefined) log.info(ended, 'A session ended')
    else log.warn({ ...ended, err: fault }, 'A session ended')
  }

  async #look(some: readonly Session[]): Promise<void> {
    const replicaIds = some.map(({ owner }) => owner.replicaId)
    const standings = await standingsOfReplicas(this.#deps.db, replicaIds)
    for (const session of some) this.#judge(session, standings.get(session.owner.replicaId))
  }

  #judge(session: Session, standing: Standing | undefined): void {
    if (standing === undefined) return
    if (standing.kind === 'revoked') session.close(CLOSE.REVOKED, standing.reason)
    else if (standing.isDisabled) session.close(CLOSE.DISABLED, 'The connector is disabled')
    else session.narrow(standing.allowedHosts)
    this.#follow(session.owner.connectorId)
  }
}
