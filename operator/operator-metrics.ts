import { Counter, Gauge, type Registry } from 'prom-client'

import { keyOf, type KubeObject } from './runtime/kube/object.ts'
import { conditionOf } from './runtime/objects/conditions.ts'
import type { Store } from './runtime/watch/store.ts'
import type { World } from './world/world.ts'

/** Tenants choose how many Connectors and Relays there are: a gauge has so many series and no more. */
export const SERIES_MAX = 1_000

/** Reasons of objects that are switched off on purpose. */
const SWITCHED_OFF = new Set(['Suspended', 'Disabled', 'ScaledToZero'])

type Stores = Pick<World, 'relays' | 'connectors' | 'sources' | 'destinations' | 'connections'>

export interface OperatorMetrics {
  relayRequest: (method: string, code: string) => void
  /** Shows how many milliseconds ago each Relay took a call. */
  watchRelays: (contactAgeMs: (relay: KubeObject) => number) => void
}

/** Figures of what the operator looks after; those from the status of objects a standby has too. */
export function openOperatorMetrics(registry: Registry, world: Stores): OperatorMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'postern_operator_relay_requests_total',
    help: 'Requests to the management API of relays by method and status',
    labelNames: ['method', 'code'],
    registers,
  })
  openObjectGauges(registers, {
    Relay: world.relays,
    Connector: world.connectors,
    Source: world.sources,
    Destination: world.destinations,
    Connection: world.connections,
  })
  openConnectorGauges(registers, world.connectors)
  return {
    relayRequest: (method, code) => requests.inc({ method, code }),
    watchRelays: openRelayGauge(registers, world.relays),
  }
}

function openObjectGauges(registers: Registry[], stores: Record<string, Store<KubeObject>>): void {
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
    name: 'postern_operator_not_ready_age_seconds',
    help: 'How long the object of a kind that is not Ready for longest has been so, without those that are switched off',
    labelNames: ['kind'],
    registers,
    collect() {
      const now = Date.now()
      for (const [kind, store] of Object.entries(stores)) {
        let oldestMs = 0
        for (const object of store.all()) oldestMs = Math.max(oldestMs, notReadyMs(object, now))
        this.set({ kind }, oldestMs / 1_000)
      }
    },
  })
}

/** An object that has no condition yet has been without it since it was made. */
function notReadyMs({ metadata, status }: KubeObject, now: number): number {
  const ready = conditionOf(status?.conditions, 'Ready')
  if (ready?.status === 'True' || SWITCHED_OFF.has(ready?.reason ?? '')) return 0
  return ageMs(ready?.lastTransitionTime ?? metadata.creationTimestamp, now)
}

function ageMs(time: string | undefined, now: number): number {
  const at = Date.parse(time ?? '')
  return Number.isNaN(at) ? 0 : Math.max(0, now - at)
}

function openConnectorGauges(registers: Registry[], connectors: Store<KubeObject>): void {
  const labelNames = ['namespace', 'connector'] as const
  const open = (name: string, help: string, figure: (connector: KubeObject) => number): void =>
    void new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const connector of worst(connectors, (one) => wantedOf(one) - sessionsOf(one))) {
          const { namespace = '', name: own } = connector.metadata
          this.set({ namespace, connector: own }, figure(connector))
        }
      },
    })
  open(
    'postern_operator_connector_sessions',
    'Agents of a Connector that have a session',
    sessionsOf,
  )
  open(
    'postern_operator_connector_replicas',
    'Agents that a Connector is to have, 0 while it is switched off',
    wantedOf,
  )
}

function sessionsOf({ status }: KubeObject): number {
  return status?.connectedReplicas ?? 0
}

function wantedOf({ spec, status }: KubeObject): number {
  const isOff = SWITCHED_OFF.has(conditionOf(status?.conditions, 'Ready')?.reason ?? '')
  return isOff ? 0 : spec.replicas
}

function openRelayGauge(
  registers: Registry[],
  relays: Store<KubeObject>,
): OperatorMetrics['watchRelays'] {
  let contactAgeMs: ((relay: KubeObject) => number) | undefined
  void new Gauge({
    name: 'postern_operator_relay_contact_age_seconds',
    help: 'Time since a Relay last took a call, in the process that leads',
    labelNames: ['namespace', 'relay'],
    registers,
    collect() {
      this.reset()
      if (contactAgeMs === undefined) return
      for (const relay of worst(relays, contactAgeMs)) {
        const { namespace = '', name } = relay.metadata
        this.set({ namespace, relay: name }, contactAgeMs(relay) / 1_000)
      }
    },
  })
  return (found) => void (contactAgeMs = found)
}

/** All objects where there are few, else those with the greatest figure. Ties go by name, so that series stay. */
function worst(store: Store<KubeObject>, figure: (object: KubeObject) => number): KubeObject[] {
  const all = store.all()
  if (all.length <= SERIES_MAX) return all
  return all
    .map((object) => ({ object, key: keyOf(object), figure: figure(object) }))
    .toSorted((a, b) => b.figure - a.figure || (a.key < b.key ? -1 : 1))
    .slice(0, SERIES_MAX)
    .map(({ object }) => object)
}
