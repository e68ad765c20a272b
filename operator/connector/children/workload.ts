import { z } from 'zod'

import { Halt } from '../../relay/problem.ts'
import type { KubeClient } from '../../runtime/kube/client.ts'
import { keyOf, type KubeObject } from '../../runtime/kube/object.ts'
import { covers } from '../../runtime/objects/covers.ts'
import { controllerOf } from '../../runtime/objects/ownership.ts'
import type { Store } from '../../runtime/watch/store.ts'
import { BY_UID } from '../../world/by.ts'
import { DISRUPTION_BUDGET, NETWORK_POLICY, STATEFUL_SET } from '../../world/child-kinds.ts'
import { asText, fromText } from '../../world/trimmed.ts'
import { type World } from '../../world/world.ts'
import type { Memory, RollingSince } from '../memory.ts'
import { applyChild } from './apply-child.ts'
import type { Child } from './children.ts'
import { childName } from './names.ts'

/** Somebody who changes a child back each time is let have it for a while after so many rounds. */
const PUT_BACKS_MAX = 3
const CONTEST_MS = 60_000
/** Changes further apart than this are no contest. */
const CALM_MS = 600_000

/** Connectors whose pods are replaced at once when the operator brings another image. */
const ROLLING_MAX = 10
/** Pods that are not replaced by then may never be, and others do not wait for them. */
const ROLLING_MS = 600_000

/** The StatefulSet of a Connector as it was last seen. */
export interface Workload {
  statefulSet: KubeObject
  /** It is as it is wanted, and its controller has seen it. */
  isCurrent: boolean
}

export interface Applied {
  workload: Workload | undefined
  contested: string | undefined
  /** An image that comes with the operator waits for its turn. */
  isWaiting: boolean
}

export interface Applying {
  connector: KubeObject
  children: readonly Child[]
  world: World
  kube: KubeClient
  memory: Memory
  rollingSince: RollingSince
}

/** Brings the children in line, those that differ only: an operator that starts again writes nothing. */
export async function applyChildren(asked: Applying): Promise<Applied> {
  const result: Applied = { workload: undefined, contested: undefined, isWaiting: false }
  for (const child of asked.children) {
    const { kind, object } = child
    const seen = storeOf(asked.world, child).get(keyOf(object))
    const live = seen ?? (await existing(asked, child))
    if (live !== undefined) refuseForeign(asked.connector, child, live)
    let present = live
    if (live === undefined || !covers(object, fromText(live))) {
      if (kind === STATEFUL_SET && live !== undefined && mustWait(asked, object, live)) {
        result.isWaiting = true
      } else if (mayPutBack(asked.memory, child)) present = await putBack(asked, child)
      else result.contested = `Something changes the ${kind.kind} back each time`
    }
    if (kind === STATEFUL_SET && present !== undefined) {
      const isCurrent = covers(object, fromText(present))
      result.workload = workloadOf(present, isCurrent)
    }
  }
  await deleteUnwanted(asked)
  return result
}

/** Children that a Connector can do without go when its spec says so; those of others stay. */
async function deleteUnwanted({ connector, children, world, kube }: Applying): Promise<void> {
  const { namespace = '', uid } = connector.metadata
  const optional = [
    [DISRUPTION_BUDGET, world.disruptionBudgets],
    [NETWORK_POLICY, world.networkPolicies],
  ] as const
  for (const [kind, store] of optional) {
    if (children.some((child) => child.kind === kind)) continue
    const live = store.get(`${namespace}/${childName(connector)}`)
    if (live === undefined || controllerOf(live)?.uid !== uid) continue
    await kube.delete(kind, live.metadata)
  }
}

/** A child that the cache does not have may exist: it is newer than the cache, or is somebody else's. */
async function existing(
  { kube }: Applying,
  { kind, object }: Child,
): Promise<KubeObject | undefined> {
  const { namespace = '', name } = object.metadata
  const found = await kube.get(kind, namespace, name)
  return found && asText(found)
}

