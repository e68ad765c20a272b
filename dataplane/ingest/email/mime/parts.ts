import { MAIL_DEPTH_MAX, MAIL_LINES_MAX, MAIL_PARTS_MAX } from '../../../../core/limits.ts'
import { readFields, type Fields } from './fields.ts'
import { decodeParameters, readStructured, type Structured } from './parameters.ts'

/** A part that holds no parts: its headers, and its body as it was sent. */
export interface Part {
  type: Structured
  disposition: Structured
  /** As it is written, in its angle brackets. */
  contentId: string | undefined
  /** In lower case; empty without one. */
  encoding: string
  body: Buffer
}

/** Why the parts of a mail are not read. */
export type PartsFault = 'manyLines' | 'manyParts' | 'deepParts' | 'longHead'

/** A multipart that is open, or a leaf, whose boundary is empty. */
interface Open {
  part: Omit<Part, 'body'>
  bodyAt: number
  boundary: string
  /** The type of its parts that name none. */
  defaultType: string
  isDivided: boolean
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

/** Longer lines are no delimiters: a boundary has 70 characters at most, and some programs take more. (RFC 2046 5.1.1) */
const DELIMITER_MAX = 1_024

/** The parts of a mail that hold no parts, in their order. A message within the mail is one of them. */
export function readParts(mail: Buffer): Part[] | PartsFault {
  return hasManyLines(mail) ? 'manyLines' : new PartsReader(mail).read()
}

function hasManyLines(mail: Buffer): boolean {
  let at = -1
  for (let lines = 0; lines <= MAIL_LINES_MAX; lines++) {
    at = mail.indexOf(LF, at + 1)
    if (at === -1) return false
  }
  return true
}

/** Reads a mail from its beginning to its end once; each step costs no more than the line it reads. */
class PartsReader {
  readonly #mail: Buffer
  readonly #parts: Part[] = []
  /** From the mail itself to the innermost multipart that is open. */
  readonly #multiparts: Open[] = []
  #leaf: Open | undefined
  #count = 0

  constructor(mail: Buffer) {
    this.#mail = mail
  }

  read(): Part[] | PartsFault {
    let fault = this.#open(0, 'mail')
    let at = this.#leaf?.bodyAt ?? this.#multiparts[0]?.bodyAt ?? 0
    while (fault === undefined && this.#multiparts.length > 0) {
      const line = this.#nextDashes(at)
      if (line === undefined) break
      const stop = this.#lineEnd(line)
      const found = this.#delimiterAt(line, stop)
      at = stop
      if (found === undefined) continue
      this.#closeUntil(found.depth + 1, this.#endBefore(line))
      if (found.isLast) this.#multiparts.length = found.depth
      else {
        fault = this.#open(stop, 'part')
        at = Math.max(stop, this.#bodyAt())
      }
    }
    if (fault !== undefined) return fault
    this.#closeUntil(0, this.#mail.length)
    return this.#parts
  }

  /** Begins a part, or the mail, whose headers begin at `at`. */
  #open(at: number, of: 'mail' | 'part'): PartsFault | undefined {
    if (this.#multiparts.length > MAIL_DEPTH_MAX) return 'deepParts'
    if (++this.#count > MAIL_PARTS_MAX) return 'manyParts'
    const read = readFields(this.#mail, { at, end: this.#mail.length, of })
    if (read === 'longHead') return read
    const parent = this.#multiparts.at(-1)
    if (parent !== undefined) parent.isDivided = true
    const opened = openedOf(read.fields, read.bodyAt, parent?.defaultType ?? TEXT)
    if (opened.boundary === '') this.#leaf = opened
    else this.#multiparts.push(opened)
    return undefined
  }

  #bodyAt(): number {
    return this.#leaf?.bodyAt ?? this.#multiparts.at(-1)?.bodyAt ?? 0
  }

  /** Ends the leaf and the multiparts from `depth` on. A multipart in which no part began is a text. */
  #closeUntil(depth: number, end: number): void {
    const text = this.#multiparts.slice(depth).filter(({ isDivided }) => !isDivided)
    const whole = this.#leaf === undefined ? text.map(asText) : [this.#leaf]
    for (const { part, bodyAt } of whole) {
      this.#parts.push({ ...part, body: this.#mail.subarray(bodyAt, Math.max(bodyAt, end)) })
    }
    this.#leaf = undefined
    this.#multiparts.length = Math.min(depth, this.#multiparts.length)
  }

  /** The next line that begins with two dashes. */
  #nextDashes(from: number): number | undefined {
    const isAtLine = from === 0 || this.#mail[from - 1] === LF
    if (isAtLine && this.#mail[from] === DASH && this.#mail[from + 1] === DASH) return from
    const found = this.#mail.indexOf('\n--', from, 'latin1')
    return found === -1 ? undefined : found + 1
  }

  #lineEnd(line: number): number {
    const found = this.#mail.indexOf(LF, line)
    return found === -1 ? this.#mail.length : found + 1
  }

