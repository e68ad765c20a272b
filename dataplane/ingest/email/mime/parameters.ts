import { decodeText } from '../../../../core/request/text.ts'
import { decodeAs, decodeUndeclared, isUndeclared, labelOf } from '../charsets/charset.ts'
import { decodeEscapes, decodeWords, type Report } from './words.ts'

/** `type/subtype; name=value`: the value in lower case, the parameters by name as they are written, without their quotes. */
export interface Structured {
  value: string
  parameters: Map<string, string>
}

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"?|([^;"]*))[^;]*/gs

/** Reads a header such as `Content-Type`; of a parameter that stands twice, the first. (RFC 2045 5.1) */
export function readStructured(binary: string): Structured {
  const text = withoutComments(binary)
  const end = text.indexOf(';')
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, token = ''] of text.matchAll(PARAMETER)) {
    const key = name.toLowerCase()
    if (parameters.has(key)) continue
    parameters.set(key, quoted === undefined ? token.trim() : quoted.replaceAll(/\\(.)/gs, '$1'))
  }
  const value = (end === -1 ? text : text.slice(0, end)).replaceAll('"', '')
  return { value: value.trim().toLowerCase(), parameters }
}

/** Without comments. A file name such as `report(1).pdf` has none, and a parenthesis that is never closed is none. */
function withoutComments(text: string): string {
  if (!text.includes('(')) return text
  const end = text.indexOf(';')
  let kept = ''
  let at = 0
  while (at < text.length) {
    const char = text[at] ?? ''
    const isInValue = end !== -1 && at > end
    const opens = char === '(' && (!isInValue || /[\s;)]/.test(text[at - 1] ?? ''))
    const next = char === '"' ? quoteEnd(text, at) : opens ? commentEnd(text, at) : at + 1
    if (next === undefined) return kept + text.slice(at)
    if (!opens) kept += text.slice(at, next)
    at = next
  }
  return kept
}

function quoteEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at + 1
  }
  return text.length
}

function commentEnd(text: string, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '(') depth++
    else if (text[at] === ')' && --depth === 0) return at + 1
  }
  return undefined
}

/** A piece of a parameter's value; those behind `name*0*` and the like are escaped. */
interface Piece {
  order: number
  isEscaped: boolean
  value: string
}

/** The parameters as texts: pieces joined, charsets decoded (RFC 2231), encoded words too, which many programs write there. */
export function decodeParameters({ parameters }: Structured, report?: Report): Map<string, string> {
  const texts = new Map<string, string>()
  const pieces = new Map<string, Piece[]>()
  for (const [key, value] of parameters) {
    const [, name = '', order, star] = /^([^*]+)(?:\*(\d{1,4}))?(\*)?$/.exec(key) ?? []
    if (name === '') continue
    if (order === undefined && star === undefined)
      texts.set(name, decodeWords(decodeText(value), report))
    else {
      const all = pieces.get(name) ?? []
      all.push({ order: Number(order ?? 0), isEscaped: star !== undefined, value })
      pieces.set(name, all)
    }
  }
  for (const [name, all] of pieces) texts.set(name, joinPieces(all, report))
  return texts
}

function joinPieces(pieces: Piece[], report: Report = () => {}): string {
  pieces.sort((one, other) => one.order - other.order)
  const [first] = pieces
  const [, charset = '', rest] =
    (first?.isEscaped === true ? /^([^']*)'[^']*'(.*)$/s.exec(first.value) : null) ?? []
  let text = ''
  let escaped: Buffer[] = []
  const close = (): void => {
    text += decodeBytes(Buffer.concat(escaped), labelOf(charset), report)
    escaped = []
  }
  for (const piece of pieces) {
    const value = piece === first && rest !== undefined ? rest : piece.value
    if (piece.isEscaped) escaped.push(decodeEscapes(Buffer.from(value, 'latin1'), 0x25))
    else {
      close()
      text += decodeText(value)
    }
  }
  close()
  return text
}

/** In a charset that is not known, the bytes are read as if none were named. */
function decodeBytes(bytes: Buffer, label: string, report: Report): string {
  const decoded = isUndeclared(label) ? undefined : decodeAs(bytes, label)
  if (decoded === undefined && !isUndeclared(label)) report({ cause: 'unknown_charset', label })
  if (decoded?.isWhole === false) report({ cause: 'invalid_bytes', label })
  return decoded?.text ?? decodeUndeclared(bytes)
}
