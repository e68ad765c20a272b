import type { Location } from './config-parts.ts'
import { toBinary } from './encoding.ts'
import { type Fields, parseForm } from './form.ts'
import type { SignedRequest } from './request.ts'

/** A request with what was parsed of it so far: nothing is parsed before a verifier asks for it. */
export interface View {
  readonly request: SignedRequest
  json: { value: unknown } | undefined
  form: { fields: Fields | undefined } | undefined
  query: { fields: Fields | undefined } | undefined
}

export function viewOf(request: SignedRequest): View {
  return { request, json: undefined, form: undefined, query: undefined }
}

/** The body as JSON whatever its content type says (SNS sends text/plain); undefined when it is not JSON. */
export function jsonOf(view: View): unknown {
  view.json ??= { value: parseJson(view.request.body) }
  return view.json.value
}

/** The body's form fields; none when the content type says JSON or there are too many. */
export function formOf(view: View): Fields | undefined {
  if (view.request.headers['content-type']?.includes('json') === true) return undefined
  return bodyFields(view)
}

/** The body read as a form whatever its content type says. */
export function bodyFields(view: View): Fields | undefined {
  view.form ??= { fields: parseForm(view.request.body.toString('latin1')) }
  return view.form.fields
}

export function queryOf(view: View): Fields | undefined {
  view.query ??= { fields: parseForm(toBinary(view.request.query)) }
  return view.query.fields
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
      return (view) => queryOf(view)?.get(name)?.[0]
    }
    case 'form': {
      const name = toBinary(location.name)
      return (view) => formOf(view)?.get(name)?.[0]
    }
    case 'json': {
      const path = jsonPath(location.name)
      return (view) => scalarText(walk(jsonOf(view), path))
    }
  }
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

/** A JSON string, number or boolean as a binary string. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return toBinary(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return undefined
}

/**
 * A body with more brackets and commas is not read: a megabyte of them takes a parser longer than everything else
 * takes a request, and this happens before the sender is known.
 */
const JSON_TOKENS_MAX = 200_000

function parseJson(body: Buffer): unknown {
  if (hasTooManyTokens(body)) return undefined
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

function hasTooManyTokens(body: Buffer): boolean {
  if (body.length <= JSON_TOKENS_MAX) return false
  let tokens = 0
  // By index: an iterator takes ten times as long.
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if (byte === 0x2c || byte === 0x5b || byte === 0x7b) tokens += 1
    if (tokens > JSON_TOKENS_MAX) return true
  }
  return false
}
