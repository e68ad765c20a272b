import { connect } from 'node:net'

import { portOf } from './options.ts'

const LOOK_MS = 1_000
/** The others go out as their schedule says. */
const KEPT_MAX = 100
const CONNECT_MS = 1_000

interface Deps {
  target: URL
  /** Has the relay make an attempt now. */
  retry: (deliveryId: string) => Promise<void>
  print: (line: string) => void
}

/** Deliveries that found no server: once there is one they are sent again, and do not wait for their schedule. */
export class SendAgain {
  readonly #deps: Deps
  readonly #ids = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  add(deliveryId: string): void {
    if (this.#ids.size < KEPT_MAX) this.#ids.add(deliveryId)
    this.#wait()
  }

  /** It was answered by other means. */
  drop(deliveryId: string): void {
    this.#ids.delete(deliveryId)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#ids.clear()
  }

  #wait(): void {
    if (this.#ids.size === 0) return
    this.#timer ??= setTimeout(() => {
      void this.#look().finally(() => {
        this.#timer = undefined
        this.#wait()
      })
    }, LOOK_MS)
  }

  async #look(): Promise<void> {
    if (!(await answers(this.#deps.target))) return
    const ids = [...this.#ids]
    this.#ids.clear()
    if (ids.length === 0) return
    const what = ids.length === 1 ? 'the delivery' : `${ids.length} deliveries`
    this.#deps.print(`Your server runs: sending ${what} again`)
    for (const id of ids) await this.#deps.retry(id)
  }
}

async function answers(target: URL): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host: target.hostname.replace(/^\[|\]$/g, ''), port: portOf(target) })
  socket.setTimeout(CONNECT_MS, () => resolve(false))
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  return await promise.finally(() => socket.destroy())
}
