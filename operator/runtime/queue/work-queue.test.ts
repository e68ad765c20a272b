import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'

import { openRuntimeMetrics } from '../metrics.ts'
import { Controller } from './controller.ts'
import { WorkQueue } from './work-queue.ts'

const log = pino({ level: 'silent' })

test('a key waits once, however often it is added', async () => {
  const queue = new WorkQueue()
  for (let count = 0; count < 5; count++) queue.add('a')
  expect(queue.depth).toBe(1)
  expect(await queue.take()).toBe('a')
  expect(queue.depth).toBe(0)
})

test('a key that is added while it is in hand comes again afterwards, not beside', async () => {
  const queue = new WorkQueue()
  queue.add('a')
  await queue.take()
  queue.add('a')
  queue.add('a')
  expect(queue.depth).toBe(0)
  queue.done('a')
  expect(queue.depth).toBe(1)
})

test('fresh keys go before those that are looked at again, and a key may become fresh', async () => {
  const queue = new WorkQueue()
  for (const key of ['a', 'b', 'c']) queue.add(key, 'later')
  queue.add('new')
  queue.add('c')
  expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['new', 'c', 'a'])
})

test('the earlier time counts, if there are two', async () => {
  const queue = new WorkQueue()
  queue.addAfter('a', 60_000)
  queue.addAfter('a', 10)
  expect(await queue.take()).toBe('a')
  queue.close()
})

test('a time that was set before a look does not outlive it', async () => {
  const queue = new WorkQueue()
  queue.addAfter('a', 50)
  queue.add('a')
  expect(await queue.take()).toBe('a')
  queue.addAfter('a', 60_000)
  queue.done('a')
  await sleep(150)
  expect(queue.depth).toBe(0)
  queue.close()
})

test('failures in a row wait longer, until one succeeds', () => {
  const queue = new WorkQueue()
  const waits = Array.from({ length: 8 }, () => queue.addFailed('a'))
  expect(waits.at(-1)).toBeGreaterThan(6_000)
  queue.forget('a')
  expect(queue.addFailed('a')).toBeLessThan(400)
  expect(queue.addFailed('b', 5_000)).toBeGreaterThanOrEqual(5_000)
  queue.close()
})

test('a closed queue lets its takers go', async () => {
  const queue = new WorkQueue()
  const taken = queue.take()
  queue.close()
  expect(await taken).toBeUndefined()
})

test('a controller has a key in one hand at a time, and tries again what failed', async () => {
  let inHand = 0
  let most = 0
  const seen: string[] = []
  const metrics = openRuntimeMetrics(new Registry())
  const controller = new Controller({
    name: 'test',
    inLaneMax: 4,
    log,
    metrics,
    async reconcile(key) {
      inHand++
      most = Math.max(most, inHand)
      seen.push(key)
      await sleep(20)
      inHand--
      if (seen.length === 1) throw new Error('thrown by a test')
      return {}
    },
  })
  const stop = new AbortController()
  const running = controller.run(stop.signal)
  controller.queue.add('a')
  await sleep(5)
  controller.queue.add('a')
  await vi.waitFor(() => expect(seen.length).toBeGreaterThanOrEqual(2), { timeout: 5_000 })
  stop.abort()
  await running
  expect(most).toBe(1)
})

test('lanes take turns, and a lane that is full waits for its own keys alone', async () => {
  const laneOf = (key: string): string => key.charAt(0)
  const queue = new WorkQueue({ laneOf, inLaneMax: 2 })
  for (let at = 0; at < 100; at++) queue.add(`a${at}`)
  queue.add('b0', 'later')
  queue.add('c0')
  const taken = [await queue.take(), await queue.take(), await queue.take(), await queue.take()]
  expect(taken).toEqual(['a0', 'c0', 'a1', 'b0'])
  const next = queue.take()
  queue.add('d0')
  expect(await next).toBe('d0')
  const last = queue.take()
  queue.done('a0')
  expect(await last).toBe('a2')
  expect(queue.depth).toBe(97)
  queue.close()
})

test('reconciliations of a lane that hang hold up no other lane', async () => {
  const metrics = openRuntimeMetrics(new Registry())
  const seen: string[] = []
  const hanging = Promise.withResolvers<object>()
  const controller = new Controller({
    name: 'test',
    inLaneMax: 2,
    laneOf: (key) => key.charAt(0),
    log,
    metrics,
    async reconcile(key) {
      seen.push(key)
      return key.startsWith('a') ? await hanging.promise : {}
    },
  })
  for (let at = 0; at < 20; at++) controller.queue.add(`a${at}`)
  const stop = new AbortController()
  const running = controller.run(stop.signal)
  controller.queue.add('b')
  await vi.waitFor(() => expect(seen).toContain('b'), { timeout: 5_000 })
  expect(seen.toSorted()).toEqual(['a0', 'a1', 'b'])
  hanging.resolve({})
  stop.abort()
  await running
})
