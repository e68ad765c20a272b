export type Json = Record<string, unknown>

/** Empty for what is no object. */
export function asJson(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {}
}

/** Empty for what is no array. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** Follows a schema that is a reference into the components. */
export function resolve(schema: Json, schemas: Readonly<Record<string, Json>>): Json {
  const [, name] = /^#\/components\/schemas\/(.+)$/.exec(String(schema['$ref'])) ?? []
  const target = name === undefined ? undefined : schemas[name]
  return target === undefined ? schema : resolve(target, schemas)
}

/** A document whose operations hold their parameters and responses instead of references to them. */
export function inlined(document: Json): Json {
  const components = asJson(document['components'])
  const follow = (part: 'parameters' | 'responses', value: unknown): Json => {
    const json = asJson(value)
    const [, name] = /^#\/components\/\w+\/(.+)$/.exec(String(json['$ref'])) ?? []
    return name === undefined ? json : asJson(asJson(components[part])[name])
  }
  const operation = (value: unknown): Json => {
    const { parameters, responses, ...rest } = asJson(value)
    return {
      ...rest,
      parameters: asList(parameters).map((one) => follow('parameters', one)),
      responses: mapped(responses, (one) => follow('responses', one)),
    }
  }
  return { ...document, paths: mapped(document['paths'], (methods) => mapped(methods, operation)) }
}

function mapped(object: unknown, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(
    Object.entries(asJson(object)).map(([name, value]) => [name, change(value)]),
  )
}
