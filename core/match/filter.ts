import { z } from 'zod'

import { FILTER_BYTES_MAX, MATCH_STEPS_MAX } from '../limits.ts'
import { nowDoing } from '../loop/watch.ts'
import { objectOf } from '../request/form.ts'
import { type ConditionFault, isStorable, writeCondition } from './condition.ts'
import { pathTo, type Program, Writer } from './program.ts'
import { meets, type Run } from './run.ts'

/** The parts of an event that filters read. `payload` is called at most once, and only by a filter with a `body`. */
export interface Matchable {
  eventType: string | null
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  query: readonly (readonly [name: string, value: string])[]
  payload: () => unknown
}

type ReadPart = 'headers' | 'query' | 'body'
type FilterPart = 'eventTypes' | ReadPart

/** `path` is where in the filter the first condition failed, such as `body.data.amount.$gt`. */
export type Match = { matched: true } | { matched: false; failedPart: FilterPart; path: string }

interface EventTypes {
  accepts: (eventType: string | null) => boolean
  /** Patterns that are tried one by one. */
  prefixes: number
}

export interface CompiledFilter {
  eventTypes: EventTypes | undefined
  headers: Program | undefined
  query: Program | undefined
  body: Program | undefined
}

const EVENT_TYPES_MAX = 200
const EVENT_TYPE_LENGTH_MAX = 255
/** It is stored with each event that does not pass; a member's name may be as long as a filter. */
const PATH_LENGTH_MAX = 255
const MATCHED: Match = { matched: true }
const EMPTY = new Writer().program('')

const eventType = z
  .string()
  .min(1)
  .max(EVENT_TYPE_LENGTH_MAX)
  .regex(/^[^*]*\*?$/, { error: 'may hold * only as its last character' })
  .refine(isStorable, { error: 'holds U+0000 or half a surrogate pair' })

/** (decisions: Resources, Filter) */
export const Filter = z
  .strictObject({
    eventTypes: z
      .array(eventType)
      .min(1)
      .max(EVENT_TYPES_MAX)
      .optional()
      .describe('Types to let pass, exact or with `*` as the last character.'),
    headers: part('headers')
      .optional()
      .meta({ type: 'object', description: 'Conditions on headers, by their names.' }),
    query: part('query')
      .optional()
      .meta({ type: 'object', description: 'Conditions on query parameters, by their names.' }),
    body: part('body')
      .optional()
      .describe(
        'Conditions on the parsed body, nested as it is. A bare value is `$eq`, an array matches if one of its items does. Operators: `$eq`, `$neq`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`, `$startsWith`, `$endsWith`, `$exist`, `$or`, `$and`, `$not`.',
      ),
  })
  .superRefine((filter, context) => {
    // Depth has been checked part by part; JSON.stringify of something endlessly deep would overflow the stack.
    if (context.issues.length > 0) return
    if (Buffer.byteLength(JSON.stringify(filter)) > FILTER_BYTES_MAX) {
      context.addIssue({ code: 'custom', message: `must be at most ${FILTER_BYTES_MAX} bytes` })
    }
  })
  .meta({
    id: 'Filter',
    description: 'The condition for an event, which must match all given parts.',
    examples: [{ eventTypes: ['invoice.*'], body: { data: { amount: { $gte: 100 } } } }],
  })

export type Filter = z.infer<typeof Filter>

/** A filter as the database has it, which `Filter` took when it was saved: its conditions are not looked at again. */
export function storedFilter(value: unknown): Filter {
  return StoredFilter.parse(value)
}

const StoredFilter = z.object({
  eventTypes: z.array(z.string()).optional(),
  headers: z.unknown().optional(),
  query: z.unknown().optional(),
  body: z.unknown().optional(),
})

/**
 * Compiles a filter that `Filter` has taken, or that is stored, once for many events. A condition that `Filter` would
 * have refused holds for nothing.
 */
export function compileFilter(filter: Filter): CompiledFilter {
  nowDoing('compiling a filter')
  return {
    eventTypes: filter.eventTypes === undefined ? undefined : compileEventTypes(filter.eventTypes),
    headers: compilePart('headers', filter.headers),
    query: compilePart('query', filter.query),
    body: compilePart('body', filter.body),
  }
}

