import { Counter } from 'prom-client'

import { refuse } from '../../core/errors.ts'
import { encodeId } from '../../core/ids.ts'
import { roundMs } from '../../core/log.ts'
import type { AdmittedAgent } from '../capabilities/capability.ts'
import { CAPABILITIES } from '../capabilities/registry.ts'
import type { Deps } from '../deps.ts'
import { failureOf } from '../http/failure.ts'
import { runCapability } from './run-capability.ts'

/** A call of a capability by name, before anything is known of it. */
export interface NamedCall {
  agent: AdmittedAgent
  name: string
  /** The input as parsed JSON; called once. */
  sent: () => unknown
  signal: AbortSignal
  requestId: string
  way: 'http' | 'mcp'
}

const BY_NAME = new Map(CAPABILITIES.map((one) => [one.name, one]))

/** Calls of agents: each is counted and has a line in the log, by capability and outcome, without its input. */
export class AgentCalls {
  readonly #deps: Deps
  readonly #calls: Counter
  readonly #stop = new AbortController()

  constructor(deps: Deps) {
    this.#deps = deps
    this.#calls = new Counter({
      name: 'postern_api_capability_calls_total',
      help: 'Calls of capabilities by agents',
      labelNames: ['capability', 'outcome'],
      registers: [deps.registry],
    })
  }

  /** Throws what the call is refused with. */
  async run({ agent, name, sent, signal, requestId, way }: NamedCall): Promise<object> {
    const capability = BY_NAME.get(name)
    if (capability === undefined) refuse('NOT_FOUND', `Cannot find capability "${name}"`)
    const startedAt = performance.now()
    const note = (outcome: string): void => {
      this.#calls.inc({ capability: name, outcome })
      const durationMs = roundMs(performance.now() - startedAt)
      const line = { requestId, agentId: encodeId('agt', agent.id), capability: name, way }
      this.#deps.log.info({ ...line, outcome, durationMs }, 'Ran a capability')
    }
    try {
      const either = AbortSignal.any([signal, this.#stop.signal])
      const answer = await runCapability(this.#deps, capability, {
        agent,
        sent: sent(),
        signal: either,
      })
      note('ok')
      return answer
    } catch (error) {
      const { code, status } = failureOf(error, requestId)
      note(code ?? String(status))
      throw error
    }
  }

  /** Calls that wait for something are answered at once. */
  stop(): void {
    this.#stop.abort()
  }
}
