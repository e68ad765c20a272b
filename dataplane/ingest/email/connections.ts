import type { SMTPServer, SMTPServerSession } from 'smtp-server'

import { networkOf } from '../../../core/egress/address.ts'
import { SMTP_CONNECTIONS_MAX, SMTP_WITHOUT_MAIL_SECONDS } from '../../../core/limits.ts'
import { REPLIES } from './reply.ts'

const LOOK_MS = 1_000

type Connection = SMTPServer['connections'] extends Set<infer C> ? C : never

/** The message that a connection has under way: one that has arrived waits for this process. */
type UnderWay = 'arriving' | 'arrived'

/**
 * Ends connections that have had no message for `SMTP_WITHOUT_MAIL_SECONDS`, whatever commands they send. Past
 * `SMTP_CONNECTIONS_MAX` one that waits for its client gives way: of the address with the most of them, the oldest.
 */
export class Connections implements Disposable {
  readonly #server: SMTPServer
  /** When a connection began or had its last answer to a message. On the monotonic clock. */
  readonly #since = new WeakMap<SMTPServerSession, number>()
  readonly #messages = new WeakMap<SMTPServerSession, UnderWay>()
  readonly #looking: NodeJS.Timeout

  constructor(server: SMTPServer) {
    this.#server = server
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref()
    // The server has added the connection by then.
    server.server.on('connection', () => setImmediate(() => this.#makeRoom()))
  }

  /** Follows the message of a connection. Undefined: it has been answered. */
  note(session: SMTPServerSession, message: UnderWay | undefined): void {
    if (message !== undefined) this.#messages.set(session, message)
    else {
      this.#messages.delete(session)
      this.#since.set(session, performance.now())
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#looking)
  }

  #look(): void {
    const latest = performance.now() - SMTP_WITHOUT_MAIL_SECONDS * 1_000
    for (const connection of this.#server.connections) {
      const isIdle = !this.#messages.has(connection.session)
      if (isIdle && this.#sinceOf(connection) < latest) connection.send(421, REPLIES.idle.text)
    }
  }

  #makeRoom(): void {
    const { connections } = this.#server
    if (connections.size <= SMTP_CONNECTIONS_MAX) return
    const slow = [...connections].filter(({ session }) => this.#messages.get(session) !== 'arrived')
    const byAddress = Map.groupBy(slow, ({ remoteAddress }) => networkOf(remoteAddress))
    const [most = []] = [...byAddress.values()].toSorted((a, b) => b.length - a.length)
    const [oldest] = most.toSorted((a, b) => this.#sinceOf(a) - this.#sinceOf(b))
    oldest?.send(421, REPLIES.crowded.text)
  }

  #sinceOf({ session }: Connection): number {
    const known = this.#since.get(session)
    if (known !== undefined) return known
    const now = performance.now()
    this.#since.set(session, now)
    return now
  }
}
