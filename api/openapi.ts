import { z } from 'zod'

import { IDEMPOTENCY_HOURS, IDEMPOTENCY_KEY_LENGTH_MAX } from '../core/limits.ts'
import { Param } from './fields.ts'
import { Components } from './openapi/components.ts'
import { exampleOf } from './openapi/example.ts'
import type { Json } from './openapi/json.ts'
import { failureResponses } from './openapi/refusals.ts'
import { TAGS } from './openapi/tags.ts'
import { errorsOf, route, type Permission, type Route } from './route.ts'

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
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({
      name,
      description: TAGS[name] ?? name,
    })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the organisation.' },
      },
      headers: { ...HEADERS, ...REPLAYED, ...RETRY_AFTER },
      schemas: components.schemas,
    },
  }
}

const DESCRIPTION = `Webhook relay: sources, destinations, connections, events and deliveries.

Send the API key as \`authorization: Bearer <key>\`. A key for all projects acts in the default project unless
\`X-Project-Id\` names another. Branch on the \`code\` of an error, never on its message.`

/** The document below `/v1`, where a key is needed as for everything. */
export function openApiRoute(document: () => Json): Route {
  return route({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    tag: 'API',
    summary: 'Read this document',
    description: 'The same is at `/openapi.json` without a key, and for people at `/docs`.',
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
    description: [described.description, describeNeeds(described)].filter(Boolean).join('\n\n'),
    'x-permission': described.needsByKind ?? described.permission,
    parameters: parameters(described, components),
    ...(body !== null && {
      requestBody: {
        required: !body.safeParse({}).success,
        content: {
          [JSON_TYPE]: illustrated(components.schema(body, 'input'), components, 'input'),
        },
      },
    }),
    responses: {
      ...successes(described, components),
      ...failures(described, components),
    },
  }
}

function parameters(described: Route, components: Components): Json[] {
  const inPath = Object.entries(described.params).map(([name, kind]) => {
    const schema = components.schema(Param(kind), 'input')
    const example = exampleOf(schema, components.schemas, 'input', name)
    return { name, in: 'path', required: true, schema, example }
  })
  const inQuery = Object.entries(described.query?.shape ?? {}).map(([name, part]) => {
    const required = !part.safeParse(undefined).success
    const schema = components.schema(part, 'input')
    const example = exampleOf(schema, components.schemas, 'input', name)
    return { name, in: 'query', required, schema, ...(required && { example }) }
  })
  const named = Object.entries(described.headers ?? {}).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))
  const inHeader = [PROJECT, ...(described.method === 'POST' ? [IDEMPOTENCY] : []), ...named]
  return [...inPath, ...inQuery, ...inHeader]
}

const PROJECT = {
  name: 'X-Project-Id',
  in: 'header',
  required: false,
  description:
    'The project to act in. Without it: the one the key is bound to, or the default project.',
  schema: { type: 'string' },
}

const IDEMPOTENCY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: `The same key with the same request returns the first answer for ${IDEMPOTENCY_HOURS} hours. Bodies are the same when they parse to the same JSON. Only 2xx answers are kept: after a refusal the key is free.`,
  schema: { type: 'string', pattern: `^[!-~]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$` },
}

function successes(described: Route, components: Components): Json {
  const headers = references(HEADERS, described.method === 'POST' ? REPLAYED : {})
  return Object.fromEntries(
    Object.entries(described.responses).map(([status, schema]) => [
      status,
      {
        description: described.summary,
        headers,
        ...(schema !== null && {
          content: {
            [described.contentType ?? JSON_TYPE]: illustrated(
              components.schema(schema, 'output'),
              components,
              'output',
            ),
          },
        }),
      },
    ]),
  )
}

function failures(described: Route, components: Components): Json {
  const responses = failureResponses(errorsOf(described), components)
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      {
        description: response.description,
        headers: references(HEADERS, ['429', '503'].includes(status) ? RETRY_AFTER : {}),
        content: { [JSON_TYPE]: illustrated(response.schema, components, 'output') },
      },
    ]),
  )
}

const JSON_TYPE = 'application/json'

/** A schema with an example, or one of each of its alternatives. */
function illustrated(schema: Json, { schemas }: Components, io: 'input' | 'output'): Json {
  const { oneOf } = schema
  if (!Array.isArray(oneOf)) return { schema, example: exampleOf(schema, schemas, io) }
  const examples = oneOf.map((one: Json) => [
    String(one['$ref']).split('/').at(-1),
    { value: exampleOf(one, schemas, io) },
  ])
  return { schema, examples: Object.fromEntries(examples) }
}

const HEADERS = {
  'X-Request-Id': header('string', 'Finds the request in the log.'),
  'X-RateLimit-Limit': header('integer', 'Requests that the API key may make in a minute.'),
  'X-RateLimit-Remaining': header('integer', 'How many of them are left.'),
  'X-RateLimit-Reset': header('integer', 'Seconds until the count begins anew.'),
}
const REPLAYED = {
  'Idempotent-Replayed': {
    description: 'Given when the answer is that of an earlier request with the Idempotency-Key.',
    schema: { const: 'true' },
  },
}
const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
}

function header(type: string, description: string): Json {
  return { description, required: true, schema: { type } }
}

function references(...headers: readonly Json[]): Json {
  return Object.fromEntries(
    headers.flatMap(Object.keys).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
}

function describeNeeds({ permission, needsByKind }: Route): string {
  if (needsByKind === undefined) return describe(permission)
  const each = Object.entries(needsByKind).map(([kind, need]) => `- \`${kind}\`: ${describe(need)}`)
  return `By its kind:\n\n${each.join('\n')}`
}

function describe(permission: Permission): string {
  if (permission === 'any_key') return 'Any API key may call this.'
  const level = permission.level === 'write' ? 'Read and write' : 'Read'
  const grant = permission.isExplicit === true ? `an explicit grant of ${level}` : level
  return `Needs ${grant} on ${permission.resource}.`
}
