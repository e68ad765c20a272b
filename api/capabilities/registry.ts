import { z } from 'zod'

import { asJson, type Json } from '../openapi/json.ts'
import { ACCOUNT_CAPABILITIES } from './account-capabilities.ts'
import type { Capability } from './capability.ts'
import { CONFIGURATION_CAPABILITIES } from './configuration-capabilities.ts'
import { DELIVERY_CAPABILITIES } from './delivery-capabilities.ts'
import { EVENT_CAPABILITIES } from './event-capabilities.ts'
import { STATS_CAPABILITIES } from './stats-capabilities.ts'

/** Everything that an agent can do. */
export const CAPABILITIES: readonly Capability[] = [
  ...ACCOUNT_CAPABILITIES,
  ...EVENT_CAPABILITIES,
  ...DELIVERY_CAPABILITIES,
  ...CONFIGURATION_CAPABILITIES,
  ...STATS_CAPABILITIES,
]

/** A capability as its callers read of it. */
export interface Described {
  name: string
  title: string
  description: string
  inputSchema: { type: 'object'; [member: string]: unknown }
  outputSchema: { type: 'object'; [member: string]: unknown }
  annotations: Capability['annotations']
}

export function describe(capability: Capability): Described {
  const { name, title, description, annotations, input, output } = capability
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, 'input'),
    outputSchema: schemaOf(output, 'output'),
    annotations,
  }
}

/** A JSON Schema without references, which not every client follows. */
function schemaOf(schema: z.ZodObject, io: 'input' | 'output'): Described['inputSchema'] {
  const { $defs, $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return { ...asJson(inline(json, asJson($defs))), type: 'object' }
}

function inline(part: unknown, defs: Json): unknown {
  if (Array.isArray(part)) return part.map((one) => inline(one, defs))
  if (typeof part !== 'object' || part === null) return part
  const { $ref, ...own } = asJson(part)
  const [, name] = /^#\/\$defs\/(.+)$/.exec(String($ref)) ?? []
  const whole = name === undefined ? own : { ...asJson(defs[name]), ...own }
  return Object.fromEntries(
    Object.entries(whole)
      .filter(([member, value]) => typeof value !== 'string' || !isLeftOut(member, whole))
      .map(([member, value]) => [member, inline(value, defs)]),
  )
}

/** The names of schemas, and the spelt-out patterns of formats. */
function isLeftOut(member: string, { format }: Json): boolean {
  return member === 'id' || (member === 'pattern' && typeof format === 'string')
}
