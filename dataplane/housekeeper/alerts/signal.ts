import type { AlertType, Finding } from '../../../core/alerts/alert-types.ts'
import type { Alert } from '../../../core/db/alerts/alerts.ts'
import type { AlertStanding } from '../../../core/db/alerts/signals/alert-standing.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import type { Plans } from '../../../core/plans/plans.ts'

export interface SignalDeps {
  db: Db
  plans: Plans
}

/** A kind of trouble: where it is found, and how it is seen to be over. */
export interface Signal {
  type: AlertType
  everyMs: number
  /** How many looks in a row must find a subject before its alert opens. */
  looks: number
  /** How long a subject must be well before its alert closes. */
  wellMs: number
  /** Subjects in trouble, at least those without an open alert of that level. */
  find(deps: SignalDeps, nowMs: number): Promise<Finding[]>
  /** The open alerts among these whose subjects are well or gone. */
  look(
    deps: SignalDeps,
    alerts: readonly Alert[],
    nowMs: number,
  ): Promise<Map<string, AlertStanding>>
}
