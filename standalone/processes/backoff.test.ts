import { expect, test } from 'vitest'

import { openBackoff } from './backoff.ts'

test('openBackoff() doubles to five seconds and starts anew after half a minute of life', () => {
  const backoff = openBackoff()
  const waits = Array.from({ length: 8 }, () => backoff.next(29_999))
  expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  expect(backoff.next(30_000)).toBe(100)
})
