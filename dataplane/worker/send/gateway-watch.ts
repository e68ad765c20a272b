import { connectedMs, isConnected, type NatsConnection } from '../../../core/nats.ts'
import { followLife } from '../../../core/notices/connector-notices.ts'
import type { GatewayCalls } from './gateway-calls.ts'

/** Gateways say once a second that they live. */
const SILENCE_MS = 3_000
const LOOK_MS = 500

/** Gives up the calls that a gateway has accepted when it is not heard of any more. */
export function watchGateways(nats: NatsConnection, calls: GatewayCalls): Disposable {
  const heardAt = new Map<string, number>()
  const following = followLife(nats, (gatewayId) => {
    heardAt.set(gatewayId, performance.now())
  })
  let lookedAt = performance.now()
  const look = (): void => {
    const nowMs = performance.now()
    const isLate = nowMs - lookedAt > 2 * LOOK_MS
    lookedAt = nowMs
    // While NATS is away, and just after, nobody can be heard.
    if (!isConnected(nats) || connectedMs(nats) < SILENCE_MS) return
    // This process stood still: its timers run before it reads what gateways said meanwhile.
    if (isLate) {
      for (const gatewayId of heardAt.keys()) heardAt.set(gatewayId, nowMs)
      return
    }
    const accepting = calls.accepting()
    for (const gatewayId of accepting) {
      const at = heardAt.get(gatewayId) ?? nowMs
      heardAt.set(gatewayId, at)
      if (nowMs - at > SILENCE_MS) calls.forgetGateway(gatewayId)
    }
    for (const [gatewayId, at] of heardAt) {
      if (nowMs - at > SILENCE_MS && !accepting.has(gatewayId)) heardAt.delete(gatewayId)
    }
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      following[Symbol.dispose]()
    },
  }
}
