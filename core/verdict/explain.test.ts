import { expect, test } from 'vitest'

import { explain } from './explain.ts'
import type { ExplainedDelivery, ExplainedEvent } from './facts.ts'

const T = 1_700_000_000_000

const destination = {
  name: 'billing',
  method: 'POST',
  isEnabled: true,
  disabledReason: null,
  rateLimit: 10,
  rateLimitPeriod: 'second',
  concurrency: 2,
  underWay: 0,
  busy: null,
}

function delivery(changes: Partial<ExplainedDelivery>): ExplainedDelivery {
  return {
    connectionName: 'orders',
    status: 'pending',
    createdAtMs: T,
    attemptCount: 0,
    maxAttempts: 8,
    nextAttemptAtMs: null,
    isParked: false,
    isByHand: false,
    throttledReason: null,
    throttledAtMs: null,
    lastError: null,
    lastAttempt: null,
    completedAtMs: null,
    destination,
    ...changes,
  }
}

function event(changes: Partial<ExplainedEvent>): ExplainedEvent {
  return {
    nowMs: T + 2_000,
    status: 'received',
    rejectionReason: null,
    rejectionDetail: null,
    verifiedWith: 'github',
    sourceName: 'shop',
    createdAtMs: T,
    method: 'POST',
    hasBody: true,
    hasQuery: false,
    excluded: [],
    deliveries: [],
    hasOlder: false,
    ...changes,
  }
}

const attempt = {
  atMs: T + 1000,
  host: 'billing.example',
  responseStatus: 500,
  errorCode: 'bad_response',
  durationMs: 210,
}
const failed = delivery({
  status: 'failed',
  lastError: 'bad_response',
  attemptCount: 8,
  lastAttempt: attempt,
  completedAtMs: T + 28 * 3_600_000,
})
const succeeded = delivery({
  status: 'succeeded',
  attemptCount: 1,
  completedAtMs: T + 120,
  lastAttempt: { ...attempt, atMs: T, responseStatus: 200, errorCode: null, durationMs: 120 },
})

function busyFor(ms: number) {
  return { sinceMs: T + 500, untilMs: T + ms, responseStatus: 429 }
}

