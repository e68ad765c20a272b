import { randomInt } from 'node:crypto'

import { JSON_COST_MAX, JSON_DEPTH_MAX } from '../limits.ts'

/* Where the parts of a JSON text begin and end, and how much there is to parse. */

export const TAB = 0x09
export const LF = 0x0a
export const CR = 0x0d
export const SPACE = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const HYPHEN = 0x2d
export const COLON = 0x3a
export const OPEN_BRACKET = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d

/** Behind the quotation mark that ends the string which begins at `start`. */
export function endOfString(text: string, start: number): number {
  let from = start + 1
  for (;;) {
    // Escapes are passed one by one: a search for each of a million quotation marks would hold the loop.
    while (text.charCodeAt(from) === BACKSLASH) from += 2
    const quote = text.indexOf('"', from)
    if (quote === -1) return text.length
    let slashes = 0
    while (quote - slashes > from && text.charCodeAt(quote - slashes - 1) === BACKSLASH)
      slashes += 1
    if (slashes % 2 === 0) return quote + 1
    from = quote + 1
  }
}

/** Behind a number, or one of the three names. */
export function endOfWord(text: string, start: number): number {
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

/** Whether a number is an integer that a double holds and that JavaScript writes in the same way. */
export function isPlain(text: string, start: number, end: number): boolean {
  if (end - start > PLAIN_DIGITS_MAX) return false
  for (let at = start; at < end; at += 1) if (!isDigit(text.charCodeAt(at))) return false
  return true
}

/** A double holds every integer of so many digits. */
const PLAIN_DIGITS_MAX = 15

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/* In some 25 ns each, as V8 takes them. */
export const COST_OF_VALUE = 1
export const COST_OF_CONTAINER = 4
/** A name that stands in no object of this form before: V8 makes a class for it. */
export const COST_OF_NEW_NAME = 28
/** A number that has to be compared with what JavaScript writes. */
export const COST_OF_NUMBER = 4
/** Longer names are taken for new. */
export const NAME_LENGTH_MAX = 64

const PRIME = 0x01000193

/** Forms of objects that are remembered: nearly all bodies have fewer. A power of two of sets, each with some places. */
const SETS = 1_024
/** A single place would let two forms of the same object push each other out, again with each object of a list. */
const PLACES = 4

/** So that nobody can choose names that seem to be one. */
const SEED = randomInt(2 ** 31)

interface Scanned {
  /** Parsing would hold the event loop: many values, many names, or deeper than what can be written again. */
  isCostly: boolean
  /** It has a number that `isUnusual` is true of, and is to be read once more. */
  hasUnusual: boolean
}

/** Part of the limit for a text that is read once more. */
export const READ_TWICE = 0.5

/** Looks through a text that may be JSON, once. `share` is what it may take of the limit. */
export function scanJson(text: string, isUnusual: (word: string) => boolean, share = 1): Scanned {
  const forms = new Forms()
  let most = JSON_COST_MAX * share
  let hasUnusual = false
  let depth = 0
  let cost = 0
  let at = 0
  while (at < text.length && cost <= most && depth <= JSON_DEPTH_MAX) {
    const code = text.charCodeAt(at)
    const start = at
    at += 1
    if (code === QUOTE) {
      at = endOfString(text, start)
      cost += COST_OF_VALUE
      if (isName(text, at) && forms.isNew(depth, text.slice(start, at))) cost += COST_OF_NEW_NAME
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1
      forms.open(depth)
      cost += COST_OF_CONTAINER
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth = Math.max(0, depth - 1)
    else if (code === COMMA) cost += COST_OF_VALUE
    else if (code === HYPHEN || isDigit(code)) {
      at = endOfWord(text, start)
      if (isPlain(text, start, at)) continue
      cost += COST_OF_NUMBER
      if (hasUnusual || !isUnusual(text.slice(start, at))) continue
      hasUnusual = true
      most *= READ_TWICE
    } else if (!isBetween(code)) {
      // A parser gets no further than this, so that the rest costs nothing.
      const end = endOfLiteral(text, start)
      if (end === undefined) break
      at = end
    }
  }
  return { isCostly: cost > most || depth > JSON_DEPTH_MAX, hasUnusual }
}

function isBetween(code: number): boolean {
  return code === SPACE || code === LF || code === COLON || code === CR || code === TAB
}

/** Undefined when there is none of the three words. */
function endOfLiteral(text: string, start: number): number | undefined {
  for (const word of ['true', 'null', 'false']) {
    if (text.startsWith(word, start)) return start + word.length
  }
  return undefined
}

function isName(text: string, end: number): boolean {
  let at = end
  for (;;) {
    switch (text.charCodeAt(at)) {
      case SPACE:
      case TAB:
      case LF:
      case CR:
        at += 1
        break
      case COLON:
        return true
      default:
        return false
    }
  }
}

/** Names of members, in order, in which objects of a text are alike. */
export class Forms {
  readonly #known = new Int32Array(SETS * PLACES)
  /** The names so far of each object that is open, by its depth. */
  readonly #forms = new Int32Array(JSON_DEPTH_MAX + 1)

  open(depth: number): void {
    this.#forms[depth] = SEED
  }

  /** Whether no object had this name behind the same others. */
  isNew(depth: number, name: string): boolean {
    let form = this.#forms[depth] ?? 0
    const length = Math.min(name.length, NAME_LENGTH_MAX)
    for (let at = 0; at < length; at += 1) form = Math.imul(form ^ name.charCodeAt(at), PRIME)
    form ^= form >>> 15
    this.#forms[depth] = form
    if (name.length !== length) return true
    let place = (form & (SETS - 1)) * PLACES
    const last = place + PLACES - 1
    while (place < last && this.#known[place] !== 0 && this.#known[place] !== form) place += 1
    if (this.#known[place] === form) return false
    // In a full set the last place changes alone, so that the others stay known.
    this.#known[place] = form
    return true
  }
}
