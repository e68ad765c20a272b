import { expect, test } from 'vitest'

import { retryAfterSeconds } from './retry-after.ts'

const NOW = Date.UTC(2026, 10, 20, 9, 0, 0)

test.for<[value: string | undefined, seconds: number | undefined]>([
  [undefined, undefined],
  ['soon', undefined],
  ['-1', undefined],
  ['3', 3],
  ['0.2', 1],
  ['Fri, 20 Nov 2026 09:02:00 GMT', 120],
  ['Fri, 20 Nov 2026 08:00:00 GMT', 0],
])('Retry-After %j is a wait of %s s', ([value, seconds]) => {
  const headers = new Headers(value === undefined ? {} : { 'retry-after': value })
  expect(retryAfterSeconds(headers, NOW)).toBe(seconds)
})
