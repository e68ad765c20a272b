import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import querystring from 'node:querystring'
import { crc32 } from 'node:zlib'

import { sortedFields } from '../../request/form.ts'
import { toBinary } from '../../request/text.ts'
import { coversBody, type SignedConfig } from '../config/verifier-config.ts'
import { ConfigFault } from '../request/signed-request.ts'
import { isSingleHeader, plainFormOf, readerOf, type View } from '../request/view.ts'
import { affords, affordsHash } from '../request/work.ts'
import type { ParsedSignature } from './signature-parts.ts'

/** The values that a content template can use. */
export interface ContentSource {
  readonly view: View
  readonly timestamp: string | undefined
  readonly id: string | undefined
  readonly parsed: ParsedSignature
}

/** The signed bytes in order: binary strings and Buffers. */
export type Content = (string | Buffer)[]

/** Undefined: the request lacks the value, so that nothing can match. */
type Field = (source: ContentSource) => string | Buffer | undefined

/** Stands in a Content where the bytes of the secret belong; only a plain hash has one. */
export const SECRET = Buffer.from('{secret}')

export interface Template {
  readonly parts: readonly (string | Field)[]
  readonly bodyMustBeEmpty: boolean
  /** Names of the only fields that the body may have; undefined where it may be anything. */
  readonly onlyFields: ReadonlySet<string> | undefined
}

type Scheme = Pick<
  SignedConfig,
  'content' | 'params' | 'url' | 'signedHeaders' | 'signature' | 'timestamp' | 'id'
>

/**
 * Compiles every alternative of `content`. Where one of them covers the body, those that do not are for requests
 * without one: otherwise a signed query would let any body pass. Throws a ConfigFault on an unknown placeholder.
 */
export function compileTemplates(scheme: Scheme): Template[] {
  const contents = [scheme.content].flat()
  const someCoverBody = contents.some(coversBody)
  return contents.map((content) => ({
    parts: partsOf(content, scheme),
    bodyMustBeEmpty: someCoverBody && !coversBody(content),
    onlyFields: onlyFieldsOf(content, scheme),
  }))
}

/** A body that is covered field by field may have no other field: nobody has signed it. */
function onlyFieldsOf(content: string, scheme: Scheme): ReadonlySet<string> | undefined {
  if (!coversBody(content) || COVERS_WHOLE_BODY.test(content)) return undefined
  const { signature, timestamp, id } = scheme
  const covered = [...content.matchAll(/\{form\.([^{}]+)\}/g)].map(([, name = '']) => name)
  const read = [
    ...(signature.in === 'form' ? signature.names : []),
    ...(timestamp?.in === 'form' ? [timestamp.name ?? ''] : []),
    ...(id?.in === 'form' ? [id.name] : []),
  ]
  return new Set([...covered, ...read].map(toBinary))
}

const COVERS_WHOLE_BODY = /\{(?:body|bodyEscaped|bodySha256|form\.sorted)\}/

function hasOnly(view: View, names: ReadonlySet<string>): boolean {
  const fields = plainFormOf(view)
  return fields !== undefined && [...fields.keys()].every((name) => names.has(name))
}

/** Reading a text and writing it as bytes takes as long as hashing twice as many. */
const TEXT_COST = 2

export function lengthOf(content: Content): number {
  return content.reduce((bytes, part) => bytes + part.length, 0)
}

/** Undefined when the template does not apply to the request, or costs more than a request may. */
export function assemble(template: Template, source: ContentSource): Content | undefined {
  const { bodyMustBeEmpty, onlyFields } = template
  if (bodyMustBeEmpty && source.view.request.body.length > 0) return undefined
  if (onlyFields !== undefined && !hasOnly(source.view, onlyFields)) return undefined
  const content: Content = []
  let text = ''
  for (const part of template.parts) {
    const value = typeof part === 'string' ? part : part(source)
    if (value === undefined) return undefined
    if (typeof value === 'string') {
      if (!affordsHash(source.view.request, TEXT_COST * value.length)) return undefined
      text += value
      continue
    }
    if (text !== '') content.push(text)
    text = ''
    content.push(value)
  }
  if (text !== '') content.push(text)
  return content
}

