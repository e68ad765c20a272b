const FIRST_MS = 100
const LAST_MS = 5_000
const SETTLED_MS = 30_000

export interface Backoff {
  /** Milliseconds to wait before the next start of something that has just lived `livedMs`. */
  next(livedMs: number): number
}

/** Doubles from 100 ms to 5 s; from the start again after something that lived for half a minute. */
export function openBackoff(): Backoff {
  let waitMs = FIRST_MS
  return {
    next: (livedMs) => {
      if (livedMs >= SETTLED_MS) waitMs = FIRST_MS
      const thisTime = waitMs
      waitMs = Math.min(waitMs * 2, LAST_MS)
      return thisTime
    },
  }
}
