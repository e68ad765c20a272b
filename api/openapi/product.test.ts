import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'

import { decodeId, timeOfId } from '../../core/ids.ts'
import { ROUTES } from '../routes.ts'
import { openApiDocument, openApiRoute } from './document.ts'
import { asJson, asList, inlined, resolve, type Json } from './json.ts'
import { MOMENT } from './samples.ts'

/** Programs make clients of the document, people read it: it has to be whole, plain and true in itself. */
const document = openApiDocument([...ROUTES, openApiRoute(() => ({}))])
const components = asJson(document['components'])
const schemas = Object.fromEntries(
  Object.entries(asJson(components['schemas'])).map(([name, schema]) => [name, asJson(schema)]),
)
const operations = Object.entries(asJson(inlined(document)['paths'])).flatMap(([path, methods]) =>
  Object.entries(asJson(methods)).map(([method, value]): [string, Json] => [
    `${method} ${path}`,
    asJson(value),
  ]),
)

interface Place {
  where: string
  schema: Json
  /** It is a component of its own. */
  isNamed: boolean
}

/** Every schema of the document with the ones below it. */
function* below({ where, schema, isNamed }: Place): Generator<Place> {
  yield { where, schema, isNamed }
  for (const [name, inner] of Object.entries(asJson(schema['properties']))) {
    yield* below({ where: `${where}.${name}`, schema: asJson(inner), isNamed: false })
  }
  for (const key of ['items', 'additionalProperties', 'propertyNames']) {
    const inner = schema[key]
    if (typeof inner === 'object') {
      yield* below({ where: `${where}/${key}`, schema: asJson(inner), isNamed: false })
    }
  }
  for (const union of ['anyOf', 'oneOf', 'allOf']) {
    for (const [n, inner] of asList(schema[union]).entries()) {
      yield* below({ where: `${where}/${union}/${n}`, schema: asJson(inner), isNamed: false })
    }
  }
}

const named = Object.entries(schemas).flatMap(([where, schema]) => [
  ...below({ where, schema, isNamed: true }),
])
const ofOperations = operations.flatMap(([where, operation]) => {
  const bodies = [operation['requestBody'], ...Object.values(asJson(operation['responses']))]
  const media = bodies.flatMap((body) => Object.values(asJson(asJson(body)['content'])))
  return [...media, ...asList(operation['parameters'])].flatMap((one) => [
    ...below({ where, schema: asJson(asJson(one)['schema']), isNamed: false }),
  ])
})
const everywhere = [...named, ...ofOperations]

function wherever(isFault: (place: Place) => boolean): string[] {
  return everywhere.filter((place) => isFault(place)).map(({ where }) => where)
}

/** The alternatives of a union except null. */
function alternatives(schema: Json): Json[] {
  return asList(schema['anyOf'] ?? schema['oneOf'])
    .map(asJson)
    .filter(({ type }) => type !== 'null')
}

