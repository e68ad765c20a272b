import { hash } from 'node:crypto'

import { z } from 'zod'

import { ExactNumber } from '../request/json.ts'

/** The parts of a request that selectors read. `payload` is called by `body` selectors only, so that no other body is parsed. */
export interface Selectable {
  /** The name in lower case. */
  header: (name: string) => string | undefined
  query: readonly (readonly [name: string, value: string])[]
  payload: () => unknown
  /** Whether other bytes could not have read as the same text. */
  isExact: (text: string) => boolean
}

export type CompiledSelector =
  | { part: 'header' | 'query'; name: string }
  | { part: 'body'; path: readonly (string | number)[] }

const TEXT_LENGTH_MAX = 255
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const BODY_PATH = /^(?:\[\d{1,6}\]|[^.[\]]+)(?:\[\d{1,6}\]|\.[^.[\]]+|\.\[\d{1,6}\])*$/

/**
 * `header.<name>`, `query.<name>` or `body.<dotted path, [n] for array items>`; `body[0].type` reads a payload
 * that is an array itself. (decisions: Resources, Selector)
 */
export const Selector = z
  .string()
  .max(TEXT_LENGTH_MAX)
  .refine((text) => parse(text) !== undefined, {
    error:
      'must be header.<name>, query.<name> or body.<path>, such as body.data.id or body.items[0].id',
  })

/** Throws on a text that `Selector` refuses. */
export function compileSelector(text: string): CompiledSelector {
  const compiled = parse(text)
  if (compiled === undefined) throw new Error(`Cannot compile selector "${text}"`)
  return compiled
}

/** The selected value as text; undefined when it is missing, null, blank, an object or an array. */
export function readSelector(selector: CompiledSelector, from: Selectable): string | undefined {
  const [text] = valuesOf(selector, from)
  return text === undefined || text.trim() === '' ? undefined : text
}

/**
 * The same, to tell one event from another: undefined also for a parameter that the query has twice, and for a text
 * that parsing may have made the same as another one. Losing an event is worse than storing it twice.
 */
export function readKey(selector: CompiledSelector, from: Selectable): string | undefined {
  if (valuesOf(selector, from).length > 1) return undefined
  const text = readSelector(selector, from)
  return text === undefined || !from.isExact(text) ? undefined : text
}

/**
 * SHA-256 over the length-prefixed values, so that `ab`, `c` never equals `a`, `bc`. Undefined, which means "not
 * deduplicated", when a value is missing or none is selected. (decisions: Resources, Selector)
 */
export function dedupeKey(values: readonly (string | undefined)[]): Buffer | undefined {
  if (values.length === 0) return undefined
  let bytes = 0
  for (const value of values) {
    if (value === undefined) return undefined
    bytes += 4 + Buffer.byteLength(value)
  }
  const joined = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const value of values) {
    const length = joined.write(value ?? '', at + 4)
    joined.writeUInt32BE(length, at)
    at += 4 + length
  }
  // As text, which is cheaper than a Buffer with memory of its own.
  return Buffer.from(hash('sha256', joined, 'binary'), 'latin1')
}

function parse(text: string): CompiledSelector | undefined {
  // PostgreSQL keeps neither.
  if (!text.isWellFormed() || text.includes('\0')) return undefined
  if (text.startsWith('header.')) {
    const name = text.slice('header.'.length)
    return HEADER_NAME.test(name) ? { part: 'header', name: name.toLowerCase() } : undefined
  }
  if (text.startsWith('query.')) {
    const name = text.slice('query.'.length)
    return name === '' ? undefined : { part: 'query', name }
  }
  if (!text.startsWith('body.') && !text.startsWith('body[')) return undefined
  const path = text.slice(text.startsWith('body.') ? 'body.'.length : 'body'.length)
  if (!BODY_PATH.test(path)) return undefined
  const steps = path.match(/\[\d+\]|[^.[\]]+/g) ?? []
  return {
    part: 'body',
    path: steps.map((step) => (step.startsWith('[') ? Number(step.slice(1, -1)) : step)),
  }
}

function valuesOf(selector: CompiledSelector, from: Selectable): (string | undefined)[] {
  if (selector.part === 'body') return [textOf(valueAt(from.payload(), selector.path))]
  const { name } = selector
  if (selector.part === 'header') return [from.header(name)]
  return from.query.flatMap(([given, value]) => (given === name ? [value] : []))
}

function valueAt(payload: unknown, path: readonly (string | number)[]): unknown {
  let value = payload
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    // A number reads arrays and a name reads objects, so that `length` is never taken for a member.
    if (Array.isArray(value) !== (typeof step === 'number')) return undefined
    if (!Object.hasOwn(value, step)) return undefined
    value = Reflect.get(value, step)
  }
  return value
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  // As it was sent: past 2^53 two ids are one number, and an event would be lost as a duplicate that it is not.
  if (value instanceof ExactNumber) return value.text
  return typeof value === 'number' ? String(value) : undefined
}
