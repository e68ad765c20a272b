import { FILTER_DEPTH_MAX } from '../limits.ts'

/** A compiled condition: the path of the first thing that failed, or undefined when the value matches. */
export type Check = (value: unknown, budget: Budget) => string | undefined

/**
 * Steps left for one event: filter and payload are both chosen by users, and their sizes multiply. Whoever runs
 * checks must treat a negative rest as "not matched", whatever the checks said.
 */
export interface Budget {
  left: number
}

export type Scalar = string | number | boolean | null

/** Of a search for one text in another, whose worst case is the product of their lengths. */
const COMPARISONS_PER_STEP = 256
/** Listing the members of an object of very many takes about 200 ns for each. */
const STEPS_PER_MEMBER = 8

export function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** The value is the operand, or is an array that holds it. */
export function equalTo(operand: unknown, path: string): Check {
  if (isScalar(operand)) {
    return onElements((value) => (value === operand ? undefined : path), path)
  }
  return (value, budget) => {
    if (isEqual(operand, value, budget)) return undefined
    return Array.isArray(value) &&
      hasElement(value, (item) => isEqual(operand, item, budget), budget)
      ? undefined
      : path
  }
}

/** A text holds the operand as a part, an array as an element. */
export function containing(operand: Scalar, path: string): Check {
  return (value, budget) => {
    if (typeof value === 'string' && typeof operand === 'string') {
      budget.left -= Math.ceil((value.length * operand.length) / COMPARISONS_PER_STEP)
      return budget.left >= 0 && value.includes(operand) ? undefined : path
    }
    return Array.isArray(value) && hasElement(value, (item) => item === operand, budget)
      ? undefined
      : path
  }
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

/** Deep and strict; the order of members does not count. Goes only as deep as the operand, which is limited. */
function isEqual(operand: unknown, value: unknown, budget: Budget): boolean {
  if (operand === value) return true
  if (typeof operand !== 'object' || operand === null) return false
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(operand)) {
    return (
      Array.isArray(value) &&
      operand.length === value.length &&
      operand.every((item, index) => isEqual(item, value[index], budget))
    )
  }
  if (Array.isArray(value)) return false
  const entries = Object.entries(operand)
  const holds = entries.every(
    ([key, item]) => Object.hasOwn(value, key) && isEqual(item, Reflect.get(value, key), budget),
  )
  return holds && entries.length === countMembers(value, budget)
}

function countMembers(value: object, budget: Budget): number {
  const { length } = Object.keys(value)
  budget.left -= length * STEPS_PER_MEMBER
  return length
}
