import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work of one turn of the event loop that gives way: of all who ask here together. */
const TURN_MS = 5

let endsAt = 0

/**
 * To be awaited between the pieces of a long computation: goes on at once while this turn's time lasts, and else lets
 * everything else that waits for the loop run first.
 */
export async function giveWay(): Promise<void> {
  while (performance.now() >= endsAt) {
    const before = endsAt
    await nextTurn()
    if (endsAt === before) endsAt = performance.now() + TURN_MS
  }
}
