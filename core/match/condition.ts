import { FILTER_DEPTH_MAX } from '../limits.ts'
import { ExactNumber } from '../request/json.ts'
import { Op, type Scalar, type Writer } from './program.ts'

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

/** A `$in` of more is looked up in a set, which takes more memory than so many nodes. */
const COMPARED_MAX = 16

/** A fault of a condition, and its place. */
export interface ConditionFault {
  path: readonly string[]
  message: string
}

/** Where in a filter a condition stands. Its path is made of these only where something is wrong. */
export interface Place {
  above: Place | undefined
  step: string
  /** Counts the objects and arrays around the condition and itself. */
  depth: number
  /** Name of the node that is written: an index of the program's names, or 0. */
  name: number
  /** Members are names of headers, which are free in case. */
  isHeaders: boolean
  writer: Writer
  faults: ConditionFault[]
}

/** Writes the nodes of a condition. Adds faults to `place.faults`; a faulty part matches nothing. */
export function writeCondition(source: unknown, place: Place): void {
  if (typeof source !== 'object' || source === null || source instanceof ExactNumber) {
    writeEqual(source, place)
  } else if (place.depth > FILTER_DEPTH_MAX) rejectDepth(place)
  else if (!Array.isArray(source)) writeObject(source, place)
  else if (source.length === 0) writeEqual(source, place)
  else writeItems(Op.all, source, place)
}

function writeItems(
  op: typeof Op.all | typeof Op.and | typeof Op.or,
  items: readonly unknown[],
  place: Place,
): void {
  const { writer } = place
  const node = writer.open(op, place.name)
  for (const [number, item] of items.entries()) writeCondition(item, inside(place, String(number)))
  writer.close(node)
}

/** Writes operators on a whole array first; the others are applied to its elements. */
function writeObject(source: object, place: Place): void {
  const { writer } = place
  const members = Object.entries(source)
  if (members.length === 0) {
    writer.leaf(Op.exists, place.name)
    return
  }
  const node = writer.open(Op.object, place.name)
  for (const [key, operand] of members) {
    if (!isSingle(key, operand)) writeOperator(key, operand, inside(place, key, writer.name(key)))
  }
  writer.mark(node)
  for (const [key, operand] of members) {
    if (!isSingle(key, operand)) continue
    const at = inside(place, key, writer.name(key))
    if (key.startsWith('$')) writeOperator(key, operand, at)
    else writeMember(place.isHeaders ? key.toLowerCase() : key, operand, at)
  }
  writer.close(node)
}

function writeMember(name: string, operand: unknown, at: Place): void {
  const { writer } = at
  if (!isStorable(at.step)) note(at, UNSTORABLE)
  const node = writer.open(Op.member, at.name, writer.name(name))
  writeCondition(operand, { ...at, name: 0, isHeaders: false })
  writer.close(node)
}

interface Operator {
  write: (operand: unknown, at: Place) => void
  /** Whether it is given the elements of an array, one of which passes it beside the object's others. */
  isSingle?: (operand: unknown) => boolean
}

const always = (): boolean => true

const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['$eq', { write: writeEqual, isSingle: isScalar }],
  [
    '$neq',
    { write: (operand, at) => writeBelow(Op.unlike, at, (below) => writeEqual(operand, below)) },
  ],
  ['$gt', { write: (operand, at) => writeOrder(Op.greater, operand, at), isSingle: always }],
  [
    '$gte',
    { write: (operand, at) => writeOrder(Op.greaterOrEqual, operand, at), isSingle: always },
  ],
  ['$lt', { write: (operand, at) => writeOrder(Op.less, operand, at), isSingle: always }],
  ['$lte', { write: (operand, at) => writeOrder(Op.lessOrEqual, operand, at), isSingle: always }],
  ['$in', { write: writeIn, isSingle: Array.isArray }],
  [
    '$nin',
    { write: (operand, at) => writeBelow(Op.unlike, at, (below) => writeIn(operand, below)) },
  ],
  ['$startsWith', { write: (operand, at) => writeEdge(Op.begins, operand, at), isSingle: always }],
  ['$endsWith', { write: (operand, at) => writeEdge(Op.ends, operand, at), isSingle: always }],
  ['$exist', { write: writeExist }],
  ['$and', { write: (operand, at) => writeConditions(Op.and, operand, at) }],
  ['$or', { write: (operand, at) => writeConditions(Op.or, operand, at) }],
  [
    '$not',
    { write: (operand, at) => writeBelow(Op.not, at, (below) => writeCondition(operand, below)) },
  ],
])

function isSingle(key: string, operand: unknown): boolean {
  if (!key.startsWith('$')) return true
  return OPERATORS.get(key)?.isSingle?.(operand) === true
}

function writeOperator(key: string, operand: unknown, at: Place): void {
  const operator = OPERATORS.get(key)
  if (!isStorable(key)) note(at, UNSTORABLE)
  if (operator === undefined) {
    reject(at, `is an unknown operator; known are ${[...OPERATORS.keys()].join(' ')}`)
  } else if (operand instanceof ExactNumber) reject(at, INEXACT)
  else operator.write(operand, at)
}

/** Writes a node with one other below it, at the same path. */
function writeBelow(
  op: typeof Op.not | typeof Op.unlike,
  at: Place,
  write: (below: Place) => void,
): void {
  const node = at.writer.open(op, at.name)
  write({ ...at, name: 0 })
  at.writer.close(node)
}

