import { expect, test } from 'vitest'
import { z } from 'zod'

import { STATUS } from '../../core/errors.ts'
import { errorsOf, isPublic, type KeyedRoute, type Route } from '../http/route.ts'
import { ROUTES } from '../routes.ts'
import { openApiDocument, openApiRoute } from './document.ts'
import { inlined } from './json.ts'

const Json = z.record(z.string(), z.unknown())
type Json = z.infer<typeof Json>

const Media = z.object({
  schema: Json,
  example: z.unknown().optional(),
  examples: z.record(z.string(), z.object({ value: z.unknown() })).optional(),
})
const Content = z.record(z.string(), Media)
const Operation = z.object({
  operationId: z.string(),
  tags: z.tuple([z.string()]),
  summary: z.string().min(1),
  description: z.string().min(1),
  'x-permission': z.unknown(),
  parameters: z.array(
    z.object({
      name: z.string(),
      in: z.enum(['path', 'query', 'header']),
      required: z.boolean(),
      schema: Json,
      example: z.unknown().optional(),
    }),
  ),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(
    z.string(),
    z.object({ description: z.string().min(1), headers: Json, content: Content.optional() }),
  ),
})
const Document = z.object({
  openapi: z.literal('3.1.0'),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    schemas: z.record(z.string(), Json),
    headers: z.record(z.string(), Json),
    parameters: z.record(z.string(), Json),
    responses: z.record(z.string(), Json),
  }),
})

const routes: readonly Route[] = [...ROUTES, openApiRoute(() => ({}))]
const raw = openApiDocument(routes)
const document = Document.parse(inlined(raw))
const { components } = document
const text = JSON.stringify(raw)
const operations = routes.map((route): [string, Route] => [route.operationId, route])

function pathOf({ path }: Route): string {
  return `/v1${path.replaceAll(/:(\w+)/g, '{$1}')}`
}

function described(route: Route): z.infer<typeof Operation> {
  return Operation.parse(document.paths[pathOf(route)]?.[route.method.toLowerCase()])
}

function faultsOf(schema: Json, value: unknown): unknown[] {
  const whole = { ...schema, $defs: document.components.schemas }
  const linked = JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema(JSON.parse(linked)).safeParse(value).error?.issues ?? []
}

function valuesOf({ example, examples }: z.infer<typeof Media>): unknown[] {
  return examples === undefined ? [example] : Object.values(examples).map((one) => one.value)
}

function expectIllustrated(media: z.infer<typeof Media>, where: string): void {
  const values = valuesOf(media)
  expect(values.length, where).toBeGreaterThan(0)
  for (const value of values) {
    expect(value, where).toBeDefined()
    expect(faultsOf(media.schema, value), `${where}: ${JSON.stringify(value)}`).toEqual([])
  }
}

test('the document holds the operations of the table and no other', () => {
  const there = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  const listed = routes.map((route) => `${route.method.toLowerCase()} ${pathOf(route)}`)
  expect(there.toSorted()).toEqual(listed.toSorted())
  const ids = routes.map((route) => described(route).operationId)
  expect(new Set(ids).size).toBe(ids.length)
})

test('no reference dangles, no component is unused, nothing is left of the generator', () => {
  for (const kind of ['schemas', 'headers', 'parameters', 'responses'] as const) {
    const pattern = new RegExp(`"\\$ref":"#/components/${kind}/([^"]+)"`, 'g')
    const used = new Set([...text.matchAll(pattern)].map(([, name]) => String(name)))
    expect([...used].toSorted()).toEqual(Object.keys(components[kind]).toSorted())
  }
  expect(text).not.toContain('$defs')
  expect([...text.matchAll(/"\$ref":"(?!#\/components\/)/g)]).toEqual([])
})

test('every tag that is used is described', () => {
  const used = new Set(routes.map(({ tag }) => tag))
  expect(new Set(document.tags.map(({ name }) => name))).toEqual(used)
  for (const { name, description } of document.tags) expect(description).not.toBe(name)
})

test('every code is in the closed table', () => {
  const codes = [...text.matchAll(/"code":\{"type":"string","const":"([^"]+)"/g)].map(
    ([, code]) => code ?? '',
  )
  expect(codes.length).toBeGreaterThan(5)
  expect(codes.filter((code) => !(code in STATUS))).toEqual([])
})

test.for(operations)('%s declares its path parameters with examples', ([, route]) => {
  const inPath = described(route).parameters.filter((parameter) => parameter.in === 'path')
  const named = [...pathOf(route).matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  expect(inPath.map(({ name }) => name)).toEqual(named)
  for (const { schema, example, required } of inPath) {
    expect(required).toBe(true)
    expect(faultsOf(schema, example)).toEqual([])
  }
})

const keyed = operations.flatMap(([name, route]): [string, KeyedRoute][] =>
  isPublic(route) ? [] : [[name, route]],
)

test.for(keyed)('%s says its permission, as data and in words', ([, route]) => {
  const { permission, needsByKind } = route
  const operation = described(route)
  expect(operation['x-permission']).toEqual(needsByKind ?? permission)
  const needs = Object.values(needsByKind ?? {}).concat(permission === 'any_key' ? [] : permission)
  const words = needs.length === 0 ? ['Any API key'] : needs.map(({ resource }) => `on ${resource}`)
  for (const word of words) expect(operation.description).toContain(word)
})

test.for(operations)('%s has an example of its request that it accepts', ([, route]) => {
  const { requestBody } = described(route)
  expect(requestBody !== undefined).toBe(route.body !== null)
  if (requestBody === undefined) return
  const media = requestBody.content['application/json']
  expect(media).toBeDefined()
  if (media === undefined) return
  expectIllustrated(media, 'request')
  for (const value of valuesOf(media)) {
    expect(route.body?.safeParse(value).error?.issues ?? []).toEqual([])
  }
})

test.for(operations)('%s has a schema and an example of each response', ([, route]) => {
  const { responses } = described(route)
  for (const status of Object.keys(route.responses)) expect(responses).toHaveProperty(status)
  for (const [status, { content }] of Object.entries(responses)) {
    expect(content !== undefined, status).toBe(route.responses[Number(status)] !== null)
    if (content === undefined) continue
    const type = status.startsWith('2') ? route.contentType : undefined
    expect(Object.keys(content)).toEqual([type ?? 'application/json'])
    for (const media of Object.values(content)) expectIllustrated(media, status)
  }
})

test.for(operations)('%s names its codes, the 429 without one, 500 and 503', ([, route]) => {
  const { responses } = described(route)
  const schemaOf = (status: number): string =>
    JSON.stringify(responses[String(status)]?.content?.['application/json']?.schema)
  for (const code of errorsOf(route)) {
    expect(responses[String(STATUS[code])]?.description).toContain(`\`${code}\``)
    const uncoded = { code, status: STATUS[code], message: 'x' }
    expect(schemaOf(STATUS[code]), code).toMatch(/Error"/)
    expect(faultsOf(JSON.parse(schemaOf(STATUS[code])), { ...uncoded, surprise: 1 })).not.toEqual(
      [],
    )
  }
  expect(faultsOf(JSON.parse(schemaOf(429)), { status: 429, message: 'x' })).toEqual([])
  const failure = { message: 'x', data: { requestId: crypto.randomUUID() } }
  for (const status of [500, 503]) {
    expect(faultsOf(JSON.parse(schemaOf(status)), { ...failure, status })).toEqual([])
  }
})
