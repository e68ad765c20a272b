import { expect, test } from 'vitest'

import { throttleToWrite } from '../../../core/delivery/throttled.ts'
import { sampleWork } from './sample-work.fixture.ts'
import { parkedOf } from './work.ts'

const NOW_MS = 1_000

test('throttleToWrite gives the first time that PostgreSQL lacks', () => {
  const heldHere = sampleWork({ throttled: { atMs: 500, isStored: false } })
  const heldBefore = sampleWork({ throttled: { atMs: 500, isStored: true } })

  expect(throttleToWrite(sampleWork(), null)).toBeNull()
  expect(throttleToWrite(sampleWork(), NOW_MS)).toBe(NOW_MS)
  expect(throttleToWrite(heldHere, NOW_MS)).toBe(500)
  expect(throttleToWrite(heldHere, null)).toBe(500)
  expect(throttleToWrite(heldBefore, NOW_MS)).toBeNull()
})

test('parkedOf puts a work on its way to its row, with the time since which it is throttled', () => {
  const work = sampleWork()
  const reason = { lastError: null, nowMs: NOW_MS }

  expect(parkedOf(work, 7, { ...reason, status: 'throttled' })).toMatchObject({
    partition: 7,
    throttledAtMs: NOW_MS,
  })
  expect(work.place).toBe('parking')
  expect(parkedOf(sampleWork(), 7, { ...reason, status: 'pending' }).throttledAtMs).toBeNull()
})
