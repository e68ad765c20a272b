import { z } from 'zod'

import { CONNECTION } from '../kinds/connection.ts'
import { CONNECTOR } from '../kinds/connector.ts'
import { DESTINATION } from '../kinds/destination.ts'
import { CATEGORY, type OwnKind } from '../kinds/parts.ts'
import { RELAY } from '../kinds/relay.ts'
import { SOURCE } from '../kinds/source.ts'

export const KINDS: readonly OwnKind[] = [RELAY, CONNECTOR, SOURCE, DESTINATION, CONNECTION]

type Schema = Record<string, unknown>

/** The definition by which the API server checks objects of a kind. */
export function definitionOf(kind: OwnKind): Schema {
  const { group, plural, shortNames, columns, selectable, scale } = kind
  const names = {
    kind: kind.kind,
    listKind: `${kind.kind}List`,
    plural,
    singular: kind.kind.toLowerCase(),
    shortNames,
    categories: [CATEGORY],
  }
  const scaled = scale && {
    specReplicasPath: scale.spec,
    statusReplicasPath: scale.status,
    labelSelectorPath: scale.selector,
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names,
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          subresources: { status: {}, ...(scaled && { scale: scaled }) },
          additionalPrinterColumns: columns,
          selectableFields: selectable.map((jsonPath) => ({ jsonPath })),
          schema: { openAPIV3Schema: schemaOf(kind) },
        },
      ],
    },
  }
}

function schemaOf(kind: OwnKind): Schema {
  return {
    description: kind.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'The group and version of the object.' },
      kind: { type: 'string', description: 'The kind of the object.' },
      metadata: { type: 'object' },
      spec: structural(z.toJSONSchema(kind.spec, { io: 'input' })),
      status: structural(z.toJSONSchema(kind.status, { io: 'input' })),
    },
  }
}

const SKIPPED = new Set(['$schema', 'propertyNames'])

/** The part of JSON Schema that Kubernetes knows. */
function structural(schema: object): Schema {
  const entries = Object.entries(schema)
    .filter(([name, value]) => !SKIPPED.has(name) && !isBoundOfNumbers(name, value))
    .map(([name, value]): [string, unknown] => [
      name,
      name === 'properties' ? each(value) : inner(value, name),
    ])
  const found: Schema = Object.fromEntries(entries)
  if (found['x-kubernetes-int-or-string'] === true)
    return { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true }
  // An object that names some of its members keeps the others too.
  if (found['type'] === 'object' && isEmpty(found['additionalProperties'])) {
    found['x-kubernetes-preserve-unknown-fields'] = true
  }
  // Members of an open object are not described, so that all of them are kept.
  if (found['x-kubernetes-preserve-unknown-fields'] === true) delete found['additionalProperties']
  return found
}

function isEmpty(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0
}

function inner(value: unknown, name: string): unknown {
  const isSchema = name === 'items' || name === 'additionalProperties'
  return isSchema && typeof value === 'object' && value !== null ? structural(value) : value
}

function each(properties: unknown): unknown {
  return Object.fromEntries(
    Object.entries(Object(properties)).map(([name, value]) => [name, structural(Object(value))]),
  )
}

/** An integer of any size has these. */
function isBoundOfNumbers(name: string, value: unknown): boolean {
  return (
    (name === 'minimum' || name === 'maximum') &&
    Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
  )
}
