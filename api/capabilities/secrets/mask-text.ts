import { MASKED_VALUE } from '../../../core/delivery/delivery-headers.ts'
import { isSecretName } from './secret-names.ts'

/** The name of a field of a form, a parameter or an attribute, with its `=`. */
const PAIR = /(?<![^&?;#\s,"'(])([^&=?;#\s,"'()<>]{1,400})[ \t]{0,4}=[ \t]{0,4}/g
const VALUE = /"[^"]*"?|'[^']*'?|[^&\s"'<>]*/y
const WORD = /[^&\s"'<>;#]*/y

/** Masks `name=value` of forms, queries, attributes and assignments; names are percent-decoded, and so are nested texts. */
export function maskPairs(text: string, redact: (text: string) => string): string {
  let out = ''
  let from = 0
  PAIR.lastIndex = 0
  for (let found = PAIR.exec(text); found !== null; found = PAIR.exec(text)) {
    const at = found.index + found[0].length
    const isSecret = isSecretName(decoded(found[1] ?? ''))
    const value = matchAt(isSecret ? VALUE : WORD, text, at)
    const masked = isSecret ? inQuotes(value) : nested(value, redact)
    if (value === '' || masked === value) {
      PAIR.lastIndex = at
      continue
    }
    out += text.slice(from, at) + masked
    from = at + value.length
    PAIR.lastIndex = from
  }
  return out + text.slice(from)
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

function inQuotes(value: string): string {
  const [quote = ''] = /^["']/.exec(value) ?? []
  return value === '' ? '' : `${quote}${MASKED_VALUE}${quote}`
}

/** JSON or a form within a field. */
function nested(value: string, redact: (text: string) => string): string {
  if (!/%[0-9a-f]{2}/i.test(value)) return value
  const inner = decoded(value)
  const masked = redact(inner)
  return masked === inner ? value : encodeURIComponent(masked)
}

function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    // Each escape by itself, so that one that is none hides no other.
    return spaced.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  }
}

/** A member of what looks like JSON, within a text that is none: before the value, and the value. */
const MEMBER =
  /((["'])([^"'\\]{1,200})\2\s{0,8}:\s{0,8})(?!null\b|true\b|false\b)(?:"(?:[^"\\]|\\[^])*"?|'[^']*'?|[^\s,}\]"'{[]+)/g

export function maskMembers(text: string): string {
  return text.replaceAll(MEMBER, (whole, start: string, _quote: string, name: string) =>
    isSecretName(name) ? `${start}"${MASKED_VALUE}"` : whole,
  )
}

const TAG = /<([A-Za-z_][\w:.-]{0,200})(?:\s[^<>]{0,4000})?>/g
/** `<add key="password" value="…"/>`: before the value, and the value. */
const NAMED_VALUE =
  /(\s(?:name|key|id)\s?=\s?(["'])([^"'<>]{1,200})\2[^<>]{0,400}?\s(?:value|content)\s?=\s?)(?:"[^"<>]*"|'[^'<>]*')/g

/** Masks the content of elements with secret names, to their end tag or that of the text. */
export function maskTags(text: string): string {
  let out = ''
  let from = 0
  TAG.lastIndex = 0
  for (let found = TAG.exec(text); found !== null; found = TAG.exec(text)) {
    const [tag, name = ''] = found
    if (tag.endsWith('/>') || !isSecretName(name.split(':').at(-1) ?? '')) continue
    const at = found.index + tag.length
    const end = text.indexOf(`</${name}`, at)
    const to = end === -1 ? text.length : end
    out += text.slice(from, at) + (text.slice(at, to).trim() === '' ? '' : MASKED_VALUE)
    from = to
    TAG.lastIndex = to
  }
  return (out + text.slice(from)).replaceAll(
    NAMED_VALUE,
    (whole, start: string, _quote: string, name: string) =>
      isSecretName(name) ? `${start}"${MASKED_VALUE}"` : whole,
  )
}

const LINE = /^([ \t]*)(?:- )?([\w.-]{1,200})[ \t]*:(?:[ \t]+|(?=\r?$))/
/** A field of a multipart form. */
const PART =
  /(\bname="([^"\r\n]{1,200})"[^\r\n]*\r?\n(?:[^\r\n]+\r?\n){0,8}\r?\n)([^]*?)(?=\r?\n--|$)/g

/** Masks `name: value` of lines, as headers and YAML have it, with the lines below that belong to the value. */
export function maskLines(text: string): string {
  const parts = text.replaceAll(PART, (whole, head: string, name: string) =>
    isSecretName(name) ? `${head}${MASKED_VALUE}` : whole,
  )
  const out: string[] = []
  let below: number | undefined
  for (const line of parts.split('\n')) {
    const indent = /^[ \t]*/.exec(line)?.[0].length ?? 0
    const isBelow =
      below !== undefined && (indent > below || (indent === below && /^[ \t]*-/.test(line)))
    if (isBelow && line.trim() !== '') continue
    const [start, , name = ''] = LINE.exec(line) ?? []
    const isSecret = start !== undefined && isSecretName(name)
    below = isSecret ? indent : undefined
    out.push(
      isSecret ? `${start.trimEnd()} ${MASKED_VALUE}${line.endsWith('\r') ? '\r' : ''}` : line,
    )
  }
  return out.join('\n')
}
