import { STATUS, type Code } from '../../core/errors.ts'
import type { Components } from './components.ts'
import { illustrated } from './example.ts'
import { failureBody, meaningOf, nameOf, UNCODED } from './failure-body.ts'
import { EVERY, RETRY_AFTER } from './headers.ts'
import type { Json } from './json.ts'

/** One response for each status: the codes it can carry, and the answer without one. (spec: Envelopes) */
export function failureResponses(codes: readonly Code[], components: Components): Json {
  const statuses = new Set<number>([...codes.map((code) => STATUS[code]), ...UNCODED.keys()])
  return Object.fromEntries(
    [...statuses].map((status) => {
      const coded = codes.filter((code) => STATUS[code] === status)
      const make = () => failureResponse(status, coded, components)
      return [status, components.response(nameOf(status, coded), make)]
    }),
  )
}

function failureResponse(status: number, codes: readonly Code[], components: Components): Json {
  const schema = components.schema(failureBody(status, codes), 'output')
  const isPassing = status === 429 || status === 503
  return {
    description: meaningOf(status, codes),
    headers: components.headers(isPassing ? [...EVERY, RETRY_AFTER] : EVERY),
    content: { 'application/json': illustrated(schema, components, 'output') },
  }
}
