import { refuseField } from '../../core/errors.ts'
import { API_BODY_VALUES_MAX } from '../../core/limits.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../core/request/json-text.ts'
import { ExactNumber, parseExactJson } from '../../core/request/json.ts'

/** Far deeper than any member of ours; a document that is nested for its own sake stops here. */
const DEPTH_MAX = 64

const TOO_MANY = `Holds more than ${API_BODY_VALUES_MAX} values`
const TOO_DEEP = `Nested more than ${DEPTH_MAX} levels deep`

/** The JSON of a request's body, still to be checked by `refuseUnstorable`; undefined when there is none. */
export function readBody(bytes: unknown, contentType: string | undefined): unknown {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return undefined
  const [mediaType = ''] = (contentType ?? '').split(';')
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    refuseField('headers.content-type', 'Expected application/json')
  }
  return parse(bytes)
}

/**
 * Strings that PostgreSQL cannot hold are refused wherever they stand: U+0000 and halves of surrogate pairs; and so are
 * numbers that a double would change. Walks with a stack of its own, so that depth costs nothing.
 */
export function refuseUnstorable(part: string, root: unknown): void {
  const open: Place[] = []
  let values = 0
  const enter = (value: unknown, key: string | number, inside: Place | undefined): void => {
    if (++values > API_BODY_VALUES_MAX) refuseField(part, TOO_MANY)
    const place = { value, key, inside, depth: inside === undefined ? 0 : inside.depth + 1 }
    if (place.depth > DEPTH_MAX) refuseField(part, TOO_DEEP)
    if (typeof value === 'string') refuseText(value, place)
    else if (value instanceof ExactNumber) refuseInexact(place)
    else if (typeof value === 'object' && value !== null) open.push(place)
  }
  enter(root, part, undefined)
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value } = place
    if (Array.isArray(value)) {
      for (const [index, inner] of value.entries()) enter(inner, index, place)
    } else {
      for (const [key, inner] of Object.entries(Object(value))) {
        refuseKey(key, place)
        enter(inner, key, place)
      }
    }
  }
}

/** Where a value stands. Its path is written out only for a refusal: a request may hold many values. */
interface Place {
  value: unknown
  key: string | number
  inside: Place | undefined
  depth: number
}

function refuseKey(key: string, place: Place): void {
  refuseText(key, place)
  // Whatever makes an object of it loses the member.
  if (key === '__proto__') refuseField(`${pathOf(place)}.${key}`, 'Cannot be a name')
}

function refuseText(text: string, place: Place): void {
  if (text.includes('\0') || !text.isWellFormed()) {
    refuseField(pathOf(place), 'Contains U+0000 or half of a surrogate pair')
  }
}

/** A sample stands for what a provider may send, and is compared as it is. */
const SAMPLE = /^body\.sample\.body(?:\.|$)/

function refuseInexact(place: Place): void {
  const path = pathOf(place)
  if (!SAMPLE.test(path)) refuseField(path, 'Is a number that cannot be kept exactly')
}

function pathOf({ key, inside }: Place): string {
  return inside === undefined ? String(key) : `${pathOf(inside)}.${key}`
}

/** Throws for what is no JSON in UTF-8, and refuses what is too much of it before it is parsed. */
export function parseJson(bytes: Buffer): unknown {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  refuseMuch(text)
  return parseExactJson(text)
}

/** A value stands behind each comma; the others are counted by `refuseUnstorable`. */
function refuseMuch(text: string): void {
  let commas = 0
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at) - 1
        break
      case COMMA:
        if (++commas >= API_BODY_VALUES_MAX) refuseField('body', TOO_MANY)
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > DEPTH_MAX + 1) refuseField('body', TOO_DEEP)
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth -= 1
        break
      default:
    }
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) {
      refuseField('body', `Not valid JSON (${error.message})`)
    }
    throw error
  }
}
