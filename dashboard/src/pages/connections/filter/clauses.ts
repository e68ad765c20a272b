import type { Schemas } from '../../../api/client.ts'

export type Filter = Schemas['Filter']

/** A line of a filter that can be read, and tried, by itself. */
export interface Clause {
  /** `body.amount`, `headers.x-region`, `eventTypes`. */
  path: string
  operator: string
  value: unknown
  /** The filter with this clause alone. */
  alone: Filter
}

const PARTS = ['headers', 'query', 'body'] as const

/** Every clause of a filter. `$or`, `$and` and `$not` stay whole, because their members mean nothing alone. */
export function clausesOf(filter: Filter): Clause[] {
  const types = filter.eventTypes
  const first =
    types === undefined
      ? []
      : [{ path: 'eventTypes', operator: '$in', value: types, alone: { eventTypes: types } }]
  return [
    ...first,
    ...PARTS.flatMap((part) =>
      filter[part] === undefined ? [] : conditionsOf(filter[part], [part]),
    ),
  ]
}

function conditionsOf(condition: unknown, path: readonly string[]): Clause[] {
  if (!isMembers(condition)) return [clauseOf(path, '$eq', condition)]
  const members = Object.entries(condition)
  if (members.length === 0) return []
  return members.flatMap(([name, value]) =>
    name.startsWith('$') ? [clauseOf(path, name, value)] : conditionsOf(value, [...path, name]),
  )
}

function clauseOf(path: readonly string[], operator: string, value: unknown): Clause {
  const condition = operator === '$eq' ? value : { [operator]: value }
  return { path: path.join('.'), operator, value, alone: nested(path, condition) }
}

/** `['body', 'amount']` and 12 become `{ body: { amount: 12 } }`. */
export function nested(path: readonly string[], condition: unknown): Filter {
  let inner = condition
  for (const name of path.toReversed()) inner = { [name]: inner }
  return isMembers(inner) ? inner : {}
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value that an event has where a clause looks. */
export function actualOf(event: Schemas['Event'], path: string): unknown {
  const [part, ...names] = path.split('.')
  if (part === 'eventTypes') return event.eventType
  if (part === 'headers' || part === 'query') {
    const wanted = names.join('.').toLowerCase()
    return event[part].find(([name = '']) => name.toLowerCase() === wanted)?.[1]
  }
  let value: unknown = event.payload
  for (const name of names) value = isMembers(value) ? value[name] : undefined
  return value
}
