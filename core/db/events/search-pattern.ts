/** How a body writes text: as JSON, or as a form, whose fields may hold JSON again. */
export type Writing = 'json' | 'form'

/** The letters behind a backslash that JSON has for characters, besides `u`. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['/', '/'],
  ['\\', '\\'],
  ['\b', 'b'],
  ['\f', 'f'],
  ['\n', 'n'],
  ['\r', 'r'],
  ['\t', 't'],
])

/** Where the backslash of an escape stands: not behind another that escapes it. */
const UNESCAPED = String.raw`(?<!\\)(?:\\\\)*`

/**
 * A regular expression of PostgreSQL for all that a body may hold where people read `term`. It ignores case, which is
 * how the hexadecimal digits of both cases are met.
 */
export function patternOf(term: string, writing: Writing): string {
  const [first = '', ...rest] = Array.from(term)
  return writing === 'json'
    ? oneOf([...plain(first), `${UNESCAPED}${oneOf(escapes(first))}`]) +
        rest.map((letter) => oneOf([...plain(letter), ...escapes(letter)])).join('')
    : Array.from(term)
        .map((letter) => oneOf(inForm(letter)))
        .join('')
}

/** Marks of which every body has one that writes a character of the term in another way. */
export function marksOf(term: string, writing: Writing): readonly string[] {
  if (writing === 'form') return term.includes(' ') ? ['%', '+'] : ['%']
  return Array.from(term).some((letter) => SHORT.has(letter)) ? ['\\'] : [String.raw`\u`]
}

/** A pattern of `like` for exactly this text. */
export function likePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}

/** A backslash that stands for itself is written as two. */
function plain(letter: string): string[] {
  return letter === '\\' ? [] : [literal(letter)]
}

function escapes(letter: string): string[] {
  return jsonEscapes(letter).map(literal)
}

function jsonEscapes(letter: string): string[] {
  const short = SHORT.get(letter)
  return [
    ...(short === undefined ? [] : [`\\${short}`]),
    ...bothCases(letter).map((one) => unicodeEscape(one)),
  ]
}

function inForm(letter: string): string[] {
  const written = [
    // These two always stand for something else.
    ...('%+'.includes(letter) ? [] : [letter]),
    ...(letter === ' ' ? ['+'] : []),
    ...bothCases(letter).map(percentEscape),
    ...jsonEscapes(letter).flatMap((escape) => [
      encodeURIComponent(escape),
      escape.replaceAll('\\', '%5C'),
    ]),
  ]
  return written.map(literal)
}

function bothCases(letter: string): string[] {
  const cases = [letter.toLowerCase(), letter.toUpperCase()]
  return [...new Set([letter, ...cases.filter((one) => Array.from(one).length === 1)])]
}

/** The escape of each UTF-16 unit of a letter. */
function unicodeEscape(letter: string): string {
  return Array.from(
    { length: letter.length },
    (_, n) => `\\u${letter.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('')
}

function percentEscape(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

function literal(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, String.raw`\$&`)
}

function oneOf(alternatives: readonly string[]): string {
  return `(?:${alternatives.join('|')})`
}
