import { z } from 'zod'

import type { Json } from './json.ts'

type Direction = 'input' | 'output'

/** The named schemas of a document. One that reads differently as input and output has two names. */
export class Components {
  readonly schemas: Record<string, Json> = {}
  readonly #known = { input: new Map<z.ZodType, Json>(), output: new Map<z.ZodType, Json>() }

  /** The JSON Schema of `schema`, its named parts moved into the components. */
  schema(schema: z.ZodType, io: Direction): Json {
    const known = this.#known[io].get(schema) ?? this.#convert(schema, io)
    this.#known[io].set(schema, known)
    return known
  }

  #convert(schema: z.ZodType, io: Direction): Json {
    const { $defs = {}, properties } = z.toJSONSchema(z.object({ it: schema }), {
      target: 'draft-2020-12',
      io,
      unrepresentable: 'any',
      // The generator leaves out the examples of inputs that are transformed: ours are as clients write them.
      override({ zodSchema, jsonSchema }) {
        const { examples } = z.globalRegistry.get(zodSchema) ?? {}
        if (Array.isArray(examples)) jsonSchema.examples = examples
      },
    })
    const names = this.#names($defs, io)
    for (const [name, definition] of Object.entries($defs)) {
      const { id: _id, ...rest } = definition
      this.schemas[names.get(name) ?? name] = relink(rest, names)
    }
    return relink(properties?.['it'] ?? {}, names)
  }

  #names($defs: Record<string, unknown>, io: Direction): Map<string, string> {
    const renamed = new Set(
      Object.keys($defs).filter((name) => io === 'input' && this.#differs(name, $defs[name])),
    )
    // What refers to a schema of two names needs two names as well.
    for (let before = -1; before < renamed.size;) {
      before = renamed.size
      for (const [name, definition] of Object.entries($defs)) {
        const text = JSON.stringify(definition)
        if ([...renamed].some((inner) => text.includes(`"#/$defs/${inner}"`))) renamed.add(name)
      }
    }
    return new Map(
      Object.keys($defs).map((name) => [name, renamed.has(name) ? `${name}Input` : name]),
    )
  }

  #differs(name: string, definition: unknown): boolean {
    const known = this.schemas[name]
    return (
      known !== undefined && JSON.stringify(known) !== JSON.stringify(relink(withoutId(definition)))
    )
  }
}

function withoutId(definition: unknown): unknown {
  if (typeof definition !== 'object' || definition === null) return definition
  return Object.fromEntries(Object.entries(definition).filter(([key]) => key !== 'id'))
}

/** A deep copy whose references point into the components. */
function relink(value: unknown, names: ReadonlyMap<string, string> = new Map()): Json {
  const text = JSON.stringify(value)
  const linked = text.replaceAll(/"#\/\$defs\/([^"]+)"/g, (_match, name: string) =>
    JSON.stringify(`#/components/schemas/${names.get(name) ?? name}`),
  )
  return JSON.parse(linked)
}