function isDescribed(schema: Json): boolean {
  const [only, ...others] = alternatives(schema)
  const own = schema['description'] ?? resolve(schema, schemas)['description']
  const text =
    others.length === 0 && only !== undefined ? (own ?? resolve(only, schemas)['description']) : own
  return typeof text === 'string' && /[.`:…]$|[a-z]$/.test(text)
}

test('every object and every union of several is a named component', () => {
  expect(wherever(({ schema, isNamed }) => !isNamed && schema['properties'] !== undefined)).toEqual(
    [],
  )
  expect(wherever(({ schema, isNamed }) => !isNamed && alternatives(schema).length > 1)).toEqual([])
  expect(Object.keys(schemas).filter((name) => !/^[A-Z][A-Za-z0-9]+$/.test(name))).toEqual([])
})

test('a union of objects has a discriminator that names each of them, but for the short form', () => {
  const unions = Object.entries(schemas).filter(([, schema]) => {
    const all = alternatives(schema)
    return all.length > 1 && all.every((one) => '$ref' in one)
  })
  const without = unions.filter(([, schema]) => schema['discriminator'] === undefined)
  expect(without.map(([name]) => name)).toEqual(['VerifierInput', 'MemberVerifierInput'])
  for (const [, schema] of without) {
    const required = alternatives(schema).map((one) => asList(resolve(one, schemas)['required']))
    expect(required[0]).toEqual(['preset'])
  }
  for (const [name, schema] of unions.filter((one) => !without.includes(one))) {
    expect('oneOf' in schema, name).toBe(true)
    const { propertyName, mapping } = asJson(schema['discriminator'])
    const refs = new Set(alternatives(schema).map((one) => one['$ref']))
    expect(new Set(Object.values(asJson(mapping))), name).toEqual(refs)
    for (const [value, $ref] of Object.entries(asJson(mapping))) {
      const { properties, required } = resolve({ $ref }, schemas)
      expect(required).toContain(propertyName)
      expect(asJson(asJson(properties)[String(propertyName)])['const'], name).toBe(value)
    }
  }
})

test('nothing stands in a schema that generators of clients stumble over', () => {
  expect(wherever(({ schema }) => Array.isArray(schema['type']))).toEqual([])
  expect(wherever(({ schema }) => typeof schema['items'] === 'boolean')).toEqual([])
  expect(wherever(({ schema }) => 'prefixItems' in schema || 'allOf' in schema)).toEqual([])
  expect(wherever(({ schema }) => 'anyOf' in schema && 'oneOf' in schema)).toEqual([])
  expect(wherever(({ schema }) => schema['type'] === 'array' && !('items' in schema))).toEqual([])
  expect(wherever(({ schema }) => schema['$ref'] !== undefined && 'type' in schema)).toEqual([])
  const refs = new Map(
    Object.entries(schemas).map(([name, schema]) => [name, JSON.stringify(schema)]),
  )
  // mypy refuses what openapi-python-client makes of a name that the schema and a member share.
  const shared = [...refs.keys()].filter((name) => {
    const variable = name.replaceAll(/(?<=[a-z])([A-Z])/g, '_$1').toLowerCase()
    return variable in asJson(schemas[name]?.['properties'])
  })
  expect(shared).toEqual([])
})

test('everything that has a name or a place is described', () => {
  expect(
    named
      .filter(({ isNamed, schema }) => isNamed && !isDescribed(schema))
      .map(({ where }) => where),
  ).toEqual([])
  const properties = everywhere.flatMap(({ where, schema }) =>
    Object.entries(asJson(schema['properties'])).map(([name, inner]) => ({
      where: `${where}.${name}`,
      schema: asJson(inner),
    })),
  )
  expect(properties.length).toBeGreaterThan(300)
  expect(properties.filter(({ schema }) => !isDescribed(schema)).map(({ where }) => where)).toEqual(
    [],
  )
  const others = [
    ...Object.values(asJson(components['headers'])),
    ...Object.values(asJson(components['securitySchemes'])),
    ...asList(document['servers']),
    ...operations.flatMap(([, operation]) => [
      ...asList(operation['parameters']),
      ...Object.values(asJson(operation['responses'])),
      ...(operation['requestBody'] === undefined ? [] : [operation['requestBody']]),
    ]),
  ].map(asJson)
  expect(others.filter((one) => !isDescribed(one))).toEqual([])
})

test('every operation is called by a verb and what it acts on, under one tag', () => {
  const verb =
    /^(?:list|get|create|update|upsert|delete|toggle|rotate|cancel|test|retry|replay|stream|plan|has|change|resume|revert|regenerate|revoke|bootstrap|report)[A-Z]\w+$/
  const ids = operations.map(([, { operationId }]) => String(operationId))
  expect(ids.filter((id) => !verb.test(id))).toEqual([])
  for (const [where, { tags }] of operations) expect(asList(tags), where).toHaveLength(1)
})

const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: false,
})
addFormats.default(ajv)
ajv.addVocabulary(['discriminator', 'example'])
ajv.addSchema(linked({ $id: 'document:', $defs: schemas }))

function linked(schema: Json): Json {
  const text = JSON.stringify(schema)
  return JSON.parse(text.replaceAll('"#/components/schemas/', '"document:#/$defs/'))
}

function faultsOf(schema: Json, value: unknown): unknown[] {
  const validate = ajv.compile(linked(schema))
  validate(value)
  return validate.errors ?? []
}

/** Every example with the schema that it is one of. */
const examples = operations.flatMap(([where, operation]) => {
  const bodies = [operation['requestBody'], ...Object.values(asJson(operation['responses']))]
  return bodies
    .flatMap((body) => Object.values(asJson(asJson(body)['content'])))
    .map(asJson)
    .flatMap((media) =>
      [
        ...('example' in media ? [media['example']] : []),
        ...Object.values(asJson(media['examples'])).map((one) => asJson(one)['value']),
      ].map((value) => ({ where, schema: asJson(media['schema']), value })),
    )
})

test('every schema is JSON Schema 2020-12 by a strict reading, and its own examples fit', () => {
  for (const [name, schema] of Object.entries(schemas)) {
    for (const example of asList(schema['examples'])) {
      expect(faultsOf({ $ref: `#/components/schemas/${name}` }, example), name).toEqual([])
    }
  }
})

