import { expect, test } from 'vitest'

import { FilterMemory } from './compiled-filters.ts'

const MIB = 1024 * 1024

test('the organisation with the most filters gives back when they do not fit', () => {
  const memory = new FilterMemory()
  memory.add('small', 2 * MIB)
  memory.add('large', 8 * MIB)
  memory.add('large', 6 * MIB)
  expect(memory.debtor()).toBeUndefined()
  memory.add('small', 1)
  expect(memory.debtor()).toBe('large')
  memory.add('large', -8 * MIB)
  expect(memory.debtor()).toBeUndefined()
  memory.add('small', 12 * MIB)
  expect(memory.debtor()).toBe('small')
})
