import { databaseHostsOf, databaseUrlsOf } from '../../urls/database-urls.ts'

/** A server that DATABASE_URL names. */
export interface Host {
  /** The URL with this host alone. */
  url: string
  /** `host:port`, as it is written. */
  name: string
}

/**
 * The servers of DATABASE_URL, and which of them a new connection tries first: the last that took writes, or the one after
 * it once that failed. The pools of a process share it.
 */
export class Hosts {
  readonly #hosts: readonly Host[]
  #next = 0
  #worked = 0

  constructor(url: string) {
    const names = databaseHostsOf(url)
    this.#hosts = databaseUrlsOf(url).map((each, index) => ({
      url: each,
      name: names[index] ?? '',
    }))
  }

  get count(): number {
    return this.#hosts.length
  }

  /** The host that the next connection goes to. */
  get next(): Host {
    return this.#at(this.#next)
  }

  /** Every host once, the next first. */
  inOrder(): Host[] {
    return this.#hosts.map((_, index) => this.#at(this.#next + index))
  }

  /** The part of a time-out for all hosts that one of them has, in milliseconds. */
  share(timeoutMs: number): number {
    return Math.ceil(timeoutMs / this.#hosts.length)
  }

  /** New connections go to this host. */
  turnTo(host: Host): void {
    this.#next = this.#hosts.indexOf(host)
  }

  /** A connection to the host takes writes. Returns whether another host did before. */
  worked(host: Host): boolean {
    this.turnTo(host)
    const isOther = this.#next !== this.#worked
    this.#worked = this.#next
    return isOther
  }

  /** Another connection may have moved on already. */
  failed(host: Host): void {
    if (host === this.next) this.#next = (this.#next + 1) % this.#hosts.length
  }

  #at(index: number): Host {
    const host = this.#hosts[index % this.#hosts.length]
    if (host === undefined) throw new Error('DATABASE_URL names no host')
    return host
  }
}
