import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'

import { DueWatch } from './due-watch.ts'

/** Rows that are due at these times, and when each was taken. */
function watch(times: number[]) {
  const taken: { lateMs: number }[] = []
  let asked = 0
  const due = {
    nextAt: () => {
      asked++
      return Promise.resolve(Math.min(...times, Number.POSITIVE_INFINITY))
    },
    take: () => {
      const nowMs = Date.now()
      for (const at of times.filter((time) => time <= nowMs)) {
        taken.push({ lateMs: nowMs - at })
        times.splice(times.indexOf(at), 1)
      }
      return Promise.resolve()
    },
  }
  const dueWatch = new DueWatch({
    due,
    clock: { now: () => Date.now() },
    log: pino({ level: 'silent' }),
  })
  onTestFinished(() => dueWatch[Symbol.asyncDispose]())
  return { dueWatch, taken, times, asked: () => asked }
}

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!isTrue() && performance.now() < deadline) await new Promise((next) => setTimeout(next, 5))
}

test('a row is taken when it is due, not at the next look a second later', async () => {
  const { dueWatch, taken } = watch([Date.now() + 300])
  dueWatch.look()
  await until(() => taken.length === 1)
  expect(taken[0]?.lateMs).toBeLessThan(500)
})

test('nothing is asked more than once a second while nothing is due', async () => {
  const { dueWatch, asked } = watch([])
  dueWatch.look()
  await new Promise((next) => setTimeout(next, 700))
  expect(asked()).toBe(1)
  await until(() => asked() === 2)
  expect(asked()).toBe(2)
})

test('a row that this worker writes is heard of, though none was due', async () => {
  const { dueWatch, taken, times } = watch([])
  dueWatch.look()
  await new Promise((next) => setTimeout(next, 20))
  times.push(Date.now() + 150)
  dueWatch.expect(Date.now() + 150)
  await until(() => taken.length === 1)
  expect(taken[0]?.lateMs).toBeLessThan(500)
})
