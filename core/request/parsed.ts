import { isUtf8 } from 'node:buffer'

import { FORM_FIELDS_MAX } from '../limits.ts'
import { type Fields, fieldsOf, objectOf, type Pair, parsePairs } from './form.ts'
import type { Headers } from './headers.ts'
import { type JsonDocument, parseDocument, parseJson } from './json.ts'
import { parseMultipart, type Part } from './multipart.ts'
import { decodeText, isUtf8Text, startOf } from './text.ts'

/** The bytes of a request as it came: headers and query are binary strings. */
export interface Unparsed {
  readonly headers: Headers
  /** Raw, without the question mark. */
  readonly query: string
  readonly body: Buffer
}

/** How a part that is a file stands in a payload. */
interface FilePart {
  filename: string
  contentType: string | null
  sizeBytes: number
}

type Format = 'json' | 'maybe_json' | 'form' | 'multipart' | 'none'

/** The payload as it stands in the body, and as it is where that is not JSON or may not be read. */
export interface StoredPayload {
  /** Bytes that may be JSON, unchecked; undefined where the payload is made of something else. */
  json: Buffer | undefined
  otherwise: () => unknown
}

/** Forms of one field that carries the JSON a provider would send: GitHub and the forges, Mandrill. */
const WRAPPERS: ReadonlySet<string> = new Set(['payload', 'mandrill_events'])

/**
 * A request as everybody reads it: verifier, selectors, filters, replay, and whoever shows it. Each part is parsed when
 * it is first asked for, and once. (decisions: Reading a request)
 */
export class Parsed {
  readonly #request: Unparsed
  readonly #format: Format
  #headers: Headers | undefined
  #pairs: { value: Pair[] } | undefined
  #query: Pair[] | undefined
  #queryFields: Fields | undefined
  #json: { value: unknown } | undefined
  #document: { value: JsonDocument | undefined } | undefined
  #form: { value: Pair[] | undefined } | undefined
  #parts: { value: Part[] | undefined } | undefined
  #fields: { value: Fields | undefined } | undefined
  #payload: { value: unknown } | undefined
  /** Texts that were read as Latin-1 for want of a better way. */
  #undecodable: Set<string> | undefined

  constructor(request: Unparsed) {
    this.#request = request
    this.#format = formatOf(request.headers['content-type'])
  }

