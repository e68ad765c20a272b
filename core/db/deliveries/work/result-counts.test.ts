import { expect, test } from 'vitest'

import { newId } from '../../../ids.ts'
import { ASSUMED } from './result-counts.ts'

type Counted = Parameters<typeof ASSUMED.values>[0][number]

/** Index of the column of attempts among the columns of the tallies. */
const ATTEMPTS = 8

const HEADER_BYTES = 20
const ITEM_BYTES = 8

/** The attempts of each tally, in order. */
function attemptsOf(results: readonly Counted[]): number[] {
  const column = ASSUMED.values(results)[ATTEMPTS] ?? Buffer.alloc(0)
  const count = column.readInt32BE(12)
  return Array.from({ length: count }, (_, n) =>
    column.readInt32BE(HEADER_BYTES + n * ITEM_BYTES + 4),
  )
}

const ids = {
  projectId: newId(0),
  sourceId: newId(0),
  destinationId: newId(0),
  connectionId: newId(0),
}
const attempt = { number: 1, startedAtMs: 0, durationMs: 5, responseStatus: 200 }
const one: Counted = {
  ...ids,
  status: 'succeeded',
  throttledAtMs: null,
  completedAtMs: null,
  attempt,
}

test.for<[string, Counted]>([
  ['source', { ...one, sourceId: newId(0) }],
  ['destination', { ...one, destinationId: newId(0) }],
  ['connection', { ...one, connectionId: newId(0) }],
  ['minute', { ...one, attempt: { ...attempt, startedAtMs: 60_000 } }],
])('results are tallied apart by %s, in whatever order they come', ([, other]) => {
  expect(attemptsOf([one, one])).toEqual([2])
  expect(attemptsOf([one, other, one, one, other])).toEqual([3, 2])
})
