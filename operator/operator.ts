import { setTimeout as sleep } from 'node:timers/promises'

import type { Registry } from 'prom-client'

import type { AllowRule } from '../core/egress/allow-list.ts'
import type { Logger } from '../core/log.ts'
import type { GuardedMember } from '../core/settings/template-members.ts'
import { Memories } from './connector/memory.ts'
import { reconcileConnector } from './connector/reconcile.ts'
import { DECLARED, reconcileDeclared, type Written } from './declared/reconcile.ts'
import { CONNECTOR } from './kinds/connector.ts'
import { RELAY } from './kinds/relay.ts'
import { openOperatorMetrics, type OperatorMetrics } from './operator-metrics.ts'
import { reconcileRelay } from './relay-kind/reconcile.ts'
import { openAllowedRelays } from './relay/allowed-relays.ts'
import { Claims } from './relay/claims.ts'
import { type Listed, Relays } from './relay/relays.ts'
import { Recorder } from './runtime/events/recorder.ts'
import { KubeClient } from './runtime/kube/client.ts'
import type { Connection } from './runtime/kube/connection.ts'
import { keyOf, type Kind, type KubeObject } from './runtime/kube/object.ts'
import { Elector, LostLease } from './runtime/lease/elector.ts'
import { openRuntimeMetrics, type RuntimeMetrics } from './runtime/metrics.ts'
import { Controller, type Outcome } from './runtime/queue/controller.ts'
import { wire, type Queues } from './wiring.ts'
import type { Deps } from './world/deps.ts'
import { SecretReader } from './world/secret-reader.ts'
import { openWorld } from './world/world.ts'

const NAMESPACE: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces' }
const NAME = 'postern-operator'
/** The work that is in hand when the signal comes may take so long. */
const FINISH_MS = 6_000
/** Objects of a relay and key that are reconciled at once. */
const CONNECTORS_IN_LANE = 8
const OTHERS_IN_LANE = 4

export interface OperatorOptions {
  connection: Connection
  /** Empty: all namespaces. */
  namespaces: readonly string[]
  lease: { namespace: string; name: string; identity: string }
  /** Left out: the uid of the namespace kube-system. */
  clusterId: string | undefined
  image: string
  pollMs: number
  allowedRelays: readonly AllowRule[]
  allowedMembers: readonly GuardedMember[]
  log: Logger
  registry: Registry
  stop: AbortSignal
}

export interface Operator {
  /** Rejects until the caches are filled, on a standby too. */
  ready: () => Promise<void>
  /** Until it is told to stop. Throws LostLease when another may have taken over. */
  run: () => Promise<void>
}

export function openOperator(options: OperatorOptions): Operator {
  const { connection, namespaces, lease, log, registry, stop } = options
  const metrics = openRuntimeMetrics(registry)
  const count = metrics.request
  const free = new KubeClient({ connection, userAgent: NAME, fence() {}, count })
  const elector = new Elector({ client: free, log, ...lease })
  const kube = free.with({ fence: elector.fence })
  const world = openWorld(kube, namespaces, log)
  const own = openOperatorMetrics(registry, world)
  let hasSynced = false
  void world.synced.then(() => (hasSynced = true))
  return {
    async ready() {
      if (!hasSynced) throw new Error('The lists of the API server have not all come yet')
    },
    async run() {
      const ended = new AbortController()
      const alive = AbortSignal.any([stop, ended.signal])
      void world.run(ended.signal)
      metrics.leads(lease.name, false)
      try {
        const clusterId = await clusterIdOf(options, free)
        await Promise.race([world.synced, aborted(alive)])
        await elector.acquire(alive)
        metrics.leads(lease.name, true)
        await lead({ options, metrics, kube, world, elector, clusterId, own })
      } catch (error) {
        if (!stop.aborted || error instanceof LostLease) throw error
      } finally {
        metrics.leads(lease.name, false)
        ended.abort()
      }
    },
  }
}

interface Leading {
  options: OperatorOptions
  metrics: RuntimeMetrics
  kube: KubeClient
  world: ReturnType<typeof openWorld>
  elector: Elector
  clusterId: string
  own: OperatorMetrics
}

