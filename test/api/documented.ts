import { expect } from 'vitest'
import { z } from 'zod'

import { openApiDocument, openApiRoute } from '../../api/openapi/document.ts'
import { ROUTES } from '../../api/routes.ts'
import { STATUS } from '../../core/errors.ts'

const Json = z.record(z.string(), z.unknown())
type Json = z.infer<typeof Json>

/** The parts of an answer that the document describes. */
interface Seen {
  status: number
  headers: Headers
  body: unknown
}

let whole: Json | undefined
const schemas = new Map<string, z.ZodType>()

/**
 * Fails unless the OpenAPI document describes this answer: its operation, its status, its headers and its body without
 * a member more. Every answer that a test gets through `callApi` passes here.
 */
export function expectAnswer(method: string, path: string, answer: Seen): void {
  if (!path.startsWith('/v1/')) return
  const what = `${method} ${path.slice(0, 200)} answered ${answer.status}`
  const operation = operationOf(method, path)
  if (operation === undefined) {
    expectNoRoute(what, answer)
    return
  }
  const given = follow(operation, 'responses', String(answer.status))
  const response = given && resolve(given)
  expect(response, `${what}, which is not documented`).toBeDefined()
  if (response === undefined) return
  expectHeaders(what, response, answer)
  const schema = follow(response, 'content', 'application/json', 'schema')
  if (answer.body === undefined) {
    expect(schema, `${what} without its body`).toBeUndefined()
    return
  }
  expect(schema, `${what} with a body that is not documented`).toBeDefined()
  const { error } = schemaOf(schema ?? {}).safeParse(answer.body)
  expect(error?.issues ?? [], `${what}: ${JSON.stringify(answer.body).slice(0, 500)}`).toEqual([])
}

function expectHeaders(what: string, response: Json, { headers }: Seen): void {
  for (const [name, reference] of Object.entries(follow(response, 'headers') ?? {})) {
    const header = resolve(reference)
    const value = headers.get(name)
    if (header['required'] === true) expect(value, `${what} without ${name}`).not.toBeNull()
    if (value === null) continue
    const { type } = follow(header, 'schema') ?? {}
    if (type === 'integer') expect(value, `${what}: ${name}`).toMatch(/^\d+$/)
  }
}

/** Outside the document there is one answer that a client must understand: the envelope. */
function expectNoRoute(what: string, { status, body }: Seen): void {
  const parsed = z
    .strictObject({
      code: z.enum(Object.keys(STATUS)),
      status: z.literal(status),
      message: z.string(),
      data: z.unknown().optional(),
    })
    .safeParse(body)
  expect(parsed.error?.issues ?? [], what).toEqual([])
  expect([400, 404], `${what} and is not documented`).toContain(status)
}

/** `/v1/sources/{id}` for `/v1/sources/src_…?x=y`; literal segments win. */
function operationOf(method: string, path: string): Json | undefined {
  const segments = (path.split('?')[0] ?? '').split('/')
  const fits = Object.entries(follow(document(), 'paths') ?? {}).filter(
    ([candidate, operations]) => {
      const parts = candidate.split('/')
      return (
        Object.hasOwn(Json.parse(operations), method.toLowerCase()) &&
        parts.length === segments.length &&
        parts.every((part, n) => part.startsWith('{') || part === segments[n])
      )
    },
  )
  const [best] = fits.toSorted(([a], [b]) => a.split('{').length - b.split('{').length)
  return best && follow(Json.parse(best[1]), method.toLowerCase())
}

function document(): Json {
  whole ??= openApiDocument([...ROUTES, openApiRoute(() => ({}))])
  return whole
}

function schemaOf(schema: Json): z.ZodType {
  const key = JSON.stringify(schema)
  const known = schemas.get(key) ?? convert(schema)
  schemas.set(key, known)
  return known
}

function convert(schema: Json): z.ZodType {
  const all = { ...schema, $defs: follow(document(), 'components', 'schemas') }
  return z.fromJSONSchema(
    JSON.parse(JSON.stringify(all).replaceAll('#/components/schemas/', '#/$defs/')),
  )
}

function resolve(value: unknown): Json {
  const { $ref, ...rest } = Json.parse(value)
  return typeof $ref === 'string'
    ? resolve(follow(document(), ...$ref.slice(2).split('/')) ?? {})
    : rest
}

function follow(root: Json, ...names: readonly string[]): Json | undefined {
  return names.reduce<Json | undefined>((object, name) => Json.safeParse(object?.[name]).data, root)
}