/** Whether the event passes one filter, or the first part that excludes it. */
export function matchFilter(filter: CompiledFilter, event: Matchable): Match {
  return new Matcher(event, MATCH_STEPS_MAX).match(filter, MATCH_STEPS_MAX)
}

/**
 * Matches one event with all filters of its source within one budget. Each may take the same share of it; those for
 * which that is too little share what the others left. So a costly filter takes nothing from the others, and has nearly
 * all where they are cheap.
 */
export function matchFilters(filters: readonly CompiledFilter[], event: Matchable): Match[] {
  nowDoing('matching filters')
  const matcher = new Matcher(event, MATCH_STEPS_MAX)
  const share = Math.trunc(MATCH_STEPS_MAX / filters.length)
  const spent: number[] = []
  const matches = filters.map((filter, at) => {
    const match = matcher.match(filter, share)
    if (matcher.isSpent) spent.push(at)
    return match
  })
  for (const [n, at] of spent.entries()) {
    const filter = filters[at]
    const rest = Math.trunc(matcher.left / (spent.length - n))
    if (filter !== undefined && rest > share) matches[at] = matcher.match(filter, rest)
  }
  return matches
}

class Matcher {
  readonly #event: Matchable
  readonly #run: Run = {
    program: EMPTY,
    nodes: EMPTY.nodes,
    left: 0,
    failedAt: 0,
    counts: undefined,
  }
  #query: unknown
  #payload: { value: unknown } | undefined
  left: number

  constructor(event: Matchable, left: number) {
    this.#event = event
    this.left = left
  }

  /** The last filter took more than it was given. */
  get isSpent(): boolean {
    return this.#run.left < 0
  }

  match({ eventTypes, headers, query, body }: CompiledFilter, share: number): Match {
    this.#run.left = share - (eventTypes?.prefixes ?? 0)
    const match =
      eventTypes?.accepts(this.#event.eventType) === false
        ? failedAt('eventTypes')
        : (this.#fail('headers', headers) ??
          this.#fail('query', query) ??
          // Last, because it has to be parsed.
          this.#fail('body', body) ??
          MATCHED)
    this.left -= share - this.#run.left
    return match
  }

  /** The mismatch of one part; undefined when the part is absent or matches. */
  #fail(name: ReadPart, program: Program | undefined): Match | undefined {
    if (program === undefined) return undefined
    this.#run.program = program
    this.#run.nodes = program.nodes
    const isMet = this.isSpent || meets(this.#run, this.#read(name))
    if (this.isSpent) return failedAt(name)
    if (isMet) return undefined
    const path = pathTo(this.#run.failedAt, program, PATH_LENGTH_MAX)
    return { matched: false, failedPart: name, path }
  }

  #read(name: ReadPart): unknown {
    if (name === 'headers') return this.#event.headers
    if (name === 'query') return (this.#query ??= objectOf(this.#event.query))
    return (this.#payload ??= { value: this.#event.payload() }).value
  }
}

function failedAt(name: FilterPart): Match {
  return { matched: false, failedPart: name, path: name }
}

function compileEventTypes(patterns: readonly string[]): EventTypes {
  const exact = new Set(patterns.filter((pattern) => !pattern.endsWith('*')))
  const prefixes = patterns
    .filter((pattern) => pattern.endsWith('*'))
    .map((pattern) => pattern.slice(0, -1))
  // A lone * takes everything, an event without a type included.
  const takesAll = prefixes.includes('')
  return {
    accepts: (type) =>
      takesAll ||
      (type !== null && (exact.has(type) || prefixes.some((prefix) => type.startsWith(prefix)))),
    prefixes: prefixes.length,
  }
}

function compilePart(name: ReadPart, source: unknown): Program | undefined {
  return source === undefined ? undefined : readPart(name, source).writer.program(name)
}

/** Validation and matching share this reader of the grammar, so that they cannot drift apart. */
function readPart(name: ReadPart, source: unknown): { writer: Writer; faults: ConditionFault[] } {
  const faults: ConditionFault[] = []
  const writer = new Writer()
  const isHeaders = name === 'headers'
  writeCondition(source, {
    above: undefined,
    step: name,
    depth: 1,
    name: 0,
    isHeaders,
    writer,
    faults,
  })
  return { writer, faults }
}

function part(name: ReadPart): z.ZodUnknown {
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
