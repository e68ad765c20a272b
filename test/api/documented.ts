import { expect } from 'vitest'
import { z } from 'zod'

import type { Answer, World } from '../world.ts'

const Json = z.record(z.string(), z.unknown())
type Json = z.infer<typeof Json>

const documents = new WeakMap<World, Promise<Json>>()

/** Fails unless the OpenAPI document describes this answer: its operation, its status and its body. */
export async function expectDocumented(
  world: World,
  method: string,
  path: string,
  answer: Answer,
): Promise<void> {
  const document = await documentOf(world)
  const operation = member(
    member(member(document, 'paths'), template(document, path)),
    method.toLowerCase(),
  )
  const response = member(member(operation, 'responses'), String(answer.status))
  if (answer.body === undefined) {
    expect(Object.keys(response)).not.toContain('content')
    return
  }
  const schema = member(member(member(response, 'content'), 'application/json'), 'schema')
  const parsed = schemaOf(document, schema).safeParse(answer.body)
  expect(parsed.error?.issues ?? [], `${method} ${path} ${answer.status}`).toEqual([])
}

export async function documentOf(world: World): Promise<Json> {
  const known = documents.get(world) ?? read(world)
  documents.set(world, known)
  return await known
}

async function read(world: World): Promise<Json> {
  const response = await fetch(`${world.apiUrl}/openapi.json`)
  return Json.parse(await response.json())
}

/** `/v1/sources/{id}` for `/v1/sources/src_…?x=y`; literal segments win. */
function template(document: Json, path: string): string {
  const segments = (path.split('?')[0] ?? '').split('/')
  const fits = Object.keys(member(document, 'paths')).filter((candidate) => {
    const parts = candidate.split('/')
    return (
      parts.length === segments.length &&
      parts.every((part, n) => part.startsWith('{') || part === segments[n])
    )
  })
  const [best] = fits.toSorted((a, b) => a.split('{').length - b.split('{').length)
  if (best === undefined) throw new Error(`No path in the document for ${path}`)
  return best
}

function schemaOf(document: Json, schema: Json): z.ZodType {
  const whole = { ...schema, $defs: member(member(document, 'components'), 'schemas') }
  const text = JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema(JSON.parse(text))
}

export function member(object: Json, name: string): Json {
  const value = Json.safeParse(object[name])
  if (!value.success) throw new Error(`No "${name}" in the document`)
  return value.data
}
