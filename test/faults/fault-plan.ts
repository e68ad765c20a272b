import { PARTS, type Part } from './relay.ts'

export const KINDS = ['kill', 'restart', 'freeze'] as const

/** A fault of a part: killed with -9, asked to end, or frozen for `forMs`. */
export interface Fault {
  /** From the start of the run. */
  atMs: number
  part: Part
  kind: (typeof KINDS)[number]
  /** Length of a freeze; 0 for other faults. */
  forMs: number
}

export interface FaultPlanOptions {
  seed: number
  durationMs: number
  gapMs: { min: number; max: number }
  /** All of them unless told. */
  kinds?: readonly Fault['kind'][]
}

const FREEZE_MS = { min: 1_000, max: 30_000 }

/**
 * The same faults for the same seed. Each kind comes to each part once before any comes again, in an order and at
 * distances that the seed gives; a freeze may outlast the next faults.
 */
export function planFaults({ seed, durationMs, gapMs, kinds = KINDS }: FaultPlanOptions): Fault[] {
  const random = randomOf(seed)
  const between = ({ min, max }: { min: number; max: number }): number =>
    Math.round(min + random() * (max - min))
  const faults: Fault[] = []
  let left: Pick<Fault, 'part' | 'kind'>[] = []
  for (let atMs = between(gapMs); atMs < durationMs; atMs += between(gapMs)) {
    if (left.length === 0) left = PARTS.flatMap((part) => kinds.map((kind) => ({ part, kind })))
    const [fault] = left.splice(Math.floor(random() * left.length), 1)
    if (fault === undefined) continue
    const forMs = fault.kind === 'freeze' ? between(FREEZE_MS) : 0
    faults.push({ ...fault, atMs, forMs: Math.min(forMs, durationMs - atMs) })
  }
  return faults
}

/** From 0 to below 1, by mulberry32: every platform gives the same numbers for a seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