/** Works while it holds the lease, and gives it back at the end. */
async function lead({
  options,
  metrics,
  kube,
  world,
  elector,
  clusterId,
  own,
}: Leading): Promise<void> {
  const { lease, image, pollMs, allowedRelays, allowedMembers, log, stop } = options
  const { fence } = elector
  const secrets = new SecretReader(kube, world.secrets)
  let queues: Queues | undefined
  await using relays = new Relays({
    world,
    secrets,
    allowed: openAllowedRelays(allowedRelays, [options.connection.server]),
    clusterId,
    pollMs,
    log,
    fence,
    count: own.relayRequest,
    changed: (users, listed, found) => queues?.relayChanged(users, listed, found),
    standingChanged: (users, what) => queues?.standingChanged(users, what),
  })
  own.watchRelays((relay) => relays.contactAgeMs(relay))
  const recorder = new Recorder({ client: kube, controller: NAME, instance: lease.identity, log })
  const claims = new Claims()
  for (const store of [world.connectors, world.sources, world.destinations, world.connections]) {
    store.listen(({ before, after }) => {
      if (after !== undefined || before === undefined) return
      claims.forget(before.metadata.uid ?? '')
      relays.settle(`${before.metadata.namespace}/${before['spec'].relayRef.name}`)
    })
  }
  world.relays.listen(({ before, after }) => {
    if (after === undefined && before !== undefined) relays.settle(keyOf(before))
  })
  const deps: Deps = {
    kube,
    world,
    relays,
    claims,
    secrets,
    recorder,
    clusterId,
    image,
    allowedMembers,
    log,
  }
  const memories = new Memories()
  const controllers = controllersOf(deps, memories, metrics)
  queues = wire(world, controllers, memories)
  const ended = new AbortController()
  const working = Promise.all(
    Object.values(controllers).map(async (one) => await one.run(ended.signal)),
  )
  try {
    await elector.hold(stop)
    ended.abort()
    await Promise.race([working, sleep(FINISH_MS, undefined, { ref: false })])
    await elector.release()
  } finally {
    ended.abort()
  }
}

function controllersOf(
  deps: Deps,
  memories: Memories,
  metrics: RuntimeMetrics,
): Partial<Record<'relays' | Listed, Controller>> {
  const controller = (
    store: 'relays' | Listed,
    kind: Kind,
    reconcile: (key: string) => Promise<Outcome>,
  ): Controller =>
    new Controller({
      name: kind.kind.toLowerCase(),
      inLaneMax: store === 'connectors' ? CONNECTORS_IN_LANE : OTHERS_IN_LANE,
      laneOf: (key) => deps.relays.laneOf(relayOf(store, deps.world[store].get(key), key)),
      log: deps.log,
      metrics,
      reconcile,
    })
  const controllers: Partial<Record<'relays' | Listed, Controller>> = {
    relays: controller('relays', RELAY, async (key) => await reconcileRelay(deps, key)),
    connectors: controller(
      'connectors',
      CONNECTOR,
      async (key) => await reconcileConnector(deps, memories, key),
    ),
  }
  for (const declared of DECLARED) {
    const written: Written = new Map()
    controllers[declared.listed] = controller(
      declared.listed,
      declared.kind,
      async (key) => await reconcileDeclared(deps, declared, written, key),
    )
  }
  return controllers
}

/** The key of the Relay that an object is of. */
function relayOf(store: 'relays' | Listed, object: KubeObject | undefined, key: string): string {
  if (store === 'relays' || object === undefined) return key
  return `${object.metadata.namespace}/${object['spec'].relayRef.name}`
}

async function clusterIdOf(
  { clusterId, log, stop }: OperatorOptions,
  client: KubeClient,
): Promise<string> {
  if (clusterId !== undefined) return clusterId
  for (;;) {
    try {
      const found = await client.get(NAMESPACE, '', 'kube-system')
      if (found?.metadata.uid !== undefined) return found.metadata.uid
    } catch (error) {
      log.warn({ err: error }, 'Cannot read the namespace kube-system, whose uid names the cluster')
    }
    await sleep(2_000, undefined, { signal: stop })
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_, reject) => {
    const fail = (): void => reject(new Error('Stopped'))
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true })
  })
}
