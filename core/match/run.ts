import { FILTER_DEPTH_MAX } from '../limits.ts'
import { compareDecimals } from '../request/decimal.ts'
import { ExactNumber } from '../request/json.ts'
import { END, FIELDS, Op, OPERAND, type Program, type Scalar } from './program.ts'

/**
 * A program at work. `left` are the steps left for one event: filter and payload are both chosen by users, and their
 * sizes multiply. A step is the time of looking at one node, some 50 ns. Whoever runs programs must treat a negative rest
 * as "not matched", whatever came out.
 */
export interface Run {
  program: Program
  /** The program's. */
  nodes: Uint16Array
  left: number
  /** The node that failed first, when the value does not match. */
  failedAt: number
  /** Objects of many members that were counted for this event: counting them again would cost as much. */
  counts: WeakMap<object, number> | undefined
}

/** Two texts of one length are compared from their beginning on. */
const CHARACTERS_PER_STEP = 64
/** A search for one text in another takes the product of their lengths, where that repeats itself; a short one as below. */
const COMPARISONS_PER_STEP = 256
const SEARCHED_LENGTH_MIN = 32
/** Digits of a number that a step compares. */
const DIGITS_PER_STEP = 16
/** Listing the members of an object of very many takes about 200 ns for each. */
const STEPS_PER_MEMBER = 4
const MEMBERS_COUNTED_ANEW = 32

/** Whether a value meets the program from its first node on. */
export function meets(run: Run, value: unknown): boolean {
  return holds(run, 0, value)
}

function holds(run: Run, at: number, value: unknown): boolean {
  switch (opAt(run, at)) {
    case Op.object:
      return objectHolds(run, at, value)
    case Op.member:
      return holds(run, at + FIELDS, memberOf(value, nameAt(run, at)))
    case Op.equal:
    case Op.oneOf:
    case Op.oneOfMany:
      if (Array.isArray(value)) return someElement(run, at, { elements: value, depth: 1 })
      return elementHolds(run, at, value)
    case Op.equalData:
      return equalsOrHolds(run, at, value)
    case Op.greater:
      return orderOf(run, at, value) > 0 || fail(run, at)
    case Op.greaterOrEqual:
      return orderOf(run, at, value) >= 0 || fail(run, at)
    case Op.less:
      return orderOf(run, at, value) < 0 || fail(run, at)
    case Op.lessOrEqual:
      return orderOf(run, at, value) <= 0 || fail(run, at)
    case Op.begins:
    case Op.ends:
      return hasEdge(run, at, value) || fail(run, at)
    case Op.contains:
      return contains(run, at, value) || fail(run, at)
    case Op.exists:
      return value !== undefined || fail(run, at)
    case Op.absent:
      return value === undefined || fail(run, at)
    case Op.unlike:
      return (value !== undefined && !holds(run, at + FIELDS, value)) || fail(run, at)
    case Op.not:
      return !holds(run, at + FIELDS, value) || fail(run, at)
    case Op.all:
      return (Array.isArray(value) && allFound(run, at, value)) || fail(run, at)
    case Op.and:
      return allHold(run, at + FIELDS, { until: endOf(run, at), value })
    case Op.or:
      return someHold(run, at, value) || fail(run, at)
    default:
      return fail(run, at)
  }
}

function fail(run: Run, at: number): false {
  run.failedAt = at
  return false
}

function opAt({ nodes }: Run, at: number): number {
  return nodes[at] ?? Op.never
}

function endOf({ nodes }: Run, at: number): number {
  return nodes[at + END] ?? at
}

function operandAt({ nodes }: Run, at: number): number {
  return nodes[at + OPERAND] ?? 0
}

function nameAt(run: Run, at: number): string {
  return run.program.names[operandAt(run, at)] ?? ''
}

function scalarAt(run: Run, at: number): Scalar | undefined {
  return run.program.scalars[operandAt(run, at)]
}

/** Own members only: `constructor` and `__proto__` are data or nothing. */
function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
}

