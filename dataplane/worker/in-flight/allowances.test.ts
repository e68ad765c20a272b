import { expect, test } from 'vitest'

import { WORK_BYTES_MAX, WORK_MAX } from '../../../core/limits.ts'
import { Allowances, type Allowance } from './allowances.ts'

/** Adds deliveries of so many bytes until the lane holds all that it may; returns how many. */
function fill(allowance: Allowance, bytes: number): number {
  let count = 0
  while (!allowance.isOver && count <= WORK_MAX) {
    allowance.add(bytes, 1)
    count++
  }
  return count
}

test.for([
  ['bytes', WORK_BYTES_MAX / 300, 300],
  ['deliveries', 1, WORK_MAX],
] as const)('a lane gets a third of the %s, and leaves some to others', ([, bytes, most]) => {
  const allowances = new Allowances(100)
  const first = fill(allowances.open('a'), bytes)
  expect(first).toBeGreaterThan(most / 3 - 2)
  expect(first).toBeLessThan(most / 3 + 2)
  let held = first
  for (const [organisation, least] of [
    ['a', most / 20],
    ['a', most / 40],
    ['b', most / 12],
    ['c', most / 30],
  ] as const) {
    const more = fill(allowances.open(organisation), bytes)
    expect(more).toBeGreaterThan(least)
    held += more
  }
  expect(held).toBeLessThan(most)
})

test('a thousand lanes of one organisation with a delivery each leave a quarter to others', () => {
  const allowances = new Allowances(100)
  const bytes = WORK_BYTES_MAX / 1_000
  let held = 0
  for (let n = 0; n < 1_000; n++) {
    const allowance = allowances.open('a')
    if (allowance.isOver) continue
    allowance.add(bytes, 1)
    held++
  }
  expect(held).toBeGreaterThan(700)
  expect(held).toBeLessThan(760)
  expect(fill(allowances.open('b'), bytes)).toBeGreaterThan(80)
})

test('a lane that is made anew gets the room that the lane before it gave back', () => {
  const allowances = new Allowances(100)
  for (let turn = 0; turn < 3; turn++) {
    const allowance = allowances.open('a')
    const count = fill(allowance, 1_000_000)
    expect(count).toBe(23)
    allowance[Symbol.dispose]()
    const next = allowances.open('a')
    expect(next.rowsFor(1_000)).toBeLessThan(200)
    for (let n = 0; n < count; n++) allowance.add(-1_000_000, -1)
    expect(next.rowsFor(1_000)).toBeGreaterThan(200)
    next[Symbol.dispose]()
  }
})

test('a claim waits until there is room for many rows, save for a lane that holds nothing', () => {
  const allowances = new Allowances(100)
  const hanging = allowances.open('a')
  fill(hanging, 100_000)
  hanging.add(-100_000, -1)
  expect(hanging.isOver).toBe(false)
  expect(hanging.rowsFor(100)).toBe(0)
  for (let n = 0; n < 40; n++) hanging.add(-100_000, -1)
  const rows = hanging.rowsFor(100)
  expect(rows).toBeGreaterThan(15)
  using _claim = hanging.reserve(rows)
  expect(hanging.rowsFor(100)).toBeLessThan(rows)
  const empty = allowances.open('a')
  expect(empty.rowsFor(100)).toBeGreaterThan(0)
})
