import { isDeepStrictEqual } from 'node:util'

import type { Memories } from './connector/memory.ts'
import type { Found } from './relay/poller.ts'
import type { Listed } from './relay/relays.ts'
import { keyOf, type KubeObject } from './runtime/kube/object.ts'
import { controllerOf } from './runtime/objects/ownership.ts'
import type { Controller } from './runtime/queue/controller.ts'
import type { Change, Store } from './runtime/watch/store.ts'
import { BY_RELAY, BY_RESOURCE, BY_SECRET, BY_UID } from './world/by.ts'
import { workloadOf, type World } from './world/world.ts'

type Name = 'relays' | Listed

const DECLARED: readonly Listed[] = ['connectors', 'sources', 'destinations', 'connections']
const NAMES: readonly Name[] = ['relays', ...DECLARED]

export interface Queues {
  /** `users`: the keys of the Relays that the change concerns. */
  relayChanged(users: ReadonlySet<string>, listed: Listed, found: readonly Found[] | 'all'): void
  standingChanged(users: ReadonlySet<string>, what: 'standing' | 'late'): void
}

/** Has controllers look at the objects that a change concerns, and at all of them in the beginning. */
export function wire(
  world: World,
  controllers: Partial<Record<Name, Controller>>,
  memories: Memories,
): Queues {
  const add: Add = (name, objects, urgency) => {
    for (const object of objects) controllers[name]?.queue.add(keyOf(object), urgency)
  }
  for (const name of NAMES) {
    add(name, world[name].all(), 'later')
    world[name].listen((change) => {
      const { before, after } = change
      const objects = [after ?? before].flatMap((one) => one ?? [])
      if (isWish(change)) add(name, objects, 'fresh')
    })
  }
  world.relays.listen((change) => {
    const relay = change.after ?? change.before
    if (relay !== undefined && isOther(change)) addObjectsOf(world, add, relay)
  })
  world.connectors.listen(({ before, after }) => {
    if (after === undefined && before?.metadata.uid !== undefined)
      memories.forget(before.metadata.uid)
  })
  wireChildren(world, add)
  wireSecrets(world, add)
  wireDependents(world, add)
  return queuesOf(world, add)
}

type Add = (name: Name, objects: readonly KubeObject[], urgency: 'fresh' | 'later') => void

/** The objects of a Relay, when it or its key has changed. */
function addObjectsOf(world: World, add: Add, relay: KubeObject): void {
  for (const name of DECLARED) add(name, world[name].by(BY_RELAY, keyOf(relay)), 'later')
}

function wireChildren(world: World, add: Add): void {
  const children: Store<KubeObject>[] = [
    world.enrolments,
    world.statefulSets,
    world.serviceAccounts,
    world.disruptionBudgets,
    world.networkPolicies,
  ]
  for (const store of children) {
    store.listen(({ before, after }) => {
      const child = after ?? before
      const uid = child && controllerOf(child)?.uid
      if (uid !== undefined) add('connectors', world.connectors.by(BY_UID, uid), 'fresh')
    })
  }
  world.pods.listen(({ before, after }) => {
    const pod = after ?? before
    const statefulSet = pod && world.statefulSets.get(workloadOf(pod))
    const uid = statefulSet && controllerOf(statefulSet)?.uid
    if (uid !== undefined) add('connectors', world.connectors.by(BY_UID, uid), 'later')
  })
}

function wireSecrets(world: World, add: Add): void {
  world.secrets.listen(({ before, after }) => {
    const secret = after ?? before
    if (secret === undefined) return
    for (const name of NAMES) {
      const users = world[name].by(BY_SECRET, keyOf(secret))
      add(name, users, 'fresh')
      if (name === 'relays') for (const relay of users) addObjectsOf(world, add, relay)
    }
  })
}

function queuesOf(world: World, add: Add): Queues {
  return {
    relayChanged(users, listed, found) {
      const store = world[listed]
      if (found === 'all') {
        for (const relay of users) add(listed, store.by(BY_RELAY, relay), 'later')
        return
      }
      for (const { id, owner } of found) {
        const objects = [
          ...store.by(BY_RESOURCE, id),
          ...(owner === undefined ? [] : store.by(BY_UID, owner)),
        ]
        add(listed, objects, 'later')
      }
    },
    standingChanged(users, what) {
      for (const relay of users) {
        const found = world.relays.get(relay)
        if (found !== undefined) add('relays', [found], 'fresh')
        // A refusal stands: only that of the relay's silence is another word.
        if (what === 'late') add('connectors', world.connectors.by(BY_RELAY, relay), 'later')
      }
    },
  }
}

/** Objects wait for the ids of those that they name. */
function wireDependents(world: World, add: Add): void {
  const wake = (store: Store<KubeObject>, name: 'destinations' | 'connections'): void =>
    store.listen((change) => {
      if (idChanged(change)) add(name, world[name].all(), 'later')
    })
  wake(world.connectors, 'destinations')
  wake(world.sources, 'connections')
  wake(world.destinations, 'connections')
}

/** Somebody asks for something: a status is the operator's own word, and a look at it would find it again. */
function isWish(change: Change<KubeObject>): boolean {
  const [before, after] = [change.before, change.after].map(
    (object) => object?.metadata.annotations ?? {},
  )
  return isOther(change) || !isDeepStrictEqual(before, after)
}

/** More than its status is other. */
function isOther({ before, after }: Change<KubeObject>): boolean {
  return before?.metadata.generation !== after?.metadata.generation
}

function idChanged({ before, after }: Change<KubeObject>): boolean {
  return idOf(before) !== idOf(after)
}

function idOf(object: KubeObject | undefined): unknown {
  const { connectorId, sourceId, destinationId } = object?.['status'] ?? {}
  return connectorId ?? sourceId ?? destinationId
}
