import { expect, test } from 'vitest'

import { HOUR_MS } from '../parts/words/spans.ts'
import { apart, placeOf, rulesOf } from './axis.ts'

test('half a millisecond and ten hours are both seen', () => {
  const early = placeOf(0.5, 10 * HOUR_MS)
  const late = placeOf(10 * HOUR_MS, 10 * HOUR_MS)
  expect(early).toBeGreaterThan(0.01)
  expect(late).toBeLessThanOrEqual(1)
  expect(late).toBeGreaterThan(0.9)
})

test('marks that would cover each other are moved apart, in their order and within the lane', () => {
  const places = apart([0.5, 0.5, 0.5, 0.99, 0.99], 0.1)
  expect(places.toSorted((one, other) => one - other)).toEqual(places)
  places
    .slice(1)
    .forEach((place, index) => expect(place - (places[index] ?? 0)).toBeCloseTo(0.1, 5))
  expect(places.at(-1)).toBeLessThanOrEqual(0.9)
})

test('rules stand within the axis and far enough apart to be read', () => {
  const rules = rulesOf(2 * HOUR_MS, 0.1)
  expect(rules.map(({ label }) => label)).toContain('1 h')
  expect(rules.map(({ label }) => label)).not.toContain('1 d')
  rules
    .slice(1)
    .forEach(({ place }, index) =>
      expect(place - (rules[index]?.place ?? 0)).toBeGreaterThanOrEqual(0.1),
    )
})
