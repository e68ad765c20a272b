import { expect, test } from 'vitest'

import { Overdue } from '../../batcher.ts'
import { EventBatches } from './event-batches.ts'
import type { Incoming, StoreResult } from './event.ts'

const OPTIONS = {
  itemsMax: 10,
  bytesMax: 8_000_000,
  lanes: 1,
  windowMs: 0,
  queueMax: 100,
  queueBytesMax: 64_000_000,
}

test('a small event is written although large ones wait before it', async () => {
  const mayEnd = Promise.withResolvers<void>()
  const isLarge = new WeakSet<Incoming>()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing reads it
  const event = (): Incoming => ({}) as Incoming
  const batches = new EventBatches(OPTIONS, async (events) => {
    if (events.some((one) => isLarge.has(one))) await mayEnd.promise
    return events.map((): StoreResult => ({ kind: 'failed' }))
  })
  const large = Array.from({ length: 6 }, async () => {
    const one = event()
    isLarge.add(one)
    return await batches.add(one, 9_400_000)
  })
  expect(await batches.add(event(), 1_000)).toEqual({ kind: 'failed' })
  mayEnd.resolve()
  expect(await Promise.all(large)).toHaveLength(6)
  await batches.drain()
})

test('large events that are written slowly leave ingest ready', async () => {
  const mayEnd = Promise.withResolvers<void>()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing reads it
  const event = {} as Incoming
  const batches = new EventBatches({ ...OPTIONS, waitMaxMs: 50 }, async (events) => {
    await mayEnd.promise
    return events.map((): StoreResult => ({ kind: 'failed' }))
  })
  const large = batches.add(event, 9_400_000)
  await expect(large).rejects.toBeInstanceOf(Overdue)
  expect(batches.isOverdue).toBe(false)
  await expect(batches.add(event, 1_000)).rejects.toBeInstanceOf(Overdue)
  expect(batches.isOverdue).toBe(true)
  mayEnd.resolve()
  await batches.drain()
})
