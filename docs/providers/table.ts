import { listPresets } from '../../core/verify/presets/presets.ts'

/** A page of docs/providers/. */
export interface ProviderPage {
  name: string
  text: string
}

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
    'address check',
    'event type',
    'event id',
    'covers the body',
  ]
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The pages of providers as a table: each with the presets that it sets up. */
function pagesTable(pages: readonly ProviderPage[]): string {
  const rows = pages.flatMap(({ name, text }) => {
    const presets = [...text.matchAll(/<!-- facts (\w+)/g)].map(([, preset = '']) => preset)
    const [, title = name] = /^# (.+)$/m.exec(text) ?? []
    return presets.length === 0 ? [] : [[`[${title}](providers/${name}.md)`, listOf(presets)]]
  })
  return [['provider', 'presets'], ['---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** docs/providers.md with its tables made anew. Throws when it has no place for one. */
export function withTables(page: string, pages: readonly ProviderPage[]): string {
  return withPart(withPart(page, 'pages', pagesTable(pages)), 'presets', table())
}

function withPart(page: string, name: string, made: string): string {
  const begin = `<!-- ${name} -->\n\n`
  const from = page.indexOf(begin)
  const to = page.indexOf(`<!-- /${name} -->`)
  if (from < 0 || to < from) throw new Error(`docs/providers.md has no place for the ${name}`)
  return `${page.slice(0, from + begin.length)}${made}\n\n${page.slice(to)}`
}
