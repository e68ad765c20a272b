import { keyOf, type KubeObject } from '../../runtime/kube/object.ts'
import { controllerOf } from '../../runtime/objects/ownership.ts'
import { BY_WORKLOAD } from '../../world/by.ts'
import { type World } from '../../world/world.ts'
import { type AgentPod, type PodFault, readPod } from './agent-pod.ts'

/** The pods of a StatefulSet by its present template. */
export interface Agents {
  /** Pods that exist, whatever they were made from. */
  exist: number
  /** Pods of another template, which still run or finish. */
  old: number
  current: number
  /** Names of pods of the present template that are ready: such an agent has a session by its own word. */
  ready: readonly string[]
  fault: PodFault | undefined
}

/** `isCurrent`: the StatefulSet is as it is wanted, and its controller has seen it. */
export function agentsOf(world: World, statefulSet: KubeObject, isCurrent: boolean): Agents {
  const { metadata, status } = statefulSet
  const pods = world.pods
    .by(BY_WORKLOAD, keyOf(statefulSet))
    .filter((pod) => controllerOf(pod)?.uid === metadata.uid)
    .map(readPod)
  const isOf = ({ revision, isGoing }: AgentPod): boolean =>
    isCurrent && !isGoing && revision === status?.updateRevision
  const current = pods.filter(isOf)
  // The first by name, so that the words do not change with each look.
  const faulty = current
    .filter(({ fault }) => fault !== undefined)
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
  return {
    exist: pods.length,
    old: pods.filter((pod) => pod.revision !== status?.updateRevision || !isCurrent).length,
    current: current.length,
    ready: current.filter(({ isReady }) => isReady).map(({ name }) => name),
    fault: faulty[0]?.fault,
  }
}
