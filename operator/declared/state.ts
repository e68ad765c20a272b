import type { Problem } from '../relay/problem.ts'
import type { Stated } from '../runtime/objects/conditions.ts'

/** How the reconciliation of a Source, a Destination or a Connection has ended. */
export type Ending = 'applied' | 'suspended' | Problem

/** The conditions in their order: `Ready`, and `Stalled` where waiting does not help. */
export function conditionsOf(ending: Ending): Stated[] {
  if (ending === 'applied') {
    return [readyOf('True', 'Applied', 'The relay has it as it is declared')]
  }
  if (ending === 'suspended') return [readyOf('Unknown', 'Suspended', 'spec.suspend is true')]
  const { reason, message, isStalled } = ending
  if (!isStalled) return [readyOf('Unknown', reason, message)]
  return [readyOf('False', reason, message), { type: 'Stalled', status: 'True', reason, message }]
}

const readyOf = (status: Stated['status'], reason: string, message: string): Stated => ({
  type: 'Ready',
  status,
  reason,
  message,
})
