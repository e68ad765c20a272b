import { expect, test } from 'vitest'

import { Lines } from './lines.ts'

const asked = { partition: 3, reachedSeq: 70, isAskedFor: true }

test('a line is stuck when its worker has asked for ten seconds and it has not moved', () => {
  const lines = new Lines()
  expect([...lines.note([asked], 0)]).toEqual([])
  expect([...lines.note([asked], 9_000)]).toEqual([])
  expect([...lines.note([asked, { ...asked, partition: 4 }], 10_000)]).toEqual([3])
})

test('a stuck line is named once, and again after as long', () => {
  const lines = new Lines()
  lines.note([asked], 0)
  expect(lines.note([asked], 10_000).size).toBe(1)
  expect(lines.note([asked], 11_000).size).toBe(0)
  expect(lines.note([asked], 21_000).size).toBe(1)
})

test('a line that moves is not stuck', () => {
  const lines = new Lines()
  for (let second = 0; second < 60; second++)
    expect(lines.note([{ ...asked, reachedSeq: 70 + second }], second * 1_000).size).toBe(0)
})

test('a line for which its worker does not ask, or that was gone meanwhile, is not stuck', () => {
  const lines = new Lines()
  lines.note([asked], 0)
  lines.note([{ ...asked, isAskedFor: false }], 5_000)
  expect(lines.note([asked], 12_000).size).toBe(0)
  lines.note([], 15_000)
  expect(lines.note([asked], 23_000).size).toBe(0)
})
