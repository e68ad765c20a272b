import { HOPS_HEADER, hopsOf } from './hops.ts'

export type Header = readonly [name: string, value: string]

/** Facts of an attempt that become headers; a null fact has no header. */
export interface DeliveryFacts {
  deliveryId: string
  eventId: string | null
  connectionId: string | null
  /** Number of the attempt, from 1. */
  attempt: number
  attemptTrigger: string
  sourceName: string | null
  verifiedWith: string | null
  remoteIp: string | null
  timestampSeconds: number
  signature: string
  /** Undefined while traces are off: then those of the sender go on. */
  trace?: TraceHeaders | undefined
}

/** Headers by which the destination continues a trace. */
export interface TraceHeaders {
  traceparent: string
  /** It is below a span that the sender named, so that the `tracestate` of the sender still holds. */
  isContinued: boolean
}

/** Stands in a stored event for the value that carried a source's shared secret. (decisions: Ingest) */
export const MASKED_VALUE = '***'

/**
 * The name of the verifier of mail. Headers of a mail are in the body that is made of it: as headers of a request they would
 * mean other things, and be longer than servers take.
 */
const MAIL_VERIFIED = 'email'

const NAME_LENGTH_MAX = 256
const VALUE_LENGTH_MAX = 8_192

/** Headers of the sender's connection (RFC 9110, section 7.6.1), or that we set ourselves. undici refuses `expect`. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * The headers of one attempt, flat as undici takes them: the event's end-to-end headers as they came, ours, then the
 * destination's `own`, which win; of two of its own with one name the later wins, so that `auth` goes before
 * `headers`. An incoming `webhook-*` is kept as `postern-original-webhook-*`; an incoming `postern-*` is dropped, so
 * that whoever trusts the name hears only us, and so is what a CGI server takes for either, as `webhook_id`. Of
 * `postern-hops` the number goes on, one more. Ours replaces an incoming `traceparent`. (decisions: Delivery)
 */
export function deliveryHeaders(
  eventHeaders: readonly Header[],
  facts: DeliveryFacts,
  own: readonly Header[],
): string[] {
  const ownIndex = indexByName(own)
  const relayable =
    facts.verifiedWith === MAIL_VERIFIED ? eventHeaders.filter(isType) : eventHeaders
  const hops = namedByConnection(relayable)
  const flat: string[] = []
  let relayed = 0
  for (const [given, value] of relayable) {
    const { name, sentAs } = incoming(given)
    if (name === HOPS_HEADER) relayed = Math.max(relayed, hopsOf(value))
    if (sentAs === undefined || value === MASKED_VALUE) continue
    if (hops?.has(name) || ownIndex?.has(name)) continue
    if (facts.trace !== undefined && isReplaced(name, facts.trace)) continue
    flat.push(sentAs, value)
  }
  if (facts.trace !== undefined && ownIndex?.has('traceparent') !== true) {
    flat.push('traceparent', facts.trace.traceparent)
  }
  pushFacts(flat, facts)
  flat.push(HOPS_HEADER, String(relayed + 1))
  own.forEach(([name, value], index) => {
    if (ownIndex?.get(name.toLowerCase()) === index) flat.push(name, value)
  })
  return flat
}

function isType([name]: Header): boolean {
  return name === 'content-type'
}

/** Headers as they are stored: a list of names with their values. Checked by hand: a schema makes each pair anew. */
export function parseHeaders(json: string): Header[] {
  const given: unknown = JSON.parse(json)
  if (!areHeaders(given)) throw new Error('The headers are no list of names with their values')
  return given
}

function areHeaders(given: unknown): given is Header[] {
  return Array.isArray(given) && given.every(isHeader)
}

function isHeader(given: unknown): boolean {
  return (
    Array.isArray(given) &&
    given.length === 2 &&
    typeof given[0] === 'string' &&
    typeof given[1] === 'string'
  )
}

