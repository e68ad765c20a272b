import { expect, test } from 'vitest'

import { isShareSpent } from './organisation-shares.ts'

const bounds = { own: 8, whole: 64 }
const users = (shares: Record<string, number>): string[] =>
  Object.entries(shares).flatMap(([share, count]) => Array.from({ length: count }, () => share))

test('an organisation has its own part, whatever newcomers use', () => {
  const used = users({ 'network a': 8, 'network b': 8, 'network c': 8, 'network d': 8 })
  expect(isShareSpent('org', used, bounds)).toBe(false)
  expect(isShareSpent('org', [...used, ...users({ org: 7 })], bounds)).toBe(false)
  expect(isShareSpent('org', [...used, ...users({ org: 8 })], bounds)).toBe(true)
})

test('newcomers of a network have one part, and all of them half of the whole', () => {
  expect(isShareSpent('network a', users({ 'network a': 7, org: 8 }), bounds)).toBe(false)
  expect(isShareSpent('network a', users({ 'network a': 8 }), bounds)).toBe(true)
  const half = users({ 'network b': 8, 'network c': 8, 'network d': 8, 'network e': 7 })
  expect(isShareSpent('network a', half, bounds)).toBe(false)
  expect(isShareSpent('network a', [...half, 'network f'], bounds)).toBe(true)
})
