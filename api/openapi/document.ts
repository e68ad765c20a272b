import { z } from 'zod'

import { readVersion } from '../../core/tracing/version.ts'
import type { Permission } from '../auth/principal.ts'
import { errorsOf, isPublic, route, type KeyedRoute, type Route } from '../http/route.ts'
import { withCodeSamples } from './code/code-samples.ts'
import { Components } from './components.ts'
import { exemplified, illustrated } from './example.ts'
import { headersOf, REPLAYED } from './headers.ts'
import { resolve, type Json } from './json.ts'
import { parametersOf } from './parameters.ts'
import { failureResponses } from './refusals.ts'
import { TAGS } from './tags.ts'

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
  const whole = {
    openapi: '3.1.0',
    info: {
      title: 'Postern management API',
      version: readVersion(),
      description: DESCRIPTION,
      contact: { name: 'Postern' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The installation that this document comes from.' }],
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
      ...components.all(),
      schemas: exemplified(components.schemas),
    },
  }
  return withCodeSamples(whole)
}

const DESCRIPTION = `Webhook relay: sources, destinations, connections, events and deliveries.

Send the API key as \`authorization: Bearer <key>\`. A key for all projects acts in the default project unless
\`X-Project-Id\` names another. Branch on the \`code\` of an error, never on its message.`

const OpenApi = z.record(z.string(), z.unknown()).meta({
  id: 'OpenApiDocument',
  description: 'An OpenAPI document.',
  examples: [
    { openapi: '3.1.0', info: { title: 'Postern management API', version: '0.1.0' }, paths: {} },
  ],
})

/** The document below `/v1`, where a key is needed as for everything. */
export function openApiRoute(document: () => Json): KeyedRoute {
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
    responses: { 200: OpenApi },
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
    ...(isPublic(described) && { security: [] }),
    'x-permission': isPublic(described)
      ? described.permission
      : (described.needsByKind ?? described.permission),
    parameters: parametersOf(described, components),
    ...(body !== null && {
      requestBody: {
        description: String(
          resolve(components.schema(body, 'input'), components.schemas)['description'],
        ),
        required: !body.safeParse({}).success,
        content: {
          [JSON_TYPE]: illustrated(components.schema(body, 'input'), components, 'input'),
        },
      },
    }),
    responses: {
      ...successes(described, components),
      ...failureResponses(described, errorsOf(described), components),
    },
  }
}

const JSON_TYPE = 'application/json'

function successes(described: Route, components: Components): Json {
  const { method, contentType = JSON_TYPE, responses } = described
  const isRepeatable = method === 'POST' && !isPublic(described)
  const headers = components.headers([...headersOf(described), ...(isRepeatable ? [REPLAYED] : [])])
  return Object.fromEntries(
    Object.entries(responses).map(([status, body]) => {
      if (body === null) return [status, { description: 'It is done. There is no body.', headers }]
      const schema = components.schema(body, 'output')
      const { description } = resolve(schema, components.schemas)
      const content = { [contentType]: illustrated(schema, components, 'output') }
      return [
        status,
        { description: [RESULT[status], description].filter(Boolean).join(' '), headers, content },
      ]
    }),
  )
}

const RESULT: Readonly<Record<string, string>> = {
  201: 'It was created.',
  202: 'It was accepted.',
}

function describeNeeds(described: Route): string {
  if (isPublic(described)) return 'Needs no API key.'
  const { permission, needsByKind } = described
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
