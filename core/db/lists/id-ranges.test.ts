import { expect, test } from 'vitest'

import { DAY_MS } from '../../clock.ts'
import { firstIdAt, newId, timeOfId } from '../../ids.ts'
import { behind, isWide, rangesOf, type IdRange } from './id-ranges.ts'

const NOW = Date.UTC(2026, 10, 21, 12)
const OPEN: IdRange = { fromId: undefined, untilId: undefined }

function at(days: number): string {
  return firstIdAt(NOW + days * DAY_MS)
}

/** Edges in days from now; null is open. */
function edges(ranges: IdRange[]): (number | null)[][] {
  const days = (id: string | undefined): number | null =>
    id === undefined ? null : (timeOfId(id) - NOW) / DAY_MS
  return ranges.map(({ fromId, untilId }) => [days(fromId), days(untilId)])
}

test('rangesOf() goes back from now by a day and the rest', () => {
  expect(edges(rangesOf(OPEN, 'desc', NOW))).toEqual([
    [-1, 1],
    [null, -1],
  ])
})

test('rangesOf() goes up from the oldest class', () => {
  expect(edges(rangesOf(OPEN, 'asc', NOW))).toEqual([
    [null, -91],
    [-91, -90],
    [-90, 1],
  ])
})

test.for([
  ['desc', { fromId: at(-3), untilId: at(-2) }, [[-3, -2]]],
  ['desc', { fromId: at(-9), untilId: at(-5) }, [[-6, -5], [-9, -6]]], // prettier-ignore
  ['desc', { fromId: at(-0.5), untilId: undefined }, [[-0.5, 1]]],
  ['desc', { fromId: undefined, untilId: at(400) }, [[-1, 1], [null, -1]]], // prettier-ignore
  ['asc', { fromId: at(-3), untilId: at(-2) }, [[-3, -2]]],
  ['asc', { fromId: at(-30), untilId: undefined }, [[-30, -29], [-29, 1]]], // prettier-ignore
  ['asc', { fromId: at(-400), untilId: at(-100) }, [[-400, -100]]],
] as const)('rangesOf() of %s %j', ([dir, range, expected]) => {
  expect(edges(rangesOf(range, dir, NOW))).toEqual(expected)
})

test('rangesOf() of nothing is nothing', () => {
  expect(rangesOf({ fromId: at(-2), untilId: at(-2) }, 'desc', NOW)).toEqual([])
  expect(rangesOf({ fromId: at(-2), untilId: at(-3) }, 'asc', NOW)).toEqual([])
})

test('behind() leaves the id out in both directions', () => {
  const id = newId(NOW)
  const { untilId } = behind(OPEN, id, 'desc')
  expect(untilId).toBe(id)
  const { fromId = '' } = behind(OPEN, id, 'asc')
  expect(fromId > id && fromId < newId(NOW + 1)).toBe(true)
})

test('isWide() is true of ranges with more than eight days in which there may be rows', () => {
  const wide = (from: number | undefined, until: number | undefined): boolean => {
    const id = (days: number | undefined) => (days === undefined ? undefined : at(days))
    return isWide({ fromId: id(from), untilId: id(until) }, NOW)
  }
  expect(wide(undefined, -7)).toBe(true)
  expect(wide(-84, 1)).toBe(true)
  expect(wide(-7, 1)).toBe(false)
  expect(wide(undefined, -91)).toBe(false)
  expect(wide(-8.5, undefined)).toBe(true)
})
