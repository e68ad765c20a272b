import { JSON_DEPTH_MAX } from '../limits.ts'
import { compareDecimals } from './decimal.ts'

declare global {
  interface JSON {
    /** Stands in what JSON.stringify writes as this text. */
    rawJSON(text: string): unknown
  }
}

/**
 * A number whose text is not what JavaScript would write: past 2^53, with more digits than a double has, or spelt
 * `1.0` or `1e2`. It compares by its text and is written as it came.
 */
export class ExactNumber {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get text(): string {
    return this.#text
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.#text)
  }
}

/** A parsed text that remembers which members its objects had more than once; their last values are there. */
export interface JsonDocument {
  value: unknown
  repeated: ReadonlyMap<object, ReadonlySet<string>>
}

/** As JSON.parse, but with an `ExactNumber` where a number would become another text. Throws a SyntaxError. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return hasUnusualNumber(text, keepsText) ? readDocument(text, keepsText).value : value
}

/** As `parseJson`, but with an `ExactNumber` only where a number would become another number. Throws a SyntaxError. */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return hasUnusualNumber(text, keepsValue) ? readDocument(text, keepsValue).value : value
}

/** Throws a SyntaxError. */
export function parseDocument(text: string): JsonDocument {
  JSON.parse(text)
  return readDocument(text, keepsText)
}

type Keeps = (text: string, value: number) => boolean

const keepsText: Keeps = (text, value) => String(value) === text
const keepsValue: Keeps = (text, value) =>
  Number.isFinite(value) && compareDecimals(text, String(value)) === 0

/** Whether a number in the text is spelt as `keeps` refuses. Nearly no body has one: JSON.parse's result will do. */
function hasUnusualNumber(text: string, keeps: Keeps): boolean {
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === HYPHEN || isDigit(code)) {
      const end = endOfWord(text, at)
      const isPlain = end - at <= PLAIN_DIGITS_MAX && isDigits(text, at, end)
      const word = isPlain ? '' : text.slice(at, end)
      if (!isPlain && !keeps(word, Number(word))) return true
      at = end
    } else at += 1
  }
  return false
}

/** A double holds every integer of so many digits. */
const PLAIN_DIGITS_MAX = 15

function isDigits(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (!isDigit(text.charCodeAt(at))) return false
  return true
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/**
 * Takes apart what JSON.parse took, and is lax about anything else. Throws a RangeError where it nests deeper than what
 * JSON.stringify can write.
 */
function readDocument(text: string, keeps: Keeps): JsonDocument {
  const repeated = new Map<object, Set<string>>()
  const holders: Holder[] = []
  const keys: (string | undefined)[] = []
  const root: unknown[] = []
  let holder: Holder = root
  let key: string | undefined
  let at = 0
  const put = (value: unknown): void => {
    if (Array.isArray(holder)) holder.push(value)
    else if (key !== undefined) {
      if (Object.hasOwn(holder, key)) note(repeated, holder, key)
      define(holder, key, value)
      key = undefined
    }
  }
  const open = (inner: Holder): void => {
    put(inner)
    if (holders.length === JSON_DEPTH_MAX) throw new RangeError('Cannot read JSON this deep')
    holders.push(holder)
    keys.push(key)
    holder = inner
    key = undefined
    at += 1
  }
  while (at < text.length) {
    switch (text.charCodeAt(at)) {
      case SPACE:
      case TAB:
      case LF:
      case CR:
      case COMMA:
      case COLON:
        at += 1
        break
      case QUOTE: {
        const end = endOfString(text, at)
        const string = stringOf(text, at, end)
        if (key === undefined && !Array.isArray(holder)) key = string
        else put(string)
        at = end
        break
      }
      case OPEN_BRACE:
        open({})
        break
      case OPEN_BRACKET:
        open([])
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        holder = holders.pop() ?? root
        key = keys.pop()
        at += 1
        break
      default: {
        const end = endOfWord(text, at)
        put(valueOf(text.slice(at, end), keeps))
        at = end
      }
    }
  }
  return { value: root[0], repeated }
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const HYPHEN = 0x2d
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Behind a number, or one of the three names. */
function endOfWord(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && isOfWord(text.charCodeAt(at))) at += 1
  return at
}

/** A digit, a sign, the point or a letter. */
function isOfWord(code: number): boolean {
  return (
    (code >= 0x2b && code <= 0x39 && code !== COMMA) ||
    (code >= 0x41 && code <= 0x7a && code !== CLOSE_BRACKET)
  )
}

function valueOf(word: string, keeps: Keeps): boolean | null | number | ExactNumber {
  switch (word) {
    case 'true':
      return true
    case 'false':
      return false
    case 'null':
      return null
    default: {
      const value = Number(word)
      return keeps(word, value) ? value : new ExactNumber(word)
    }
  }
}

/** Behind the quotation mark that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let from = start + 1
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return text.length
    let slashes = 0
    while (quote - slashes > from && text[quote - slashes - 1] === '\\') slashes += 1
    if (slashes % 2 === 0) return quote + 1
    from = quote + 1
  }
}

function stringOf(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes('\\') ? String(JSON.parse(text.slice(start, end))) : inner
}

type Members = Record<string, unknown>
type Holder = unknown[] | Members

/** Defines where assigning would not: `__proto__` is a name like any other. */
function define(holder: Members, key: string, value: unknown): void {
  if (key !== '__proto__') holder[key] = value
  else {
    const member = { value, writable: true, enumerable: true, configurable: true }
    Object.defineProperty(holder, key, member)
  }
}

function note(repeated: Map<object, Set<string>>, holder: object, key: string): void {
  const names = repeated.get(holder)
  if (names === undefined) repeated.set(holder, new Set([key]))
  else names.add(key)
}
