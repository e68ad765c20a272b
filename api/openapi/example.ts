import type { Prefix } from '../../core/ids.ts'
import { asJson, asList, resolve, type Json } from './json.ts'
import { MEMBERS, MOMENT, sampleId, SAMPLES, UUID, WORDS } from './samples.ts'

const DEPTH_MAX = 12

interface Scope {
  schemas: Readonly<Record<string, Json>>
  io: 'input' | 'output'
  depth: number
}

/**
 * A value that fits a JSON Schema of the document, always the same: what the schema gives as its example, else what its
 * keywords allow. An input shows what it requires, an output everything.
 */
export function exampleOf(
  schema: Json,
  schemas: Readonly<Record<string, Json>>,
  io: 'input' | 'output',
  name = '',
): unknown {
  return make(name, schema, { schemas, io, depth: 0 })
}

/** A schema with an example, or one of each of its alternatives. */
export function illustrated(
  schema: Json,
  { schemas }: { schemas: Readonly<Record<string, Json>> },
  io: 'input' | 'output',
): Json {
  const { oneOf } = resolve(schema, schemas)
  if (!Array.isArray(oneOf)) return { schema, example: exampleOf(schema, schemas, io) }
  const examples = oneOf.map((one: Json) => [
    String(one['$ref']).split('/').at(-1),
    { summary: resolve(one, schemas)['description'], value: exampleOf(one, schemas, io) },
  ])
  return { schema, examples: Object.fromEntries(examples) }
}

/** The named schemas, each member with an example of its own that tells more than null does. */
export function exemplified(schemas: Readonly<Record<string, Json>>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(schemas).map(([component, schema]) => {
      const members = Object.entries(asJson(schema['properties'])).map(([name, given]) => {
        const member = asJson(given)
        // A named schema is illustrated where it is described, and a constant is its own example.
        const isTold = 'examples' in member || 'const' in member || refersTo(member)
        if (isTold) return [name, member]
        return [name, { ...member, examples: [memberExample(component, name, member, schemas)] }]
      })
      if (members.length === 0) return [component, schema]
      return [component, { ...schema, properties: Object.fromEntries(members) }]
    }),
  )
}

function memberExample(
  component: string,
  name: string,
  schema: Json,
  schemas: Readonly<Record<string, Json>>,
): unknown {
  const told = MEMBERS[`${component}.${name}`] ?? SAMPLES[component]?.[name]
  if (told !== undefined && told !== null) return told
  const word = MEMBERS[name]
  const kinds = [schema, ...asList(schema['anyOf']).map(asJson)]
  if (word !== undefined && kinds.some((one) => fits(word, one))) return word
  return exampleOf(schema, schemas, 'input', name)
}

function refersTo(schema: Json): boolean {
  return JSON.stringify(schema).includes('"$ref"')
}

function make(name: string, schema: Json, outer: Scope): unknown {
  const [, component = ''] = /^#\/components\/schemas\/(.+)$/.exec(String(schema['$ref'])) ?? []
  const told = SAMPLES[component]
  if (told === undefined) return makeAny(name, schema, outer)
  return { ...asJson(makeAny(name, schema, outer)), ...told }
}

function makeAny(name: string, schema: Json, outer: Scope): unknown {
  const scope = { ...outer, depth: outer.depth + 1 }
  if (scope.depth > DEPTH_MAX) return null
  const target = resolve(schema, scope.schemas)
  const [given] = asList(target['examples'])
  if (given !== undefined) return given
  if ('const' in target) return target['const']
  const sample = WORDS[name]
  const alternatives = alternativesOf(target)
  if (alternatives.length > 0) return makeAlternative(name, alternatives, scope)
  if (sample !== undefined && fits(sample, target)) return sample
  if ('default' in target) return target['default']
  const [first] = asList(target['enum'])
  if (first !== undefined) return first
  return makeOfType(name, target, scope)
}

function alternativesOf({ anyOf, oneOf, ...rest }: Json): Json[] {
  const types = asList(rest['type'])
  return types.length > 0
    ? types.map((type) => ({ ...rest, type }))
    : asList(anyOf ?? oneOf).map(asJson)
}

/** A nullable member without a sample is null in outputs, as it is for most of its life. */
function makeAlternative(name: string, alternatives: Json[], scope: Scope): unknown {
  const resolved = alternatives.map((one) => resolve(one, scope.schemas))
  const sample = WORDS[name]
  if (sample !== undefined && resolved.some((one) => fits(sample, one))) return sample
  const isNullable = resolved.some((one) => one['type'] === 'null')
  if (isNullable && scope.io === 'output') return null
  const chosen = alternatives.find((_one, n) => resolved[n]?.['type'] !== 'null')
  return make(name, chosen ?? {}, scope)
}

function makeOfType(name: string, schema: Json, scope: Scope): unknown {
  switch (schema['type']) {
    case 'object':
      return makeObject(name, schema, scope)
    case 'array':
      return makeArray(name, schema, scope)
    case 'string':
      return makeString(schema)
    case 'integer':
    case 'number':
      return numberIn(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return {}
  }
}

function makeObject(name: string, schema: Json, scope: Scope): Json {
  const properties = Object.entries(asJson(schema['properties'])).map(
    ([member, inner]): [string, Json] => [member, asJson(inner)],
  )
  const required = new Set(asList(schema['required']))
  const shown = properties.filter(([member]) => required.has(member))
  // Nothing required: the first member tells more than an empty object.
  const chosen = shown.length === 0 && scope.io === 'input' ? properties.slice(0, 1) : shown
  const isMap = properties.length === 0 && typeof schema['additionalProperties'] === 'object'
  const value = asJson(schema['additionalProperties'])
  const key = name === 'headers' ? 'x-team' : 'team'
  const entries = isMap && value['type'] === 'string' ? [[key, value] as const] : chosen
  return Object.fromEntries(entries.map(([member, inner]) => [member, make(member, inner, scope)]))
}

function makeArray(name: string, schema: Json, scope: Scope): unknown[] {
  const tuple = asList(schema['prefixItems']).map(asJson)
  if (tuple.length > 0) return tuple.map((item) => make('', item, scope))
  const items = asJson(schema['items'])
  return [make(name.replace(/s$/, ''), items, scope)]
}

function makeString(schema: Json): string {
  const { format, pattern, minLength } = schema
  if (format === 'date-time') return MOMENT
  if (format === 'uri') return 'https://example.com/'
  if (format === 'uuid') return UUID
  const [, prefix] = /^\^([a-z]{3})_/.exec(String(pattern)) ?? []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- taken from the pattern that Id() made
  if (prefix !== undefined) return sampleId(prefix as Prefix)
  if (typeof pattern === 'string' && pattern.includes('T')) return MOMENT
  return 'text'.padEnd(Number(minLength ?? 0), 'x')
}

function numberIn({ minimum, maximum }: Json): number {
  const low = typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER ? minimum : 1
  return typeof maximum === 'number' ? Math.min(low, maximum) : low
}

function fits(value: unknown, { type, pattern, maxLength, ...rest }: Json): boolean {
  const choices = asList(rest['enum'])
  if (choices.length > 0 && !choices.includes(value)) return false
  if ('const' in rest) return rest['const'] === value
  if (typeof value === 'string') {
    return (
      type === 'string' &&
      (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(value)) &&
      (typeof maxLength !== 'number' || value.length <= maxLength)
    )
  }
  if (Array.isArray(value)) return type === 'array'
  if (typeof value === 'number') return type === 'integer' || type === 'number'
  if (typeof value === 'boolean') return type === 'boolean'
  return type === undefined || typeof rest['additionalProperties'] === 'object'
}
