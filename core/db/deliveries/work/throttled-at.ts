import { timeArray } from '../../connection/binary-arrays.ts'

/**
 * When deliveries were throttled first, a microsecond later with every try of the statement. `throttled_at` keeps what
 * was written first: that it equals the value sent says that this very statement wrote it, not an earlier try whose
 * commit was never heard of, so that it is counted once.
 */
export function throttleTimes(
  rows: readonly { throttledAtMs: number | null }[],
  tries: number,
): Buffer {
  return timeArray(
    rows.map(({ throttledAtMs }) =>
      throttledAtMs === null ? null : throttledAtMs + tries / 1_000,
    ),
  )
}
