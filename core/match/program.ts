/** A value that is compared as it is. */
export type Scalar = string | number | boolean | null

/** The kinds of nodes; `x` is the value that is looked at. */
export const Op = {
  /** A condition that is refused when it is saved. */
  never: 0,
  /** All nodes below hold; those from the operand on for x, or for one element of x together. */
  object: 1,
  /** The node below holds for the member of x that the operand names. */
  member: 2,
  /** Each node below holds for some element of x. */
  all: 3,
  and: 4,
  or: 5,
  not: 6,
  /** x is there and the node below does not hold. */
  unlike: 7,
  exists: 8,
  absent: 9,
  /** x or one of its elements is the scalar of the operand. */
  equal: 10,
  /** x or one of its elements is the data below. */
  equalData: 11,
  greater: 12,
  greaterOrEqual: 13,
  less: 14,
  lessOrEqual: 15,
  /** x or one of its elements is one of the scalars below. */
  oneOf: 16,
  /** The same for the set of the operand. */
  oneOfMany: 17,
  /** x is a text with the operand as a part, or an array with it as an element. */
  contains: 18,
  /** x begins with one of the texts below; the operand is the length of them all. */
  begins: 19,
  ends: 20,
  /** Data: a scalar, an array of as many items as the operand says, an object of the members below. */
  scalar: 21,
  array: 22,
  members: 23,
} as const

type OpCode = (typeof Op)[keyof typeof Op]

/** Each node takes so many numbers: these, then its operand. The nodes below it follow it. */
export const FIELDS = 4
/** Where the first node stands that is not below this one. */
export const END = 1
/** How the node is reached from the one above, as an index of `names`; 0 is by its number or not at all. */
const NAME = 2
export const OPERAND = 3

/** The scalars of a long `$in`. */
export interface Accepted {
  scalars: ReadonlySet<unknown>
  /** Length of the longest text among them. */
  length: number
}

/**
 * A part of a filter, compiled: its conditions in the order in which they stand, each as a node of four numbers. A source
 * may have hundreds of filters: a tree of closures or objects takes a hundred times the memory, and its garbage
 * collection holds the loop.
 */
export interface Program {
  part: string
  nodes: Uint16Array
  names: readonly string[]
  scalars: readonly Scalar[]
  sets: readonly Accepted[]
  /** The path that was last asked for: most events fail at the same node. */
  lastPath: { node: number; path: string } | undefined
}

/** Writes a program from its first node to its last. */
export class Writer {
  readonly #nodes: number[] = []
  readonly #names = new Indexed<string>([''])
  readonly #scalars = new Indexed<Scalar>([])
  readonly #sets: Accepted[] = []

  /** The nodes that are written until `close` are below this one. */
  open(op: OpCode, name: number, operand = 0): number {
    return this.#nodes.push(op, 0, name, operand) - FIELDS
  }

  close(node: number): void {
    this.#nodes[node + END] = this.#nodes.length
  }

  leaf(op: OpCode, name: number, operand = 0): void {
    this.close(this.open(op, name, operand))
  }

  /** Makes the place of the next node the operand of one that is open. */
  mark(node: number): void {
    this.#nodes[node + OPERAND] = this.#nodes.length
  }

  name(text: string): number {
    return this.#names.indexOf(text)
  }

  scalar(value: Scalar): number {
    return this.#scalars.indexOf(value)
  }

  set(accepted: Accepted): number {
    return this.#sets.push(accepted) - 1
  }

  program(part: string): Program {
    // A filter that may be saved has at most a third of it.
    if (this.#nodes.length > 0xffff) throw new Error('Cannot compile a filter this large')
    return {
      part,
      nodes: Uint16Array.from(this.#nodes),
      names: this.#names.values,
      scalars: this.#scalars.values,
      sets: this.#sets,
      lastPath: undefined,
    }
  }
}

/** Values, each once. */
class Indexed<T> {
  readonly values: T[]
  readonly #indexes = new Map<T, number>()

  constructor(values: T[]) {
    this.values = values
  }

  indexOf(value: T): number {
    const known = this.#indexes.get(value)
    if (known !== undefined) return known
    const index = this.values.push(value) - 1
    this.#indexes.set(value, index)
    return index
  }
}

const NUMBERED: ReadonlySet<number | undefined> = new Set([Op.all, Op.and, Op.or])

/** The path to a node in the filter, such as `body.data.amount.$gt`, cut where it is longer than `length`. */
export function pathTo(node: number, program: Program, length: number): string {
  if (program.lastPath?.node !== node) {
    const path = walkTo(node, program, length)
    const isShort = path.length <= length
    program.lastPath = { node, path: isShort ? path : path.slice(0, length).toWellFormed() }
  }
  return program.lastPath.path
}

function walkTo(node: number, { part, nodes, names }: Program, length: number): string {
  let path = part
  let at = 0
  while (at < node && path.length <= length) {
    const isNumbered = NUMBERED.has(nodes[at])
    let below = at + FIELDS
    let number = 0
    for (let end = nodes[below + END] ?? 0; end <= node; end = nodes[below + END] ?? Infinity) {
      below = end
      number += 1
    }
    const name = nodes[below + NAME] ?? 0
    if (isNumbered) path += `.${number}`
    else if (name > 0) path += `.${names[name]}`
    at = below
  }
  return path
}
