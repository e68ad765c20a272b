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

/** What a schema stands for, where it is a reference into the components. */
export function resolve(schema: Json, schemas: Readonly<Record<string, Json>>): Json {
  const [, name] = /^#\/components\/schemas\/(.+)$/.exec(String(schema['$ref'])) ?? []
  const target = name === undefined ? undefined : schemas[name]
  return target === undefined ? schema : resolve(target, schemas)
}
