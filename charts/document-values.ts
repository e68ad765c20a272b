import { readFileSync } from 'node:fs'

import { parse } from 'yaml'
import { z } from 'zod'

/** The part of a JSON schema that the documentation of values reads. */
interface Schema {
  description?: string | undefined
  properties?: Record<string, Schema> | undefined
  $ref?: string | undefined
  $defs?: Record<string, Schema> | undefined
  enum?: readonly unknown[] | undefined
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    description: z.string().optional(),
    properties: z.record(z.string(), Schema).optional(),
    $ref: z.string().optional(),
    $defs: z.record(z.string(), Schema).optional(),
    enum: z.array(z.unknown()).optional(),
  }),
)

const BEGIN = '<!-- values: npm run charts:values writes what follows -->'

/** Their members say nothing apart from each other. */
const WHOLE = new Set<string | undefined>([
  '#/$defs/resources',
  '#/$defs/secretKey',
  '#/$defs/dnsConfig',
])

interface Row {
  path: string
  value: unknown
  meaning: string
}

/** The README of a chart with the table of its values made anew. Throws when the text has no place for it. */
export function withValues(chartDir: string): string {
  const text = readFileSync(`${chartDir}/README.md`, 'utf8')
  const at = text.indexOf(BEGIN)
  if (at === -1) throw new Error(`${chartDir}/README.md: has no line ${BEGIN}`)
  const rows = valuesOf(chartDir).map(
    ({ path, value, meaning }) =>
      `| \`${path}\` | \`${JSON.stringify(value ?? null)}\` | ${meaning} |`,
  )
  return `${text.slice(0, at)}${BEGIN}\n\n| value | default | meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`
}

/** Every value that the schema of a chart knows, in its order. */
export function valuesOf(chartDir: string): Row[] {
  const root = Schema.parse(JSON.parse(readFileSync(`${chartDir}/values.schema.json`, 'utf8')))
  const values: unknown = parse(readFileSync(`${chartDir}/values.yaml`, 'utf8'))
  return rowsOf(root, values, '', root.$defs ?? {})
}

function rowsOf(schema: Schema, value: unknown, path: string, defs: Record<string, Schema>): Row[] {
  const named = schema.$ref === undefined ? schema : defs[schema.$ref.replace('#/$defs/', '')]
  const members = Object.entries(named?.properties ?? {})
  if (members.length === 0 || WHOLE.has(schema.$ref) || path === 'global.image') {
    return [{ path, value, meaning: meaningOf(schema) }]
  }
  const given = z.record(z.string(), z.unknown()).safeParse(value).data ?? {}
  return members.flatMap(([name, inner]) =>
    rowsOf(inner, given[name], path === '' ? name : `${path}.${name}`, defs),
  )
}

function meaningOf({ description = '', enum: options }: Schema): string {
  const kinds =
    options === undefined
      ? ''
      : ` ${options
          .filter((one) => one !== '')
          .map((one) => `\`${String(one)}\``)
          .join(', ')}.`
  return `${description}${kinds}`.replaceAll('|', '\\|')
}
