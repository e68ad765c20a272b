import type pg from 'pg'

import { condemnsServer, isUnanswered } from './failures.ts'

/** A statement without an answer yet. */
export interface Unanswered {
  client: pg.PoolClient
  /** The process of its server that runs it. */
  pid: number
  /** On the monotonic clock. */
  askedAt: number
}

/**
 * Closes the connections of a process's pools after an error that condemns their server: it gave no answer, is stopping, or
 * takes no writes. A primary that was demoted or cut off leaves its connections open, and each would cost one more failure.
 * Idle connections close at once, connections in use when they return to their pool; new connections replace them.
 */
export class Retirement {
  readonly #idle = new Set<pg.PoolClient>()
  readonly #inUse = new Set<pg.PoolClient>()
  readonly #retired = new WeakSet<pg.PoolClient>()
  readonly #askedAt = new Map<pg.PoolClient, number>()
  readonly #pids = new WeakMap<pg.PoolClient, number>()

  watch(pool: pg.Pool): void {
    pool.on('connect', (client) => this.#watchAnswers(client))
    pool.on('acquire', (client) => {
      this.#idle.delete(client)
      this.#inUse.add(client)
    })
    pool.on('release', (err: unknown, client) => {
      this.#inUse.delete(client)
      // The pool removes a client that is ending, or that its user returns with an error.
      if (this.#retired.has(client)) close(client)
      // A healthy client comes back with `null` after a statement of the pool, and with `false` from the query builder.
      else if (err === undefined || err === null || err === false) this.#idle.add(client)
    })
    pool.on('remove', (client) => {
      this.#idle.delete(client)
      this.#askedAt.delete(client)
    })
  }

  identify(client: pg.PoolClient, pid: number): void {
    this.#pids.set(client, pid)
  }

  /** The statements that have waited for an answer for so long. */
  unanswered(ageMs: number): Unanswered[] {
    const before = performance.now() - ageMs
    return [...this.#askedAt].flatMap(([client, askedAt]) => {
      const pid = this.#pids.get(client)
      return pid === undefined || askedAt > before ? [] : [{ client, pid, askedAt }]
    })
  }

  /** Fails those of the statements that are still unanswered, and retires every connection. Returns their number. */
  abandon(statements: readonly Unanswered[]): number {
    const lost = statements.filter(({ client, askedAt }) => this.#askedAt.get(client) === askedAt)
    if (lost.length > 0) this.retire()
    for (const { client } of lost) close(client)
    return lost.length
  }

  /** Retires every connection that is open now. */
  retire(): void {
    for (const client of this.#inUse) this.#retired.add(client)
    const idle = [...this.#idle]
    this.#idle.clear()
    for (const client of idle) {
      // The pool removes an idle client that reports an error.
      client.emit('error', new Error('Retired: another connection to this server failed'))
      close(client)
    }
  }

  #watchAnswers(client: pg.PoolClient): void {
    const query = client.query.bind(client)
    const watched = (...args: unknown[]): unknown => {
      this.#askedAt.set(client, performance.now())
      const callback = args.at(-1)
      if (typeof callback === 'function') {
        const judging = (err: unknown, ...rest: unknown[]): void => {
          this.#answered(client, err)
          Reflect.apply(callback, undefined, [err, ...rest])
        }
        return Reflect.apply(query, undefined, [...args.slice(0, -1), judging])
      }
      const answer: unknown = Reflect.apply(query, undefined, args)
      if (!(answer instanceof Promise)) return answer
      return answer.then(
        (result: unknown) => {
          this.#answered(client, undefined)
          return result
        },
        (err: unknown) => {
          this.#answered(client, err)
          throw err
        },
      )
    }
    Object.assign(client, { query: watched })
  }

  #answered(client: pg.PoolClient, err: unknown): void {
    this.#askedAt.delete(client)
    if (!condemnsServer(err)) return
    // pg gives up a statement without an answer, and the next one (a rollback) would wait behind it.
    if (isUnanswered(err)) close(client)
    // Opened before an earlier failure: that one has retired the connections of its time already.
    if (!this.#retired.has(client)) this.retire()
    this.#retired.add(client)
  }
}

/** Without a farewell: a silent server would keep the socket open for a quarter of an hour. */
function close(client: pg.PoolClient): void {
  void client.end()
  client.connection.stream.destroy()
}