test.for<[cause: string, ExplainedEvent, sentence: string, action: string | null]>([
  [
    'rejected',
    event({ status: 'rejected', rejectionReason: 'signature_mismatch' }),
    'Not accepted: signature mismatch (verifier github). The sender got 401.',
    'test_signature',
  ],
  [
    'rejected',
    event({
      status: 'rejected',
      rejectionReason: 'verifier_misconfigured',
      rejectionDetail: 'secret: The verifier has no secret',
    }),
    'Not accepted: verifier misconfigured, secret: The verifier has no secret (verifier github). The sender got 401.',
    'test_signature',
  ],
  [
    'unmatched',
    event({ status: 'unmatched' }),
    'Accepted, but no connection was active on source shop.',
    'create_connection',
  ],
  [
    'filtered',
    event({
      status: 'filtered',
      excluded: [{ name: 'orders', outcome: 'filtered', failedPart: 'body.amount.$gt' }],
    }),
    'Accepted; the filter of 1 connection excluded it: orders because of body.amount.$gt.',
    'test_filter',
  ],
  [
    'connection_disabled',
    event({
      status: 'unmatched',
      excluded: [{ name: 'audit', outcome: 'disabled', failedPart: undefined }],
    }),
    'Accepted, but connection audit was switched off.',
    'enable_connection',
  ],
  [
    'retrying',
    event({
      deliveries: [
        delivery({ attemptCount: 2, lastAttempt: attempt, nextAttemptAtMs: T + 300_000 }),
      ],
    }),
    '2 attempts to reach billing failed (500 in 210 ms). The next is waiting, 6 left.',
    'retry',
  ],
  [
    'retrying',
    event({ deliveries: [delivery({})] }),
    'The first attempt to reach billing is due.',
    null,
  ],
  [
    'connector_offline',
    event({ deliveries: [delivery({ lastError: 'connector_offline' })] }),
    'Waits for the connector of billing: none of its replicas is online. No attempt is spent.',
    'show_connector',
  ],
  [
    'rate_limited',
    event({
      deliveries: [
        delivery({ status: 'throttled', throttledReason: 'rate_limit', throttledAtMs: T + 5 }),
      ],
    }),
    'Held by pacing (10 per second) for billing. No attempt is spent.',
    'raise_rate_limit',
  ],
  [
    'destination_busy',
    event({
      deliveries: [
        delivery({
          status: 'throttled',
          throttledReason: 'destination_busy',
          lastAttempt: { ...attempt, responseStatus: 502 },
        }),
      ],
    }),
    'billing answered 502; it is asked again later.',
    null,
  ],
  [
    'failed',
    event({ deliveries: [succeeded, failed] }),
    'Gave up on billing after 8 attempts over 28 h; the last: 500 in 210 ms.',
    'retry',
  ],
  [
    'address_refused',
    event({
      deliveries: [
        {
          ...failed,
          lastError: 'address_blocked',
          lastAttempt: { ...attempt, responseStatus: null, errorCode: 'address_blocked' },
        },
      ],
    }),
    'Postern refused the address of billing (billing.example): it is private or reserved.',
    'change_address',
  ],
  [
    'destination_disabled',
    event({
      deliveries: [
        delivery({ destination: { ...destination, isEnabled: false, disabledReason: 'gone' } }),
      ],
    }),
    'Waits for destination billing, which is disabled because it answered 410. No attempt is spent.',
    'enable_destination',
  ],
  [
    'cancelled',
    event({
      deliveries: [
        succeeded,
        delivery({
          status: 'cancelled',
          lastError: 'destination_deleted',
          destination: undefined,
        }),
      ],
    }),
    'Cancelled for connection orders: its destination was deleted.',
    'replay',
  ],
  [
    'cancelled',
    event({ deliveries: [delivery({ status: 'cancelled', destination: undefined })] }),
    'Cancelled for connection orders; its destination is deleted now.',
    'replay',
  ],
  [
    'cancelled',
    event({ deliveries: [delivery({ status: 'cancelled', connectionName: undefined })] }),
    'Cancelled; its connection is deleted now.',
    'replay',
  ],
  [
    'cancelled',
    event({
      deliveries: [
        delivery({
          status: 'cancelled',
          connectionName: undefined,
          lastError: 'connection_deleted',
        }),
      ],
    }),
    'Cancelled: its connection was deleted.',
    'replay',
  ],
  [
    'cancelled',
    event({ deliveries: [delivery({ status: 'cancelled' })] }),
    'Cancelled for connection orders.',
    'replay',
  ],
  [
    'cancelled',
    event({ deliveries: [delivery({ connectionName: undefined })] }),
    'Is being cancelled; its connection is deleted now.',
    'replay',
  ],
  [
    'destination_busy',
    event({
      deliveries: [
        delivery({ isParked: true, destination: { ...destination, busy: busyFor(60_000) } }),
      ],
    }),
    'Waits behind billing, which answered 429 and is left alone until 2023-11-14T22:14:20Z. No attempt is spent.',
    null,
  ],
  [
    'destination_busy',
    event({
      deliveries: [delivery({ isParked: true, destination: { ...destination, busy: busyFor(1) } })],
    }),
    'Waits behind billing, which answered 429 and is asked one request at a time until one succeeds. No attempt is spent.',
    null,
  ],
  [
    'destination_saturated',
    event({ deliveries: [delivery({ isParked: true })] }),
    'Waits in line for billing, which gets at most 2 requests at once. No attempt is spent.',
    null,
  ],
  [
    'destination_saturated',
    event({
      deliveries: [delivery({ destination: { ...destination, concurrency: 1, underWay: 1 } })],
    }),
    'Waits in line for billing, which gets at most 1 request at once. No attempt is spent.',
    null,
  ],
  [
    'destination_saturated',
    event({ deliveries: [delivery({ isParked: true, lastError: 'connector_full' })] }),
    'Waits for the connector of billing: its replicas have as many requests as they take at once. No attempt is spent.',
    'show_connector',
  ],
  [
    'retrying',
    event({ deliveries: [delivery({ status: 'in_flight' })] }),
    'The first attempt to reach billing is under way.',
    null,
  ],
  [
    'retrying',
    event({
      deliveries: [
        delivery({
          isByHand: true,
          nextAttemptAtMs: T,
          lastAttempt: succeeded.lastAttempt,
          destination: { ...destination, busy: busyFor(60_000) },
        }),
      ],
    }),
    'The attempt to reach billing that was asked for is due.',
    null,
  ],
  [
    'failed',
    event({
      deliveries: [{ ...failed, lastError: 'expired', attemptCount: 1, destination: undefined }],
    }),
    'Expired: it waited for a destination that is deleted now for 28 h, and its event is past retention.',
    null,
  ],
  [
    'address_refused',
    event({ deliveries: [{ ...failed, lastError: 'host_not_allowed' }] }),
    'The connector of billing does not allow its address (billing.example).',
    'change_address',
  ],
  [
    'unmatched',
    event({ status: 'unmatched', sourceName: undefined }),
    'Accepted, but no connection was active on its source, which is deleted now.',
    null,
  ],
  [
    'unmatched',
    event({ status: 'duplicate' }),
    'Recorded as duplicate; no delivery of it is kept.',
    null,
  ],
  ['filtered', event({ status: 'filtered' }), 'Accepted; filters excluded it.', 'test_filter'],
  [
    'delivered',
    event({
      deliveries: [succeeded],
      excluded: [
        { name: 'audit', outcome: 'filtered', failedPart: 'body.type' },
        { name: undefined, outcome: 'disabled', failedPart: undefined },
      ],
    }),
    'Delivered to 1 of 3 connections, the last in 120 ms. Excluded by filter: audit. Switched off: one that is deleted now.',
    null,
  ],
  [
    'delivered',
    event({ deliveries: [{ ...succeeded, lastAttempt: attempt }] }),
    'Delivered to 1 of 1 connection; an attempt that was asked for later: 500 in 210 ms.',
    null,
  ],
  [
    'rejected',
    event({ status: 'rejected' }),
    'Not accepted (verifier github). The sender got 401.',
    'test_signature',
  ],
  [
    'delivered',
    event({ deliveries: [succeeded, succeeded] }),
    'Delivered to 2 of 2 connections, the last in 120 ms.',
    null,
  ],
])('explain() says %s', ([cause, given, sentence, action]) => {
  expect(explain(given)).toMatchObject({ cause, sentence, action })
})

