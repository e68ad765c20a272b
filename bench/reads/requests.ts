import { DAY_MS } from '../../core/clock.ts'

/**
 * Rounds of each request; a search takes up to a second. The 99th of a hundred would be its second worst, which two pauses of the
 * machine make.
 */
const ROUNDS = 400
const SEARCH_ROUNDS = 5

const READ_MUST = 'p99 50 ms'
const STATS_MUST = 'p99 20 ms'
const SEARCH_MUST = 'within 1 s'
const PLAN_MUST = 'within 2 s'

/** Where a share of the past went, as clients name it. */
export interface PastRoute {
  sourceId: string
  connectionId: string
  destinationId: string
  /** Destination of all second deliveries of the project. */
  sharedDestinationId: string
}

export interface Past {
  busy: PastRoute
  ordinary: PastRoute
  rare: PastRoute
  retired: PastRoute
  failing: PastRoute
  /** Ids from all of the past. */
  eventIds: string[]
  deliveryIds: string[]
  nowMs: number
  /** As clients name them. */
  organisationId: string
  projectId: string
}

export interface Request {
  name: string
  must: string
  /** Path of the n-th request, so that no two in a row are alike. */
  path: (n: number) => string
  rounds: number
  /** With a body it is a POST. */
  body?: (n: number) => object
  /** By a signed-in person instead of an API key. */
  isByPerson?: boolean
}

export function eventRequests({ busy, ordinary, rare, retired, eventIds, nowMs }: Past): Request[] {
  const event = nth(eventIds)
  return [
    events('', ''),
    events('ascending', 'sortDir=asc'),
    events('of a source', `sourceId=${ordinary.sourceId}`),
    events('of a source with few', `sourceId=${rare.sourceId}`),
    events('of a source that ended two months ago', `sourceId=${retired.sourceId}`),
    ...['received', 'filtered', 'unmatched', 'rejected', 'pending'].map((status) =>
      events(status, `status=${status}`),
    ),
    events('of a type', 'eventType=invoice.paid'),
    events('of types that begin alike', 'eventType=invoice.*'),
    events('of a type, ascending', 'eventType=invoice.paid&sortDir=asc'),
    events('of a type, of a source', `sourceId=${ordinary.sourceId}&eventType=order.created`),
    search('events of a type of one in 50,000', () => '/v1/events?eventType=refund.created'),
    search('events of a type that none has', () => '/v1/events?eventType=nowhere.*'),
    search(
      'events of a type that none has, of a source with few',
      () => `/v1/events?eventType=nowhere.*&sourceId=${rare.sourceId}`,
    ),
    events('rejected of the busiest source', `sourceId=${busy.sourceId}&status=rejected`),
    events('rejected of a source with few', `sourceId=${rare.sourceId}&status=rejected`),
    read('events of a day', (n) => `/v1/events?${dayBefore(nowMs, n)}&limit=100`),
    read(
      'events of a day, ascending',
      (n) => `/v1/events?${dayBefore(nowMs, n)}&sortDir=asc&limit=100`,
    ),
    read('an event', (n) => `/v1/events/${event(n)}`),
    read('a timeline', (n) => `/v1/events/${event(n)}/timeline`),
    read('has-any', () => '/v1/events/has-any'),
    search('search for an event id', (n) => `/v1/events?search=${event(n)}`),
    search('search for an event type', () => '/v1/events?search=INVOICE'),
    search('search within a type', () => '/v1/events?search=number&eventType=refund.created'),
    search('search for a body that is not there', () => '/v1/events?search=nowhere-to-be-found'),
  ]
}

export function deliveryRequests(past: Past): Request[] {
  const { busy, ordinary, rare, retired, failing, eventIds, deliveryIds, nowMs } = past
  const event = nth(eventIds)
  const delivery = nth(deliveryIds)
  return [
    deliveries('', ''),
    deliveries('ascending', 'sortDir=asc'),
    ...['pending', 'throttled', 'in_flight', 'succeeded', 'failed', 'cancelled'].map((status) =>
      deliveries(status, `status=${status}`),
    ),
    read('deliveries of an event', (n) => `/v1/deliveries?eventId=${event(n)}`),
    deliveries('of a connection', `connectionId=${busy.connectionId}`),
    deliveries('of a connection with few', `connectionId=${rare.connectionId}`),
    deliveries('to a destination', `destinationId=${ordinary.destinationId}`),
    deliveries('to a destination with few', `destinationId=${rare.destinationId}`),
    deliveries('of a source', `sourceId=${ordinary.sourceId}`),
    deliveries('of a source with few', `sourceId=${rare.sourceId}`),
    deliveries('of a source that ended two months ago', `sourceId=${retired.sourceId}`),
    deliveries('failed, to a destination', `status=failed&destinationId=${busy.destinationId}`),
    deliveries(
      'failed, to a destination with few',
      `status=failed&destinationId=${rare.destinationId}`,
    ),
    deliveries('failed, of a connection', `status=failed&connectionId=${ordinary.connectionId}`),
    deliveries(
      'failed, of a source, ascending',
      `status=failed&sourceId=${ordinary.sourceId}&sortDir=asc`,
    ),
    deliveries('pending, to a destination', `status=pending&destinationId=${busy.destinationId}`),
    deliveries('by error code', 'errorCode=bad_response'),
    deliveries('by an error code of three months ago', 'errorCode=tls_error'),
    deliveries('by an error code that none has', 'errorCode=dns_error'),
    deliveries(
      'by a rare error code, to a destination that always fails',
      `errorCode=connection_reset&destinationId=${failing.destinationId}`,
    ),
    deliveries('by response status', 'responseStatus=500'),
    deliveries('by a class of response status', 'responseStatus=4xx'),
    deliveries('by a response status of one in a hundred', 'responseStatus=201'),
    deliveries(
      'of a source, to a destination',
      `sourceId=${retired.sourceId}&destinationId=${busy.sharedDestinationId}`,
    ),
    deliveries(
      'succeeded, to a destination that always fails (short pages)',
      `status=succeeded&destinationId=${failing.destinationId}`,
    ),
    deliveries('by a response status of three months ago (short pages)', 'responseStatus=202'),
    deliveries('by next attempt', 'status=pending&sortBy=nextAttemptAt&sortDir=asc'),
    deliveries('by next attempt, descending', 'status=pending&sortBy=nextAttemptAt'),
    read('deliveries of a day', (n) => `/v1/deliveries?${dayBefore(nowMs, n)}&limit=100`),
    read(
      'deliveries failed on a day',
      (n) => `/v1/deliveries?${dayBefore(nowMs, n)}&status=failed&limit=100`,
    ),
    read('a delivery', (n) => `/v1/deliveries/${delivery(n)}`),
  ]
}

