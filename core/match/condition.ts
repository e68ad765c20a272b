import { FILTER_DEPTH_MAX } from '../limits.ts'
import { ExactNumber } from '../request/json.ts'
import {
  type Budget,
  chargeText,
  type Check,
  compareNumber,
  containing,
  equalTo,
  every,
  existing,
  existingAndNot,
  hasElement,
  isSameScalar,
  isScalar,
  onElements,
} from './check.ts'

/*
 * The JSON match grammar known from Hookdeck, Outpost and Convoy, with strict types: the text "1" never equals the
 * number 1. (decisions: Resources, Filter)
 *
 * A condition is a JSON value that nests as the payload does:
 *   a scalar       the value equals it
 *   an array       every item matches some element of the value; [] is the empty array
 *   an object      all its members and operators hold
 *
 * Where the value is an array, one element has to pass all members and comparisons of a condition together. `$and`
 * and `$or` give the whole array to each of their conditions. `$neq`, `$nin` and `$not` negate: no element may be
 * equal. A missing value fails everything but `{"$exist": false}` and `$not`.
 */

/** A client needs the first few; a filter of a megabyte could hold a hundred thousand. */
const FAULTS_MAX = 20

/** What is wrong with a condition, and where. */
export interface ConditionFault {
  path: readonly string[]
  message: string
}

/** Where in a filter a condition stands. `depth` counts the objects and arrays around it and itself. */
export interface Place {
  path: readonly string[]
  depth: number
  /** Members are names of headers, which are free in case. */
  isHeaders: boolean
  faults: ConditionFault[]
}

interface Operator {
  check: Check
  /** Sees an array as a whole; the others are given its elements. */
  isWhole: boolean
}

/** Compiles what is valid and adds the rest to `place.faults`, where it holds for nothing. */
export function compileCondition(source: unknown, place: Place): Check {
  if (typeof source !== 'object' || source === null || source instanceof ExactNumber) {
    return compileOperand(source, place, equalTo)
  }
  if (place.depth > FILTER_DEPTH_MAX) return rejectDepth(place)
  return Array.isArray(source) ? compileArray(source, place) : compileObject(source, place)
}

function compileArray(source: readonly unknown[], place: Place): Check {
  const path = pathOf(place)
  if (source.length === 0) return equalTo(source, path)
  const items = source.map((item, index) => compileCondition(item, inside(place, String(index))))
  return (value, budget) => {
    if (!Array.isArray(value)) return path
    const isMet = (item: Check) =>
      --budget.left >= 0 &&
      hasElement(value, (element) => item(element, budget) === undefined, budget)
    return items.every(isMet) ? undefined : path
  }
}

function compileObject(source: object, place: Place): Check {
  const path = pathOf(place)
  const wholes: Check[] = []
  const singles: Check[] = []
  for (const [key, operand] of Object.entries(source)) {
    const at = inside(place, key)
    if (!isStorable(key)) reject(at, 'holds U+0000 or half a surrogate pair')
    if (key.startsWith('$')) {
      const { check, isWhole } = compileOperator(key, operand, at)
      if (isWhole) wholes.push(check)
      else singles.push(check)
    } else {
      const name = place.isHeaders ? key.toLowerCase() : key
      const check = compileCondition(operand, { ...at, isHeaders: false })
      singles.push((value, budget) => check(memberOf(value, name), budget))
    }
  }
  if (wholes.length + singles.length === 0) return existing(path)
  return every(singles.length === 0 ? wholes : [...wholes, onElements(every(singles), path)])
}

/** Own members only: `constructor` and `__proto__` are data or nothing. */
function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
}

const OPERATORS: ReadonlyMap<string, (operand: unknown, place: Place) => Operator> = new Map([
  ['$eq', (operand, at) => seesArray(compileOperand(operand, at, equalTo), isScalar(operand))],
  ['$neq', (operand, at) => negated(compileOperand(operand, at, equalTo), at)],
  ['$gt', (operand, at) => compileOrder(operand, at, (order) => order > 0)],
  ['$gte', (operand, at) => compileOrder(operand, at, (order) => order >= 0)],
  ['$lt', (operand, at) => compileOrder(operand, at, (order) => order < 0)],
  ['$lte', (operand, at) => compileOrder(operand, at, (order) => order <= 0)],
  ['$in', (operand, at) => seesArray(compileIn(operand, at), Array.isArray(operand))],
  ['$nin', (operand, at) => negated(compileIn(operand, at), at)],
  ['$startsWith', (operand, at) => compileText(operand, at, (text, part) => text.startsWith(part))],
  ['$endsWith', (operand, at) => compileText(operand, at, (text, part) => text.endsWith(part))],
  ['$exist', compileExist],
  ['$and', (operand, at) => seesArray(every(compileConditions(operand, at)))],
  ['$or', compileOr],
  ['$not', compileNot],
])

function compileOperator(name: string, operand: unknown, place: Place): Operator {
  const compile = OPERATORS.get(name)
  if (compile !== undefined && operand instanceof ExactNumber) {
    return seesArray(reject(place, INEXACT))
  }
  if (compile !== undefined) return compile(operand, place)
  return seesArray(
    reject(place, `is an unknown operator; known are ${[...OPERATORS.keys()].join(' ')}`),
  )
}

/** An operator that sees arrays whole, unless it is `alsoSingle`: then one element passes it beside the others. */
function seesArray(check: Check, alsoSingle = false): Operator {
  return { check, isWhole: !alsoSingle }
}

function negated(check: Check, place: Place): Operator {
  return seesArray(existingAndNot(check, pathOf(place)))
}

/** `order` is negative, zero or positive, as the value compares with the operand. */
type Holds = (order: number) => boolean

