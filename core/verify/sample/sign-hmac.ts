import type { ConfigOf } from '../config/verifier-config.ts'
import { decodeSecret } from '../request/encoding.ts'
import { jsonPath, viewOf } from '../request/view.ts'
import { digestWith } from '../schemes/hmac.ts'
import { assemble, compileTemplates, type Content } from '../schemes/template.ts'
import { putHeader, putMember, requestOf, sampleId, type Draft } from './draft.ts'

type Hmac = ConfigOf<'hmac'>

/** The header that a signature over a list of headers covers. */
const SIGNED_HEADER = 'content-type'

/** Signs a draft as a provider with the secret does. False when its signature or its time is none of a header or a body. */
export function signHmac(
  draft: Draft,
  config: Hmac,
  { secret, address, nowMs }: { secret: string | undefined; address: string; nowMs: number },
): boolean {
  const { signature, signedHeaders, requiredHeaders = {} } = config
  const [name] = signature.names
  if (signature.in !== 'header' || name === undefined) return false
  const timestamp = config.timestamp && textOfTime(config.timestamp.format, nowMs)
  const id = config.id && sampleId()
  if (!putTime(draft, config, timestamp) || !putId(draft, config, id)) return false
  for (const [header, value] of Object.entries(requiredHeaders)) putHeader(draft, header, value)
  if (signedHeaders?.in === 'header') putHeader(draft, signedHeaders.name, SIGNED_HEADER)
  putNamed(draft, config)
  const pairs = pairsOf(config, timestamp)
  const source = {
    view: viewOf(requestOf(draft, address)),
    timestamp,
    id,
    parsed: { candidates: [], timestamp, pairs },
  }
  let content: Content | undefined
  for (const template of compileTemplates(config)) content ??= assemble(template, source)
  if (content === undefined) return false
  const bytes = digestWith(config, decodeSecret(secret, config.secretEncoding))(content)
  const text = `${signature.prefix ?? ''}${bytes.toString(signature.encoding)}`
  // A family of headers is numbered.
  putHeader(draft, name.replace('*', '1'), written(config, { text, timestamp, pairs }))
  return true
}

function textOfTime(format: NonNullable<Hmac['timestamp']>['format'], nowMs: number): string {
  if (format === 'iso8601') return new Date(nowMs).toISOString()
  return String(format === 'unix' ? Math.floor(nowMs / 1_000) : nowMs)
}

function putTime(draft: Draft, { timestamp }: Hmac, text: string | undefined): boolean {
  if (timestamp === undefined || text === undefined || timestamp.in === 'signature') return true
  const { name = '', format } = timestamp
  const value = format === 'iso8601' ? text : Number(text)
  return put(draft, { in: timestamp.in, name }, value)
}

function putId(draft: Draft, { id }: Hmac, text: string | undefined): boolean {
  return id === undefined || text === undefined || put(draft, id, text)
}

function put(
  draft: Draft,
  { in: where, name }: { in: string; name: string },
  value: string | number,
): boolean {
  if (where === 'header') putHeader(draft, name, String(value))
  return where === 'header' || (where === 'json' && putMember(draft.members, jsonPath(name), value))
}

/** All that the content covers by name has to be there. */
function putNamed(draft: Draft, { content }: Hmac): void {
  for (const [, where = '', name = ''] of [content].flat().join('').matchAll(NAMED)) {
    const isThere = where === 'header' && draft.headers.has(name.toLowerCase())
    if (!isThere) put(draft, { in: where, name }, sampleId())
  }
}

const NAMED = /\{(header|json)\.([^{}]+)\}/g

/** The keys and values beside the signature, where it has such a form. */
function pairsOf(
  { signature, timestamp, signedHeaders, content }: Hmac,
  time: string | undefined,
): Map<string, string> | undefined {
  if (signature.format !== 'pairs') return undefined
  const pairs = new Map<string, string>()
  if (timestamp?.in === 'signature' && time !== undefined) {
    pairs.set(signature.timestampKey ?? timestamp.name ?? 't', time)
  }
  for (const [, key = ''] of [content]
    .flat()
    .join('')
    .matchAll(/\{signature\.([^{}]+)\}/g)) {
    pairs.set(key, sampleId())
  }
  if (signedHeaders?.in === 'signature') pairs.set(signedHeaders.name, SIGNED_HEADER)
  return pairs
}

function written(
  { signature }: Hmac,
  {
    text,
    timestamp = '',
    pairs,
  }: { text: string; timestamp: string | undefined; pairs: Map<string, string> | undefined },
): string {
  const { format, itemSeparator = ',', keySeparator = '=', signatureKey = 'v1' } = signature
  if (format === 'list') return text
  if (format === 'positional') return `${timestamp}${itemSeparator}${text}`
  return [...(pairs ?? []), [signatureKey, text]]
    .map(([key, value]) => `${key}${keySeparator}${value}`)
    .join(itemSeparator)
}