export function statisticsRequests({ busy, nowMs }: Past): Request[] {
  const since = (days: number): string => new Date(nowMs - days * DAY_MS).toISOString()
  const month = `from=${since(30)}&granularity=day`
  return [
    {
      name: 'deliveries/stats',
      must: STATS_MUST,
      path: () => '/v1/deliveries/stats',
      rounds: ROUNDS,
    },
    read('backlog', () => '/v1/stats/backlog'),
    read('backlog of 40 days by hour', () => `/v1/stats/backlog?from=${since(40)}`),
    dashboard('', ''),
    dashboard(' by source', '?groupBy=source'),
    dashboard(
      ' of a source by rejection reason',
      `?sourceId=${busy.sourceId}&groupBy=rejectionReason`,
    ),
    dashboard(' of a destination, 7 days', `?destinationId=${busy.destinationId}&from=${since(7)}`),
    dashboard(' by destination', '?groupBy=destination'),
    dashboard(' of a destination', `?destinationId=${busy.destinationId}`),
    dashboard(' by minute', '?granularity=minute'),
    dashboard(' of 30 days', `?${month}`),
    dashboard(' of 30 days by source', `?${month}&groupBy=source`),
    dashboard(' of 30 days by destination', `?${month}&groupBy=destination`),
    dashboard(' of 30 days by rejection reason', `?${month}&groupBy=rejectionReason`),
    dashboard(' of 40 days by hour', `?from=${since(40)}`),
  ]
}

/** Whatever else the dashboard asks for. */
export function otherRequests(past: Past): Request[] {
  const { busy, failing, nowMs, organisationId, projectId } = past
  const alerts = (state: string): string => `/app/api/${projectId}/alerts?state=${state}&limit=50`
  const failed = { status: 'failed' }
  return [
    list('operations', '', ''),
    list('operations', 'of a kind', 'kind=retry'),
    list('operations', 'of a kind and status that none has', 'kind=cancel&status=running'),
    plan('a retry of all that failed', 'retry', () => failed),
    plan('a retry of all that failed to a destination', 'retry', () => ({
      ...failed,
      destinationId: failing.destinationId,
    })),
    plan('a replay of a source', 'replay', () => ({ sourceId: busy.sourceId })),
    plan('a replay of a day', 'replay', (n) => ({
      from: new Date(nowMs - ((n % 60) + 1) * DAY_MS).toISOString(),
      to: new Date(nowMs - (n % 60) * DAY_MS).toISOString(),
    })),
    plan('a replay of a type of one in 50,000', 'replay', () => ({ eventType: 'refund.created' })),
    plan('a cancellation of all that waits', 'cancel', () => ({ status: 'pending' })),
    read('usage', () => '/v1/billing/usage'),
    byPerson(read('audit', () => `/auth/organisations/${organisationId}/audit?limit=100`)),
    byPerson(read('alerts, open', () => alerts('open'))),
    byPerson(read('alerts, closed', () => alerts('closed'))),
    byPerson(read('events, by a session', () => `/app/api/${projectId}/events?limit=50`)),
  ]
}

function plan(name: string, kind: string, filter: (n: number) => object): Request {
  return {
    name: `plan of ${name}`,
    must: PLAN_MUST,
    path: () => '/v1/operations/plan',
    rounds: SEARCH_ROUNDS,
    body: (n) => ({ kind, filter: filter(n) }),
  }
}

function byPerson(request: Request): Request {
  return { ...request, isByPerson: true }
}

function events(name: string, query: string): Request {
  return list('events', name, query)
}

function deliveries(name: string, query: string): Request {
  return list('deliveries', name, query)
}

function dashboard(name: string, query: string): Request {
  return read(`dashboard${name}`, () => `/v1/stats/dashboard${query}`)
}

/** Pages of every length. */
function list(kind: string, name: string, query: string): Request {
  return read(`${kind} ${name}`.trim(), (n) => `/v1/${kind}?${query}&limit=${1 + (n % 100)}`)
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

/** The n-th day back from now, of two months. */
function dayBefore(nowMs: number, n: number): string {
  const fromMs = nowMs - ((n % 60) + 1) * DAY_MS
  return `from=${new Date(fromMs).toISOString()}&to=${new Date(fromMs + DAY_MS).toISOString()}`
}
