import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Longest turn of a loop for anything that a tenant or a stranger sends. */
const TURN_MS = 50

/** The fixed work below, on the machine on which the limits were set, when it does nothing else. */
const FLOOR_MS = 12

/** Time of this thread alone, whatever else the machine does. */
function cpuMs(act: () => unknown): number {
  const before = process.threadCpuUsage()
  act()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

/** `TURN_MS` on that machine; more on a slower one, by as much as the same work takes longer there. */
export function turnMs(): number {
  const floor = Math.min(...Array.from({ length: 5 }, () => cpuMs(fixedWork)))
  return TURN_MS * Math.max(1, floor / FLOOR_MS)
}

/** Allocates, hashes and parses, as what is measured does. */
function fixedWork(): number {
  const members = Array.from({ length: 6_000 }, (_, at) => `"k${at}":[${at},"${at}"]`)
  const value: unknown = JSON.parse(`{${members.join(',')}}`)
  return new Map(Object.entries(Object(value))).size + JSON.stringify(value).length
}

/** The least of some runs: the first of a function is slower by its compilation, others by a collection of garbage. */
export function leastMs(act: () => unknown): number {
  return Math.min(...Array.from({ length: 3 }, () => cpuMs(act)))
}

/** The most time of this thread that a turn of the loop takes while `act` is under way, garbage collections included. */
export async function longestTurnMs(act: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let before = process.threadCpuUsage()
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1_000)
    before = process.threadCpuUsage()
    next = setImmediate(look)
  }
  let next = setImmediate(look)
  await act()
  await nextTurn()
  clearImmediate(next)
  return longest
}

setFlagsFromString('--expose-gc')
const collectGarbage: unknown = runInNewContext('gc')

/** Memory that is in use, without garbage. */
export function heapBytes(): number {
  if (typeof collectGarbage === 'function') for (let n = 0; n < 3; n += 1) collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