test('every example fits its schema', () => {
  expect(examples.length).toBeGreaterThan(100)
  for (const { where, schema, value } of examples)
    expect(faultsOf(schema, value), where).toEqual([])
})

/** Each member of a named schema, with the schema that it is in. */
const members = Object.entries(schemas).flatMap(([component, schema]) =>
  Object.entries(asJson(schema['properties'])).map(([name, member]) => ({
    where: `${component}.${name}`,
    component,
    name,
    member: asJson(member),
  })),
)

test('every member of a schema has an example that fits it', () => {
  // A named schema is illustrated where it is described, and a constant is its own example.
  const own = members.filter(
    ({ member }) => !('const' in member) && !JSON.stringify(member).includes('"$ref"'),
  )
  expect(own.length).toBeGreaterThan(300)
  const offenders = own.filter(({ member }) => {
    const shown = asList(member['examples'])
    return shown.length === 0 || shown.some((value) => faultsOf(member, value).length > 0)
  })
  expect(offenders.map(({ where }) => where)).toEqual([])
})

test('every parameter has an example that fits it', () => {
  const offenders = operations.flatMap(([where, operation]) =>
    asList(operation['parameters'])
      .map(asJson)
      .filter((one) => !('example' in one) || isUnfit(asJson(one['schema']), one['example']))
      .map(({ name }) => `${where} ${String(name)}`),
  )
  expect(offenders).toEqual([])
})

test('every named example says of what it is one', () => {
  const offenders = operations.flatMap(([where, operation]) =>
    [operation['requestBody'], ...Object.values(asJson(operation['responses']))]
      .flatMap((body) => Object.values(asJson(asJson(body)['content'])))
      .flatMap((media) => Object.entries(asJson(asJson(media)['examples'])))
      .filter(([, one]) => !isDescribed({ description: asJson(one)['summary'] }))
      .map(([name]) => `${where} ${name}`),
  )
  expect(offenders).toEqual([])
})

test('no example is a placeholder', () => {
  const shown = [
    ...examples.map(({ where, value }) => ({ where, value })),
    ...members.map(({ where, member }) => ({ where, value: member['examples'] })),
    ...operations.flatMap(([where, operation]) =>
      asList(operation['parameters']).map((one) => ({ where, value: asJson(one)['example'] })),
    ),
  ]
  const offenders = shown.filter(({ value }) =>
    /"text"|"https:\/\/example\.com\/"/.test(JSON.stringify(value) ?? ''),
  )
  expect(offenders.map(({ where }) => where)).toEqual([])
})

/** Words that say nothing about a member by themselves. */
const EMPTY_WORDS = new Set(
  'a an and are at by for from id in is it its null of or that the this to which with'.split(' '),
)

test('a description says more than the name of its member', () => {
  const offenders = members.filter(({ component, name, member }) => {
    const { description } = 'description' in member ? member : resolve(member, schemas)
    const text = typeof description === 'string' ? description : ''
    const known = `${component}${name}`.toLowerCase()
    const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? []
    return words.every(
      (word) => EMPTY_WORDS.has(word) || known.includes(word) || known.includes(word.slice(0, -1)),
    )
  })
  expect(
    offenders.map(({ where, member }) => `${where}: ${String(member['description'])}`),
  ).toEqual([])
})

test('every operation is shown in curl, TypeScript, Python and Go', () => {
  for (const [where, operation] of operations) {
    const samples = asList(operation['x-codeSamples']).map(asJson)
    const labels = samples.map(({ label }) => label)
    expect(labels, where).toEqual(['curl', 'TypeScript', 'Python', 'Go'])
    const [curl = '', typescript = '', ...others] = samples.map(({ source }) => String(source))
    const address = where.replace(/^\w+ /, '').split('{')[0] ?? ''
    for (const text of [curl, ...others]) expect(text, where).toContain(address)
    expect(typescript, where).toContain(`postern.${String(operation['operationId'])}(`)
    expect(samples.map(({ source }) => source).join('\n')).not.toContain('undefined')
  }
})

