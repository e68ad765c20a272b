import { isAlive, signal } from '../../standalone/processes/os-process.ts'
import { childrenOf } from '../kit/children.ts'
import type { Fault } from './fault-plan.ts'
import { isRole, type Part, type Relay } from './relay.ts'

/** How each part is asked to end: PostgreSQL ends its sessions at SIGINT, where SIGTERM would wait for them. */
const RESTART: Partial<Record<Part, NodeJS.Signals>> = { postgres: 'SIGINT' }

/** Does faults to the parts of a relay. Disposing of it, or the end of this process, wakes what is still frozen. */
export class Striker implements Disposable {
  readonly #relay: Relay
  readonly #agentPid: () => number | undefined
  readonly #frozen = new Map<Part, { pids: number[]; timer: NodeJS.Timeout }>()

  readonly #wakeAtExit = (): void => this.wakeAll()

  constructor(relay: Relay, agentPid: () => number | undefined) {
    this.#relay = relay
    this.#agentPid = agentPid
    process.once('exit', this.#wakeAtExit)
  }

  /** False when the part does not run now, or is frozen. */
  strike({ part, kind, forMs }: Fault): boolean {
    const pid = this.pidOf(part)
    if (pid === undefined || this.#frozen.has(part)) return false
    if (kind === 'kill') return signal(pid, 'SIGKILL')
    if (kind === 'restart') return signal(pid, RESTART[part] ?? 'SIGTERM')
    this.#freeze(part, pid, forMs)
    return true
  }

  pidOf(part: Part): number | undefined {
    if (part === 'agent') return this.#agentPid()
    try {
      const pid = isRole(part) ? this.#relay.role(part) : this.#relay.server(part)
      return isAlive(pid) ? pid : undefined
    } catch {
      return undefined // It ended and has not been started again.
    }
  }

  /** The first stops before its children are looked for, so that it makes no more of them. */
  #freeze(part: Part, pid: number, forMs: number): void {
    signal(pid, 'SIGSTOP')
    const children = part === 'postgres' ? childrenOf(pid) : []
    for (const child of children) signal(child, 'SIGSTOP')
    const timer = setTimeout(() => this.#wake(part), forMs)
    this.#frozen.set(part, { pids: [...children, pid], timer })
  }

  #wake(part: Part): void {
    const frozen = this.#frozen.get(part)
    if (frozen === undefined) return
    this.#frozen.delete(part)
    clearTimeout(frozen.timer)
    for (const pid of frozen.pids) signal(pid, 'SIGCONT')
  }

  wakeAll(): void {
    for (const part of this.#frozen.keys()) this.#wake(part)
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#wakeAtExit)
    this.wakeAll()
  }
}
