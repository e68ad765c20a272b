import { expect, test } from 'vitest'

import { PARTITION_SPREAD, PARTITIONS } from '../../../core/limits.ts'
import { shareOf } from './partition-assignment.ts'

const NAMES = ['a', 'b', 'c', 'd']

test('shareOf() gives each partition to one of the members', () => {
  const owned = NAMES.flatMap((name) => shareOf(name, NAMES))
  expect(owned.toSorted((a, b) => a - b)).toEqual([...Array(PARTITIONS).keys()])
})

test('shareOf() is the same in whatever order the members are read', () => {
  for (const name of NAMES) expect(shareOf(name, NAMES.toReversed())).toEqual(shareOf(name, NAMES))
})

test('shareOf() gives of neighbours, which share the deliveries of an organisation, as many to each as to any other', () => {
  for (const [members, most] of [
    [NAMES.slice(0, 2), 4],
    [NAMES.slice(0, 3), 3],
    [NAMES, 2],
  ] as const) {
    for (const name of members) {
      const blocks = Map.groupBy(shareOf(name, members), (n) => Math.floor(n / PARTITION_SPREAD))
      expect(blocks.size).toBe(PARTITIONS / PARTITION_SPREAD)
      for (const share of blocks.values()) expect([most - 1, most]).toContain(share.length)
    }
  }
})

test('shareOf() moves little between members when another one comes or goes', () => {
  for (let count = 1; count < NAMES.length; count++) {
    const before = NAMES.slice(0, count)
    const after = NAMES.slice(0, count + 1)
    const moved = before.flatMap((name) => {
      const former = new Set(shareOf(name, before))
      return shareOf(name, after).filter((partition) => !former.has(partition))
    })
    expect(moved.length).toBeLessThan(PARTITIONS / 6)
  }
})

test('shareOf() gives all to one that is alone, and nothing to one that is not a member', () => {
  expect(shareOf('a', ['a'])).toHaveLength(PARTITIONS)
  expect(shareOf('z', NAMES)).toEqual([])
})
