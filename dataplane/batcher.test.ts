import { expect, test } from 'vitest'

import { Batcher, Overdue, Overloaded, type BatcherOptions } from './batcher.ts'

const OPTIONS: BatcherOptions = {
  itemsMax: 3,
  bytesMax: 100,
  lanes: 1,
  windowMs: 0,
  queueMax: 10,
  queueBytesMax: 1_000,
}

function recording(options: Partial<BatcherOptions> = {}) {
  const batches: number[][] = []
  const batcher = new Batcher<number, { double: number }>(
    { ...OPTIONS, ...options },
    async (items) => {
      batches.push(items)
      await new Promise((resolve) => setImmediate(resolve))
      if (items.includes(13)) throw new Error('thirteen')
      return items.map((item) => ({ double: item * 2 }))
    },
  )
  return { batches, batcher }
}

test('add() answers each item with its own result, in batches of at most itemsMax', async () => {
  const { batches, batcher } = recording()
  const results = await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.add(item)))
  expect(results.map((result) => result.double)).toEqual([2, 4, 6, 8, 10])
  expect(batches).toEqual([
    [1, 2, 3],
    [4, 5],
  ])
})

test('a batch holds at most bytesMax, but always one item', async () => {
  const { batches, batcher } = recording()
  await Promise.all([
    batcher.add(1, 60),
    batcher.add(2, 60),
    batcher.add(3, 500),
    batcher.add(4, 10),
  ])
  expect(batches).toEqual([[1], [2], [3], [4]])
})

test('add() refuses past the queue, by items and by bytes', async () => {
  const { batcher } = recording({ queueMax: 2 })
  const first = [batcher.add(1), batcher.add(2)]
  await expect(batcher.add(3)).rejects.toBeInstanceOf(Overloaded)
  await Promise.all(first)
  await expect(batcher.add(4, 1_001)).rejects.toBeInstanceOf(Overloaded)
})

test('a failed write rejects its batch and no other', async () => {
  const { batcher } = recording({ itemsMax: 1 })
  const [bad, good] = await Promise.allSettled([batcher.add(13), batcher.add(14)])
  expect(bad.status).toBe('rejected')
  expect(good).toEqual({ status: 'fulfilled', value: { double: 28 } })
})

test('drain() waits for what is queued', async () => {
  const { batches, batcher } = recording()
  void batcher.add(1)
  await batcher.drain()
  expect(batches).toEqual([[1]])
})

test('an item that comes while a batch is written waits as long for others as in a first batch', async () => {
  const batches: number[][] = []
  const started = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const batcher = new Batcher<number, true>({ ...OPTIONS, windowMs: 200 }, async (items) => {
    batches.push(items)
    started.resolve()
    await mayEnd.promise
    return items.map(() => true)
  })
  const first = batcher.add(1)
  await started.promise
  const second = batcher.add(2)
  mayEnd.resolve()
  await first
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([second, batcher.add(3)])
  expect(batches).toEqual([[1], [2, 3]])
})

test('a lane that waited while another took all of the queue writes nothing', async () => {
  const { batches, batcher } = recording({ windowMs: 20, lanes: 2 })
  await Promise.all([batcher.add(1), batcher.add(2)])
  await batcher.drain()
  expect(batches).toEqual([[1, 2]])
})

test('an item past waitMaxMs is overdue: a queued one is not written, and add() refuses at once until the write ends', async () => {
  const batches: number[][] = []
  const mayEnd = Promise.withResolvers<void>()
  const options = { ...OPTIONS, itemsMax: 1, waitMaxMs: 50 }
  const batcher = new Batcher<number, true>(options, async (items) => {
    batches.push(items)
    await mayEnd.promise
    return items.map(() => true)
  })
  const [written, queued] = await Promise.allSettled([batcher.add(1), batcher.add(2, 7)])
  expect([written, queued].map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const askedAt = performance.now()
  await expect(batcher.add(3)).rejects.toBeInstanceOf(Overdue)
  expect(performance.now() - askedAt).toBeLessThan(40)
  expect(batcher.queued).toBe(0)
  mayEnd.resolve()
  await batcher.drain()
  await batcher.add(4)
  expect(batches).toEqual([[1], [4]])
})

test('items that are written in time leave no timer behind that rejects later ones', async () => {
  const { batcher } = recording({ waitMaxMs: 30 })
  await batcher.add(1)
  await new Promise((resolve) => setTimeout(resolve, 40))
  expect(await batcher.add(2)).toEqual({ double: 4 })
})
