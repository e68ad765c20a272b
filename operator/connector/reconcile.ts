import { CONNECTOR, ConnectorSpec, type ConnectorStatus } from '../kinds/connector.ts'
import { GROUP } from '../kinds/parts.ts'
import type { Item, Poller } from '../relay/poller.ts'
import { Halt, problemOf, type Problem } from '../relay/problem.ts'
import { RelayAway } from '../relay/relay-error.ts'
import type { Access } from '../relay/relays.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import { conditionOf } from '../runtime/objects/conditions.ts'
import { hasFinalizer } from '../runtime/objects/ownership.ts'
import type { Outcome } from '../runtime/queue/controller.ts'
import type { Deps } from '../world/deps.ts'
import { FINALIZER, hold, tellChange, writeStatus } from '../world/lifecycle.ts'
import { presenceIn } from '../world/presence.ts'
import { childrenOf } from './children/children.ts'
import { childName, selectorText } from './children/names.ts'
import { refuseGuarded, refuseSecrets, refuseUnreadable } from './children/permitted.ts'
import { applyChildren } from './children/workload.ts'
import { ensureEnrolment } from './enrolment.ts'
import { factsOf, isLackingPods, type Found, type Told } from './facts.ts'
import type { Memories, Memory, RollingSince } from './memory.ts'
import { ensureRemote, Wait } from './remote.ts'
import { removeConnector } from './remove.ts'
import { replicasOf } from './replicas.ts'
import { conditionsOf } from './state.ts'

/** The emergency brake: the same as `spec.suspend`, where a GitOps tool owns the spec. */
const PAUSED_ANNOTATION = `${GROUP}/paused`

/** A list that is older says nothing of sessions. */
const STALE_MS = 120_000
const STALE_LOOK_MS = 30_000
const ROLLING_LOOK_MS = 5_000
const CONTEST_LOOK_MS = 60_000
const AWAITED_LOOK_MS = 5_000
const AWAITED_MS = 300_000
const MISSING_LOOK_MS = 60_000
/** Longer than a timer may be is never; a look each day costs nothing. */
const DAY_MS = 86_400_000

export async function reconcileConnector(
  deps: Deps,
  memories: Memories,
  key: string,
): Promise<Outcome> {
  const connector = deps.world.connectors.get(key)
  if (connector === undefined) return {}
  const spec = ConnectorSpec.parse(connector['spec'])
  const uid = connector.metadata.uid ?? ''
  const memory = memories.of(uid)
  if (connector.metadata.deletionTimestamp !== undefined) {
    if (!hasFinalizer(connector, FINALIZER)) return {}
    return await removing(
      deps,
      connector,
      async () => await removeConnector(deps, connector, spec, memory),
    )
  }
  if (spec.suspend || connector.metadata.annotations?.[PAUSED_ANNOTATION] === 'true') {
    return await tell(deps, connector, {
      spec,
      memory,
      found: {},
      problem: undefined,
      isSuspended: true,
    })
  }
  const found: Found = {}
  let problem: Problem | undefined
  try {
    await bringInLine(
      deps,
      {
        connector: await hold(deps, CONNECTOR, connector),
        spec,
        memory,
        rollingSince: memories.rollingSince,
      },
      found,
    )
  } catch (error) {
    if (error instanceof Wait) {
      // After a restart nothing is known of what was told already: that stands until the relay has been listed.
      const isTold = connector['status']?.conditions !== undefined
      if (!isTold) await tell(deps, connector, { spec, memory, found, problem, isSuspended: false })
      return { againMs: error.againMs }
    }
    problem = problemOf(error)
    if (problem === undefined) throw error
  }
  return await tell(deps, connector, { spec, memory, found, problem, isSuspended: false })
}

interface Wanted {
  connector: KubeObject
  spec: ConnectorSpec
  memory: Memory
  rollingSince: RollingSince
}

/** Each step leaves a state from which the next reconciliation goes on, whoever runs it. */
async function bringInLine(deps: Deps, wanted: Wanted, found: Found): Promise<void> {
  const { connector, spec, memory, rollingSince } = wanted
  const { world, kube, claims, clusterId } = deps
  const { namespace = '' } = connector.metadata
  refuseGuarded(spec, deps.allowedMembers)
  refuseUnreadable(spec)
  refuseSecrets(deps.secrets, connector, spec)
  const resolved = await deps.relays.resolve(namespace, spec.relayRef.name)
  if (resolved.kind === 'missing') {
    // The agents go on: their sessions need neither the Relay nor its key.
    const { reason, message } = resolved
    throw new Halt(reason, message, { againMs: MISSING_LOOK_MS })
  }
  const { access } = resolved
  const { client } = access
  const poller = access.poller('connectors', spec.projectId)
  found.poller = poller
  const presenceOf = presenceIn(world, 'connectors')
  const asked = { connector, spec, client, poller, memory, claims, clusterId, presenceOf }
  const { item, enrollmentKey } = await ensureRemote(asked)
  found.item = item
  // Its id is on record before anything else is done: the key can be had again, the connector must not be lost.
  if (connector['status']?.connectorId !== item.id) await recordId(deps, connector, item)
  const seen = world.enrolments.get(`${namespace}/${childName(connector)}`)
  const enrolling = {
    connector,
    spec,
    connectorId: item.id,
    enrollmentKey,
    ca: access.ca,
    kube,
    client,
    seen,
    memory,
  }
  found.enrolled = await ensureEnrolment(enrolling)
  const children = childrenOf(connector, spec, surroundings(deps, access))
  found.applied = await applyChildren({ connector, children, world, kube, memory, rollingSince })
  found.replicas = await replicasOf({ connector, client, item, memory })
  refuseSilence(access, poller)
}

