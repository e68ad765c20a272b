import { STATUS, type Code } from '../../core/errors.ts'
import { isPublic, type Route } from '../http/route.ts'
import type { Components } from './components.ts'
import { illustrated } from './example.ts'
import { failureBody, meaningOf, nameOf, UNCODED } from './failure-body.ts'
import { headersOf, RETRY_AFTER } from './headers.ts'
import type { Json } from './json.ts'

/** A response for each status: the codes it can carry, and the answer without one. (spec: Envelopes) */
export function failureResponses(
  route: Route,
  codes: readonly Code[],
  components: Components,
): Json {
  // 429 without a code is the limit of a key.
  const uncoded = [...UNCODED.keys()].filter((status) => status !== 429 || !isPublic(route))
  const statuses = new Set<number>([...codes.map((code) => STATUS[code]), ...uncoded])
  const prefix = isPublic(route) ? 'Public' : ''
  return Object.fromEntries(
    [...statuses].map((status) => {
      const coded = codes.filter((code) => STATUS[code] === status)
      const make = () => failureResponse(status, coded, { components, headers: headersOf(route) })
      return [status, components.response(`${prefix}${nameOf(status, coded)}`, make)]
    }),
  )
}

function failureResponse(
  status: number,
  codes: readonly Code[],
  { components, headers }: { components: Components; headers: readonly string[] },
): Json {
  const schema = components.schema(failureBody(status, codes), 'output')
  const isPassing = status === 429 || status === 503
  return {
    description: meaningOf(status, codes),
    headers: components.headers(isPassing ? [...headers, RETRY_AFTER] : headers),
    content: { 'application/json': illustrated(schema, components, 'output') },
  }
}
