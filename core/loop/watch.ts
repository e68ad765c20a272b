import { Counter, type Registry } from 'prom-client'

import { LOOP_STALL_MS } from '../limits.ts'
import type { Logger } from '../log.ts'

const TICK_MS = 20

/** All of one thread share its loop, so that what it does is known in one place. */
const doing = { part: 'nothing named', since: 0, longestMs: 0, longest: 'nothing named' }

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
}

/** Counts and logs each stall of the loop beyond its limit, with the work of that time. */
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
  nowDoing('nothing named', tickedAt)
  doing.longestMs = 0
  const timer = setInterval(() => {
    const now = performance.now()
    nowDoing('nothing named', now)
    const stillMs = now - tickedAt - TICK_MS
    if (stillMs > LOOP_STALL_MS) {
      const part = doing.longest
      stalls.inc({ part })
      seconds.inc({ part }, stillMs / 1_000)
      log.warn({ part, stillMs: Math.round(stillMs) }, 'The event loop stood still')
    }
    tickedAt = now
    doing.longestMs = 0
  }, TICK_MS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
