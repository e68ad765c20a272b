import { pino } from 'pino'
import { expect, test } from 'vitest'

import { Bell, every, Idleness } from './every.ts'

const log = pino({ level: 'silent' })

test('a bell ends a rest, and one that nobody heard ends the next', async () => {
  const bell = new Bell()
  setTimeout(() => bell.ring(), 10)
  await bell.within(60_000)
  bell.ring()
  await bell.within(60_000)
  const startedAt = performance.now()
  await bell.within(30)
  expect(performance.now() - startedAt).toBeGreaterThan(25)
})

test('a task that finds nothing rests twice as long each time, and comes at its interval again with work', () => {
  const idleness = new Idleness(100, 500)
  const rests = [false, false, false, false, true, false].map((has) => idleness.after(has).restMs)
  expect(rests).toEqual([200, 400, 500, 500, 100, 200])
})

test('a task runs again after the rest that it asks for, at once when its bell rings, and not once it is stopped', async () => {
  const stop = new AbortController()
  const bell = new Bell()
  const rests = [1, 60_000, 60_000]
  let runs = 0
  await every(60_000, { signal: stop.signal, log, name: 'a task', bell }, async () => {
    const restMs = rests[runs++] ?? 0
    if (runs === 2) setTimeout(() => bell.ring(), 5)
    if (runs === 3) setTimeout(() => stop.abort(), 5)
    return await Promise.resolve({ restMs })
  })
  expect(runs).toBe(3)
})

test('a task that fails runs again after its interval', async () => {
  const stop = new AbortController()
  let runs = 0
  await every(1, { signal: stop.signal, log, name: 'a task' }, async () => {
    if (++runs === 3) stop.abort()
    await Promise.reject(new Error('PostgreSQL is away'))
  })
  expect(runs).toBe(3)
})
