import type { Described } from '../capabilities/registry.ts'
import { asJson } from '../openapi/json.ts'

/** A capability as clients of the protocol read of it. */
export type Tool = Omit<Described, 'outputSchema'>

/** A tool is named with an underscore: clients drop names with dots, or refuse the whole server. */
export const toolName = (name: string): string => name.replace('.', '_')

/**
 * Clients read all tools at each start and hand them to their model, so that they are short: an id has the beginning of its
 * pattern alone, and answers, which say what they are by their members, no schema. `GET /capabilities` has every schema whole.
 */
export function toolOf({ name, title, description, inputSchema, annotations }: Described): Tool {
  const brief = asJson(briefly(inputSchema))
  return {
    name: toolName(name),
    title,
    description,
    inputSchema: { ...brief, type: 'object' },
    annotations,
  }
}

function briefly(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(briefly)
  if (typeof part !== 'object' || part === null) return part
  return Object.fromEntries(
    Object.entries(part).map(([member, value]) => [
      member,
      member === 'pattern' && typeof value === 'string' ? startOf(value) : briefly(value),
    ]),
  )
}

/** `^evt_` of the pattern of an id; every other pattern as it is. */
function startOf(pattern: string): string {
  return /^\^[a-z]{3}_(?=\[)/.exec(pattern)?.[0] ?? pattern
}