/** Braces that hold no name are literal. */
function partsOf(content: string, scheme: Scheme): (string | Field)[] {
  return content
    .split(/(\{[A-Za-z][^{}]*\})/)
    .filter((piece) => piece !== '')
    .map((piece) =>
      /^\{[A-Za-z]/.test(piece) && piece.endsWith('}')
        ? fieldOf(piece.slice(1, -1), scheme)
        : toBinary(piece),
    )
}

function fieldOf(placeholder: string, scheme: Scheme): string | Field {
  const dot = placeholder.indexOf('.')
  const group = dot < 0 ? placeholder : placeholder.slice(0, dot)
  const name = dot < 0 ? '' : placeholder.slice(dot + 1)
  const field = name === '' ? plainField(group, scheme) : namedField(group, name, scheme)
  if (field === undefined)
    throw new ConfigFault(`The content has an unknown {${placeholder}}`, ['content'])
  return field
}

/** Escaping a byte takes as long as hashing that many. */
const ESCAPE_COST = 20

function ofBody(read: (body: Buffer) => string, cost = 1): Field {
  return ({ view: { request } }) =>
    affords(request, request.body.length * cost) ? read(request.body) : undefined
}

const PLAIN: Readonly<Record<string, Field>> = {
  body: ({ view }) => view.request.body,
  bodyEscaped: ofBody((body) => escapeBody(body), ESCAPE_COST),
  bodySha256: ofBody((body) => createHash('sha256').update(body).digest('hex')),
  bodyCrc32: ofBody((body) => String(crc32(body))),
  timestamp: (source) => source.timestamp,
  id: (source) => source.id,
  method: ({ view }) => view.request.method,
  secret: () => SECRET,
}

function plainField(name: string, { url, signedHeaders }: Scheme): Field | undefined {
  switch (name) {
    case 'url':
      return ({ view }) => toBinary(signedUrl(view, url))
    case 'urlUnescaped':
      return ({ view }) => toBinary(unescapeUrl(signedUrl(view, url)))
    case 'iri':
      return ({ view }) => {
        const iri = iriOf(signedUrl(view, url))
        return iri === undefined ? undefined : toBinary(iri)
      }
    case 'path':
      return ({ view }) => toBinary(pathAndQuery(signedUrl(view, url)))
    case 'pathEncoded':
      return ({ view }) => encodePath(signedUrl(view, url))
    case 'iriEncoded':
      return ({ view }) => encodePath(iriOf(signedUrl(view, url)))
    case 'signedHeaders':
      if (signedHeaders === undefined)
        throw new ConfigFault('Required by {signedHeaders}', ['signedHeaders'])
      return signedHeadersField(signedHeaders)
    default:
      return Object.hasOwn(PLAIN, name) ? PLAIN[name] : undefined
  }
}

function namedField(group: string, name: string, { params }: Scheme): string | Field | undefined {
  switch (group) {
    case 'signature':
      return ({ parsed }) => parsed.pairs?.get(name)
    case 'form':
      return name === 'sorted' ? sortedForm : fromRequest('form', name)
    case 'header':
    case 'query':
    case 'json':
      return fromRequest(group, name)
    case 'param': {
      const value = params !== undefined && Object.hasOwn(params, name) ? params[name] : undefined
      if (value === undefined)
        throw new ConfigFault(`Required by {param.${name}}`, ['params', name])
      return toBinary(value)
    }
    default:
      return undefined
  }
}

function fromRequest(place: 'header' | 'query' | 'json' | 'form', name: string): Field {
  const read = readerOf({ in: place, name })
  return ({ view }) => read(view)
}

function sortedForm({ view }: ContentSource): string | undefined {
  const fields = plainFormOf(view)
  return fields === undefined ? undefined : sortedFields(fields)
}

/** A sender lists few headers; more is not a signature. */
const SIGNED_HEADERS_MAX = 64

function signedHeadersField(config: NonNullable<Scheme['signedHeaders']>): Field {
  const readList: Field =
    config.in === 'signature'
      ? ({ parsed }) => parsed.pairs?.get(config.name)
      : fromRequest('header', config.name)
  return (source) => {
    const list = readList(source)
    if (typeof list !== 'string') return undefined
    const names = list.split(config.separator, SIGNED_HEADERS_MAX + 1)
    if (names.length > SIGNED_HEADERS_MAX) return undefined
    const keys = names.map((name) => name.trim().toLowerCase()).filter((name) => name !== '')
    if (config.sort) keys.sort()
    const { headers } = source.view.request
    if (!keys.every((key) => isSingleHeader(source.view.request, key))) return undefined
    return keys.map((key) => renderHeader(config.render, key, headers[key])).join(config.joiner)
  }
}

function renderHeader(render: 'pairs' | 'values', key: string, value: string | undefined): string {
  const text = value?.trim() ?? ''
  return render === 'pairs' ? `${key}:${text}` : text
}

/** The URL as registered with the sender. An override without a query takes the one of the request. */
export function signedUrl(view: View, override: string | undefined): string {
  if (override === undefined) return view.request.url
  const { query } = view.request
  return query === '' || override.includes('?') ? override : `${override}?${query}`
}

function pathAndQuery(url: string): string {
  const scheme = url.indexOf('://')
  const path = url.indexOf('/', scheme < 0 ? 0 : scheme + 3)
  return path < 0 ? '/' : url.slice(path)
}

/** HubSpot signs these escapes as the characters they stand for. (HubSpot: Validating requests) */
function unescapeUrl(url: string): string {
  return url.replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  )
}

/** Contentful's SDK escapes the query and then both again, whatever is escaped already. (node-apps-toolkit) */
function encodePath(url: string | undefined): string | undefined {
  if (url === undefined) return undefined
  const [path = '', search = ''] = pathAndQuery(url).split('?')
  const query = search === '' ? '' : `?${querystring.escape(search)}`
  try {
    return encodeURI(`${path}${query}`)
  } catch {
    return undefined
  }
}

const NOT_ASCII = /(?:%[89A-F][0-9A-F])+/gi

/**
 * The URL with the letters that are not ASCII as they were registered: some senders sign that spelling and send the
 * escaped one. Undefined where both are one. (RFC 3987, section 3.2)
 */
export function iriOf(url: string): string | undefined {
  const iri = url.replaceAll(NOT_ASCII, (escapes) => {
    const bytes = Buffer.from(escapes.replaceAll('%', ''), 'hex')
    return isUtf8(bytes) ? bytes.toString('utf8') : escapes
  })
  return iri === url ? undefined : iri
}

/** The body as text with every character from U+007F as \uXXXX and every slash escaped: how Box signs some bodies. */
function escapeBody(body: Buffer): string {
  const pieces: string[] = []
  const text = body.toString('utf8')
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 0x7f) continue
    pieces.push(text.slice(start, at), `\\u${code.toString(16).padStart(4, '0')}`)
    start = at + 1
  }
  pieces.push(text.slice(start))
  return pieces.join('').replaceAll(/(?<!\\)\//g, '\\/')
}
