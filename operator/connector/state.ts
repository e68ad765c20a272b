import type { ConnectorSpec } from '../kinds/connector.ts'
import type { Reason } from '../kinds/reasons.ts'
import type { Problem } from '../relay/problem.ts'
import { conditionOf, type Condition, type Stated } from '../runtime/objects/conditions.ts'
import type { Agents } from './pods/agents.ts'

/** Everything on which the conditions of a Connector rest. */
export interface Facts {
  spec: Pick<ConnectorSpec, 'replicas' | 'disabled'>
  generation: number
  isSuspended: boolean
  problem: Problem | undefined
  remote: { isProvisioned: boolean; isDisabled: boolean; online: number } | undefined
  /** The relay's list says nothing of now. */
  isStale: boolean
  isEnrolled: boolean
  agents: Agents | undefined
  /** Sessions of pods that are ready and of the present template. */
  sessions: number
  /** Pods have been waited for long enough. */
  isOverdue: boolean
  /** Agents had sessions before. */
  hasConnected: boolean
  /** Somebody else changes a child back each time. */
  contested: string | undefined
  before: readonly Condition[]
}

/** Agents that must have a session: one may be missing, as while a pod moves to another node. */
function neededOf(replicas: number): number {
  return Math.max(1, replicas - 1)
}

/** The conditions in their order: their times and generation are added later. */
export function conditionsOf(facts: Facts): Stated[] {
  const ready = readyOf(facts)
  const parts = [provisionedOf(facts), enrolledOf(facts), availableOf(facts), connectedOf(facts)]
  return [{ type: 'Ready', ...ready }, ...parts, ...progressOf(facts, ready)]
}

/** Pods of this generation are on their way: until as many were ready as are needed, and none of another is left. */
export function isRolling(
  facts: Pick<Facts, 'agents' | 'before' | 'generation' | 'spec'>,
): boolean {
  const { agents, before, generation, spec } = facts
  if (agents === undefined || agents.old > 0) return true
  if (agents.ready.length >= neededOf(spec.replicas)) return false
  const was = conditionOf(before, 'ReplicasAvailable')
  const hasRolled = was?.observedGeneration === generation && was.status !== 'Unknown'
  return !hasRolled || was.reason === 'ProgressDeadlineExceeded'
}

type Word = Omit<Stated, 'type'> & { reason: Reason }

const yes = (reason: Reason, message: string): Word => ({ status: 'True', reason, message })
const no = (reason: Reason, message: string): Word => ({ status: 'False', reason, message })
const unknown = (reason: Reason, message: string): Word => ({ status: 'Unknown', reason, message })

function readyOf(facts: Facts): Word {
  const { spec, problem, remote } = facts
  if (facts.isSuspended) return unknown('Suspended', 'spec.suspend is true: nothing is looked at')
  if (problem !== undefined) return wordOf(problem)
  if (remote === undefined) return unknown('Provisioning', 'The relay is asked for the connector')
  if (spec.disabled || remote.isDisabled) return no('Disabled', 'The connector is disabled')
  if (spec.replicas === 0) return no('ScaledToZero', 'spec.replicas is 0')
  if (!remote.isProvisioned)
    return unknown('Provisioning', 'No gateway has taken the connector over yet')
  return agentsReadyOf(facts)
}

function agentsReadyOf(facts: Facts): Word {
  const { spec, agents, sessions } = facts
  const needed = neededOf(spec.replicas)
  const ready = agents?.ready.length ?? 0
  const sentence = `${sessions} of ${spec.replicas} agents have a session`
  const fault = agents?.fault
  const because = fault === undefined ? '' : `. ${fault.message}`
  if (isRolling(facts)) {
    const pods = `${ready} of ${spec.replicas} agents of this generation are ready`
    const old = agents?.old ?? 0
    const rest = old > 0 ? `, ${old} of another one run` : ''
    if (facts.isOverdue) return no('ProgressDeadlineExceeded', `${pods}${rest}${because}`)
    return unknown(fault?.reason ?? 'RollingOut', `${pods}${rest}${because}`)
  }
  if (ready >= needed && sessions >= needed) return yes('Connected', sentence)
  const word = facts.hasConnected ? no : unknown
  const reason = facts.hasConnected ? 'NotConnected' : 'WaitingForSessions'
  return word(ready < needed ? (fault?.reason ?? reason) : reason, `${sentence}${because}`)
}

function wordOf({ isStalled, reason, message }: Problem): Word {
  return isStalled ? no(reason, message) : unknown(reason, message)
}

/** A condition of which nothing new is known stays as it was said. */
function kept({ before }: Facts, type: string): Stated | undefined {
  const was = conditionOf(before, type)
  if (was === undefined) return undefined
  const { status, reason, message, observedGeneration } = was
  return { type, status, reason, message, observedGeneration }
}

function provisionedOf(facts: Facts): Stated {
  const { problem, remote, isSuspended } = facts
  const type = 'Provisioned'
  if (remote === undefined) {
    const was = kept(facts, type)
    if (was !== undefined && (isSuspended || was.status === 'True')) return was
    if (problem !== undefined) return { type, ...wordOf(problem) }
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

function availableOf(facts: Facts): Stated {
  const { spec, agents, isSuspended } = facts
  const type = 'ReplicasAvailable'
  const was = kept(facts, type)
  if (isSuspended && was !== undefined) return was
  if (spec.replicas === 0) return { type, ...no('ScaledToZero', 'spec.replicas is 0') }
  if (agents === undefined) return { type, ...unknown('Pending', 'There is no workload yet') }
  const { ready, fault } = agents
  const because = fault === undefined ? '' : `. ${fault.message}`
  const message = `${ready.length} of ${spec.replicas} pods of this generation are ready`
  if (ready.length >= neededOf(spec.replicas)) return { type, ...yes('PodsReady', message) }
  if (!isRolling(facts))
    return { type, ...no(fault?.reason ?? 'PodsNotReady', `${message}${because}`) }
  if (facts.isOverdue) return { type, ...no('ProgressDeadlineExceeded', `${message}${because}`) }
  return { type, ...unknown(fault?.reason ?? 'PodsStarting', `${message}${because}`) }
}

function connectedOf(facts: Facts): Stated {
  const type = 'Connected'
  const { remote, isStale, isSuspended, hasConnected } = facts
  if (remote === undefined) {
    const was = kept(facts, type)
    if (isSuspended && was !== undefined) return was
    return was !== undefined && hasConnected
      ? { type, ...unknown('RelayUnavailable', 'The relay has not been listed since') }
      : { type, ...unknown('Provisioning', 'There is no connector yet') }
  }
  if (isStale) return { type, ...unknown('RelayUnavailable', 'The relay does not answer') }
  const message = `${remote.online} agents have a session`
  if (remote.online > 0) return { type, ...yes('SessionsLive', message) }
  return hasConnected
    ? { type, ...no('NoSession', message) }
    : { type, ...unknown('WaitingForSessions', message) }
}

/** For tools that wait: present only while they hold. */
function progressOf({ problem, contested, isSuspended }: Facts, ready: Word): Stated[] {
  if (isSuspended) return [{ type: 'Paused', ...yes('Suspended', 'spec.suspend is true') }]
  const isStalled = problem?.isStalled === true || ready.reason === 'ProgressDeadlineExceeded'
  if (isStalled) return [{ type: 'Stalled', ...yes(ready.reason, ready.message) }]
  if (contested !== undefined) return [{ type: 'Reconciling', ...yes('Contested', contested) }]
  if (ready.status !== 'Unknown') return []
  return [{ type: 'Reconciling', ...yes(ready.reason, ready.message) }]
}