function compileOrder(operand: unknown, place: Place, holds: Holds): Operator {
  if (typeof operand !== 'number' && typeof operand !== 'string') {
    return seesArray(reject(place, 'must be a number or a text'))
  }
  const path = pathOf(place)
  const check: Check = (value, budget) =>
    holds(orderOf(value, operand, budget)) ? undefined : path
  return { check: compileOperand(operand, place, () => check), isWhole: false }
}

/** Not a number where the two cannot be compared: that is neither more nor less. */
function orderOf(value: unknown, operand: string | number, budget: Budget): number {
  if (typeof operand === 'number' && value instanceof ExactNumber) {
    return compareNumber(value, operand, budget)
  }
  const areAlike =
    (typeof value === 'number' || typeof value === 'string') && typeof value === typeof operand
  if (!areAlike) return Number.NaN
  if (typeof operand === 'string') chargeText(budget, operand.length)
  return value === operand ? 0 : value < operand ? -1 : 1
}

function compileIn(operand: unknown, place: Place): Check {
  if (isScalar(operand)) return compileOperand(operand, place, containing)
  const path = pathOf(place)
  const items: unknown[] = Array.isArray(operand) ? operand : [undefined]
  if (!items.every((item) => isScalar(item) || item instanceof ExactNumber)) {
    return reject(place, 'must be a text, number, boolean or null, or an array of these')
  }
  const scalars = items.filter(isScalar)
  const accepted = new Set<unknown>(scalars)
  const lengthMax = scalars.reduce<number>(longerOf, 0)
  const check: Check = (value, budget) => {
    if (value instanceof ExactNumber) {
      return scalars.some((item) => isSameScalar(value, item, budget)) ? undefined : path
    }
    // A text is hashed to be looked up, however long it is.
    if (typeof value === 'string') {
      if (value.length > lengthMax) return path
      chargeText(budget, value.length)
    }
    return accepted.has(value) ? undefined : path
  }
  return compileOperand(operand, place, () => onElements(check, path))
}

function longerOf(length: number, item: unknown): number {
  return typeof item === 'string' ? Math.max(length, item.length) : length
}

function compileText(
  operand: unknown,
  place: Place,
  holds: (text: string, part: string) => boolean,
): Operator {
  const parts: unknown[] = Array.isArray(operand) ? operand : [operand]
  const texts = parts.filter((part) => typeof part === 'string')
  if (texts.length === 0 || texts.length < parts.length) {
    return seesArray(reject(place, 'must be a text or an array of texts'))
  }
  const path = pathOf(place)
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  const check: Check = (value, budget) => {
    if (typeof value !== 'string') return path
    budget.left -= texts.length
    chargeText(budget, length)
    return texts.some((part) => holds(value, part)) ? undefined : path
  }
  return { check: compileOperand(operand, place, () => check), isWhole: false }
}

function compileExist(operand: unknown, place: Place): Operator {
  if (typeof operand !== 'boolean') return seesArray(reject(place, 'must be true or false'))
  const path = pathOf(place)
  const absent: Check = (value) => (value === undefined ? undefined : path)
  return seesArray(operand ? existing(path) : absent)
}

function compileOr(operand: unknown, place: Place): Operator {
  const path = pathOf(place)
  const conditions = compileConditions(operand, place)
  return seesArray((value, budget) => {
    const isMet = (condition: Check) => --budget.left < 0 || condition(value, budget) === undefined
    return conditions.some(isMet) ? undefined : path
  })
}

function compileNot(operand: unknown, place: Place): Operator {
  const path = pathOf(place)
  const condition = compileCondition(operand, place)
  return seesArray((value, budget) => (condition(value, budget) === undefined ? path : undefined))
}

function compileConditions(operand: unknown, place: Place): Check[] {
  if (!Array.isArray(operand) || operand.length === 0) {
    return [reject(place, 'must be an array with at least one condition')]
  }
  if (place.depth > FILTER_DEPTH_MAX) return [rejectDepth(place)]
  return operand.map((item, index) => compileCondition(item, inside(place, String(index))))
}

/** Compiles an operand that is data, not a condition: its keys may begin with `$`. */
function compileOperand<T>(
  operand: T,
  place: Place,
  compile: (operand: T, path: string) => Check,
): Check {
  return rejectData(operand, place) ?? compile(operand, pathOf(place))
}

const INEXACT = 'is a number that cannot be kept exactly'

/** Rejects the first thing in data that cannot be kept, where it stands; undefined when all can. */
function rejectData(data: unknown, place: Place): Check | undefined {
  if (data instanceof ExactNumber) return reject(place, INEXACT)
  if (typeof data === 'string' && !isStorable(data)) {
    return reject(place, 'holds U+0000 or half a surrogate pair')
  }
  if (typeof data !== 'object' || data === null) return undefined
  if (place.depth > FILTER_DEPTH_MAX) return rejectDepth(place)
  for (const [key, value] of Object.entries(data)) {
    const rejected = rejectData(key, place) ?? rejectData(value, inside(place, key))
    if (rejected !== undefined) return rejected
  }
  return undefined
}

/** A filter is kept as jsonb, which takes neither. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function inside(place: Place, step: string): Place {
  return { ...place, path: [...place.path, step], depth: place.depth + 1 }
}

function pathOf(place: Place): string {
  return place.path.join('.')
}

function rejectDepth(place: Place): Check {
  return reject(place, `is deeper than ${FILTER_DEPTH_MAX} levels`)
}

function reject(place: Place, message: string): Check {
  const path = pathOf(place)
  if (place.faults.length < FAULTS_MAX) {
    place.faults.push({ path: place.path, message: `${path} ${message}` })
  }
  return () => path
}
