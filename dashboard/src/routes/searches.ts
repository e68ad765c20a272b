import { choice, flag, moment, read, text, type Raw } from './search-parts.ts'
import {
  DELIVERY_STATUSES,
  ERROR_CODES,
  EVENT_STATUSES,
  RANGES,
  SIGN_IN_PROBLEMS,
} from './values.ts'

/** Filters of pages, as their addresses carry them. Each page has its function here, and no other way to read one. */
export const eventSearch = (raw: Raw) =>
  read(raw, {
    status: choice(raw, 'status', EVENT_STATUSES),
    source: text(raw, 'source'),
    type: eventType(raw),
    q: text(raw, 'q'),
    from: moment(raw, 'from'),
    to: moment(raw, 'to'),
    live: flag(raw, 'live'),
  })
export type EventSearch = ReturnType<typeof eventSearch>

export const deliverySearch = (raw: Raw) =>
  read(raw, {
    status: choice(raw, 'status', DELIVERY_STATUSES),
    source: text(raw, 'source'),
    destination: text(raw, 'destination'),
    connection: text(raw, 'connection'),
    event: text(raw, 'event'),
    error: choice(raw, 'error', ERROR_CODES),
    code: responseCode(raw),
    from: moment(raw, 'from'),
    to: moment(raw, 'to'),
  })
export type DeliverySearch = ReturnType<typeof deliverySearch>

export const overviewSearch = (raw: Raw) =>
  read(raw, {
    range: choice(raw, 'range', RANGES),
    from: moment(raw, 'from'),
    to: moment(raw, 'to'),
  })

export const tabSearch = (raw: Raw) => read(raw, { tab: text(raw, 'tab') })

export const newConnectionSearch = (raw: Raw) =>
  read(raw, { source: text(raw, 'source'), destination: text(raw, 'destination') })

export const connectionSearch = (raw: Raw) =>
  read(raw, { tab: text(raw, 'tab'), event: text(raw, 'event') })

export const sourceSearch = (raw: Raw) =>
  read(raw, { tab: text(raw, 'tab'), event: text(raw, 'event') })

export const newDestinationSearch = (raw: Raw) =>
  read(raw, { mode: choice(raw, 'mode', ['public', 'private']), source: text(raw, 'source') })

/** Onboarding: each step has an address, so that a reload loses nothing. */
export const startSearch = (raw: Raw) =>
  read(raw, {
    source: text(raw, 'source'),
    event: text(raw, 'event'),
    destination: text(raw, 'destination'),
  })

export const signInSearch = (raw: Raw) =>
  read(raw, { next: text(raw, 'next'), problem: choice(raw, 'problem', SIGN_IN_PROBLEMS) })

/** A type, or with a star at its end all that begin so. */
export const EVENT_TYPE = String.raw`[^*]{1,255}|[^*]{0,254}\*`

function eventType(raw: Raw): string | undefined {
  const value = text(raw, 'type')
  return value !== undefined && new RegExp(`^(?:${EVENT_TYPE})$`, 'u').test(value)
    ? value
    : undefined
}

/** `404` or a class such as `5xx`. */
function responseCode(raw: Raw): string | undefined {
  const value = text(raw, 'code')
  return value !== undefined && /^[1-5](?:\d\d|xx)$/.test(value) ? value : undefined
}
