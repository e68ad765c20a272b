import type pg from 'pg'

import { condemnsServer, isUnanswered } from './failures.ts'

/**
 * Closes the connections of a process's pools after an error that condemns their server: it gave no answer, is stopping, or
 * takes no writes. A primary that was demoted or cut off leaves its connections open, and each would cost one more failure.
 * Idle connections close at once, connections in use when they return to their pool; new connections replace them.
 */
export class Retirement {
  readonly #idle = new Set<pg.PoolClient>()
  readonly #inUse = new Set<pg.PoolClient>()
  readonly #retired = new WeakSet<pg.PoolClient>()

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
      else if (err === undefined) this.#idle.add(client)
    })
    pool.on('remove', (client) => this.#idle.delete(client))
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
      const callback = args.at(-1)
      if (typeof callback === 'function') {
        const judging = (err: unknown, ...rest: unknown[]): void => {
          this.#judge(client, err)
          Reflect.apply(callback, undefined, [err, ...rest])
        }
        return Reflect.apply(query, undefined, [...args.slice(0, -1), judging])
      }
      const answer: unknown = Reflect.apply(query, undefined, args)
      if (!(answer instanceof Promise)) return answer
      return answer.catch((err: unknown) => {
        this.#judge(client, err)
        throw err
      })
    }
    Object.assign(client, { query: watched })
  }

  #judge(client: pg.PoolClient, err: unknown): void {
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
