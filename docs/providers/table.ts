import { listPresets } from '../../core/verify/presets/presets.ts'

const BEGIN = '<!-- presets -->\n\n'
const END = '\n<!-- /presets -->'

const code = (text: string): string => `\`${text}\``
const listOf = (texts: readonly string[]): string =>
  texts.length === 0 ? '' : texts.map(code).join(', ')

/** The presets of the code as a table, for docs/providers.md. */
function table(): string {
  const rows = listPresets().map(({ preset, type, needs, handshake, ...source }) => [
    code(preset),
    type.replaceAll('_', ' '),
    listOf(needs),
    handshake === null ? '' : 'answered',
    source.eventTypeField === null ? '' : code(source.eventTypeField),
    listOf(source.idempotencyKeys),
    source.bodyAuthenticated ? '' : 'no',
  ])
  const head = [
    'preset',
    'verifier',
    'needs',
    'handshake',
    'event type',
    'names an event',
    'covers the body',
  ]
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The page with its table made anew. Throws when it has no place for it. */
export function withTable(page: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin < 0 || end < begin) throw new Error('docs/providers.md has no place for the presets')
  return `${page.slice(0, begin + BEGIN.length)}${table()}\n${page.slice(end)}`
}
