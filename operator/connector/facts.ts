import type { ConnectorSpec, ConnectorStatus } from '../kinds/connector.ts'
import type { Item, Poller } from '../relay/poller.ts'
import type { Problem } from '../relay/problem.ts'
import { keyOf, type KubeObject } from '../runtime/kube/object.ts'
import { conditionOf } from '../runtime/objects/conditions.ts'
import { controllerOf } from '../runtime/objects/ownership.ts'
import type { Deps } from '../world/deps.ts'
import { childName } from './children/names.ts'
import { type Applied, workloadOf, type Workload } from './children/workload.ts'
import type { Enrolled } from './enrolment.ts'
import type { Memory } from './memory.ts'
import { type Agents, agentsOf } from './pods/agents.ts'
import { leftMs } from './pods/progress.ts'
import { refusedPods } from './pods/refused-pods.ts'
import { isRolling, type Facts } from './state.ts'

/** The things that a reconciliation has come to know; members are there as far as it got. */
export interface Found {
  item?: Item
  enrolled?: Enrolled
  applied?: Applied
  replicas?: ConnectorStatus['replicaStatuses']
  poller?: Poller
}

export interface Told {
  spec: ConnectorSpec
  memory: Memory
  found: Found
  problem: Problem | undefined
  isSuspended: boolean
}

interface Known {
  facts: Facts
  statefulSet: KubeObject | undefined
  /** Until the pods are overdue. */
  leftMs: number | undefined
}

/** A reconciliation that ended early leaves the rest to the caches and to the status that stands. */
export async function factsOf(deps: Deps, connector: KubeObject, told: Told): Promise<Known> {
  const { spec, memory, found, problem, isSuspended } = told
  const { item, applied, replicas } = found
  const status: Partial<ConnectorStatus> = connector['status'] ?? {}
  const before = status.conditions ?? []
  const { generation = 0 } = connector.metadata
  const workload = applied?.workload ?? cachedWorkload(deps, connector)
  const agents = workload && (await withRefusal(deps, told, workload))
  const known = { agents, before, generation, spec }
  const isAwaited =
    problem === undefined &&
    !isSuspended &&
    item?.body.provisionedAt != null &&
    !spec.disabled &&
    spec.replicas > 0 &&
    isRolling(known)
  const left = leftMs({ memory, generation, before, isAwaited })
  const online: number = item?.body.onlineReplicas ?? 0
  const facts: Facts = {
    ...known,
    isSuspended,
    problem,
    remote: item && {
      isProvisioned: item.body.provisionedAt !== null,
      isDisabled: item.body.isDisabled,
      online,
    },
    isStale: problem !== undefined && found.poller?.fault !== undefined,
    isEnrolled: found.enrolled !== undefined || isEnrolled(deps, connector),
    sessions: sessionsOf(agents, online, replicas),
    isOverdue: left === 0,
    hasConnected: hasConnected(status),
    contested: applied?.contested,
  }
  return { facts, statefulSet: workload?.statefulSet, leftMs: left }
}

/** The controller of StatefulSets makes fewer pods than are wanted. */
export function isLackingPods({ agents, spec }: Facts): boolean {
  return agents !== undefined && agents.exist < spec.replicas
}

async function withRefusal(
  { kube, world }: Deps,
  { spec, memory, isSuspended }: Told,
  { statefulSet, isCurrent }: Workload,
): Promise<Agents> {
  const agents = agentsOf(world, statefulSet, isCurrent)
  const isLacking = isCurrent && !isSuspended && agents.exist < spec.replicas
  if (!isLacking || agents.fault !== undefined) return agents
  return { ...agents, fault: await refusedPods(kube, memory, statefulSet) }
}

function cachedWorkload({ world }: Deps, connector: KubeObject): Workload | undefined {
  const key = keyOf({ metadata: { ...connector.metadata, name: childName(connector) } })
  const live = world.statefulSets.get(key)
  const isOurs = live !== undefined && controllerOf(live)?.uid === connector.metadata.uid
  return isOurs ? workloadOf(live, true) : undefined
}

/** Whether the key of the Connector was stored, and is there. */
function isEnrolled({ world }: Deps, { metadata, status }: KubeObject): boolean {
  const key = keyOf({ metadata: { ...metadata, name: childName({ metadata }) } })
  const isStored = conditionOf(status?.conditions, 'EnrollmentReady')?.status === 'True'
  return isStored && world.enrolments.get(key) !== undefined
}

/** Agents of other pods, and agents outside the cluster, are not counted where their names are known. */
function sessionsOf(
  agents: Agents | undefined,
  online: number,
  replicas: ConnectorStatus['replicaStatuses'],
): number {
  const ready = agents?.ready ?? []
  const names = (replicas ?? []).filter(({ state }) => state === 'online').map(({ name }) => name)
  if (names.length !== online) return Math.min(online, ready.length)
  return ready.filter((name) => names.includes(name)).length
}

/** Before its first session a Connector is being made, and nothing is at fault. */
function hasConnected({
  conditions,
  connectedReplicas = 0,
  replicaStatuses = [],
}: Partial<ConnectorStatus>): boolean {
  const was = conditionOf(conditions, 'Connected')?.status
  return was === 'True' || was === 'False' || connectedReplicas > 0 || replicaStatuses.length > 0
}
