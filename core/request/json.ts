import { JSON_DEPTH_MAX } from '../limits.ts'
import { compareDecimals } from './decimal.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  endOfString,
  endOfWord,
  HYPHEN,
  isDigit,
  isPlain,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  READ_TWICE,
  scanJson,
  SPACE,
  TAB,
} from './json-text.ts'

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

/** Shorter texts cost little, whatever they hold. */
const SCANNED_LENGTH_MIN = 128 * 1024

/**
 * As JSON.parse, but with an `ExactNumber` where a number would become another text. Throws a SyntaxError, or a
 * RangeError where it would hold the event loop.
 */
export function parseJson(text: string): unknown {
  const isLong = text.length > SCANNED_LENGTH_MIN
  const isUnusual = isLong ? scanLong(text, isChanged) : undefined
  const value: unknown = JSON.parse(text)
  return (isUnusual ?? hasUnusualNumber(text, keepsText))
    ? readDocument(text, keepsText).value
    : value
}

/** As `parseJson`, but with an `ExactNumber` only where a number would become another number. Throws a SyntaxError. */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return hasUnusualNumber(text, keepsValue) ? readDocument(text, keepsValue).value : value
}

/** Throws as `parseJson` does. */
export function parseDocument(text: string): JsonDocument {
  // It is read twice whatever its numbers are.
  if (text.length > SCANNED_LENGTH_MIN) scanLong(text, () => false, READ_TWICE)
  JSON.parse(text)
  return readDocument(text, keepsText)
}

/** Whether a number is unusual. */
function scanLong(text: string, isUnusual: (word: string) => boolean, share = 1): boolean {
  const { isCostly, hasUnusual } = scanJson(text, isUnusual, share)
  if (isCostly) throw new RangeError('Cannot read JSON this costly')
  return hasUnusual
}

type Keeps = (text: string, value: number) => boolean

const keepsText: Keeps = (text, value) => String(value) === text
/** Whether JavaScript would write a number in another way. */
export const isChanged = (word: string): boolean => !keepsText(word, Number(word))
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
      const word = isPlain(text, at, end) ? '' : text.slice(at, end)
      if (word !== '' && !keeps(word, Number(word))) return true
      at = end
    } else at += 1
  }
  return false
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
