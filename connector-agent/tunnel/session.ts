import { once } from 'node:events'

import type { WebSocket } from 'ws'

import { type Link, type LinkEnd, openLink, type Wire } from '../../core/tunnel/link.ts'
import { CLOSE, SESSION_STREAMS_MAX } from '../../core/tunnel/protocol.ts'
import { within } from '../../core/within.ts'
import { AgentStreams, type Perform } from './streams.ts'

interface SessionDeps {
  perform: Perform
  version: string
  /** The gateway says to which hosts the connector is narrowed. */
  narrowed(allowedHosts: readonly string[]): void
  /** Bytes of frames that carry bodies. */
  received(bytes: number): void
}

const ROUND_TRIP_MS_MAX = 2_000

/** An open WebSocket to a gateway. */
export class Session {
  /** As the gateway calls itself. */
  gateway = ''
  readonly openedAt = performance.now()
  readonly ended: Promise<LinkEnd>
  /** Resolves when the gateway takes no new requests to this agent: another has to be dialled. */
  readonly leaving: Promise<void>
  readonly streams: AgentStreams
  readonly #socket: WebSocket
  readonly #link: Link
  #isLeaving = false

  constructor(wire: Wire, deps: SessionDeps) {
    const ended = Promise.withResolvers<LinkEnd>()
    const leaving = Promise.withResolvers<void>()
    this.ended = ended.promise
    this.leaving = leaving.promise
    this.#socket = wire.socket
    this.#link = openLink(wire, {
      frame: (frame) => {
        if (frame.kind === 'data') deps.received(frame.bytes.length)
        this.streams.receive(frame)
        if (frame.kind === 'settings') deps.narrowed(frame.settings.allowedHosts ?? [])
        if (frame.kind === 'going_away') {
          this.#isLeaving = true
          leaving.resolve()
        }
      },
      closed: (end) => {
        this.streams.end()
        ended.resolve(end)
        leaving.resolve()
      },
    })
    this.streams = new AgentStreams({
      write: (frame) => this.#link.write(frame),
      perform: deps.perform,
      streamsMax: SESSION_STREAMS_MAX,
    })
    this.#link.write({
      kind: 'settings',
      settings: { name: deps.version, streamsMax: SESSION_STREAMS_MAX },
    })
  }

  get isLeaving(): boolean {
    return this.#isLeaving
  }

  /** Takes no more requests, ends those in flight and closes. */
  async drain(reason: string, withinMs: number): Promise<void> {
    this.streams.goAway(reason)
    // Its pong says that the gateway has read it: what was on the way is refused by then, and goes to another replica.
    await within(ROUND_TRIP_MS_MAX, this.#roundTrip(), () => undefined)
    await within(withinMs, this.streams.drained(), () => undefined)
    this.close(CLOSE.GOING_AWAY, reason)
    await this.ended
  }

  close(code: number, reason: string): void {
    this.#link.close(code, reason)
  }

  async #roundTrip(): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#socket.ping()
    await Promise.race([once(this.#socket, 'pong'), this.ended])
  }
}
