import { isConnected, type NatsConnection } from '../nats.ts'
import { eventsStoredSubject } from './notice-subjects.ts'

/** At most one notice of a project in this time. */
const QUIET_MS = 100

/**
 * Tells live streams that events of a project were stored. Nobody waits for a notice and none is repeated: the streams'
 * slow poll heals what is lost. A project without a stream costs what NATS takes to drop a message nobody wants.
 */
export class EventNotices {
  readonly #nats: NatsConnection
  /** Projects of the last 100 ms, each with whether it has had more events since its notice. */
  readonly #quiet = new Map<string, { hasMore: boolean; timer: NodeJS.Timeout }>()

  constructor(nats: NatsConnection) {
    this.#nats = nats
  }

  note(projectId: string): void {
    const quiet = this.#quiet.get(projectId)
    if (quiet === undefined) this.#publish(projectId)
    else quiet.hasMore = true
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#quiet.values()) clearTimeout(timer)
    this.#quiet.clear()
  }

  #publish(projectId: string): void {
    // While disconnected the client would keep notices in memory without bound, to send them when they are stale.
    if (isConnected(this.#nats)) this.#nats.publish(eventsStoredSubject(projectId))
    const timer = setTimeout(() => this.#endQuiet(projectId), QUIET_MS).unref()
    this.#quiet.set(projectId, { hasMore: false, timer })
  }

  #endQuiet(projectId: string): void {
    const hasMore = this.#quiet.get(projectId)?.hasMore === true
    this.#quiet.delete(projectId)
    if (hasMore) this.#publish(projectId)
  }
}

/** Calls `look` for each notice of the project until disposed of. */
export function followEvents(
  nats: NatsConnection,
  projectId: string,
  look: () => void,
): Disposable {
  const subscription = nats.subscribe(eventsStoredSubject(projectId), {
    callback: (error) => {
      if (error === null) look()
    },
  })
  return { [Symbol.dispose]: () => subscription.unsubscribe() }
}