function isUnfit(schema: Json, value: unknown): boolean {
  return faultsOf(schema, value).length > 0
}

test('the examples tell one story: each kind has one id, made when it says', () => {
  const ids = new Map<string, Set<string>>()
  for (const [id, prefix = ''] of JSON.stringify(examples.map(({ value }) => value)).matchAll(
    /\b([a-z]{3})_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g,
  )) {
    ids.set(prefix, (ids.get(prefix) ?? new Set()).add(id))
  }
  expect([...ids.keys()]).toEqual(
    expect.arrayContaining(['prj', 'src', 'dst', 'con', 'evt', 'dlv', 'att']),
  )
  expect([...ids].filter(([, one]) => one.size > 1)).toEqual([])
  expect(timeOfId(decodeId('src', [...(ids.get('src') ?? [])][0] ?? '') ?? '')).toBe(
    Date.parse(MOMENT),
  )
})

test('an example of an answer shows the resource that the example of its request creates', () => {
  const exampleOf = (operationId: string, part: 'requestBody' | '201' | '200'): Json => {
    const [, operation] = operations.find(([, one]) => one['operationId'] === operationId) ?? [
      '',
      {},
    ]
    const body = part === 'requestBody' ? operation[part] : asJson(operation['responses'])[part]
    const [media] = Object.values(asJson(asJson(body)['content']))
    return asJson(asJson(media)['example'])
  }
  for (const kind of ['Project', 'Source', 'Destination', 'Connection']) {
    const { verifier, ...given } = exampleOf(`create${kind}`, 'requestBody')
    const shown = exampleOf(`create${kind}`, '201')
    expect(shown).toMatchObject(given)
    const { preset } = asJson(verifier)
    expect(asJson(shown['verifier'])['preset']).toBe(preset)
    expect(exampleOf(`get${kind}`, '200')).toEqual(shown)
    expect(asList(exampleOf(`list${kind}s`, '200')['data'])).toEqual([shown])
  }
})

const IDS = {
  source: 'src_01jcqhrpsefh09tekf3cp3tkjz',
  destination: 'dst_01jcqhrpsefh09tekf3cp3tkjz',
  connector: 'cnr_01jcqhrpsefh09tekf3cp3tkjz',
}

test('requests in README and docs are valid against the document', () => {
  const root = join(import.meta.dirname, '..', '..')
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('site/'))
    .map((name) => join('docs', name))
  const calls = ['README.md', ...docs].flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    // As the README has them: `post sources '{…}'`, and `post connections "{\"sourceId\":\"$SOURCE\"}"`.
    return [...text.matchAll(/\bpost ([\w/-]+) (?:'(\{.*\})'|"(\{.*\})")/g)].map(
      ([, path = '', body, escaped = '']) => ({
        file,
        path,
        body: body ?? escaped.replaceAll('\\"', '"'),
      }),
    )
  })
  expect(calls.length).toBeGreaterThanOrEqual(3)
  for (const { file, path, body } of calls) {
    const [, operation] = operations.find(([where]) => where === `post /v1/${path}`) ?? ['', {}]
    const [media] = Object.values(asJson(asJson(operation['requestBody'])['content']))
    // The shell fills in the ids.
    const filled = body
      .replaceAll(
        /"(source|destination|connector)Id":"\$[^"]+"/g,
        (_, kind: keyof typeof IDS) => `"${kind}Id":"${IDS[kind]}"`,
      )
      .replace('$INBOX', 'https://in.example.com/inbox')
      .replace('$FROM', '2026-01-01T00:00:00.000Z')
    expect(
      faultsOf(asJson(asJson(media)['schema']), JSON.parse(filled)),
      `${file}: ${path}`,
    ).toEqual([])
  }
})

test('the document takes the short form of every preset, and of the members of all_of', () => {
  const verifier = { $ref: '#/components/schemas/VerifierInput' }
  const short = { preset: 'github', secret: 'x' }
  expect(faultsOf(verifier, short)).toEqual([])
  expect(
    faultsOf(verifier, {
      type: 'all_of',
      verifiers: [short, { type: 'ip_allow_list', cidrs: ['10.0.0.0/8'] }],
    }),
  ).toEqual([])
  expect(faultsOf(verifier, { type: 'none' })).toEqual([])
  expect(faultsOf(verifier, { type: 'unheard_of' })).not.toEqual([])
  expect(faultsOf(verifier, { secret: 'x' })).not.toEqual([])
})