function objectHolds(run: Run, at: number, value: unknown): boolean {
  const singles = operandAt(run, at)
  const end = endOf(run, at)
  if (singles > at + FIELDS && !allHold(run, at + FIELDS, { until: singles, value })) return false
  if (singles === end) return true
  if (Array.isArray(value)) return someElement(run, at, { elements: value, depth: 1 })
  return allHold(run, singles, { until: end, value })
}

function allHold(run: Run, from: number, to: { until: number; value: unknown }): boolean {
  for (let at = from; at < to.until; at = endOf(run, at)) {
    if (--run.left < 0) return true
    if (!holds(run, at, to.value)) return false
  }
  return true
}

function someHold(run: Run, at: number, value: unknown): boolean {
  const end = endOf(run, at)
  for (let below = at + FIELDS; below < end; below = endOf(run, below)) {
    if (--run.left < 0 || holds(run, below, value)) return true
  }
  return false
}

function allFound(run: Run, at: number, value: readonly unknown[]): boolean {
  const end = endOf(run, at)
  for (let below = at + FIELDS; below < end; below = endOf(run, below)) {
    if (--run.left < 0) return false
    if (!hasElement(run, value, (element) => holds(run, below, element))) return false
  }
  return true
}

/** Whether an element passes, without looking into arrays inside the array. */
function hasElement(
  run: Run,
  value: readonly unknown[],
  accepts: (element: unknown) => boolean,
): boolean {
  for (const element of value) {
    if (--run.left < 0) return false
    if (accepts(element)) return true
  }
  return false
}

/**
 * Whether one element meets the node. Arrays inside arrays count as deep as a filter may be: a payload of a million
 * brackets must not fill the stack.
 */
function someElement(
  run: Run,
  at: number,
  { elements, depth }: { elements: readonly unknown[]; depth: number },
): boolean {
  for (const element of elements) {
    if (--run.left < 0) break
    if (!Array.isArray(element)) {
      if (elementHolds(run, at, element)) return true
    } else if (depth < FILTER_DEPTH_MAX) {
      if (someElement(run, at, { elements: element, depth: depth + 1 })) return true
    }
  }
  return fail(run, at)
}

/** Whether a value that is no array meets a node. */
function elementHolds(run: Run, at: number, value: unknown): boolean {
  switch (opAt(run, at)) {
    case Op.object:
      return allHold(run, operandAt(run, at), { until: endOf(run, at), value })
    case Op.equal:
      return isScalarAt(run, at, value) || fail(run, at)
    case Op.oneOf:
      return isOneOf(run, at, value) || fail(run, at)
    default:
      return isOneOfMany(run, at, value) || fail(run, at)
  }
}

/** Numbers by their exact value: `1.0` is 1, and an integer past 2^53 is none of its neighbours. */
function isScalarAt(run: Run, at: number, value: unknown): boolean {
  const operand = scalarAt(run, at)
  if (typeof value === 'string') {
    if (typeof operand !== 'string' || operand.length !== value.length) return false
    chargeText(run, operand.length)
    return value === operand
  }
  if (value instanceof ExactNumber) {
    return typeof operand === 'number' && compareNumber(run, value, operand) === 0
  }
  return value === operand
}

/** Negative, zero or positive, as the number compares with the operand. */
function compareNumber(run: Run, value: ExactNumber, operand: number): number {
  run.left -= Math.ceil(value.text.length / DIGITS_PER_STEP)
  return run.left < 0 ? Number.NaN : compareDecimals(value.text, String(operand))
}

/** Takes what comparing a text of the value with one of the operand costs, at most the length of the shorter. */
function chargeText(run: Run, length: number): void {
  run.left -= Math.trunc(length / CHARACTERS_PER_STEP)
}

function isOneOf(run: Run, at: number, value: unknown): boolean {
  const end = endOf(run, at)
  for (let below = at + FIELDS; below < end; below += FIELDS) {
    if (isScalarAt(run, below, value)) return true
  }
  return false
}

