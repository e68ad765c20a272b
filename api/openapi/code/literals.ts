/** How a language writes the values of JSON. */
interface Language {
  indent: string
  text: (value: string) => string
  key: (name: string) => string
  words: { true: string; false: string; null: string }
}

const NAME = /^[A-Za-z_$][\w$]*$/

/** JSON strings are strings of Python too, and of Go as long as they escape no pair of surrogates. */
const PYTHON: Language = {
  indent: '    ',
  text: (value) => JSON.stringify(value),
  key: (name) => JSON.stringify(name),
  words: { true: 'True', false: 'False', null: 'None' },
}

const TYPESCRIPT: Language = {
  indent: '  ',
  text: single,
  key: (name) => (NAME.test(name) ? name : single(name)),
  words: { true: 'true', false: 'false', null: 'null' },
}

const LINE_MAX = 72

/** `value` as a literal, its lines after the first indented for a place that is `depth` levels deep. */
export function pythonLiteral(value: unknown, depth = 0): string {
  return literal(value, PYTHON, depth)
}

export function typescriptLiteral(value: unknown, depth = 0): string {
  return literal(value, TYPESCRIPT, depth)
}

function literal(value: unknown, language: Language, depth: number): string {
  if (value === null || value === undefined) return language.words.null
  if (typeof value === 'string') return language.text(value)
  if (typeof value === 'boolean') return value ? language.words.true : language.words.false
  if (typeof value !== 'object') return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = (isList ? value.map((item) => ['', item] as const) : Object.entries(value)).map(
    ([name, item]) =>
      `${isList ? '' : `${language.key(name)}: `}${literal(item, language, depth + 1)}`,
  )
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (parts.length === 0) return open + close
  const space = isList || language === PYTHON ? '' : ' '
  const line = `${open}${space}${parts.join(', ')}${space}${close}`
  if (!line.includes('\n') && line.length <= LINE_MAX) return line
  const inner = language.indent.repeat(depth + 1)
  const lines = parts.map((part) => `${inner}${part},\n`).join('')
  return `${open}\n${lines}${language.indent.repeat(depth)}${close}`
}

function single(value: string): string {
  const escaped = JSON.stringify(value)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
  return `'${escaped.replaceAll("'", String.raw`\'`)}'`
}
