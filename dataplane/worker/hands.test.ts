import { expect, test } from 'vitest'

import { Hands } from './hands.ts'
import type { Work } from './work.ts'

/** One delivery, as it comes from the stream or from its row. */
function workOf(isWaiting: boolean): Work {
  return {
    class: 90,
    deliveryId: '01890a5d-ac96-774b-bcce-b302099a8057',
    eventId: null,
    sourceId: null,
    connectionId: null,
    organisationId: '',
    projectId: '',
    destinationId: '',
    partition: 0,
    hold: { partition: 0, epoch: 1 },
    isHandedOver: false,
    attemptTrigger: 'initial',
    attemptCount: 0,
    attemptNumber: 0,
    maxAttempts: 8,
    throttledAtMs: null,
    isThrottleKept: false,
    firstAttemptAtMs: null,
    leaseUntilMs: 0,
    isWaiting,
    isOrphan: false,
    event: { headers: [], verifiedWith: 'none', remoteIp: '', sourceName: '' },
    body: null,
    largeBodyRoom: [],
    bytes: 0,
    queuedAt: 0,
    acknowledge: () => undefined,
    settle: () => undefined,
    release: () => undefined,
    abandon: () => undefined,
  }
}

test('a delivery in hand is not taken a second time, until it has ended', () => {
  const hands = new Hands()
  const first = workOf(false)
  expect(hands.take(first)).toBe(true)
  expect(hands.take(workOf(true))).toBe(false)
  expect(first.isWaiting).toBe(true)
  first.settle()
  expect(hands.take(workOf(true))).toBe(true)
})

test('one that is being parked is taken anew from its row, and its end does not end the new one', () => {
  const hands = new Hands()
  const parked = workOf(false)
  expect(hands.take(parked)).toBe(true)
  hands.leave(parked)
  expect(hands.take(workOf(true))).toBe(true)
  parked.settle()
  expect(hands.take(workOf(true))).toBe(false)
})
