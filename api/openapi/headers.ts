import { isPublic, type Route } from '../http/route.ts'
import type { Json } from './json.ts'

/** Headers of answers by their names, each described once. */
export const HEADERS: Readonly<Record<string, Json>> = {
  'X-Request-Id': always('string', 'Finds the request in the log.'),
  'X-RateLimit-Limit': always('integer', 'Requests that the API key may make in a minute.'),
  'X-RateLimit-Remaining': always('integer', 'How many of them are left.'),
  'X-RateLimit-Reset': always('integer', 'Seconds until the count starts again at zero.'),
  'Idempotent-Replayed': {
    description:
      'Present when this is the stored answer of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
}

const EVERY = ['X-Request-Id'] as const
const OF_KEYS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const
export const REPLAYED = 'Idempotent-Replayed'
export const RETRY_AFTER = 'Retry-After'

/** The headers that every answer of a route carries. */
export function headersOf(route: Route): readonly string[] {
  return isPublic(route) ? EVERY : [...EVERY, ...OF_KEYS]
}

function always(type: string, description: string): Json {
  return { description, required: true, schema: { type } }
}
