import pg from 'pg'

import type { Host, Hosts } from './hosts.ts'

/** A new connection to this host failed; its cause says why. */
export class HostFailure extends Error {
  override readonly name = 'HostFailure'

  constructor(host: Host, cause: unknown) {
    super(`${host.name}: ${reasonOf(cause)}`, { cause })
  }
}

/** No host gave a connection that takes writes. Its errors are the causes, one for each attempt. */
class NoHost extends AggregateError {
  override readonly name = 'NoHost'

  constructor(failures: readonly HostFailure[]) {
    const reasons = failures.map(({ message }) => message)
    super(
      failures.map(({ cause }) => cause),
      `No host of DATABASE_URL takes writes: ${reasons.join('; ')}`,
    )
  }
}

function reasonOf(error: unknown): string {
  // A name with several addresses: Node gives the failure of each, and no message of its own.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
}

/** A connection to the host whose turn it is. */
export class HostClient extends pg.Client {
  /** Private: an error that is logged may have the client among its properties, and the URL holds the password. */
  readonly #target: Host

  constructor(hosts: Hosts, config: pg.PoolConfig) {
    const target = hosts.next
    const { connectionTimeoutMillis = 0 } = config
    super({
      ...config,
      connectionString: target.url,
      connectionTimeoutMillis: hosts.share(connectionTimeoutMillis),
    })
    this.#target = target
    const connect = this.connect.bind(this)
    const connecting = (callback: (err?: Error) => void): void =>
      connect((err: Error | null) => {
        if (err === null || err === undefined) return callback()
        hosts.failed(target)
        return callback(new HostFailure(target, err))
      })
    Object.assign(this, { connect: connecting })
  }

  get target(): Host {
    return this.#target
  }
}

type Callback = Parameters<pg.Pool['connect']>[0]

/** A pool whose new connections try one host after the other, each once. */
export class HostPool extends pg.Pool {
  readonly #hosts: Hosts

  constructor(hosts: Hosts, config: pg.PoolConfig) {
    class Client extends HostClient {
      constructor(options: pg.PoolConfig = {}) {
        super(hosts, options)
      }
    }
    super({ ...config, Client })
    this.#hosts = hosts
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    if (callback === undefined) return this.#connect()
    void this.#connectFor(callback)
    return undefined
  }

  async #connectFor(callback: Callback): Promise<void> {
    const client = await this.#connect().catch((error: Error) => error)
    if (client instanceof Error) callback(client, undefined, () => {})
    else callback(undefined, client, (error?: Error | boolean) => client.release(error))
  }

  async #connect(): Promise<pg.PoolClient> {
    const failures: HostFailure[] = []
    while (failures.length < this.#hosts.count) {
      try {
        return await super.connect()
      } catch (error) {
        // Every connection may be in use, or the pool be ended.
        if (!(error instanceof HostFailure)) throw error
        failures.push(error)
      }
    }
    throw failures.length === 1 ? failures[0]?.cause : new NoHost(failures)
  }
}
