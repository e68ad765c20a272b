import { z } from 'zod'

import type { KubeObject } from '../../runtime/kube/object.ts'
import { AGENT_CONTAINER } from '../../world/child-kinds.ts'

/** A pod of an agent, so far as the operator reads it. Others may add containers, which are theirs. */
export interface AgentPod {
  name: string
  /** The hash of the template that it was made from. */
  revision: string
  isReady: boolean
  isGoing: boolean
  fault: PodFault | undefined
}

type PodFaultReason = 'AgentFailed' | 'ImagePullFailed' | 'PodsRefused' | 'Unschedulable'

/** Why a pod does not come, in words that its owner can act upon. */
export interface PodFault {
  reason: PodFaultReason
  message: string
}

const REVISION_LABEL = 'controller-revision-hash'
const WORDS_MAX = 400

/** (Kubernetes: pkg/kubelet/images, pkg/kubelet/kuberuntime) */
const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])
/** Nothing is wrong yet. */
const STARTING: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing'])

const Waiting = z.object({ reason: z.string().default(''), message: z.string().default('') })
const Terminated = z.object({
  exitCode: z.number(),
  reason: z.string().default(''),
  message: z.string().default(''),
})
const State = z.object({ waiting: Waiting.optional(), terminated: Terminated.optional() })
const Status = z.object({
  phase: z.string().default(''),
  reason: z.string().default(''),
  message: z.string().default(''),
  conditions: z
    .array(
      z.object({
        type: z.string(),
        status: z.string(),
        reason: z.string().default(''),
        message: z.string().default(''),
      }),
    )
    .default([]),
  containerStatuses: z
    .array(z.object({ name: z.string(), state: State.default({}), lastState: State.default({}) }))
    .default([]),
})

export function readPod({ metadata, status }: KubeObject): AgentPod {
  const found = Status.parse(status ?? {})
  const isReady = found.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  return {
    name: metadata.name,
    revision: metadata.labels?.[REVISION_LABEL] ?? '',
    isReady,
    isGoing: metadata.deletionTimestamp !== undefined,
    fault: isReady ? undefined : faultOf(metadata.name, found),
  }
}

function faultOf(name: string, status: z.infer<typeof Status>): PodFault | undefined {
  const fault = (reason: PodFaultReason, words: string): PodFault => ({
    reason,
    message: `Pod ${name}: ${plain(words)}`,
  })
  const placed = status.conditions.find(({ type }) => type === 'PodScheduled')
  if (placed?.status === 'False' && placed.reason === 'Unschedulable') {
    return fault('Unschedulable', placed.message)
  }
  if (status.phase === 'Failed') {
    return fault('AgentFailed', `${status.reason} ${status.message}`)
  }
  const agent = status.containerStatuses.find((one) => one.name === AGENT_CONTAINER)
  const ended = agent?.state.terminated ?? agent?.lastState.terminated
  const { reason = '', message = '' } = agent?.state.waiting ?? {}
  if (IMAGE_REASONS.has(reason)) return fault('ImagePullFailed', `${reason}: ${message}`)
  if (ended !== undefined) {
    const why = lastLine(ended.message) || ended.reason
    return fault('AgentFailed', `the agent ended with the exit code ${ended.exitCode}: ${why}`)
  }
  if (reason === '' || STARTING.has(reason)) return undefined
  return fault('AgentFailed', `${reason}: ${message}`)
}

/** The end of what a program wrote is why it ended; a line of a log has it as `msg`. */
function lastLine(text: string): string {
  const line = text.trimEnd().split('\n').at(-1)?.trim() ?? ''
  if (!line.startsWith('{')) return line
  try {
    const { msg, err } = LogLine.parse(JSON.parse(line))
    return err?.message === undefined ? msg : `${msg}: ${err.message}`
  } catch {
    return line
  }
}

const LogLine = z.object({
  msg: z.string(),
  err: z.object({ message: z.string().optional() }).optional(),
})

function plain(text: string): string {
  return text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, WORDS_MAX)
}
