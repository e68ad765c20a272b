import { z } from 'zod'

import { FILTER_BYTES_MAX } from '../limits.ts'
import type { Budget, Check } from './check.ts'
import { compileCondition, type ConditionFault, isStorable } from './condition.ts'
import { objectOf } from './payload.ts'

/** What a filter looks at. `payload` is called at most once, and only by a filter with a `body`. */
export interface Matchable {
  eventType: string | null
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  query: readonly (readonly [name: string, value: string])[]
  payload: () => unknown
}

type FilterPart = 'eventTypes' | 'headers' | 'query' | 'body'

/** `path` is where in the filter the first condition failed, such as `body.data.amount.$gt`. */
export type Match = { matched: true } | { matched: false; failedPart: FilterPart; path: string }

export interface CompiledFilter {
  eventTypes: ((eventType: string | null) => boolean) | undefined
  headers: Check | undefined
  query: Check | undefined
  body: Check | undefined
}

const EVENT_TYPES_MAX = 200
const EVENT_TYPE_LENGTH_MAX = 255
/** Some 50 ms of matching, at worst 100: far past any honest filter, short enough not to stall the other sources. */
const STEPS_MAX = 1_000_000
const MATCHED: Match = { matched: true }

const eventType = z
  .string()
  .min(1)
  .max(EVENT_TYPE_LENGTH_MAX)
  .regex(/^[^*]*\*?$/, { error: 'may hold * only as its last character' })
  .refine(isStorable, { error: 'holds U+0000 or half a surrogate pair' })

/** (decisions: Resources, Filter) */
export const Filter = z
  .strictObject({
    eventTypes: z.array(eventType).min(1).max(EVENT_TYPES_MAX).optional(),
    headers: part('headers').optional(),
    query: part('query').optional(),
    body: part('body').optional(),
  })
  .superRefine((filter, context) => {
    // Depth has been checked part by part; JSON.stringify of something endlessly deep would overflow the stack.
    if (context.issues.length > 0) return
    if (Buffer.byteLength(JSON.stringify(filter)) > FILTER_BYTES_MAX) {
      context.addIssue({ code: 'custom', message: `must be at most ${FILTER_BYTES_MAX} bytes` })
    }
  })

export type Filter = z.infer<typeof Filter>

/** Compiles a parsed filter once for many events. A condition that `Filter` would have refused holds for nothing. */
export function compileFilter(filter: Filter): CompiledFilter {
  return {
    eventTypes: filter.eventTypes === undefined ? undefined : compileEventTypes(filter.eventTypes),
    headers: compilePart('headers', filter.headers),
    query: compilePart('query', filter.query),
    body: compilePart('body', filter.body),
  }
}

/** Whether the event passes, or the first part that excludes it; the body comes last, because it has to be parsed. */
export function matchFilter(filter: CompiledFilter, event: Matchable): Match {
  if (filter.eventTypes?.(event.eventType) === false) {
    return { matched: false, failedPart: 'eventTypes', path: 'eventTypes' }
  }
  const budget: Budget = { left: STEPS_MAX }
  return (
    runPart(filter, 'headers', () => event.headers, budget) ??
    runPart(filter, 'query', () => objectOf(event.query), budget) ??
    runPart(filter, 'body', event.payload, budget) ??
    MATCHED
  )
}

/** The mismatch of one part; undefined when the part is absent or matches. */
function runPart(
  filter: CompiledFilter,
  name: 'headers' | 'query' | 'body',
  read: () => unknown,
  budget: Budget,
): Match | undefined {
  const check = filter[name]
  if (check === undefined) return undefined
  const failed = check(read(), budget)
  if (budget.left < 0) return { matched: false, failedPart: name, path: name }
  return failed === undefined ? undefined : { matched: false, failedPart: name, path: failed }
}

function compileEventTypes(patterns: readonly string[]): (eventType: string | null) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.endsWith('*')))
  const prefixes = patterns
    .filter((pattern) => pattern.endsWith('*'))
    .map((pattern) => pattern.slice(0, -1))
  // A lone * takes everything, an event without a type included.
  const takesAll = prefixes.includes('')
  return (type) =>
    takesAll ||
    (type !== null && (exact.has(type) || prefixes.some((prefix) => type.startsWith(prefix))))
}

function compilePart(name: 'headers' | 'query' | 'body', source: unknown): Check | undefined {
  return source === undefined ? undefined : readPart(name, source).check
}

/** One reading of the grammar serves validation and matching, so that they cannot drift apart. */
function readPart(
  name: 'headers' | 'query' | 'body',
  source: unknown,
): { check: Check; faults: ConditionFault[] } {
  const faults: ConditionFault[] = []
  const place = { path: [name], depth: 1, isHeaders: name === 'headers', faults }
  return { check: compileCondition(source, place), faults }
}

function part(name: 'headers' | 'query' | 'body'): z.ZodUnknown {
  return z.unknown().superRefine((source, context) => {
    const isObject = typeof source === 'object' && source !== null && !Array.isArray(source)
    if (name !== 'body' && !isObject) {
      context.addIssue({ code: 'custom', message: 'must be an object of conditions by name' })
      return
    }
    for (const { path, message } of readPart(name, source).faults) {
      context.addIssue({ code: 'custom', path: path.slice(1), message })
    }
  })
}
