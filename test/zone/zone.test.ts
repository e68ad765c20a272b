import { expect, test } from 'vitest'

import { timestamp } from '../../core/clock.ts'
import { retryAfterMs } from '../../core/delivery/retry-after.ts'

const NOW = Date.UTC(2026, 10, 20, 9)

test('this process is five hours behind UTC in winter and four in summer', () => {
  expect(new Date(2026, 0, 1).getTimezoneOffset()).toBe(300)
  expect(new Date(2026, 6, 1).getTimezoneOffset()).toBe(240)
})

test.each([
  'Fri, 20 Nov 2026 09:01:30 GMT',
  'Friday, 20-Nov-26 09:01:30 GMT',
  'Fri Nov 20 09:01:30 2026',
])('Retry-After: %s is 90 s from now, in UTC', (text) => {
  expect(retryAfterMs(text, NOW)).toBe(90_000)
})

test('times are written in UTC', () => {
  expect(timestamp(NOW)).toBe('2026-11-20T09:00:00.000Z')
})