function refuseForeign({ metadata }: KubeObject, { kind, object }: Child, live: KubeObject): void {
  if (controllerOf(live)?.uid === metadata.uid) return
  const { name } = object.metadata
  throw new Halt('ChildConflict', `A ${kind.kind} "${name}" exists that is not ours`)
}

/** A failure is no round of a contest. */
async function putBack({ kube, memory }: Applying, child: Child): Promise<KubeObject> {
  try {
    return asText(await applyChild(kube, child))
  } catch (error) {
    memory.putBacks.delete(child.kind.kind)
    throw error
  }
}

function mayPutBack({ putBacks }: Memory, { kind, object }: Child): boolean {
  const text = JSON.stringify(object)
  const now = performance.now()
  const last = putBacks.get(kind.kind)
  // The operator itself wants another child now: nobody contests it.
  if (last === undefined || last.text !== text || now - last.at > CALM_MS) {
    putBacks.set(kind.kind, { text, count: 1, at: now })
    return true
  }
  if (last.count > PUT_BACKS_MAX && now - last.at < CONTEST_MS) return false
  putBacks.set(kind.kind, { text, count: last.count + 1, at: now })
  return true
}

/** Whether an image that nobody but the operator has changed waits until others have theirs. */
function mustWait(
  { world, rollingSince }: Applying,
  wanted: KubeObject,
  live: KubeObject,
): boolean {
  const [before, after] = [imageOf(fromText(live)), imageOf(wanted)]
  if (before === undefined || before === after) return false
  const rolling = rollingIn(world, rollingSince, performance.now())
  return rolling.filter((other) => keyOf(other) !== keyOf(live)).length >= ROLLING_MAX
}

/** StatefulSets whose pods are being replaced, and will be: agents of a disabled Connector never become ready. */
export function rollingIn(
  { statefulSets, connectors }: Pick<World, 'connectors' | 'statefulSets'>,
  rollingSince: RollingSince,
  now: number,
): KubeObject[] {
  const rolling = new Map(
    statefulSets
      .all()
      .filter(isRolling)
      .map((one) => [`${one.metadata.uid} ${one.status?.updateRevision}`, one]),
  )
  for (const roll of rollingSince.keys()) if (!rolling.has(roll)) rollingSince.delete(roll)
  for (const roll of rolling.keys()) rollingSince.set(roll, rollingSince.get(roll) ?? now)
  const isDisabled = (one: KubeObject): boolean =>
    connectors.by(BY_UID, controllerOf(one)?.uid ?? '').some(({ spec }) => spec.disabled === true)
  return [...rolling]
    .filter(([roll, one]) => now - (rollingSince.get(roll) ?? now) < ROLLING_MS && !isDisabled(one))
    .map(([, one]) => one)
}

function imageOf(object: object): string | undefined {
  return WithImage.safeParse(object).data?.spec.template.spec.containers.find(
    ({ name }) => name === 'agent',
  )?.image
}

const Container = z.object({ name: z.string(), image: z.string().optional() })
const Pod = z.object({ spec: z.object({ containers: z.array(Container) }) })
const WithImage = z.object({ spec: z.object({ template: Pod }) })

function isRolling({ metadata, status }: KubeObject): boolean {
  if (status?.observedGeneration !== metadata.generation) return true
  return (status?.updateRevision ?? '') !== (status?.currentRevision ?? '')
}

/** `isCovered`: it has everything that is wanted of it. */
export function workloadOf(statefulSet: KubeObject, isCovered: boolean): Workload {
  const { status, metadata } = statefulSet
  const isCurrent = isCovered && status?.observedGeneration === metadata.generation
  return { statefulSet, isCurrent }
}

function storeOf(world: World, { kind }: Child): Store<KubeObject> {
  const stores: Record<string, Store<KubeObject>> = {
    statefulsets: world.statefulSets,
    serviceaccounts: world.serviceAccounts,
    poddisruptionbudgets: world.disruptionBudgets,
    networkpolicies: world.networkPolicies,
  }
  const store = stores[kind.plural]
  if (store === undefined) throw new Error(`${kind.kind} is no child`)
  return store
}
