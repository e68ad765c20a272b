import { percentDecode } from './form.ts'

/** A part of `multipart/form-data`. Texts are binary strings. */
export interface Part {
  name: string
  /** Undefined for a part that is no file. */
  filename: string | undefined
  contentType: string | undefined
  body: Buffer
}

/** Longer than any sender's: a part whose headers do not end by then makes the body no form. */
const PART_HEADERS_BYTES_MAX = 8_192
const BOUNDARY_LENGTH_MAX = 200
const LINE_END = Buffer.from('\r\n')
const HEADERS_END = Buffer.from('\r\n\r\n')

/** The parts in order; undefined when the body is not whole, has a part without a name, or more than `max` parts. */
export function parseMultipart(contentType: string, body: Buffer, max: number): Part[] | undefined {
  const boundary = paramsOf(contentType).get('boundary') ?? ''
  if (boundary === '' || boundary.length > BOUNDARY_LENGTH_MAX) return undefined
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const parts: Part[] = []
  // The first delimiter may stand at the very start, where no line ends before it.
  const opening = delimiter.subarray(2)
  const isAtStart = body.subarray(0, opening.length).equals(opening)
  let found = isAtStart ? endOf(body, opening.length) : nextDelimiter(body, delimiter, 0)?.end
  while (found !== undefined && found !== 'last') {
    const next = nextDelimiter(body, delimiter, found)
    if (next === undefined || parts.length === max) return undefined
    const part = partOf(body.subarray(found, next.start))
    if (part === undefined) return undefined
    parts.push(part)
    found = next.end
  }
  return found === undefined ? undefined : parts
}

/** Where the content behind a delimiter begins; `last` behind the closing one. */
type End = number | 'last'

function nextDelimiter(
  body: Buffer,
  delimiter: Buffer,
  from: number,
): { start: number; end: End } | undefined {
  // Two bytes back: the line end of a delimiter may be the one before an empty part.
  let start = body.indexOf(delimiter, Math.max(0, from - LINE_END.length))
  while (start !== -1) {
    const end = endOf(body, start + delimiter.length)
    if (end !== undefined) return { start: Math.max(start, from), end }
    start = body.indexOf(delimiter, start + 1)
  }
  return undefined
}

/** Undefined when what looks like a delimiter is the beginning of a longer line. */
function endOf(body: Buffer, at: number): End | undefined {
  if (body[at] === HYPHEN && body[at + 1] === HYPHEN) return 'last'
  let end = at
  while (body[end] === SPACE || body[end] === TAB) end += 1
  return body[end] === CR && body[end + 1] === LF ? end + LINE_END.length : undefined
}

const HYPHEN = 0x2d
const SPACE = 0x20
const TAB = 0x09
const CR = 0x0d
const LF = 0x0a

function partOf(bytes: Buffer): Part | undefined {
  const end = bytes.subarray(0, PART_HEADERS_BYTES_MAX).indexOf(HEADERS_END)
  if (end === -1) return undefined
  const headers = headersOf(bytes.toString('latin1', 0, end))
  const params = paramsOf(headers.get('content-disposition') ?? '')
  const name = params.get('name')
  if (name === undefined) return undefined
  return {
    name,
    filename: extendedText(params.get('filename*')) ?? params.get('filename'),
    contentType: headers.get('content-type'),
    body: bytes.subarray(end + HEADERS_END.length),
  }
}

function headersOf(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0)
      headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  return headers
}

const PARAM = /[ \t]*;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^;"\s]*))/y

/** The parameters behind a header's first value, the first of each name. Read from left to right, each byte once. */
function paramsOf(header: string): ReadonlyMap<string, string> {
  const params = new Map<string, string>()
  const start = header.indexOf(';')
  if (start === -1) return params
  PARAM.lastIndex = start
  for (let match = PARAM.exec(header); match !== null; match = PARAM.exec(header)) {
    const [, name = '', quoted, token = ''] = match
    const key = name.toLowerCase()
    if (!params.has(key)) params.set(key, quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token)
  }
  return params
}

/** `UTF-8''na%C3%AFve.txt`. (RFC 5987) */
function extendedText(value: string | undefined): string | undefined {
  const text = /^[^']*'[^']*'(.*)$/s.exec(value ?? '')?.[1]
  return text === undefined ? undefined : percentDecode(text)
}
