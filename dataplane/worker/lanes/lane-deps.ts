import type { Clock } from '../../../core/clock.ts'
import type { BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import type { Hold } from '../../../core/db/deliveries/work/partition-owners.ts'
import type { Logger } from '../../../core/log.ts'
import type { Allowances } from '../in-flight/allowances.ts'
import type { Withdrawals } from '../in-flight/withdrawals.ts'
import type { WholeWork, Work } from '../in-flight/work.ts'
import type { Standing } from '../own/holdings.ts'
import type { Pacer } from '../pacing/pacer.ts'
import type { Answered, Target } from '../send/deliver.ts'
import type { BacklogDeps } from './backlog.ts'
import type { LargeBodiesDeps } from './large-bodies.ts'

export interface LaneDeps extends LargeBodiesDeps, BacklogDeps {
  clock: Clock
  log: Logger
  pacer: Pacer
  allowances: Allowances
  /** Attempts the work and records what came of it. Resolves with what the answer says about the lane. */
  deliver(work: WholeWork, to: Target): Promise<Answered>
  /** The destination is busy, or, with null, is not any more. */
  noteBusy(destinationId: string, window: BusyWindow | null): void
  /** So many deliveries wait for their pace that did not before. */
  notePaced(deliveries: number): void
  withdrawals: Withdrawals
  /** Tells how to treat work that was taken under a hold. */
  standingOf(hold: Hold): Standing
  cancel(work: Work): Promise<void>
  /** A lane that paused the pull of its partition has room again. */
  madeRoom(partition: number): void
}
