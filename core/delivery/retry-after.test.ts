import { expect, test } from 'vitest'

import { clientWaitMs } from './retry-after.ts'

const NOW = Date.UTC(2026, 10, 20, 9, 0, 0)

test.for<[header: string | string[] | undefined, ms: number | undefined]>([
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-1', undefined],
  ['Infinity', undefined],
  ['0', 0],
  ['1.5', 1_500],
  ['60', 60_000],
  [['2', '60'], 2_000],
  ['Fri, 20 Nov 2026 09:02:00 GMT', 120_000],
  ['Fri, 20 Nov 2026 08:00:00 GMT', 0],
  ['86400', 300_000],
  ['9'.repeat(400), 300_000],
  ['Sat, 21 Nov 2026 09:00:00 GMT', 300_000],
])('a client waits for Retry-After %j %s ms', ([header, ms]) => {
  expect(clientWaitMs(header, NOW)).toBe(ms)
})