test('explain() tells since when and when it goes on', () => {
  const waiting = delivery({ attemptCount: 1, lastAttempt: attempt, nextAttemptAtMs: T + 9000 })
  expect(explain(event({ deliveries: [waiting] }))).toMatchObject({
    sinceMs: T + 1000,
    nextAtMs: T + 9000,
  })
  expect(explain(event({ deliveries: [failed] }))).toMatchObject({
    sinceMs: T + 28 * 3_600_000,
    nextAtMs: null,
  })
})

/** All values of each member; together they give every combination. */
const MEMBERS: readonly Partial<ExplainedDelivery>[][] = [
  ['pending', 'throttled', 'in_flight', 'succeeded', 'failed', 'cancelled'].map((status) => ({
    status,
  })),
  ['orders', undefined].map((connectionName) => ({ connectionName })),
  [
    undefined,
    destination,
    { ...destination, isEnabled: false, disabledReason: 'failing', rateLimit: null },
    { ...destination, busy: busyFor(60_000) },
    { ...destination, busy: busyFor(1), concurrency: 1, underWay: 1 },
  ].map((to) => ({ destination: to })),
  [0, 1, 2].map((attemptCount) => ({ attemptCount })),
  [null, T, T + 9_000].map((nextAttemptAtMs) => ({ nextAttemptAtMs })),
  [false, true].map((isParked) => ({ isParked })),
  [false, true].map((isByHand) => ({ isByHand })),
  [null, 'rate_limit', 'destination_busy'].map((throttledReason) => ({ throttledReason })),
  [null, 'timeout', 'expired', 'address_blocked', 'connection_deleted', 'connector_full'].map(
    (lastError) => ({ lastError }),
  ),
  [
    null,
    attempt,
    { ...attempt, host: undefined, responseStatus: null, errorCode: 'timeout', durationMs: null },
  ].map((lastAttempt) => ({ lastAttempt })),
]

