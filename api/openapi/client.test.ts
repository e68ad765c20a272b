import { join } from 'node:path'

import { expect, test } from 'vitest'

import { ROUTES } from '../routes.ts'
import { openApiDocument, openApiRoute } from './document.ts'
import { asJson, asList, type Json } from './json.ts'

/** The operations of the typed client, as the document has them. `-u` writes them anew. */
const OPERATIONS = join(import.meta.dirname, '../../clients/typescript/operations.ts')
const document = openApiDocument([...ROUTES, openApiRoute(() => ({}))])

interface Operation {
  id: string
  summary: string
  route: string
  contentType: string
}

const operations = Object.entries(asJson(document['paths'])).flatMap(([path, methods]) =>
  Object.entries(asJson(methods)).map(([method, value]) =>
    operationOf(method, path, asJson(value)),
  ),
)

function operationOf(method: string, path: string, operation: Json): Operation {
  const responses = Object.entries(asJson(operation['responses']))
  const [, success] = responses.find(([status]) => status.startsWith('2')) ?? []
  const [contentType = 'none'] = Object.keys(asJson(asJson(success)['content']))
  return {
    id: String(operation['operationId']),
    summary: String(operation['summary']),
    route: `${method.toUpperCase()} ${path.replace(/^\/v1/, '')}`,
    contentType,
  }
}

test('the client has the operations of the document', async () => {
  const methods = operations
    .filter(({ contentType }) => contentType !== 'text/event-stream')
    .map(
      ({ id, summary, route }) =>
        `  /** ${summary}. (${route.replace(' ', ' /v1')}) */\n  ${id}: '${route}',\n`,
    )
  const text = `// Made from the OpenAPI document by \`npx vitest run --project unit api/openapi/client -u\`; do not edit.

/** Each operation of the API with its method and path. */
export const OPERATIONS = {
${methods.join('')}} as const
`
  await expect(text).toMatchFileSnapshot(OPERATIONS)
})

test('the client streams what is a stream, by hand', () => {
  const streams = operations.filter(({ contentType }) => contentType === 'text/event-stream')
  expect(streams.map(({ id, route }) => ({ id, route }))).toEqual([
    { id: 'streamEvents', route: 'GET /events/stream' },
  ])
})

test('a call of the client has one object: no two members of a request have the same name', () => {
  const schemas = asJson(asJson(document['components'])['parameters'])
  const own = new Set(['body', 'projectId', 'idempotencyKey', 'signal', 'lastEventId'])
  for (const [path, methods] of Object.entries(asJson(document['paths']))) {
    for (const operation of Object.values(asJson(methods))) {
      const names = asList(asJson(operation)['parameters'])
        .map(asJson)
        .map((one) => {
          const [, name = ''] = /parameters\/(.+)$/.exec(String(one['$ref'])) ?? []
          return one['$ref'] === undefined ? one : asJson(schemas[name])
        })
        .filter((one) => one['in'] !== 'header')
        .map(({ name }) => String(name))
      expect(new Set(names).size, path).toBe(names.length)
      expect(
        names.filter((name) => own.has(name)),
        path,
      ).toEqual([])
    }
  }
})
