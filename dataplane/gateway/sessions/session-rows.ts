import type { Db } from '../../../core/db/connection/db.ts'
import { noteSessions, settleSessions } from '../../../core/db/connectors/live-sessions.ts'
import type { Logger } from '../../../core/log.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

interface SessionRowsDeps {
  db: Db
  log: Logger
  gatewayId: string
  sessions: Sessions
}

/** Sessions that opened or closed within this time are one write. */
const GATHER_MS = 50

/** Stores the sessions of this gateway. `settle` repairs rows that could not be written. */
export class SessionRows {
  readonly #deps: SessionRowsDeps
  readonly #opened = new Map<string, Session>()
  readonly #closed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #writing = Promise.resolve()

  constructor(deps: SessionRowsDeps) {
    this.#deps = deps
  }

  opened(session: Session): void {
    this.#opened.set(session.id, session)
    this.#soon()
  }

  closed(session: Session): void {
    // Its row may be on its way: it is deleted after it.
    this.#opened.delete(session.id)
    this.#closed.add(session.id)
    this.#soon()
  }

  /** Makes the rows what the sessions are. */
  async settle(): Promise<void> {
    await this.#inTurn(async () => {
      const { db, gatewayId, sessions } = this.#deps
      await settleSessions(db, gatewayId, sessions.all().map(rowOf))
    })
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#write().catch((err: unknown) => this.#deps.log.warn({ err }, 'Cannot note sessions'))
    }, GATHER_MS)
  }

  async #write(): Promise<void> {
    await this.#inTurn(async () => {
      const opened = [...this.#opened.values()].map(rowOf)
      const closed = [...this.#closed]
      this.#opened.clear()
      this.#closed.clear()
      await noteSessions(this.#deps.db, this.#deps.gatewayId, { opened, closed })
    })
  }

  /** Writes one after the other, so that a closed session is deleted after it was inserted. */
  async #inTurn(write: () => Promise<void>): Promise<void> {
    const turn = this.#writing.then(write)
    this.#writing = turn.catch(() => {})
    await turn
  }
}

function rowOf({ id, owner }: Session): { id: string; replicaId: string; connectorId: string } {
  return { id, replicaId: owner.replicaId, connectorId: owner.connectorId }
}