  /** A header as text. */
  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return value === undefined ? undefined : this.#decode(value)
  }

  /** All as text. */
  get headers(): Headers {
    this.#headers ??= this.#decodeHeaders()
    return this.#headers
  }

  /** The pairs of the query as text, in order. */
  get query(): readonly Pair[] {
    this.#query ??= this.#queryPairs().map(([name, value]) => [
      this.#decode(name),
      this.#decode(value),
    ])
    return this.#query
  }

  /** The query's values by name, as binary strings. */
  get queryFields(): Fields {
    this.#queryFields ??= fieldsOf(this.#queryPairs())
    return this.#queryFields
  }

  /** The body's JSON; undefined when it is none. */
  get json(): unknown {
    this.#json ??= { value: this.#readJson(parseJson) }
    return this.#json.value
  }

  /** The body's JSON with the members that occur more than once; undefined when it is none. */
  get document(): JsonDocument | undefined {
    if (this.#document === undefined) {
      this.#document = { value: this.#readJson(parseDocument) }
      this.#json = { value: this.#document.value?.value }
    }
    return this.#document.value
  }

  /**
   * The fields of a form by name, as binary strings; of a multipart form the parts that are text. Undefined when the
   * body is no form, or has too many fields.
   */
  get fields(): Fields | undefined {
    this.#fields ??= { value: this.#readFields() }
    return this.#fields.value
  }

  /** Whether `fields` are all there is in the body: a multipart form has files and headers besides. */
  get isPlainForm(): boolean {
    return this.#format === 'form' || this.#request.body.length === 0
  }

  /** Names of a multipart form's files. */
  get fileNames(): readonly string[] {
    return (this.#readParts() ?? []).filter(({ filename }) => filename !== undefined).map(nameOf)
  }

  /** The `body` of selectors and filters: JSON, or a form as an object; null when the body is neither. */
  payload(): unknown {
    this.#payload ??= { value: this.#readPayload() }
    return this.#payload.value
  }

  /** The `payload` for a caller that copies it and reads none of its members. */
  get storedPayload(): StoredPayload {
    const { body } = this.#request
    const isJson = this.#format === 'json' || (this.#format === 'maybe_json' && looksLikeJson(body))
    if (isJson) return { json: body.subarray(startOf(body)), otherwise: () => null }
    if (this.#format !== 'form') return { json: undefined, otherwise: () => this.payload() }
    const pairs = this.#readForm() ?? []
    return {
      json: wrapped(pairs),
      otherwise: () => (pairs.length === 0 ? null : objectOf(this.#decodePairs(pairs))),
    }
  }

  /** Whether a text of this request stands for its own bytes alone: no other bytes would have read the same. */
  isExact(text: string): boolean {
    if (!text.isWellFormed() || this.#undecodable?.has(text) === true) return false
    return !text.includes('\uFFFD') || isUtf8(this.#request.body)
  }

  #decodeHeaders(): Headers {
    const decoded: Record<string, string | undefined> = Object.create(null)
    for (const [name, value] of Object.entries(this.#request.headers)) {
      decoded[name] = this.#decode(value ?? '')
    }
    return decoded
  }

  #queryPairs(): Pair[] {
    // A request line is short enough for every field that it can hold.
    this.#pairs ??= { value: parsePairs(this.#request.query) ?? [] }
    return this.#pairs.value
  }

  #readJson<T>(parse: (text: string) => T): T | undefined {
    const { body } = this.#request
    if (body.length === 0) return undefined
    if (this.#format === 'maybe_json') {
      if (!looksLikeJson(body)) return undefined
    } else if (this.#format !== 'json') return undefined
    return parsed(body.toString('utf8', startOf(body)), parse)
  }

  #readPayload(): unknown {
    switch (this.#format) {
      case 'json':
      case 'maybe_json':
        return this.json ?? null
      case 'form': {
        const pairs = this.#readForm()
        if (pairs === undefined || pairs.length === 0) return null
        return wrappedJson(pairs) ?? objectOf(this.#decodePairs(pairs))
      }
      case 'multipart': {
        const parts = this.#readParts()
        return parts === undefined ? null : objectOf(parts.map((part) => this.#memberOf(part)))
      }
      case 'none':
        return null
    }
  }

  #readForm(): Pair[] | undefined {
    const { body } = this.#request
    this.#form ??= { value: parsePairs(body.toString('latin1', startOf(body)), FORM_FIELDS_MAX) }
    return this.#form.value
  }

  #readParts(): Part[] | undefined {
    if (this.#format !== 'multipart') return undefined
    const { body, headers } = this.#request
    const contentType = headers['content-type'] ?? ''
    this.#parts ??= {
      value: parseMultipart(contentType, body.subarray(startOf(body)), FORM_FIELDS_MAX),
    }
    return this.#parts.value
  }

  #readFields(): Fields | undefined {
    if (this.#request.body.length === 0) return new Map()
    if (this.#format === 'form') {
      const pairs = this.#readForm()
      return pairs && fieldsOf(pairs)
    }
    const texts = this.#readParts()?.filter(({ filename }) => filename === undefined)
    return texts && fieldsOf(texts.map(({ name, body }): Pair => [name, body.toString('latin1')]))
  }

  #memberOf(part: Part): [name: string, value: string | FilePart] {
    const name = this.#decode(part.name)
    if (part.filename === undefined) return [name, this.#decode(part.body.toString('latin1'))]
    const contentType = part.contentType === undefined ? null : this.#decode(part.contentType)
    const filename = this.#decode(part.filename)
    return [name, { filename, contentType, sizeBytes: part.body.length }]
  }

  #decodePairs(pairs: readonly Pair[]): Pair[] {
    return pairs.map(([name, value]) => [this.#decode(name), this.#decode(value)])
  }

  #decode(binary: string): string {
    const text = decodeText(binary)
    if (text === binary && !isUtf8Text(binary)) {
      this.#undecodable ??= new Set()
      this.#undecodable.add(text)
    }
    return text
  }
}

const made = new WeakMap<Unparsed, Parsed>()

/** The one reading of a request, made when it is first asked for. */
export function parsedOf(request: Unparsed): Parsed {
  const known = made.get(request)
  if (known !== undefined) return known
  const fresh = new Parsed(request)
  made.set(request, fresh)
  return fresh
}

function formatOf(contentType: string | undefined): Format {
  const [first = ''] = (contentType ?? '').split(';', 1)
  const mediaType = first.trim().toLowerCase()
  switch (mediaType) {
    case 'application/json':
    case 'text/json':
      return 'json'
    case '':
    case 'text/plain':
      return 'maybe_json'
    case 'application/x-www-form-urlencoded':
      return 'form'
    case 'multipart/form-data':
      return 'multipart'
    default:
      return mediaType.endsWith('+json') ? 'json' : 'none'
  }
}

const BRACKETS: ReadonlySet<number | undefined> = new Set([0x7b, 0x5b])
const BLANKS: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d])

/** Whether it begins as an object or an array does: nothing else has members, and a text that is a number is a text. */
export function looksLikeJson(body: Buffer): boolean {
  let at = startOf(body)
  while (BLANKS.has(body[at])) at += 1
  return BRACKETS.has(body[at])
}

function parsed<T>(text: string, parse: (text: string) => T): T | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

function wrappedJson(pairs: readonly Pair[]): unknown {
  const bytes = wrapped(pairs)
  return bytes && parsed(bytes.toString('utf8'), parseJson)
}

/** Only of a form with nothing else in it: a second field would be hidden from filters, and not from the endpoint. */
function wrapped(pairs: readonly Pair[]): Buffer | undefined {
  const [[name, value] = ['', '']] = pairs
  if (pairs.length !== 1 || !WRAPPERS.has(name) || !isUtf8Text(value)) return undefined
  const bytes = Buffer.from(value, 'latin1')
  return looksLikeJson(bytes) ? bytes.subarray(startOf(bytes)) : undefined
}

function nameOf({ name }: Part): string {
  return name
}