  /** The multipart whose delimiter a line is, the innermost first. Blanks may stand behind it. */
  #delimiterAt(line: number, stop: number): { depth: number; isLast: boolean } | undefined {
    if (stop - line > DELIMITER_MAX) return undefined
    const text = this.#mail.toString('latin1', line + 2, stop).trimEnd()
    for (let depth = this.#multiparts.length - 1; depth >= 0; depth--) {
      const boundary = this.#multiparts[depth]?.boundary ?? ''
      if (!text.startsWith(boundary)) continue
      if (text.length === boundary.length) return { depth, isLast: false }
      if (text.length === boundary.length + 2 && text.endsWith('--')) return { depth, isLast: true }
    }
    return undefined
  }

  /** The line end before a delimiter belongs to it. (RFC 2046 5.1.1) */
  #endBefore(line: number): number {
    if (line === 0) return 0
    return this.#mail[line - 2] === CR ? line - 2 : line - 1
  }
}

const TEXT = 'text/plain'
const NO_TYPE: Structured = { value: TEXT, parameters: new Map() }

/** Reads the headers of a part. The first of each name counts. */
function openedOf(fields: Fields, bodyAt: number, defaultType: string): Open {
  const named = new Map<string, string>()
  for (const [given, value] of fields) {
    const name = given.toLowerCase()
    if (!named.has(name)) named.set(name, value)
  }
  const type = typeOf(named.get('content-type') ?? '', defaultType)
  const encoding = readStructured(named.get('content-transfer-encoding') ?? '').value
  return {
    part: {
      type,
      disposition: readStructured(named.get('content-disposition') ?? ''),
      contentId: named.get('content-id'),
      encoding: encoding.replaceAll('"', ''),
    },
    bodyAt,
    boundary: type.value.startsWith('multipart/') ? boundaryOf(type) : '',
    // RFC 2046 5.1.5
    defaultType: type.value === 'multipart/digest' ? 'message/rfc822' : TEXT,
    isDivided: false,
  }
}

/** A type that is none, and a multipart without a boundary, are as if none were named. (RFC 2045 5.2) */
function typeOf(header: string, defaultType: string): Structured {
  const type = readStructured(header)
  const isType = /^[^\s/]+\/[^\s/]+$/.test(type.value)
  if (!isType) return { ...type, value: defaultType }
  return type.value.startsWith('multipart/') && boundaryOf(type) === '' ? NO_TYPE : type
}

/** Blanks at its end are no part of it. */
function boundaryOf(type: Structured): string {
  const given = type.parameters.get('boundary') ?? decodeParameters(type).get('boundary') ?? ''
  return given.trimEnd()
}

function asText({ part, ...open }: Open): Open {
  return { ...open, part: { ...part, type: NO_TYPE } }
}
