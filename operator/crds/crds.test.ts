import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { ConnectorSpec } from '../kinds/connector.ts'
import { definitionOf, KINDS } from './definition.ts'
import { toYaml } from './yaml.ts'

interface Schema {
  type?: string
  description?: string
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema
  maxItems?: number
  maxLength?: number
  enum?: string[]
  default?: unknown
  pattern?: string
  format?: string
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-int-or-string'?: boolean
}

const FILES = KINDS.map((kind) => [kind.plural, kind] as const)

const fileOf = (plural: string): string =>
  readFileSync(new URL(`../../crds/${plural}.yaml`, import.meta.url), 'utf8')

/** Each schema below one, with its path. */
function* below(schema: Schema, path: string): Generator<[string, Schema]> {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    yield [`${path}.${name}`, member]
    yield* below(member, `${path}.${name}`)
  }
  if (schema.items) yield* items(schema.items, `${path}[]`)
  if (schema.additionalProperties) yield* items(schema.additionalProperties, `${path}{}`)
}

function* items(schema: Schema, path: string): Generator<[string, Schema]> {
  yield [path, schema]
  yield* below(schema, path)
}

function schemasOf(plural: string): [string, Schema][] {
  const kind = KINDS.find((one) => one.plural === plural)
  // oxlint-disable-next-line typescript/no-explicit-any -- a definition, as its file has it
  const { spec }: any = kind && JSON.parse(JSON.stringify(definitionOf(kind)))
  const { spec: ours, status } = spec.versions[0].schema.openAPIV3Schema.properties
  return [...below(ours, 'spec'), ...below(status, 'status')]
}

test.for(FILES)('crds/%s.yaml is what `npm run crds` writes from the schemas', ([plural, kind]) => {
  expect(fileOf(plural)).toBe(toYaml(definitionOf(kind)).trimStart())
})

test.for(FILES)('every member of crds/%s.yaml is described', ([plural]) => {
  const bare = schemasOf(plural)
    .filter(([path, { description }]) => description === undefined && !/\[\]$|\{\}$/.test(path))
    .map(([path]) => path)
  expect(bare).toEqual([])
})

test.for(FILES)('every list, text and map of crds/%s.yaml has a limit', ([plural]) => {
  const endless = schemasOf(plural)
    .filter(([, schema]) => {
      if (schema.type === 'array') return schema.maxItems === undefined
      const isFree = schema.enum === undefined && schema.format === undefined
      if (schema.type !== 'string' || !isFree) return false
      return schema.maxLength === undefined && schema.pattern === undefined
    })
    .map(([path]) => path)
  expect(endless).toEqual([])
})

test.for(FILES)('crds/%s.yaml is small enough for a plain `kubectl apply`', ([, kind]) => {
  expect(JSON.stringify(definitionOf(kind)).length).toBeLessThan(100_000)
})

test('the operator reads an object with the defaults that the API server gives it', () => {
  const { replicas, disabled, suspend, deletionPolicy, allow } = ConnectorSpec.parse({
    relayRef: { name: 'main' },
  })
  const given = { replicas, disabled, suspend, deletionPolicy, allow }
  const inFile = Object.fromEntries(
    schemasOf('connectors')
      .map(([path, schema]): [string, unknown] => [path.replace('spec.', ''), schema.default])
      .filter(([name]) => name in given),
  )
  expect(inFile).toEqual(given)
})

test.for<[unknown, string]>([
  [{ a: [{ b: 1, c: [] }, 'x'], 'd/e': {} }, 'a:\n  - b: 1\n    c: []\n  - x\nd/e: {}\n'],
  [{ a: 'yes', b: 'it: is', c: '', d: true }, 'a: "yes"\nb: "it: is"\nc: ""\nd: true\n'],
  [[['a'], [[]]], '- - a\n- - []\n'],
])('toYaml(%j)', ([value, text]) => {
  expect(toYaml(value).trimStart()).toBe(text)
})