/** The faults of the verdict on a delivery. */
function faultsOf(given: ExplainedDelivery): string[] {
  const { sentence, nextAtMs, sinceMs } = explain(event({ deliveries: [given] }))
  const { status, isParked, nextAttemptAtMs, lastError, destination: to } = given
  const isFull = to !== undefined && to.underWay >= to.concurrency
  const times = [nextAttemptAtMs, to?.busy?.untilMs]
  const faults: [name: string, isSo: boolean][] = [
    ['is no whole sentence', !/^(?:[A-Z\d]|billing ).*\.$/.test(sentence)],
    ['tells of what is absent', /undefined|null|NaN|object|unknown|_/.test(sentence)],
    [
      'has a wrong number',
      /\b1 [a-z]+s\b|(?:\b0|[2-9]) (?:attempt|request|connection)\b/.test(sentence),
    ],
    ['says under way', sentence.includes('under way') && status !== 'in_flight'],
    ['says disabled', sentence.includes('disabled') && to?.isEnabled !== false],
    ['says busy', /left alone|one request/.test(sentence) && (to?.busy ?? null) === null],
    ['says in line', sentence.includes('in line') && !isParked && !isFull],
    ['says full', sentence.includes('replicas') && lastError !== 'connector_full'],
    ['names another time', nextAtMs !== null && !times.includes(nextAtMs)],
    ['is so before it was made', sinceMs < T],
  ]
  return faults
    .filter(([, isSo]) => isSo)
    .map(([name]) => `${name}: ${sentence} ${JSON.stringify(given)}`)
}

test('whatever is recorded of a delivery, its sentence is whole and claims nothing else', () => {
  const states = MEMBERS.reduce<Partial<ExplainedDelivery>[]>(
    (all, options) => all.flatMap((state) => options.map((option) => ({ ...state, ...option }))),
    [{}],
  )
  expect(states).toHaveLength(116_640)
  expect(states.flatMap((state) => faultsOf(delivery(state)))).toEqual([])
})

test.for<[method: string, hasBody: boolean, hasQuery: boolean, to: string[], added: string]>([
  ['POST', true, true, ['POST'], ''],
  ['PUT', true, true, ['POST'], ''],
  ['MAIL', true, false, ['POST'], ''],
  ['POST', false, false, ['POST'], ''],
  [
    'GET',
    false,
    true,
    ['POST'],
    ' It came by GET without a body: it is delivered by POST, with an empty body and without its query.',
  ],
  [
    'GET',
    false,
    false,
    ['PUT', 'POST', 'PUT'],
    ' It came by GET without a body: it is delivered by PUT and POST, with an empty body.',
  ],
  ['GET', true, true, ['POST'], ' It came by GET: it is delivered by POST, without its query.'],
  ['DELETE', true, false, ['POST'], ' It came by DELETE: it is delivered by POST.'],
  [
    'POST',
    false,
    true,
    ['POST'],
    ' It came by POST without a body: it is delivered by POST, with an empty body and without its query.',
  ],
])(
  'the verdict of a request by %s, with a body: %s, with a query: %s, to %s, says what is left out',
  ([method, hasBody, hasQuery, to, added]) => {
    const came = { method, hasBody, hasQuery }
    for (const one of [succeeded, failed]) {
      const deliveries = to.map((via) => ({ ...one, destination: { ...destination, method: via } }))
      const { sentence } = explain(event({ deliveries }))
      expect(explain(event({ deliveries, ...came })).sentence).toBe(`${sentence}${added}`)
    }
  },
)

test('the method is left out of the verdict without a delivery, and is not guessed without a destination', () => {
  const came = { method: 'GET', hasBody: false, hasQuery: true }
  expect(explain(event({ status: 'unmatched', ...came })).sentence).not.toContain('It came by')
  const gone = [{ ...succeeded, destination: undefined }]
  expect(explain(event({ deliveries: gone, ...came })).sentence).toContain(
    'it is delivered by the method of its destination',
  )
  const posted = { method: 'POST', hasBody: false, hasQuery: false }
  expect(explain(event({ deliveries: gone, ...posted })).sentence).not.toContain('It came by')
})
