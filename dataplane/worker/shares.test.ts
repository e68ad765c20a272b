import { expect, test } from 'vitest'

import { PARTITIONS } from '../../core/limits.ts'
import { shareOf } from './shares.ts'

const NAMES = ['a', 'b', 'c', 'd']

test('shareOf() gives each partition to one of the members', () => {
  const owned = NAMES.flatMap((name) => shareOf(name, NAMES))
  expect(owned.toSorted((a, b) => a - b)).toEqual([...Array(PARTITIONS).keys()])
})

test('shareOf() is the same in whatever order the members are read', () => {
  for (const name of NAMES) expect(shareOf(name, NAMES.toReversed())).toEqual(shareOf(name, NAMES))
})

test('shareOf() moves nothing between two members when a third one comes or goes', () => {
  const [a = '', b = '', ...others] = NAMES
  expect(shareOf(a, [a, b])).toEqual(expect.arrayContaining(shareOf(a, [a, b, ...others])))
})

test('shareOf() gives all to one that is alone, and nothing to one that is not a member', () => {
  expect(shareOf('a', ['a'])).toHaveLength(PARTITIONS)
  expect(shareOf('z', NAMES)).toEqual([])
})
