import { expect, test } from 'vitest'

import { Holdings } from './holdings.ts'

const LEASE_MS = 5_000

function hold(partition: number, epoch = 1) {
  return { partition, epoch }
}

/** Holds these partitions, on a clock that stands still. */
function holding(...partitions: number[]): Holdings {
  const holdings = new Holdings()
  holdings.renew(
    partitions.map((partition) => hold(partition)),
    performance.now() + LEASE_MS,
  )
  return holdings
}

test('Holdings.renew() says what is new and what another has', () => {
  const holdings = holding(1, 2, 3)
  const untilMs = performance.now() + LEASE_MS
  const { taken, lost } = holdings.renew([hold(1), hold(2, 2), hold(4)], untilMs)
  expect(taken).toEqual([hold(2, 2), hold(4)])
  expect([...lost]).toEqual([2, 3])
  expect(holdings.standingOf(hold(2))).toBe('lost')
  expect(holdings.standingOf(hold(2, 2))).toBe('held')
})

test('Holdings.leaveAllBut() takes nothing new for what it leaves, and tells of it once', () => {
  const holdings = holding(1, 2)
  expect(holdings.leaveAllBut(new Set([1]))).toEqual([hold(2)])
  expect(holdings.leaveAllBut(new Set([1]))).toEqual([])
  expect(holdings.holds()).toEqual([hold(1)])
  expect(holdings.holdOf(2)).toBeUndefined()
  expect(holdings.takenHoldOf(2)).toEqual(hold(2))
  expect(holdings.standingOf(hold(2))).toBe('leaving')
})

test('Holdings.left() releases a partition only under the hold that was handed over', () => {
  const holdings = holding(1, 2)
  const leaving = holdings.leaveAllBut(new Set())
  holdings.renew([hold(1, 2), hold(2)], performance.now() + LEASE_MS)
  holdings.left(leaving)
  expect(holdings.toRelease()).toEqual([2])
  holdings.release([2])
  expect(holdings.partitions).toEqual([1])
})

test('Holdings has nothing when its lease is over, and the same again when it is renewed', () => {
  const holdings = holding(1)
  holdings.renew([hold(1)], performance.now() - 1)
  expect(holdings.isCurrent).toBe(false)
  expect(holdings.holds()).toEqual([])
  expect(holdings.takenHoldOf(1)).toBeUndefined()
  expect(holdings.standingOf(hold(1))).toBe('lost')
  expect(holdings.partitions).toEqual([1])
  const { taken } = holdings.renew([hold(1)], performance.now() + LEASE_MS)
  expect(taken).toEqual([])
  expect(holdings.standingOf(hold(1))).toBe('held')
  holdings.end()
  expect(holdings.standingOf(hold(1))).toBe('lost')
})
