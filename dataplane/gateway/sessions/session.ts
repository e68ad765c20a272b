import { isDeepStrictEqual } from 'node:util'

import {
  type Link,
  type LinkEnd,
  type LinkTiming,
  openLink,
  type Wire,
} from '../../../core/tunnel/link.ts'
import { SESSION_STREAMS_MAX } from '../../../core/tunnel/protocol.ts'
import type { BodyBudget } from '../streams/body-budget.ts'
import { GatewayStreams } from '../streams/streams.ts'

/** Whose session it is. */
export interface SessionOwner {
  replicaId: string
  connectorId: string
  organisationId: string
}

export interface SessionDeps {
  budget: BodyBudget
  gatewayName: string
  timing?: LinkTiming | undefined
  /** Called when the session can take requests no longer, or again has room. */
  changed(session: Session): void
  closed(session: Session, end: LinkEnd): void
}

/** An agent's WebSocket at this gateway. */
export class Session {
  readonly id = crypto.randomUUID()
  readonly openedAtMs = Date.now()
  readonly owner: SessionOwner
  readonly streams: GatewayStreams
  readonly #link: Link
  readonly #gatewayName: string
  #allowedHosts: readonly string[]

  constructor(wire: Wire, owner: SessionOwner, deps: SessionDeps, allowedHosts: readonly string[]) {
    this.owner = owner
    this.#gatewayName = deps.gatewayName
    this.#allowedHosts = allowedHosts
    this.#link = openLink(
      wire,
      {
        frame: (frame) => {
          this.streams.receive(frame)
          if (frame.kind === 'going_away') deps.changed(this)
        },
        closed: (end) => {
          this.streams.end()
          deps.closed(this, end)
        },
      },
      deps.timing,
    )
    this.streams = new GatewayStreams({
      write: (frame) => this.#link.write(frame),
      budget: deps.budget,
      owner: owner.organisationId,
    })
    this.#tellSettings()
  }

  /** The connector's hosts may have changed: the agent hears of it. */
  narrow(allowedHosts: readonly string[]): void {
    if (isDeepStrictEqual(allowedHosts, this.#allowedHosts)) return
    this.#allowedHosts = allowedHosts
    this.#tellSettings()
  }

  /** The agent dials another gateway before it lets go of this one. */
  goAway(reason: string): void {
    this.streams.stopAccepting()
    this.#link.write({ kind: 'going_away', reason })
  }

  close(code: number, reason: string): void {
    this.streams.stopAccepting()
    this.#link.close(code, reason)
  }

  #tellSettings(): void {
    const settings = {
      name: this.#gatewayName,
      streamsMax: SESSION_STREAMS_MAX,
      allowedHosts: [...this.#allowedHosts],
    }
    this.#link.write({ kind: 'settings', settings })
  }
}
