import { z } from 'zod'

import { STATUS, type Code } from '../core/errors.ts'
import type { Prefix } from '../core/ids.ts'
import { Id } from './fields.ts'
import { errorsOf, route, type Permission, type Route } from './route.ts'

type Json = Record<string, unknown>
type Direction = 'input' | 'output'

/** Generated from the table of routes and their schemas: there is no second description to fall out of step. */
export function openApiDocument(routes: readonly Route[]): Json {
  const components = new Components()
  // Outputs first: they keep the plain names.
  for (const schema of routes.flatMap(({ responses }) => Object.values(responses))) {
    if (schema !== null) components.schema(schema, 'output')
  }
  const paths: Record<string, Json> = {}
  for (const each of routes) {
    const path = `/v1${each.path.replaceAll(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [each.method.toLowerCase()]: operation(each, components) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postern management API',
      version: '1',
      description: 'Webhook relay: sources, destinations, connections, events and deliveries.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ apiKey: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
      schemas: { ...components.schemas, Error: ERROR, Failure: FAILURE },
    },
  }
}

/** The document below `/v1`, where a key is needed as for everything. */
export function openApiRoute(document: () => Json): Route {
  return route({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    tag: 'API',
    summary: 'Read this document',
    description: 'The same is at `/openapi.json` without a key.',
    permission: 'any_key',
    scope: 'reach',
    params: {},
    query: z.strictObject({}),
    body: null,
    responses: { 200: z.record(z.string(), z.unknown()) },
    errors: [],
    handle: async () => ({ status: 200, body: document() }),
  })
}

function operation(described: Route, components: Components): Json {
  const { body } = described
  return {
    operationId: described.operationId,
    tags: [described.tag],
    summary: described.summary,
    description: [described.description, describe(described.permission)]
      .filter(Boolean)
      .join('\n\n'),
    'x-permission': described.permission,
    parameters: [...parameters(described, components), PROJECT_HEADER],
    ...(body !== null && {
      requestBody: {
        required: !body.safeParse({}).success,
        content: { 'application/json': { schema: components.schema(body, 'input') } },
      },
    }),
    responses: { ...successes(described, components), ...failures(errorsOf(described)) },
  }
}

function parameters(described: Route, components: Components): Json[] {
  const inPath = Object.entries(described.params).map(([name, prefix]: [string, Prefix]) => ({
    name,
    in: 'path',
    required: true,
    schema: components.schema(Id(prefix), 'input'),
  }))
  const inQuery = Object.entries(described.query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !schema.safeParse(undefined).success,
    schema: components.schema(schema, 'input'),
  }))
  return [...inPath, ...inQuery]
}

const PROJECT_HEADER = {
  name: 'X-Project-Id',
  in: 'header',
  required: false,
  description:
    'The project to act in. Without it: the one the key is bound to, or the default project.',
  schema: { type: 'string' },
}

function successes(described: Route, components: Components): Json {
  return Object.fromEntries(
    Object.entries(described.responses).map(([status, schema]) => [
      status,
      {
        description: described.summary,
        headers: HEADERS,
        ...(schema !== null && {
          content: { 'application/json': { schema: components.schema(schema, 'output') } },
        }),
      },
    ]),
  )
}

const HEADERS = Object.fromEntries(
  ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].map(
    (name) => [name, { schema: { type: name === 'X-Request-Id' ? 'string' : 'integer' } }],
  ),
)

/** One response a status; the codes it can carry are an enum of their own. */
function failures(codes: readonly Code[]): Json {
  const byStatus = Object.groupBy(codes, (code) => String(STATUS[code]))
  const coded = Object.entries(byStatus).map(([status, list = []]) => [
    status,
    response(list.join(', '), {
      allOf: [
        { $ref: '#/components/schemas/Error' },
        { type: 'object', properties: { code: { enum: list } } },
      ],
    }),
  ])
  const uncoded = { schema: { $ref: '#/components/schemas/Failure' } }
  const failed = response('Failure that is not the request’s fault', uncoded.schema)
  return {
    429: response('Too many requests with this API key', uncoded.schema),
    ...Object.fromEntries(coded),
    500: failed,
    503: failed,
  }
}

function response(description: string, schema: Json): Json {
  return { description, content: { 'application/json': { schema } } }
}

const ERROR = {
  type: 'object',
  required: ['code', 'status', 'message'],
  properties: {
    code: { type: 'string', enum: Object.keys(STATUS) },
    status: { type: 'integer' },
    message: { type: 'string' },
    data: { type: 'object' },
  },
}

/** Without `code`: the rate limit of a key, and what is nobody's refusal. */
const FAILURE = {
  type: 'object',
  required: ['status', 'message'],
  properties: {
    code: { type: 'string', enum: Object.keys(STATUS) },
    status: { type: 'integer' },
    message: { type: 'string' },
    data: { type: 'object' },
  },
}

function describe(permission: Permission): string {
  if (permission === 'any_key') return 'Any API key may call this.'
  const level = permission.level === 'write' ? 'Read and write' : 'Read'
  const grant = permission.isExplicit === true ? `an explicit grant of ${level}` : level
  return `Needs ${grant} on ${permission.resource}.`
}

/** The named schemas of a document. One that reads differently as input and output has two names. */
class Components {
  readonly schemas: Record<string, unknown> = {}

  /** The JSON Schema of `schema`, its named parts moved into the components. */
  schema(schema: z.ZodType, io: Direction): Json {
    const { $defs = {}, properties } = z.toJSONSchema(z.object({ it: schema }), {
      target: 'draft-2020-12',
      io,
      unrepresentable: 'any',
    })
    const names = this.#names($defs, io)
    for (const [name, definition] of Object.entries($defs)) {
      const { id: _id, ...rest } = definition
      this.schemas[names.get(name) ?? name] = relink(rest, names)
    }
    return relink(properties?.['it'] ?? {}, names)
  }

  #names($defs: Record<string, unknown>, io: Direction): Map<string, string> {
    const renamed = new Set(
      Object.keys($defs).filter((name) => io === 'input' && this.#differs(name, $defs[name])),
    )
    // What refers to a schema of two names needs two names as well.
    for (let before = -1; before < renamed.size;) {
      before = renamed.size
      for (const [name, definition] of Object.entries($defs)) {
        const text = JSON.stringify(definition)
        if ([...renamed].some((inner) => text.includes(`"#/$defs/${inner}"`))) renamed.add(name)
      }
    }
    return new Map(
      Object.keys($defs).map((name) => [name, renamed.has(name) ? `${name}Input` : name]),
    )
  }

  #differs(name: string, definition: unknown): boolean {
    const known = this.schemas[name]
    return (
      known !== undefined && JSON.stringify(known) !== JSON.stringify(relink(withoutId(definition)))
    )
  }
}

function withoutId(definition: unknown): unknown {
  if (typeof definition !== 'object' || definition === null) return definition
  return Object.fromEntries(Object.entries(definition).filter(([key]) => key !== 'id'))
}

/** A deep copy whose references point into the components. */
function relink(value: unknown, names: ReadonlyMap<string, string> = new Map()): Json {
  const text = JSON.stringify(value)
  const linked = text.replaceAll(/"#\/\$defs\/([^"]+)"/g, (_match, name: string) =>
    JSON.stringify(`#/components/schemas/${names.get(name) ?? name}`),
  )
  return JSON.parse(linked)
}
