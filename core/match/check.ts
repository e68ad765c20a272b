import { FILTER_DEPTH_MAX } from '../limits.ts'
import { compareDecimals } from '../request/decimal.ts'
import { ExactNumber } from '../request/json.ts'

/** A compiled condition: the path of the first thing that failed, or undefined when the value matches. */
export type Check = (value: unknown, budget: Budget) => string | undefined

/**
 * Steps left for one event: filter and payload are both chosen by users, and their sizes multiply. A step is the time of
 * calling one check, some 50 ns. Whoever runs checks must treat a negative rest as "not matched", whatever the checks said.
 */
export interface Budget {
  left: number
  /** Objects of many members that were counted for this event: counting them again would cost as much. */
  counts?: WeakMap<object, number>
}

export type Scalar = string | number | boolean | null

/** Two texts of one length are compared from their beginning on. */
const CHARACTERS_PER_STEP = 64
/** A search for one text in another takes the product of their lengths, where that repeats itself; a short one as below. */
const COMPARISONS_PER_STEP = 256
const SEARCHED_LENGTH_MIN = 32
/** Of a number that is compared digit by digit. */
const DIGITS_PER_STEP = 16
/** Listing the members of an object of very many takes about 200 ns for each. */
const STEPS_PER_MEMBER = 4
const MEMBERS_COUNTED_ANEW = 32

export function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** Numbers by their exact value: `1.0` is 1, and an integer past 2^53 is none of its neighbours. */
export function isSameScalar(value: unknown, operand: Scalar, budget: Budget): boolean {
  if (value instanceof ExactNumber) {
    return typeof operand === 'number' && compareNumber(value, operand, budget) === 0
  }
  return value === operand
}

/** Negative, zero or positive, as the number compares with the operand. */
export function compareNumber(value: ExactNumber, operand: number, budget: Budget): number {
  budget.left -= Math.ceil(value.text.length / DIGITS_PER_STEP)
  return budget.left < 0 ? Number.NaN : compareDecimals(value.text, String(operand))
}

/** The value is the operand, or is an array that holds it. */
export function equalTo(operand: unknown, path: string): Check {
  const isEqual = compileEqual(operand)
  if (isScalar(operand)) {
    return onElements((value, budget) => (isEqual(value, budget) ? undefined : path), path)
  }
  return (value, budget) => {
    if (isEqual(value, budget)) return undefined
    return Array.isArray(value) && hasElement(value, (item) => isEqual(item, budget), budget)
      ? undefined
      : path
  }
}

/** A text holds the operand as a part, an array as an element. */
export function containing(operand: Scalar, path: string): Check {
  const isEqual = compileEqual(operand)
  return (value, budget) => {
    if (typeof value === 'string' && typeof operand === 'string') {
      const searched = Math.max(operand.length, SEARCHED_LENGTH_MIN)
      budget.left -= Math.ceil((value.length * searched) / COMPARISONS_PER_STEP)
      return budget.left >= 0 && value.includes(operand) ? undefined : path
    }
    return Array.isArray(value) && hasElement(value, (item) => isEqual(item, budget), budget)
      ? undefined
      : path
  }
}

/** Takes what comparing a text of the value with one of the operand costs, at most the length of the shorter. */
export function chargeText(budget: Budget, length: number): void {
  budget.left -= Math.trunc(length / CHARACTERS_PER_STEP)
}

export function existing(path: string): Check {
  return (value) => (value === undefined ? path : undefined)
}

/** Holds for a value that is there and fails `check`. */
export function existingAndNot(check: Check, path: string): Check {
  return (value, budget) =>
    value !== undefined && check(value, budget) !== undefined ? undefined : path
}

export function every(checks: readonly Check[]): Check {
  return (value, budget) => {
    for (const check of checks) {
      if (--budget.left < 0) return undefined
      const failed = check(value, budget)
      if (failed !== undefined) return failed
    }
    return undefined
  }
}

/** Gives `check` an array's elements one by one until one passes, and any other value as it is. */
export function onElements(check: Check, path: string): Check {
  return (value, budget) => {
    if (!Array.isArray(value)) return check(value, budget)
    return findElement(value, check, { budget, depth: 1 }) ? undefined : path
  }
}

/** Whether an element passes, without looking into arrays inside the array. */
export function hasElement(
  value: readonly unknown[],
  accepts: (element: unknown) => boolean,
  budget: Budget,
): boolean {
  for (const element of value) {
    if (--budget.left < 0) return false
    if (accepts(element)) return true
  }
  return false
}

/** Arrays inside arrays count as deep as a filter may be: a payload of a million brackets must not fill the stack. */
function findElement(
  value: readonly unknown[],
  check: Check,
  walk: { budget: Budget; depth: number },
): boolean {
  const { budget, depth } = walk
  return hasElement(
    value,
    (element) => {
      if (!Array.isArray(element)) return check(element, budget) === undefined
      return depth < FILTER_DEPTH_MAX && findElement(element, check, { budget, depth: depth + 1 })
    },
    budget,
  )
}

type Equal = (value: unknown, budget: Budget) => boolean

/** Deep and strict; the order of members does not count. Goes only as deep as the operand, which is limited. */
function compileEqual(operand: unknown): Equal {
  if (typeof operand === 'string') return equalText(operand)
  if (isScalar(operand)) return (value, budget) => isSameScalar(value, operand, budget)
  if (Array.isArray(operand)) return equalArray(operand.map(compileEqual))
  return equalObject(
    Object.entries(Object(operand)).map(([key, item]) => [key, compileEqual(item)]),
  )
}

function equalText(operand: string): Equal {
  return (value, budget) => {
    if (typeof value !== 'string' || value.length !== operand.length) return false
    chargeText(budget, operand.length)
    return value === operand
  }
}

function equalArray(items: readonly Equal[]): Equal {
  return (value, budget) =>
    Array.isArray(value) &&
    value.length === items.length &&
    items.every((isEqual, index) => --budget.left >= 0 && isEqual(value[index], budget))
}

function equalObject(members: readonly (readonly [key: string, isEqual: Equal])[]): Equal {
  return (value, budget) => {
    if (typeof value !== 'object' || value === null) return false
    if (Array.isArray(value) || value instanceof ExactNumber) return false
    const isSame = ([key, isEqual]: readonly [string, Equal]): boolean =>
      --budget.left >= 0 && Object.hasOwn(value, key) && isEqual(Reflect.get(value, key), budget)
    return members.every(isSame) && members.length === countMembers(value, budget)
  }
}

/** There is no way to stop half way: one object is listed at most once for an event, and the budget pays for it after. */
function countMembers(value: object, budget: Budget): number {
  const known = budget.counts?.get(value)
  if (known !== undefined) return known
  const { length } = Object.keys(value)
  budget.left -= length * STEPS_PER_MEMBER
  if (length > MEMBERS_COUNTED_ANEW) (budget.counts ??= new WeakMap()).set(value, length)
  return length
}
