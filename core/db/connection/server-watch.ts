import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'

import type { Logger } from '../../log.ts'
import type { Host, Hosts } from '../hosts/hosts.ts'
import type { Retirement, Unanswered } from './retirement.ts'

const LOOK_MS = 1_000
/** Leases last 5 s: a statement that has no answer after this time is worth a question on a new connection. */
const SLOW_MS = 3_000
const CONNECT_MS = 2_000
/** An answer may be on the wire while the server already shows its statement as done. */
const ON_THE_WIRE_MS = 200

export interface ServerWatchOptions {
  hosts: Hosts
  log: Logger
  retirement: Retirement
}

/** A statement that the present primary runs. */
interface Running {
  pid: number
  /** It is done, and its commit waits for a standby. */
  waits_for_standby: boolean
}

/** These statements, and commits of any process that wait for a standby and are as old. */
const RUNNING = `
  select pid, wait_event is not distinct from 'SyncRep' as waits_for_standby from pg_stat_activity
   where state = 'active'
     and (pid = any($1::int4[])
          or wait_event = 'SyncRep' and datname = current_database()
             and query_start < clock_timestamp() - interval '${SLOW_MS} ms')`

const PRIMARY = `select current_setting('transaction_read_only') = 'off' as is_primary`

/**
 * Finds statements whose server is gone without a word. When one has waited 3 s, a new connection, which leads to the
 * present primary, reads which statements of this process run there. A statement that does not run there gets no answer any
 * more: its connection closes, and all connections of its time are retired. A slow statement goes on.
 */
export class ServerWatch implements AsyncDisposable {
  readonly #options: ServerWatchOptions
  readonly #stop = new AbortController()
  readonly #looking: Promise<void>
  #waitsForStandby = false

  constructor(options: ServerWatchOptions) {
    this.#options = options
    this.#looking = this.#run()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#looking
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#look()
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async #look(): Promise<void> {
    const { retirement, log } = this.#options
    const slow = retirement.unanswered(SLOW_MS)
    // Statements are given up long before an outage ends, while their commits go on waiting: only the server shows its end.
    const isCalm = slow.length === 0 && !this.#waitsForStandby
    const running = isCalm ? [] : await this.#runningOf(slow)
    // Without a primary to reach, the statements wait for theirs.
    if (running === undefined) return
    this.#noteStandby(running.some((statement) => statement.waits_for_standby))
    const pids = new Set(running.map(({ pid }) => pid))
    const lost = slow.filter(({ pid }) => !pids.has(pid))
    if (lost.length === 0) return
    await sleep(ON_THE_WIRE_MS)
    const statements = retirement.abandon(lost)
    if (statements > 0) log.warn({ statements }, 'Abandoned statements: their server is gone')
  }

  #noteStandby(isWaiting: boolean): void {
    if (isWaiting === this.#waitsForStandby) return
    this.#waitsForStandby = isWaiting
    const { log } = this.#options
    if (isWaiting) {
      log.warn('PostgreSQL accepts and does not commit: are its synchronous standbys there?')
    } else log.info('PostgreSQL commits again')
  }

  /** Undefined when no primary answers. */
  async #runningOf(statements: readonly Unanswered[]): Promise<Running[] | undefined> {
    const { hosts } = this.#options
    const pids = statements.map(({ pid }) => pid)
    for (const host of hosts.inOrder()) {
      const running = await runningOn(host, pids)
      if (running === undefined) continue
      hosts.turnTo(host)
      return running
    }
    return undefined
  }
}

/** Undefined when the host is no primary, or does not answer. */
async function runningOn({ url }: Host, pids: readonly number[]): Promise<Running[] | undefined> {
  const timeouts = { connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS }
  const client = new pg.Client({ connectionString: url, ...timeouts })
  // The statement below reports a connection that breaks.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ is_primary: boolean }>(PRIMARY)
    if (rows[0]?.is_primary !== true) return undefined
    return (await client.query<Running>(RUNNING, [pids])).rows
  } catch {
    return undefined
  } finally {
    client.end().catch(() => {})
  }
}
