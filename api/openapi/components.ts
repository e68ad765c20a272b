import { z } from 'zod'

import { HEADERS } from './headers.ts'
import { asJson, asList, type Json } from './json.ts'
import { discriminatorOf, plain } from './plain.ts'

type Direction = 'input' | 'output'

/** The named schemas of a document. Outputs come first: they keep the plain names. */
export class Components {
  readonly schemas: Record<string, Json> = {}
  /** Their JSON as outputs, by the name that both directions share. */
  readonly #outputs = new Map<string, string>()
  readonly #known = { input: new Map<z.ZodType, Json>(), output: new Map<z.ZodType, Json>() }

  readonly #parameters: Record<string, Json> = {}
  readonly #responses: Record<string, Json> = {}
  readonly #headers = new Set<string>()

  /** Everything that was named, in the form of a document. */
  all(): Json {
    return {
      parameters: this.#parameters,
      headers: Object.fromEntries([...this.#headers].map((name) => [name, HEADERS[name]])),
      responses: this.#responses,
      schemas: this.schemas,
    }
  }

  /** A reference to a parameter, which is the same under one name. */
  parameter(name: string, parameter: Json): Json {
    this.#parameters[name] ??= parameter
    return { $ref: `#/components/parameters/${name}` }
  }

  /** A reference to a response, which is made once. */
  response(name: string, make: () => Json): Json {
    this.#responses[name] ??= make()
    return { $ref: `#/components/responses/${name}` }
  }

  headers(names: readonly string[]): Json {
    for (const name of names) this.#headers.add(name)
    return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
  }

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
      override: ({ zodSchema, jsonSchema }) => {
        const { examples } = z.globalRegistry.get(zodSchema) ?? {}
        // The generator leaves out the examples of inputs that are transformed: ours are as clients write them.
        if (Array.isArray(examples)) jsonSchema.examples = examples
        Object.assign(jsonSchema, discriminatorOf(zodSchema))
        this.#addShortForm(jsonSchema, io)
      },
    })
    const names = this.#names($defs, io)
    for (const [id, definition] of Object.entries($defs)) {
      const schemaOfId = relink(plain(withoutId(definition)), names)
      this.schemas[names.get(id) ?? id] = schemaOfId
      if (io === 'output') this.#outputs.set(id, JSON.stringify(schemaOfId))
    }
    return relink(plain(properties?.['it']), names)
  }

  /** A value whose short form is expanded before parsing may be written in either form. */
  #addShortForm(json: Json, io: Direction): void {
    const { shortForm, oneOf, $ref } = json
    delete json['shortForm']
    if (!(shortForm instanceof z.ZodType) || io === 'output') return
    for (const key of ['oneOf', '$ref', 'discriminator']) delete json[key]
    json['anyOf'] = [
      this.schema(shortForm, io),
      ...($ref === undefined ? asList(oneOf) : [{ $ref }]),
    ]
  }

  /** An input whose output reads differently gets a name of its own, and so does what refers to it. */
  #names($defs: Record<string, unknown>, io: Direction): Map<string, string> {
    if (io === 'output') return new Map()
    const names = new Map<string, string>()
    for (let before = -1; before < names.size;) {
      before = names.size
      for (const [id, definition] of Object.entries($defs)) {
        const output = this.#outputs.get(id)
        const input = JSON.stringify(relink(plain(withoutId(definition)), names))
        if (output !== undefined && output !== input) names.set(id, `${id}Input`)
      }
    }
    return names
  }
}

function withoutId(definition: unknown): Json {
  const { id: _id, ...rest } = asJson(definition)
  return rest
}

/** A deep copy whose references point into the components. */
function relink(value: Json, names: ReadonlyMap<string, string>): Json {
  const text = JSON.stringify(value)
  const linked = text.replaceAll(/"#\/\$defs\/([^"]+)"/g, (_match, name: string) =>
    JSON.stringify(`#/components/schemas/${names.get(name) ?? name}`),
  )
  return JSON.parse(linked)
}