/** Whether only the relay or the connection may set the header. (decisions: Delivery) */
export function forbiddenDestinationHeader(name: string): boolean {
  const read = asCgi(name.toLowerCase())
  return NOT_FORWARDED.has(read) || read.startsWith('webhook-') || read.startsWith('postern-')
}

/** Servers of the CGI kind (PHP, WSGI, Rack) tell `webhook_id` and `webhook.id` not from `webhook-id`. */
function asCgi(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, '-')
}

/** The fault of a header that a destination configures; undefined when there is none. */
export function headerFault(name: string, value: string): string | undefined {
  if (name.length > NAME_LENGTH_MAX || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    return 'is not a header name'
  }
  if (forbiddenDestinationHeader(name)) return 'is a header that a destination may not set'
  return headerValueFault(value)
}

/** The fault of a header value that a client configures; undefined when there is none. */
export function headerValueFault(value: string): string | undefined {
  if (value.length > VALUE_LENGTH_MAX) return `must be at most ${VALUE_LENGTH_MAX} characters`
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    return 'must hold only characters that a header can carry'
  }
  // Whoever reads the header drops them. (RFC 9110, section 5.5)
  return /^[\t ]|[\t ]$/.test(value) ? 'must have no blanks around it' : undefined
}

function isReplaced(name: string, { isContinued }: TraceHeaders): boolean {
  return name === 'traceparent' || (name === 'tracestate' && !isContinued)
}

interface Incoming {
  /** In lower case. */
  name: string
  /** Undefined for a header that is not forwarded. */
  sentAs: string | undefined
}

/**
 * Remembers the treatment of each name: senders use few, and lower-casing them again for every delivery would cost
 * six times as much. Senders choose them, hence the bounds.
 */
const seen = new Map<string, Incoming>()
const SEEN_MAX = 2_000
const SEEN_LENGTH_MAX = 64

function incoming(given: string): Incoming {
  const known = seen.get(given)
  if (known !== undefined) return known
  const name = given.toLowerCase()
  const isWebhook = name.startsWith('webhook-')
  const isDropped = !isWebhook && forbiddenDestinationHeader(name)
  const renamed = isWebhook ? `postern-original-${name}` : given
  const read = { name, sentAs: isDropped ? undefined : renamed }
  if (seen.size >= SEEN_MAX) seen.clear()
  if (given.length <= SEEN_LENGTH_MAX) seen.set(given, read)
  return read
}

function pushFacts(flat: string[], facts: DeliveryFacts): void {
  flat.push(
    'webhook-id',
    facts.deliveryId,
    'webhook-timestamp',
    String(facts.timestampSeconds),
    'webhook-signature',
    facts.signature,
    'postern-delivery-id',
    facts.deliveryId,
    'postern-attempt',
    String(facts.attempt),
    'postern-attempt-trigger',
    facts.attemptTrigger,
  )
  if (facts.eventId !== null) flat.push('postern-event-id', facts.eventId)
  if (facts.sourceName !== null) flat.push('postern-source', asHeaderValue(facts.sourceName))
  if (facts.connectionId !== null) flat.push('postern-connection-id', facts.connectionId)
  if (facts.verifiedWith !== null) flat.push('postern-verified-with', facts.verifiedWith)
  if (facts.remoteIp) flat.push('postern-original-ip', facts.remoteIp)
}

/** Names of sources are free text; what a header cannot carry travels percent-encoded. */
function asHeaderValue(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

function indexByName(own: readonly Header[]): ReadonlyMap<string, number> | undefined {
  if (own.length === 0) return undefined
  return new Map(own.map(([name], index) => [name.toLowerCase(), index]))
}

/** Headers that the sender's `connection` declares to be of that connection only. */
function namedByConnection(headers: readonly Header[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined
  for (const [name, value] of headers) {
    if (name.length !== 'connection'.length || name.toLowerCase() !== 'connection') continue
    if (value === 'close' || value === 'keep-alive') continue
    names ??= new Set()
    for (const item of value.split(',')) names.add(item.trim().toLowerCase())
  }
  return names
}
