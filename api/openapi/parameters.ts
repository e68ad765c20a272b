import { IDEMPOTENCY_HOURS, IDEMPOTENCY_KEY_LENGTH_MAX } from '../../core/limits.ts'
import { KIND_OF, Param, type ParamKind } from '../http/fields.ts'
import { isPublic, type Route } from '../http/route.ts'
import type { Components } from './components.ts'
import { exampleOf } from './example.ts'
import type { Json } from './json.ts'
import { sampleId } from './samples.ts'

/** The parameters of an operation. Shared parameters are defined once. */
export function parametersOf(route: Route, components: Components): Json[] {
  const { method, params, query, headers } = route
  const inPath = Object.entries(params).map(([name, kind]) => pathParameter(name, kind, components))
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, part]) => {
    const required = !part.safeParse(undefined).success
    const { description, ...schema } = components.schema(part, 'input')
    const example = exampleOf(schema, components.schemas, 'input', name)
    const parameter = {
      name,
      in: 'query',
      required,
      description,
      schema,
      example,
    }
    const shared = SHARED[name]
    return shared === undefined ? parameter : components.parameter(shared, parameter)
  })
  const own = Object.entries(headers ?? {}).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
    example: HEADER_EXAMPLES[name],
  }))
  if (isPublic(route)) return [...inPath, ...inQuery, ...own]
  const idempotency = method === 'POST' ? [components.parameter('IdempotencyKey', IDEMPOTENCY)] : []
  const project = components.parameter('ProjectId', PROJECT)
  return [...inPath, ...inQuery, project, ...idempotency, ...own]
}

/** Query parameters that are the same wherever they occur. */
const SHARED: Readonly<Record<string, string>> = {
  limit: 'Limit',
  cursor: 'Cursor',
  sortDir: 'SortDir',
  cascade: 'Cascade',
}

const PROJECT = {
  name: 'X-Project-Id',
  in: 'header',
  required: false,
  description:
    'The project to act in. Without it: the one the key is bound to, or the default project.',
  schema: { type: 'string' },
  example: sampleId('prj'),
}

/** Headers of a single operation. */
const HEADER_EXAMPLES: Readonly<Record<string, string>> = { 'last-event-id': '1.qZ0cBw' }

const IDEMPOTENCY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: `The same key with the same request returns the first answer for ${IDEMPOTENCY_HOURS} hours. Bodies are the same when they parse to the same JSON. Only 2xx answers are kept: after a refusal the key is free.`,
  schema: { type: 'string', pattern: `^[!-~]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$` },
  example: 'invoice-4711-paid',
}

function pathParameter(name: string, kind: ParamKind, components: Components): Json {
  const schema = components.schema(Param(kind), 'input')
  const example = exampleOf(schema, components.schemas, 'input', name)
  const description =
    kind === 'name' ? 'The name of the resource.' : `The id of the ${KIND_OF[kind]}.`
  return { name, in: 'path', required: true, description, schema, example }
}
