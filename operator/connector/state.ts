import type { ConnectorSpec } from '../kinds/connector.ts'
import type { Reason } from '../kinds/reasons.ts'
import type { Problem } from '../relay/problem.ts'
import { conditionOf, type Condition, type Stated } from '../runtime/objects/conditions.ts'

/** Everything on which the conditions of a Connector rest. */
export interface Facts {
  spec: Pick<ConnectorSpec, 'replicas' | 'disabled'>
  isSuspended: boolean
  problem: Problem | undefined
  remote: { isProvisioned: boolean; isDisabled: boolean; online: number } | undefined
  /** The relay's list is too old to rest a word on it. */
  isStale: boolean
  isEnrolled: boolean
  workload: { ready: number; updated: number; isCurrent: boolean } | undefined
  /** Somebody else changes a child back each time. */
  contested: string | undefined
  before: readonly Condition[]
}

/** Agents that must have a session: one may be missing, as while the pods are replaced one after the other. */
function neededOf(replicas: number): number {
  return Math.max(1, replicas - 1)
}

/** The conditions in their order: their times and generation are added later. */
export function conditionsOf(facts: Facts): Stated[] {
  const ready = readyOf(facts)
  const parts = [provisionedOf(facts), enrolledOf(facts), availableOf(facts), connectedOf(facts)]
  return [{ type: 'Ready', ...ready }, ...parts, ...progressOf(facts, ready)]
}

type Word = Omit<Stated, 'type'> & { reason: Reason }

const yes = (reason: Reason, message: string): Word => ({ status: 'True', reason, message })
const no = (reason: Reason, message: string): Word => ({ status: 'False', reason, message })
const unknown = (reason: Reason, message: string): Word => ({ status: 'Unknown', reason, message })

function readyOf(facts: Facts): Word {
  const { spec, problem, remote, workload } = facts
  if (facts.isSuspended) return unknown('Suspended', 'spec.suspend is true: nothing is looked at')
  if (problem !== undefined) {
    const word = problem.isStalled ? no : unknown
    return word(problem.reason, problem.message)
  }
  if (remote === undefined) return unknown('Provisioning', 'The relay is asked for the connector')
  if (spec.disabled || remote.isDisabled) return no('Disabled', 'The connector is disabled')
  if (spec.replicas === 0) return no('ScaledToZero', 'spec.replicas is 0')
  if (!remote.isProvisioned)
    return unknown('Provisioning', 'No gateway has taken the connector over yet')
  if (facts.isStale) return unknown('RelayUnavailable', 'The relay has not answered for a while')
  if (workload?.isCurrent !== true) {
    return unknown('RollingOut', 'The agents are not all of this generation yet')
  }
  const needed = neededOf(spec.replicas)
  if (workload.updated < needed) {
    return unknown(
      'RollingOut',
      `${workload.updated} of ${spec.replicas} agents are of this generation`,
    )
  }
  const message = `${remote.online} of ${spec.replicas} agents have a session`
  if (remote.online >= needed) return yes('Connected', message)
  return wasConnected(facts) ? no('NotConnected', message) : unknown('WaitingForSessions', message)
}

function provisionedOf({ problem, remote }: Facts): Stated {
  const type = 'Provisioned'
  if (remote === undefined && problem !== undefined) {
    const word = problem.isStalled ? no : unknown
    return { type, ...word(problem.reason, problem.message) }
  }
  if (remote?.isProvisioned === true) {
    return { type, ...yes('Provisioned', 'The relay has the connector, and gateways know it') }
  }
  return { type, ...unknown('Provisioning', 'The connector is being made') }
}

function enrolledOf({ isEnrolled }: Facts): Stated {
  const type = 'EnrollmentReady'
  return isEnrolled
    ? { type, ...yes('KeyStored', 'The enrolment key is in its Secret') }
    : { type, ...unknown('Pending', 'There is no enrolment key yet') }
}

function availableOf({ spec, workload, before }: Facts): Stated {
  const type = 'ReplicasAvailable'
  if (spec.replicas === 0) return { type, ...no('ScaledToZero', 'spec.replicas is 0') }
  if (workload === undefined) return { type, ...unknown('Pending', 'There is no workload yet') }
  const message = `${workload.ready} of ${spec.replicas} pods are ready`
  if (workload.ready >= neededOf(spec.replicas)) return { type, ...yes('PodsReady', message) }
  const was = conditionOf(before, type)?.status
  const isFault = was === 'True' || was === 'False'
  return { type, ...(isFault ? no('PodsNotReady', message) : unknown('PodsStarting', message)) }
}

function connectedOf(facts: Facts): Stated {
  const type = 'Connected'
  const { remote, isStale } = facts
  if (remote === undefined) return { type, ...unknown('Provisioning', 'There is no connector yet') }
  if (isStale)
    return { type, ...unknown('RelayUnavailable', 'The relay has not answered for a while') }
  const message = `${remote.online} agents have a session`
  if (remote.online > 0) return { type, ...yes('SessionsLive', message) }
  return wasConnected(facts)
    ? { type, ...no('NoSession', message) }
    : { type, ...unknown('WaitingForSessions', message) }
}

/** Before its first session a Connector is being made, and nothing is at fault. */
function wasConnected({ before }: Facts): boolean {
  const was = conditionOf(before, 'Connected')
  return was?.status === 'True' || was?.status === 'False'
}

/** For tools that wait: present only while they hold. */
function progressOf({ problem, contested, isSuspended }: Facts, ready: Word): Stated[] {
  if (isSuspended) return [{ type: 'Paused', ...yes('Suspended', 'spec.suspend is true') }]
  if (problem?.isStalled === true) {
    return [{ type: 'Stalled', ...yes(problem.reason, problem.message) }]
  }
  if (contested !== undefined) return [{ type: 'Reconciling', ...yes('Contested', contested) }]
  if (ready.status !== 'Unknown') return []
  return [{ type: 'Reconciling', ...yes(ready.reason, ready.message) }]
}