/** The children are in line, and the word of the relay is older than its silence. */
function refuseSilence({ client }: Access, poller: Poller): void {
  const problem = problemOf(poller.fault)
  const { startedAt = 0 } = poller.snapshot ?? {}
  // A relay that asks for a pause is there.
  const isShort = problem?.reason === 'RateLimited' && performance.now() - startedAt < STALE_MS
  if (poller.fault !== undefined && !isShort) poller.refuse()
  if (client.isLate) throw new RelayAway('The relay has not answered for 2 s')
}

function surroundings({ image }: Deps, { baseUrl, ca }: Access): Parameters<typeof childrenOf>[2] {
  return { image, baseUrl, hasCa: ca !== undefined }
}

async function recordId(deps: Deps, connector: KubeObject, item: Item): Promise<void> {
  const { conditions = [], ...before }: Partial<ConnectorStatus> = connector['status'] ?? {}
  const { id: connectorId, name } = item
  await writeStatus(deps, CONNECTOR, connector, { ...before, connectorId, name, conditions })
}

/** Writes the status, and says when to look again. */
async function tell(deps: Deps, connector: KubeObject, told: Told): Promise<Outcome> {
  const { found, problem } = told
  const before: Partial<ConnectorStatus> = connector['status'] ?? {}
  const { item, enrolled, poller, replicas, applied } = found
  const { facts, statefulSet, leftMs: deadlineMs } = await factsOf(deps, connector, told)
  const conditions = conditionsOf(facts)
  tellChange(deps, CONNECTOR, connector, conditions[0])
  await writeStatus(deps, CONNECTOR, connector, {
    connectorId: item?.id ?? before.connectorId,
    name: item?.name ?? before.name,
    provisionedAt: item?.body.provisionedAt ?? before.provisionedAt,
    enrolledAt: enrolled?.enrolledAt ?? before.enrolledAt,
    enrollmentVersion: enrolled?.version ?? before.enrollmentVersion,
    replicas: statefulSet?.status?.replicas ?? before.replicas ?? 0,
    readyReplicas: statefulSet?.status?.readyReplicas ?? before.readyReplicas ?? 0,
    connectedReplicas: item?.body.onlineReplicas ?? before.connectedReplicas ?? 0,
    selector: selectorText(connector),
    replicaStatuses: replicas ?? before.replicaStatuses,
    conditions,
  })
  // A Connector that waits for the relay is not at rest: the relay is asked more often, for a time. It is looked at again
  // too: a list that began before it was made may show it provisioned, and the next one then tells of no change.
  const isUnprovisioned = item !== undefined && item.body.provisionedAt === null
  const isAwaited =
    (isUnprovisioned || conditions[0]?.reason === 'WaitingForSessions') && isFresh(connector)
  if (isAwaited) poller?.wish()
  const waits = [
    problem?.againMs,
    poller?.fault === undefined ? undefined : STALE_LOOK_MS,
    applied?.isWaiting === true ? ROLLING_LOOK_MS : undefined,
    applied?.contested === undefined ? undefined : CONTEST_LOOK_MS,
    enrolled?.rotateInMs === undefined ? undefined : Math.max(1_000, enrolled.rotateInMs + 1_000),
    isAwaited ? AWAITED_LOOK_MS : undefined,
    deadlineMs === undefined || deadlineMs === 0 ? undefined : deadlineMs + 1_000,
    isLackingPods(facts) ? AWAITED_LOOK_MS : undefined,
  ].filter((ms) => ms !== undefined)
  return waits.length === 0 ? {} : { againMs: Math.min(...waits, DAY_MS) }
}

/** It was made, or has lost its sessions, a short time ago. */
function isFresh({ status, metadata }: KubeObject): boolean {
  const since = conditionOf(status?.conditions, 'Connected')?.lastTransitionTime
  return Date.now() - Date.parse(since ?? metadata.creationTimestamp ?? '') < AWAITED_MS
}

/** A deletion that cannot go on says why, and comes again. */
async function removing(
  deps: Deps,
  connector: KubeObject,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Wait) return { againMs: error.againMs }
    const problem = problemOf(error)
    if (problem === undefined) throw error
    const { status = {} } = connector
    const { reason, message } = problem
    const ready = { type: 'Ready', status: 'False' as const, reason, message }
    const stalled = { type: 'Stalled', status: 'True' as const, reason, message }
    const conditions = problem.isStalled ? [ready, stalled] : [ready]
    await writeStatus(deps, CONNECTOR, connector, { ...status, conditions })
    return { againMs: problem.againMs }
  }
}
