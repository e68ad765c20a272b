import { FAILING_DAYS, FAILING_MINUTES, FAILING_NOTICE_PERCENTS } from '../limits.ts'

const DISABLED_AFTER_MS = FAILING_DAYS * 86_400_000
const FAILING_AFTER_MS = FAILING_MINUTES * 60_000

/** Failed attempts of a destination with no other in between. Milliseconds since the epoch, of whole minutes. */
export interface FailureRun {
  failingSinceMs: number
  lastFailureAtMs: number
  /** The run that its owner was told of last, and up to which threshold. */
  told: { sinceMs: number; percent: number } | null
}

/** The notices that a run of failures needs. At 100 % the destination is disabled. */
export interface Judgement {
  isFailing: boolean
  percents: readonly number[]
}

/**
 * A run counts from its first failed attempt to its last, so that one failure is none and silence disables nothing;
 * the warnings before the end go by the clock, so that they come in time. (decisions: Delivery, "failing")
 */
export function judgeRun(run: FailureRun, nowMs: number): Judgement {
  const { failingSinceMs, lastFailureAtMs, told } = run
  const lastedMs = lastFailureAtMs - failingSinceMs
  if (lastedMs < FAILING_AFTER_MS) return { isFailing: false, percents: [] }
  const toldPercent = told?.sinceMs === failingSinceMs ? told.percent : 0
  const isReached = (percent: number): boolean =>
    percent === 100
      ? lastedMs >= DISABLED_AFTER_MS
      : nowMs - failingSinceMs >= (DISABLED_AFTER_MS * percent) / 100
  const percents = FAILING_NOTICE_PERCENTS.filter(
    (percent) => percent > toldPercent && isReached(percent),
  )
  return { isFailing: true, percents }
}

/** When a run that goes on disables its destination. */
export function disablesAtMs({ failingSinceMs }: Pick<FailureRun, 'failingSinceMs'>): number {
  return failingSinceMs + DISABLED_AFTER_MS
}
