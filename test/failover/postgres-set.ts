import { freePorts } from '../../standalone/processes/ports.ts'
import { until } from '../faults/until.ts'
import { PostgresNode } from './postgres-node.ts'

const NAMES = ['one', 'two', 'three']
const DATABASE = 'postern'
const COPIED_MS = 30_000

/** A primary and two standbys: a commit waits for either. */
export class PostgresSet implements AsyncDisposable {
  readonly nodes: readonly PostgresNode[]
  #primary: PostgresNode

  static async open(directory: string): Promise<PostgresSet> {
    const ports = await freePorts(NAMES.length)
    const synchronous = `ANY 1 (${NAMES.join(', ')})`
    const nodes = NAMES.map(
      (name, at) => new PostgresNode(name, ports[at] ?? 0, { directory, synchronous }),
    )
    const [primary] = nodes
    if (primary === undefined) throw new Error('A set has a primary')
    const set = new PostgresSet(nodes, primary)
    try {
      await primary.initialise()
      await set.restore()
      await primary.query(`create database ${DATABASE}`)
    } catch (error) {
      await set[Symbol.asyncDispose]()
      throw error
    }
    return set
  }

  private constructor(nodes: readonly PostgresNode[], primary: PostgresNode) {
    this.nodes = nodes
    this.#primary = primary
  }

  get primary(): PostgresNode {
    return this.#primary
  }

  get standbys(): readonly PostgresNode[] {
    return this.nodes.filter((node) => node !== this.#primary)
  }

  get url(): string {
    return this.urlOf(this.#primary)
  }

  urlOf(node: PostgresNode): string {
    return node.url(DATABASE)
  }

  /**
   * Promotes the standby that has most, after neither receives any more from the primary: what was committed is in one of
   * them. The other follows it. Resolves when it takes writes.
   */
  async promote(): Promise<void> {
    const { standbys } = this
    for (const standby of standbys) standby.follow(undefined)
    const received = await Promise.all(standbys.map(async (standby) => await standby.received()))
    const most = Math.max(...received)
    const best = standbys[received.indexOf(most)]
    if (best === undefined) throw new Error('No standby to promote')
    for (const standby of standbys) if (standby !== best) standby.follow(best)
    await best.promote()
    this.#primary = best
  }

  /** The database, as the primary has it. */
  async query(sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return await this.#primary.query(sql, { values, database: DATABASE })
  }

  /** Makes standbys of all that do not stream from the primary. Resolves when both do. */
  async restore(): Promise<void> {
    const streaming = await this.#streaming()
    const lost = this.standbys.filter(({ name }) => !streaming.includes(name))
    await Promise.all(lost.map(async (node) => await node.copy(this.#primary)))
    const isWhole = async (): Promise<boolean> =>
      (await this.#streaming()).length === this.standbys.length
    await until('both standbys stream', isWhole, COPIED_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) await node.kill()
  }

  async #streaming(): Promise<unknown[]> {
    const rows = await this.#primary.query(
      `select application_name as name from pg_stat_replication where state = 'streaming'`,
    )
    return rows.map(({ name }) => name)
  }
}
