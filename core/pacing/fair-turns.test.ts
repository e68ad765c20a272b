import { expect, test } from 'vitest'

import { FairTurns, TurnsTaken } from './fair-turns.ts'

/** Turns with a single place, and work that ends when `end` is called. */
function openTurns(waitingMax: number) {
  const turns = new FairTurns({ places: 1, waitingMax })
  const ends: (() => void)[] = []
  const order: string[] = []
  const refused: string[] = []
  const ask = (key: string, name: string): void => {
    const done = turns.take(key, async () => {
      order.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
    })
    done.catch((error: unknown) => {
      if (!(error instanceof TurnsTaken)) throw error
      refused.push(name)
    })
  }
  const endAll = async (): Promise<void> => {
    for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
      end()
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }
  return { ask, endAll, order, refused }
}

test('keys take turns, whichever has more that wait', async () => {
  const { ask, endAll, order } = openTurns(100)
  for (let n = 0; n < 60; n++) ask('flood', `flood ${n}`)
  ask('one', 'one 0')
  ask('one', 'one 1')
  ask('two', 'two 0')
  await endAll()
  expect(order.indexOf('one 0')).toBe(2)
  expect(order.indexOf('two 0')).toBe(3)
  expect(order.indexOf('one 1')).toBe(5)
  expect(order).toHaveLength(63)
})

test('when the room is full, the newest of the longest queue makes way for another key', async () => {
  const { ask, endAll, order, refused } = openTurns(4)
  for (let n = 0; n < 6; n++) ask('flood', `flood ${n}`)
  await new Promise<void>((resolve) => setImmediate(resolve))
  expect(refused).toEqual(['flood 5'])
  ask('one', 'one 0')
  ask('two', 'two 0')
  await new Promise<void>((resolve) => setImmediate(resolve))
  expect(refused).toEqual(['flood 5', 'flood 4', 'flood 3'])
  await endAll()
  expect(order).toEqual(['flood 0', 'flood 1', 'one 0', 'two 0', 'flood 2'])
})

test('a room full of keys with one each refuses one more, and place is given back after a failure', async () => {
  const { ask, endAll, order, refused } = openTurns(2)
  for (const key of ['a', 'b', 'c', 'd']) ask(key, key)
  await new Promise<void>((resolve) => setImmediate(resolve))
  expect(refused).toEqual(['d'])
  await endAll()
  expect(order).toEqual(['a', 'b', 'c'])
  const turns = new FairTurns({ places: 1, waitingMax: 1 })
  const fails = turns.take('a', async () => await Promise.reject(new Error('broken')))
  await expect(fails).rejects.toThrow('broken')
  expect(await turns.take('b', async () => await Promise.resolve(1))).toBe(1)
})
