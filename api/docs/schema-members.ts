import { asJson, asList, resolve, type Json } from '../openapi/json.ts'
import { html, prose, type Html } from './html.ts'

/** A body deeper than this is left to its example. */
const DEPTH_MAX = 4

type Components = Readonly<Record<string, Json>>

/** The members of an object, those of its inner objects by their paths. */
export function members(schema: Json, components: Components, path = ''): Html[] {
  const depth = path.split('.').length
  const { properties, required } = resolve(schema, components)
  const isRequired = new Set(asList(required))
  return Object.entries(asJson(properties)).flatMap(([name, value]) => {
    const inner = asJson(value)
    const place = path === '' ? name : `${path}.${name}`
    const row = member(place, inner, { components, isRequired: isRequired.has(name) })
    const below = depth < DEPTH_MAX ? members(soleObject(inner, components), components, place) : []
    return [row, ...below]
  })
}

/** A row: a member of a body, or a parameter. */
export function member(
  name: string,
  schema: Json,
  { components, isRequired, text }: { components: Components; isRequired: boolean; text?: string },
): Html {
  const { description, ...resolved } = resolve(schema, components)
  // A description beside a reference is about this member; the referenced one is about all of them.
  const told = schema['description'] ?? description
  const said = text ?? (typeof told === 'string' ? told : undefined)
  return html`<div class="member">
    <dt>
      <code>${name}</code>
      <span class="type">${typeOf(resolved, components)}${isRequired ? ', required' : ''}</span>
    </dt>
    <dd>${said === undefined ? undefined : prose(said)}${limitsOf(resolved)}</dd>
  </div>`
}

/** `string | null`, `array of integer`, `"a" | "b"`. A schema may hold itself, so that words end somewhere. */
function typeOf(schema: Json, components: Components, depth = 0): string {
  if (depth > DEPTH_MAX) return 'anything'
  const { type, items, ...rest } = resolve(schema, components)
  const choices = 'const' in rest ? [rest['const']] : asList(rest['enum'])
  if (choices.length > 0) return choices.map((one) => JSON.stringify(one)).join(' | ')
  const alternatives = asList(rest['anyOf'] ?? rest['oneOf'])
  if (alternatives.length > 0) {
    const types = alternatives.map((one) => typeOf(asJson(one), components, depth + 1))
    return [...new Set(types)].join(' | ')
  }
  if (type === 'array') return `array of ${typeOf(asJson(items), components, depth + 1)}`
  if (Array.isArray(type)) return type.join(' | ')
  if (rest['format'] === 'date-time') return 'timestamp'
  return typeof type === 'string' ? type : 'anything'
}

const LIMITS: readonly [string, string][] = [
  ['minimum', 'At least'],
  ['maximum', 'At most'],
  ['minLength', 'Shortest'],
  ['maxLength', 'Longest'],
  ['minItems', 'Fewest'],
  ['maxItems', 'Most'],
  ['default', 'Default'],
]

function limitsOf(schema: Json): string | undefined {
  const known = LIMITS.filter(([name]) => {
    const value = schema[name]
    return value !== undefined && Math.abs(Number(value)) !== Number.MAX_SAFE_INTEGER
  })
  const texts = known.map(([name, word]) => `${word} ${JSON.stringify(schema[name])}`)
  return texts.length === 0 ? undefined : `${texts.join('. ')}.`
}

/** The object that a member holds, alone, beside null, or in an array. */
function soleObject(schema: Json, components: Components): Json {
  const resolved = resolve(schema, components)
  if (resolved['type'] === 'array') return resolve(asJson(resolved['items']), components)
  const objects = asList(resolved['anyOf'] ?? resolved['oneOf'])
    .map((one) => resolve(asJson(one), components))
    .filter(({ type }) => type !== 'null')
  const [only] = objects
  return objects.length === 1 && only !== undefined ? only : resolved
}
