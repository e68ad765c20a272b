import { conditionOf, type Condition } from '../../runtime/objects/conditions.ts'
import type { Memory } from '../memory.ts'

/** As a Deployment has it. (docs/kubernetes/conditions.md) */
const DEADLINE_MS = 600_000

interface Asked {
  memory: Memory
  generation: number
  before: readonly Condition[]
  /** Pods of this generation are waited for, and nothing but they is missing. */
  isAwaited: boolean
}

/** How long pods of a generation may still take; 0 when they are overdue, undefined when none is waited for. */
export function leftMs({ memory, generation, before, isAwaited }: Asked): number | undefined {
  if (!isAwaited) {
    memory.progress = 'none'
    return undefined
  }
  const was = conditionOf(before, 'ReplicasAvailable')
  const isSame = was?.observedGeneration === generation
  // An operator that starts goes on with the time, and with the verdict, of the one before it.
  if (memory.progress === undefined && isSame && was.reason === 'ProgressDeadlineExceeded') return 0
  const { progress } = memory
  const isKnown = typeof progress === 'object' && progress.generation === generation
  const since = isKnown
    ? progress.since
    : progress === undefined && isSame && was.status === 'Unknown'
      ? Date.parse(was.lastTransitionTime)
      : Date.now()
  memory.progress = { generation, since }
  return Math.max(0, since + DEADLINE_MS - Date.now())
}