function writeEqual(operand: unknown, at: Place): void {
  if (!isKeepable(operand, at)) return
  const { writer } = at
  if (isScalar(operand)) {
    writer.leaf(Op.equal, at.name, writer.scalar(operand))
    return
  }
  const node = writer.open(Op.equalData, at.name)
  writeData(operand, writer)
  writer.close(node)
}

/** Data, not conditions: its keys may begin with `$`. */
function writeData(data: unknown, writer: Writer): void {
  if (isScalar(data)) writer.leaf(Op.scalar, 0, writer.scalar(data))
  else if (Array.isArray(data)) {
    const node = writer.open(Op.array, 0, data.length)
    for (const item of data) writeData(item, writer)
    writer.close(node)
  } else {
    const node = writer.open(Op.members, 0)
    for (const [key, item] of Object.entries(Object(data))) {
      const member = writer.open(Op.member, 0, writer.name(key))
      writeData(item, writer)
      writer.close(member)
    }
    writer.close(node)
  }
}

type Order = typeof Op.greater | typeof Op.greaterOrEqual | typeof Op.less | typeof Op.lessOrEqual

function writeOrder(op: Order, operand: unknown, at: Place): void {
  if (typeof operand !== 'number' && typeof operand !== 'string') {
    reject(at, 'must be a number or a text')
  } else if (isKeepable(operand, at)) at.writer.leaf(op, at.name, at.writer.scalar(operand))
}

function writeIn(operand: unknown, at: Place): void {
  const { writer } = at
  if (isScalar(operand)) {
    if (isKeepable(operand, at)) writer.leaf(Op.contains, at.name, writer.scalar(operand))
    return
  }
  const items: unknown[] = Array.isArray(operand) ? operand : [undefined]
  if (!items.every((item) => isScalar(item) || item instanceof ExactNumber)) {
    reject(at, 'must be a text, number, boolean or null, or an array of these')
    return
  }
  if (!isKeepable(operand, at)) return
  const scalars = items.filter(isScalar)
  if (scalars.length <= COMPARED_MAX) writeScalars(Op.oneOf, scalars, at)
  else {
    const length = scalars.reduce<number>(longerOf, 0)
    writer.leaf(Op.oneOfMany, at.name, writer.set({ scalars: new Set(scalars), length }))
  }
}

function longerOf(length: number, item: unknown): number {
  return typeof item === 'string' ? Math.max(length, item.length) : length
}

type Listed = typeof Op.oneOf | typeof Op.begins | typeof Op.ends

function writeScalars(op: Listed, scalars: readonly Scalar[], at: Place, operand = 0): void {
  const { writer } = at
  const node = writer.open(op, at.name, operand)
  for (const scalar of scalars) writer.leaf(Op.scalar, 0, writer.scalar(scalar))
  writer.close(node)
}

function writeEdge(op: typeof Op.begins | typeof Op.ends, operand: unknown, at: Place): void {
  const parts: unknown[] = Array.isArray(operand) ? operand : [operand]
  const texts = parts.filter((part) => typeof part === 'string')
  if (texts.length === 0 || texts.length < parts.length) {
    reject(at, 'must be a text or an array of texts')
  } else if (isKeepable(operand, at)) {
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    writeScalars(op, texts, at, length)
  }
}

function writeExist(operand: unknown, at: Place): void {
  if (typeof operand !== 'boolean') reject(at, 'must be true or false')
  else at.writer.leaf(operand ? Op.exists : Op.absent, at.name)
}

function writeConditions(op: typeof Op.and | typeof Op.or, operand: unknown, at: Place): void {
  if (!Array.isArray(operand) || operand.length === 0) {
    reject(at, 'must be an array with at least one condition')
  } else if (at.depth > FILTER_DEPTH_MAX) rejectDepth(at)
  else writeItems(op, operand, at)
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

const INEXACT = 'is a number that cannot be kept exactly'
const UNSTORABLE = 'holds U+0000 or half a surrogate pair'

/** Whether data can be kept; else the first thing in it that cannot is a fault where it stands, and nothing holds here. */
function isKeepable(data: unknown, at: Place): boolean {
  if (!hasFault(data, at)) return true
  at.writer.leaf(Op.never, at.name)
  return false
}

function hasFault(data: unknown, at: Place): boolean {
  if (data instanceof ExactNumber) return note(at, INEXACT)
  if (typeof data === 'string') return !isStorable(data) && note(at, UNSTORABLE)
  if (typeof data !== 'object' || data === null) return false
  if (at.depth > FILTER_DEPTH_MAX) return note(at, TOO_DEEP)
  return Object.entries(data).some(
    ([key, value]) => hasFault(key, at) || hasFault(value, inside(at, key)),
  )
}

/** A filter is kept as jsonb, which takes neither. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function inside(above: Place, step: string, name = 0): Place {
  const { isHeaders, writer, faults } = above
  return { above, step, depth: above.depth + 1, name, isHeaders, writer, faults }
}

const TOO_DEEP = `is deeper than ${FILTER_DEPTH_MAX} levels`

function rejectDepth(place: Place): void {
  reject(place, TOO_DEEP)
}

/** Holds for nothing. */
function reject(place: Place, message: string): void {
  note(place, message)
  place.writer.leaf(Op.never, place.name)
}

function note(place: Place, message: string): true {
  if (place.faults.length < FAULTS_MAX) {
    const path: string[] = []
    for (let at: Place | undefined = place; at !== undefined; at = at.above) path.unshift(at.step)
    place.faults.push({ path, message: `${path.join('.')} ${message}` })
  }
  return true
}