function isOneOfMany(run: Run, at: number, value: unknown): boolean {
  const accepted = run.program.sets[operandAt(run, at)]
  if (accepted === undefined) return false
  if (value instanceof ExactNumber) {
    for (const scalar of accepted.scalars) {
      if (typeof scalar === 'number' && compareNumber(run, value, scalar) === 0) return true
    }
    return false
  }
  // A text is hashed to be looked up, however long it is.
  if (typeof value === 'string') {
    if (value.length > accepted.length) return false
    chargeText(run, value.length)
  }
  return accepted.scalars.has(value)
}

/** A text holds the operand as a part, an array as an element. */
function contains(run: Run, at: number, value: unknown): boolean {
  const operand = scalarAt(run, at)
  if (typeof value === 'string' && typeof operand === 'string') {
    const searched = Math.max(operand.length, SEARCHED_LENGTH_MIN)
    run.left -= Math.ceil((value.length * searched) / COMPARISONS_PER_STEP)
    return run.left >= 0 && value.includes(operand)
  }
  return Array.isArray(value) && hasElement(run, value, (item) => isScalarAt(run, at, item))
}

/** Not a number where the two cannot be compared: that is neither more nor less. */
function orderOf(run: Run, at: number, value: unknown): number {
  const operand = scalarAt(run, at)
  if (typeof operand === 'number') {
    if (value instanceof ExactNumber) return compareNumber(run, value, operand)
    return typeof value === 'number' ? value - operand : Number.NaN
  }
  if (typeof operand !== 'string' || typeof value !== 'string') return Number.NaN
  chargeText(run, operand.length)
  return value === operand ? 0 : value < operand ? -1 : 1
}

function hasEdge(run: Run, at: number, value: unknown): boolean {
  if (typeof value !== 'string') return false
  const end = endOf(run, at)
  const isStart = opAt(run, at) === Op.begins
  run.left -= (end - at) / FIELDS - 1
  chargeText(run, operandAt(run, at))
  for (let below = at + FIELDS; below < end; below += FIELDS) {
    const part = scalarAt(run, below)
    if (typeof part !== 'string') continue
    if (isStart ? value.startsWith(part) : value.endsWith(part)) return true
  }
  return false
}

function equalsOrHolds(run: Run, at: number, value: unknown): boolean {
  const data = at + FIELDS
  if (isData(run, data, value)) return true
  if (Array.isArray(value) && hasElement(run, value, (item) => isData(run, data, item))) return true
  return fail(run, at)
}

/** Deep and strict; the order of members does not count. Goes only as deep as the operand, which is limited. */
function isData(run: Run, at: number, value: unknown): boolean {
  switch (opAt(run, at)) {
    case Op.array:
      return Array.isArray(value) && isArrayAt(run, at, value)
    case Op.members:
      return isObjectAt(run, at, value)
    default:
      return isScalarAt(run, at, value)
  }
}

function isArrayAt(run: Run, at: number, value: readonly unknown[]): boolean {
  if (value.length !== operandAt(run, at)) return false
  let below = at + FIELDS
  for (const item of value) {
    if (--run.left < 0 || !isData(run, below, item)) return false
    below = endOf(run, below)
  }
  return true
}

function isObjectAt(run: Run, at: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) || value instanceof ExactNumber) return false
  const end = endOf(run, at)
  let count = 0
  for (let member = at + FIELDS; member < end; member = endOf(run, member)) {
    const key = nameAt(run, member)
    if (--run.left < 0 || !Object.hasOwn(value, key)) return false
    if (!isData(run, member + FIELDS, Reflect.get(value, key))) return false
    count += 1
  }
  return count === countMembers(run, value)
}

/** There is no way to stop half way: one object is listed at most once for an event, and the budget pays for it after. */
function countMembers(run: Run, value: object): number {
  const known = run.counts?.get(value)
  if (known !== undefined) return known
  const { length } = Object.keys(value)
  run.left -= length * STEPS_PER_MEMBER
  if (length > MEMBERS_COUNTED_ANEW) (run.counts ??= new WeakMap()).set(value, length)
  return length
}
