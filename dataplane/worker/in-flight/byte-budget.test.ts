import { expect, test } from 'vitest'

import { ByteBudget, type Share } from './byte-budget.ts'

/** Asks for shares and records in which order they come. */
function asking(budget: ByteBudget): {
  granted: string[]
  ask: (name: string, bytes: number) => Promise<Share>
} {
  const granted: string[] = []
  const ask = async (name: string, bytes: number): Promise<Share> => {
    const share = await budget.take(bytes)
    granted.push(name)
    return share
  }
  return { granted, ask }
}

/** Lets every promise that can settle do so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('take() waits for room, in the order of asking: a small one does not pass a large one', async () => {
  const budget = new ByteBudget(10)
  const { granted, ask } = asking(budget)
  const first = await ask('first', 8)
  void ask('large', 9)
  void ask('small', 1)
  await settled()
  expect(granted).toEqual(['first'])
  expect(budget.reserved).toBe(8)
  first.give()
  await settled()
  expect(granted).toEqual(['first', 'large', 'small'])
  expect(budget.reserved).toBe(10)
})

test('take() lets more than the whole budget through alone', async () => {
  const budget = new ByteBudget(10)
  const { granted, ask } = asking(budget)
  const small = await ask('small', 1)
  const huge = ask('huge', 25)
  void ask('behind', 1)
  await settled()
  expect(granted).toEqual(['small'])
  small.give()
  const share = await huge
  await settled()
  expect(granted).toEqual(['small', 'huge'])
  expect(budget.reserved).toBe(25)
  share.give()
  await settled()
  expect(granted).toEqual(['small', 'huge', 'behind'])
})

test('shrink() gives back what is too much, and give() the rest once', async () => {
  const budget = new ByteBudget(10)
  const { granted, ask } = asking(budget)
  const share = await ask('first', 10)
  void ask('second', 7)
  share.shrink(4)
  share.shrink(6)
  await settled()
  expect(budget.reserved).toBe(4)
  share.shrink(3)
  await settled()
  expect(granted).toEqual(['first', 'second'])
  share.give()
  share.give()
  expect(budget.reserved).toBe(7)
})

test('reserve() counts what is there even beyond the budget; there is no room then, nor while somebody waits', async () => {
  const budget = new ByteBudget(10)
  expect(budget.hasRoom).toBe(true)
  const share = budget.reserve(12)
  expect(budget.reserved).toBe(12)
  expect(budget.hasRoom).toBe(false)
  share.shrink(5)
  expect(budget.hasRoom).toBe(true)
  const waiting = budget.take(6)
  expect(budget.hasRoom).toBe(false)
  share.give()
  await waiting
  expect(budget.hasRoom).toBe(true)
})
