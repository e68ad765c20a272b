import { HISTORY_DAYS } from './history.ts'

const DAY_MS = 86_400_000

/** Of each request; a search takes up to a second. */
const ROUNDS = 100
const SEARCH_ROUNDS = 5

const READ_MUST = 'p99 50 ms'
const STATS_MUST = 'p99 20 ms'
const SEARCH_MUST = 'within 1 s'

export interface Past {
  sourceId: string
  connectionId: string
  destinationId: string
  /** Ids from all of the past. */
  eventIds: string[]
  deliveryIds: string[]
  nowMs: number
}

export interface Request {
  name: string
  must: string
  /** Of the n-th request, so that no two of a row are alike. */
  path: (n: number) => string
  rounds: number
}

export function eventRequests({ sourceId, eventIds, nowMs }: Past): Request[] {
  const event = nth(eventIds)
  return [
    read('events', (n) => `/v1/events?limit=${1 + n}`),
    read('events of a source', (n) => `/v1/events?sourceId=${sourceId}&limit=${1 + n}`),
    ...['received', 'filtered', 'unmatched', 'rejected', 'pending'].map((status) =>
      read(`events ${status}`, (n) => `/v1/events?status=${status}&limit=${1 + n}`),
    ),
    read('events of a day', (n) => `/v1/events?${dayBefore(nowMs, n)}&limit=100`),
    read(
      'events of a day, ascending',
      (n) => `/v1/events?${dayBefore(nowMs, n)}&sortDir=asc&limit=100`,
    ),
    read(
      'rejected events of a source and day',
      (n) => `/v1/events?sourceId=${sourceId}&status=rejected&${dayBefore(nowMs, n)}`,
    ),
    read('an event', (n) => `/v1/events/${event(n)}`),
    read('a timeline', (n) => `/v1/events/${event(n)}/timeline`),
    read('has-any', () => '/v1/events/has-any'),
    search('search for an event id', (n) => `/v1/events?search=${event(n)}`),
    search('search for a body that is there', () => '/v1/events?search=c4ca4238'),
    search('search for a body that is not', () => '/v1/events?search=nowhere-to-be-found'),
  ]
}

export function deliveryRequests(past: Past): Request[] {
  const { sourceId, connectionId, destinationId, eventIds, deliveryIds, nowMs } = past
  const event = nth(eventIds)
  const delivery = nth(deliveryIds)
  const pastMonth = new Date(nowMs - HISTORY_DAYS * DAY_MS).toISOString()
  return [
    read('deliveries', (n) => `/v1/deliveries?limit=${1 + n}`),
    ...['pending', 'throttled', 'in_flight', 'succeeded', 'failed', 'cancelled'].map((status) =>
      read(`deliveries ${status}`, (n) => `/v1/deliveries?status=${status}&limit=${1 + n}`),
    ),
    read('deliveries of an event', (n) => `/v1/deliveries?eventId=${event(n)}`),
    read(
      'deliveries of a connection',
      (n) => `/v1/deliveries?connectionId=${connectionId}&limit=${1 + n}`,
    ),
    read(
      'deliveries to a destination',
      (n) => `/v1/deliveries?destinationId=${destinationId}&limit=${1 + n}`,
    ),
    read('deliveries of a source', (n) => `/v1/deliveries?sourceId=${sourceId}&limit=${1 + n}`),
    read(
      'failed deliveries to a destination',
      (n) => `/v1/deliveries?destinationId=${destinationId}&status=failed&limit=${1 + n}`,
    ),
    read('deliveries by error code', (n) => `/v1/deliveries?errorCode=bad_response&limit=${1 + n}`),
    read('deliveries by an error code that none has', () => '/v1/deliveries?errorCode=tls_error'),
    read(
      'deliveries by response status',
      (n) => `/v1/deliveries?responseStatus=500&limit=${1 + n}`,
    ),
    read(
      'deliveries by next attempt',
      (n) => `/v1/deliveries?status=pending&sortBy=nextAttemptAt&sortDir=asc&limit=${1 + n}`,
    ),
    read('deliveries of a day', (n) => `/v1/deliveries?${dayBefore(nowMs, n)}&limit=100`),
    read('a delivery', (n) => `/v1/deliveries/${delivery(n)}`),
    {
      name: 'deliveries/stats',
      must: STATS_MUST,
      path: () => '/v1/deliveries/stats',
      rounds: ROUNDS,
    },
    read('dashboard', () => '/v1/stats/dashboard'),
    read(
      'dashboard of 30 days by destination',
      () => `/v1/stats/dashboard?from=${pastMonth}&granularity=day&groupBy=destination`,
    ),
  ]
}

function read(name: string, path: Request['path']): Request {
  return { name, must: READ_MUST, path, rounds: ROUNDS }
}

function search(name: string, path: Request['path']): Request {
  return { name, must: SEARCH_MUST, path, rounds: SEARCH_ROUNDS }
}

function nth(ids: readonly string[]): (n: number) => string {
  return (n) => ids[n % ids.length] ?? ''
}

/** The n-th day back from now. */
function dayBefore(nowMs: number, n: number): string {
  const fromMs = nowMs - ((n % (HISTORY_DAYS - 1)) + 1) * DAY_MS
  return `from=${new Date(fromMs).toISOString()}&to=${new Date(fromMs + DAY_MS).toISOString()}`
}
