import { z } from 'zod'

import { asJson, asList, type Json } from './json.ts'

/**
 * A JSON Schema of the generator in the form that programs which make clients understand: no lists of types, no tuples,
 * and no keyword that says nothing.
 */
export function plain(schema: unknown): Json {
  const { properties, items, additionalProperties, ...own } = asJson(schema)
  const json: Json = {
    ...own,
    ...(properties !== undefined && { properties: mapped(properties) }),
    ...(items !== undefined && { items: below(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: below(additionalProperties),
    }),
  }
  for (const union of ['anyOf', 'oneOf']) {
    if (union in json) json[union] = asList(json[union]).map(plain)
  }
  return untupled(splitTypes(onePattern(withoutNoise(json))))
}

/** The discriminator of a union whose alternatives all have names. */
export function discriminatorOf({ _zod: { def } }: z.core.$ZodTypes): Json {
  if (def.type !== 'union' || !('discriminator' in def)) return {}
  const propertyName = String(def.discriminator)
  const mapping = def.options.flatMap((option) => {
    const id = z.globalRegistry.get(option)?.id ?? ''
    const values = [...(option._zod.propValues?.[propertyName] ?? [])]
    return values.map((value) => [String(value), `#/$defs/${id}`] as const)
  })
  return { discriminator: { propertyName, mapping: Object.fromEntries(mapping) } }
}

/** Booleans stay, as `additionalProperties: false` is one. */
function below(schema: unknown): unknown {
  return typeof schema === 'object' ? plain(schema) : schema
}

function mapped(schemas: unknown): Json {
  return Object.fromEntries(
    Object.entries(asJson(schemas)).map(([name, schema]) => [name, plain(schema)]),
  )
}

function withoutNoise(given: Json): Json {
  const json = Number.isInteger(given['const']) ? { ...given, type: 'integer' } : given
  const { type, ...bounds } = asJson(json['propertyNames'])
  const isNoise: Readonly<Record<string, boolean>> = {
    pattern: json['format'] === 'date-time',
    // `contentEncoding` says it.
    format: json['format'] === 'base64',
    minimum: json['minimum'] === Number.MIN_SAFE_INTEGER,
    maximum: json['maximum'] === Number.MAX_SAFE_INTEGER,
    propertyNames: type === 'string' && Object.keys(bounds).length === 0,
  }
  return Object.fromEntries(Object.entries(json).filter(([key]) => isNoise[key] !== true))
}

/** Several patterns of one text are one that looks ahead for each of them. */
function onePattern({ allOf, ...json }: Json): Json {
  if (allOf === undefined) return json
  const patterns = asList(allOf).map((one) => String(asJson(one)['pattern']))
  return { ...json, pattern: `^${patterns.map((one) => `(?=[\\s\\S]*?(?:${one}))`).join('')}` }
}

const ABOUT_ALL = new Set(['description', 'default', 'examples'])

/** `{ type: [a, b] }` is `{ anyOf: [{ type: a }, { type: b }] }`. */
function splitTypes(json: Json): Json {
  const { type, ...rest } = json
  if (!Array.isArray(type)) return json
  const entries = Object.entries(rest)
  const shared = Object.fromEntries(entries.filter(([key]) => ABOUT_ALL.has(key)))
  const keywords = Object.fromEntries(entries.filter(([key]) => !ABOUT_ALL.has(key)))
  return {
    anyOf: type.map((one) => (one === 'null' ? { type: one } : { type: one, ...keywords })),
    ...shared,
  }
}

/** A tuple whose items are alike is a list of that length. */
function untupled({ prefixItems, ...json }: Json): Json {
  if (prefixItems === undefined) return json
  const items = asList(prefixItems)
  return { ...json, items: items[0], minItems: items.length, maxItems: items.length }
}
