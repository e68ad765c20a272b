import type { Fields } from '../../request/form.ts'
import { isRepeated } from '../../request/headers.ts'
import { ExactNumber, type JsonDocument } from '../../request/json.ts'
import { looksLikeJson, parsedOf } from '../../request/parsed.ts'
import { toBinary } from '../../request/text.ts'
import type { Location } from '../config/config-parts.ts'
import type { SignedRequest } from './signed-request.ts'

/** A request as a verifier reads it. Later readers share its parsed parts. */
export interface View {
  readonly request: SignedRequest
}

export function viewOf(request: SignedRequest): View {
  return { request }
}

/** The body's JSON; undefined when it is none, or has too many values. */
export function jsonOf({ request }: View): unknown {
  return hasTooManyTokens(request) ? undefined : parsedOf(request).json
}

/** The same with the members that its objects have more than once. */
export function documentOf({ request }: View): JsonDocument | undefined {
  return hasTooManyTokens(request) ? undefined : parsedOf(request).document
}

/** The body's form fields; undefined when it is no form, or has too many. */
function formOf({ request }: View): Fields | undefined {
  return parsedOf(request).fields
}

/** The same where they are all there is in the body. */
export function plainFormOf({ request }: View): Fields | undefined {
  const parsed = parsedOf(request)
  return parsed.isPlainForm ? parsed.fields : undefined
}

export function queryOf({ request }: View): Fields {
  return parsedOf(request).queryFields
}

/** A compiled location: reads one value as a binary string. */
export type Reader = (view: View) => string | undefined

export function readerOf(location: Location): Reader {
  switch (location.in) {
    case 'header': {
      const name = location.name.toLowerCase()
      return (view) => view.request.headers[name]
    }
    case 'query': {
      const name = toBinary(location.name)
      return (view) => queryOf(view).get(name)?.[0]
    }
    case 'form': {
      const name = toBinary(location.name)
      return (view) => formOf(view)?.get(name)?.[0]
    }
    case 'json': {
      const path = jsonPath(location.name)
      return (view) => scalarText(walk(documentOf(view)?.value, path))
    }
  }
}

/** Whether a location holds one value at most: which of two was signed, and which will be read, nobody can tell. */
export function singleAt(location: Location): (view: View) => boolean {
  switch (location.in) {
    case 'header': {
      const name = location.name.toLowerCase()
      return ({ request }) => isSingleHeader(request, name)
    }
    case 'query': {
      const name = toBinary(location.name)
      return (view) => (queryOf(view).get(name)?.length ?? 0) <= 1
    }
    case 'form': {
      const name = toBinary(location.name)
      return (view) => {
        const texts = formOf(view)?.get(name)?.length ?? 0
        const files = parsedOf(view.request).fileNames.filter((file) => file === name)
        return texts + files.length <= 1
      }
    }
    case 'json': {
      const path = jsonPath(location.name)
      return (view) => isSingle(documentOf(view), path)
    }
  }
}

export function isSingleHeader({ headers, rawHeaders }: SignedRequest, name: string): boolean {
  const joined = headers[name]
  return joined === undefined || rawHeaders === undefined || !isRepeated(name, joined, rawHeaders)
}

/** Whether no member on the way along a path occurs twice; `*` stands for each element. */
export function isSingle(document: JsonDocument | undefined, path: readonly string[]): boolean {
  const { value, repeated } = document ?? NO_DOCUMENT
  if (repeated.size === 0) return true
  let reached = [value]
  for (const key of path) {
    if (reached.some((at) => isObject(at) && repeated.get(at)?.has(key) === true)) return false
    reached = reached.flatMap((at) => childrenOf(at, key))
  }
  return true
}

const NO_DOCUMENT: JsonDocument = { value: undefined, repeated: new Map() }

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** The member of that name, or every element for `*`. */
export function childrenOf(value: unknown, key: string): unknown[] {
  if (key !== '*') return [memberOf(value, key)]
  return Array.isArray(value) ? value : []
}

/** `a.b.0.c`; `a[0].c` and `a[*].c` are read alike. */
export function jsonPath(name: string): string[] {
  return name
    .replaceAll('[', '.')
    .replaceAll(']', '')
    .split('.')
    .filter((key) => key !== '')
}

/** The value under a path; own members only. */
export function walk(value: unknown, path: readonly string[]): unknown {
  let at = value
  for (const key of path) at = memberOf(at, key)
  return at
}

/** An own member of an object or array; undefined of anything else. */
export function memberOf(value: unknown, name: string): unknown {
  if (!isRecord(value)) return undefined
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** A JSON string, number or boolean as a binary string; a number as it was sent. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return toBinary(value)
  if (value instanceof ExactNumber) return value.text
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return undefined
}

/**
 * A body with more brackets and commas is not read: a megabyte of them takes a parser longer than everything else
 * takes a request, and this happens before the sender is known.
 */
const JSON_TOKENS_MAX = 200_000

const counted = new WeakMap<SignedRequest, boolean>()

/** Counted once: a template may read as many members as it has room for. */
function hasTooManyTokens(request: SignedRequest): boolean {
  if (request.body.length <= JSON_TOKENS_MAX || !looksLikeJson(request.body)) return false
  const known = counted.get(request)
  if (known !== undefined) return known
  const answer = exceedsTokens(request.body)
  counted.set(request, answer)
  return answer
}

function exceedsTokens(body: Buffer): boolean {
  let tokens = 0
  // By index: an iterator takes ten times as long.
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if (byte === 0x2c || byte === 0x5b || byte === 0x7b) tokens += 1
    if (tokens > JSON_TOKENS_MAX) return true
  }
  return false
}
