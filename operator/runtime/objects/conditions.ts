type ConditionStatus = 'True' | 'False' | 'Unknown'

/** A condition as Kubernetes has it (metav1.Condition). */
export interface Condition {
  type: string
  status: ConditionStatus
  reason: string
  message: string
  observedGeneration: number
  lastTransitionTime: string
}

/** Without a generation it is about the present one. */
export type Stated = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'> &
  Partial<Pick<Condition, 'observedGeneration'>>

const MESSAGE_LENGTH_MAX = 1_024

/**
 * The conditions that hold now, in the order given. A condition keeps its time while its status stays; one that is not
 * given is gone.
 */
export function stateConditions(
  before: readonly Condition[],
  stated: readonly Stated[],
  { generation, now }: { generation: number; now: string },
): Condition[] {
  return stated.map(({ type, status, reason, message, observedGeneration = generation }) => {
    const old = before.find((condition) => condition.type === type)
    return {
      type,
      status,
      reason,
      message: message.slice(0, MESSAGE_LENGTH_MAX),
      observedGeneration,
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : now,
    }
  })
}

export function conditionOf(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type)
}
