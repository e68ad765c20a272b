import { expect, test } from 'vitest'

import { explain, type ExplainedDelivery, type ExplainedEvent } from './explain.ts'

const T = 1_700_000_000_000

const destination = {
  name: 'billing',
  host: 'billing.example',
  isEnabled: true,
  disabledReason: null,
  rateLimit: 10,
  rateLimitPeriod: 'second',
}

function delivery(changes: Partial<ExplainedDelivery>): ExplainedDelivery {
  return {
    connectionName: 'orders',
    status: 'pending',
    createdAtMs: T,
    attemptCount: 0,
    maxAttempts: 8,
    nextAttemptAtMs: null,
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
    status: 'received',
    rejectionReason: null,
    rejectionDetail: null,
    verifiedWith: 'github',
    sourceName: 'shop',
    createdAtMs: T,
    connections: [],
    deliveries: [],
    ...changes,
  }
}

const attempt = { atMs: T + 1000, responseStatus: 500, errorCode: 'bad_response', durationMs: 210 }
const failed = delivery({
  status: 'failed',
  attemptCount: 8,
  lastAttempt: attempt,
  completedAtMs: T + 28 * 3_600_000,
})
const succeeded = delivery({
  status: 'succeeded',
  attemptCount: 1,
  completedAtMs: T + 120,
  lastAttempt: { atMs: T, responseStatus: 200, errorCode: null, durationMs: 120 },
})

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
    'Accepted, but no connection is active on source shop.',
    'create_connection',
  ],
  [
    'filtered',
    event({
      status: 'filtered',
      connections: [{ name: 'orders', outcome: 'filtered', failedPart: 'body.amount.$gt' }],
    }),
    'Accepted; the filter of 1 connection excluded it: orders because of body.amount.$gt.',
    'test_filter',
  ],
  [
    'connection_disabled',
    event({
      status: 'unmatched',
      connections: [{ name: 'audit', outcome: 'disabled', failedPart: undefined }],
    }),
    'Accepted, but connection audit is switched off.',
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
    'The first attempt to reach billing is under way.',
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
    event({ deliveries: [succeeded, delivery({ status: 'cancelled', destination: undefined })] }),
    'Cancelled for connection orders: its destination was deleted.',
    'replay',
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
