import { expect, test } from 'vitest'

import { sharedBuffersMb } from './postgres.ts'

const GB = 2 ** 30

test('sharedBuffersMb() is a 16th of memory, 128 MB at least and 1 GB at most', () => {
  const gigabytes = [1, 2, 4, 7.75, 16, 256]
  expect(gigabytes.map((count) => sharedBuffersMb(count * GB))).toEqual([
    128, 128, 256, 496, 1_024, 1_024,
  ])
})
