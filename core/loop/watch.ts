import { Counter, type Registry } from 'prom-client'

import { LOOP_STALL_MS } from '../limits.ts'
import type { Logger } from '../log.ts'

const TICK_MS = 20
const NOTHING = 'nothing named'

/** All of one thread share its loop, so that what it does is known in one place. */
const doing = { part: NOTHING, since: 0, longestMs: 0, longest: NOTHING }

/** Set while the loop is at rest: nothing was named since the last tick. */
let goOn: ((now: number) => void) | undefined

/**
 * Names the work of the thread from here on, until the next call or the next turn: a route of the API, a step of ingest, a
 * task. It costs a comparison and two assignments, and no look at the clock if the caller knows the time.
 */
export function nowDoing(part: string, now = performance.now()): void {
  const ms = now - doing.since
  if (ms > doing.longestMs) {
    doing.longestMs = ms
    doing.longest = doing.part
  }
  doing.part = part
  doing.since = now
  goOn?.(now)
}

/**
 * Counts and logs each stall of the loop beyond its limit, with the work of that time. A loop that has nothing to do is not
 * looked at: 50 ticks a second cost half a percent of a core.
 */
export function watchLoop({ registry, log }: { registry: Registry; log: Logger }): Disposable {
  const stalls = new Counter({
    name: 'postern_event_loop_stalls_total',
    help: `Times that the event loop stood still for more than ${LOOP_STALL_MS} ms, by what was done`,
    labelNames: ['part'],
    registers: [registry],
  })
  const seconds = new Counter({
    name: 'postern_event_loop_stall_seconds_total',
    help: 'Time that the event loop stood still in them',
    labelNames: ['part'],
    registers: [registry],
  })
  let tickedAt = performance.now()
  // The work before belongs to no watch.
  nowDoing(NOTHING, tickedAt)
  doing.longestMs = 0
  let timer: NodeJS.Timeout | undefined
  const tickAgain = (now: number): void => {
    tickedAt = now
    doing.longestMs = 0
    timer = setTimeout(tick, TICK_MS).unref()
  }
  const tick = (): void => {
    const now = performance.now()
    const isAtRest = doing.part === NOTHING
    nowDoing(NOTHING, now)
    const stillMs = now - tickedAt - TICK_MS
    if (stillMs > LOOP_STALL_MS) {
      const part = doing.longest
      stalls.inc({ part })
      seconds.inc({ part }, stillMs / 1_000)
      log.warn({ part, stillMs: Math.round(stillMs) }, 'The event loop stood still')
    }
    if (!isAtRest) {
      tickAgain(now)
      return
    }
    goOn = (since) => {
      goOn = undefined
      tickAgain(since)
    }
  }
  tickAgain(tickedAt)
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer)
      goOn = undefined
    },
  }
}
