import { randomBytes } from 'node:crypto'

import type { HeaderPair } from '../request/headers.ts'

/** A span as others name it. (W3C Trace Context) */
export interface SpanName {
  /** 32 hexadecimal digits. */
  traceId: string
  /** 16 hexadecimal digits. */
  spanId: string
  isSampled: boolean
}

export const TRACEPARENT = 'traceparent'

const FORM = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/
const FIRST_VERSION_LENGTH = 55
const ZEROS = /^0+$/

/** The span that a `traceparent` names; undefined for a text that is of no such form. */
export function readTraceparent(text: string | undefined): SpanName | undefined {
  const [, traceId = '', spanId = '', flags = ''] = FORM.exec(text ?? '') ?? []
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  if (text?.startsWith('00') === true && text.length !== FIRST_VERSION_LENGTH) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function writeTraceparent({ traceId, spanId, isSampled }: SpanName): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

/** The span that headers name. Two that name one name none. */
export function parentIn(headers: readonly HeaderPair[]): SpanName | undefined {
  let found: string | undefined
  for (const [name, value] of headers) {
    if (name.length !== TRACEPARENT.length || name.toLowerCase() !== TRACEPARENT) continue
    if (found !== undefined) return undefined
    found = value
  }
  return readTraceparent(found)
}

/** A UUID without its hyphens: the id of the trace of what it names. */
export function traceIdOf(uuid: string): string {
  return uuid.replaceAll('-', '')
}

/** The span of the request that brought an event follows from the event's id: whoever has the event can name it. */
export function spanIdOfRequest(eventId: string): string {
  return traceIdOf(eventId).slice(16)
}

/**
 * The span of an attempt follows from its delivery and its number: a later attempt, perhaps in another process days after,
 * can name the first, and no row or message carries more than it does without traces.
 */
export function spanIdOfAttempt(deliveryId: string, number: number): string {
  return withNumber(deliveryId, number)
}

/** The span of the wait before an attempt. */
export function spanIdOfWait(deliveryId: string, number: number): string {
  return withNumber(deliveryId, number + WAITS_FROM)
}

/** Beyond the number of any attempt. */
const WAITS_FROM = 0x8000_0000

/** The last half of a UUIDv7 is random: with a number mixed in, it is as good as a new one. */
function withNumber(uuid: string, number: number): string {
  const digits = spanIdOfRequest(uuid)
  const mixed = (Number.parseInt(digits.slice(8), 16) ^ number) >>> 0
  return digits.slice(0, 8) + mixed.toString(16).padStart(8, '0')
}

/** For a span that nobody else has to name. */
export function newSpanId(): string {
  return randomBytes(8).toString('hex')
}
