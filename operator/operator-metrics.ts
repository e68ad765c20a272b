import { Counter, Gauge, type Registry } from 'prom-client'

import type { KubeObject } from './runtime/kube/object.ts'
import { conditionOf } from './runtime/objects/conditions.ts'
import type { Store } from './runtime/watch/store.ts'
import type { World } from './world/world.ts'

/** Figures of what the operator looks after; they come from the status of the objects, so that a standby has them too. */
export function openOperatorMetrics(
  registry: Registry,
  world: World,
): { relayRequest: (method: string, code: string) => void } {
  const registers = [registry]
  const requests = new Counter({
    name: 'postern_operator_relay_requests_total',
    help: 'Requests to the management API of relays by method and status',
    labelNames: ['method', 'code'],
    registers,
  })
  const stores: Record<string, Store<KubeObject>> = {
    Relay: world.relays,
    Connector: world.connectors,
    Source: world.sources,
    Destination: world.destinations,
    Connection: world.connections,
  }
  void new Gauge({
    name: 'postern_operator_objects',
    help: 'Objects by kind and by the status of their condition Ready',
    labelNames: ['kind', 'ready'],
    registers,
    collect() {
      for (const [kind, store] of Object.entries(stores)) {
        const counts = { True: 0, False: 0, Unknown: 0 }
        for (const { status } of store.all()) {
          counts[conditionOf(status?.conditions, 'Ready')?.status ?? 'Unknown']++
        }
        for (const [ready, count] of Object.entries(counts)) this.set({ kind, ready }, count)
      }
    },
  })
  void new Gauge({
    name: 'postern_operator_connector_sessions',
    help: 'Agents of a Connector that have a session',
    labelNames: ['namespace', 'connector'],
    registers,
    collect() {
      this.reset()
      for (const { metadata, status } of world.connectors.all()) {
        const labels = { namespace: metadata.namespace ?? '', connector: metadata.name }
        this.set(labels, status?.connectedReplicas ?? 0)
      }
    },
  })
  return { relayRequest: (method, code) => requests.inc({ method, code }) }
}
