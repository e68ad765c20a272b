import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

import { nowDoing, watchLoop } from './watch.ts'

function standStill(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

function watch(): { registry: Registry; lines: string[]; watching: Disposable } {
  const registry = new Registry()
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  return { registry, lines, watching: watchLoop({ registry, log }) }
}

test('a loop that stands still is counted and logged with the part that did it', async () => {
  const { registry, lines, watching } = watch()
  using _watching = watching
  await sleep(50)
  nowDoing('a short part')
  standStill(5)
  nowDoing('the long part')
  standStill(250)
  nowDoing('another short part')
  standStill(5)
  await sleep(60)
  const logged = lines
    .map((line) => JSON.parse(line))
    .filter(({ part }) => part === 'the long part')
  expect(logged).toHaveLength(1)
  expect(logged[0].stillMs).toBeGreaterThan(150)
  const text = await registry.metrics()
  expect(text).toContain('postern_event_loop_stalls_total{part="the long part"} 1')
  expect(text).toMatch(/postern_event_loop_stall_seconds_total\{part="the long part"\} 0\.[2-9]/)
})

test('short parts in one turn and time in which nothing is done are no stall of theirs', async () => {
  const { registry, watching } = watch()
  using _watching = watching
  await sleep(300)
  nowDoing('a part before rest')
  await sleep(300)
  expect(await registry.metrics()).not.toContain('part="a part before rest"')
})

test('saying what is done costs less than a microsecond', () => {
  const now = performance.now()
  const best = Math.min(
    ...Array.from({ length: 5 }, () => {
      const startedAt = performance.now()
      for (let n = 0; n < 100_000; n++) nowDoing('a part', now)
      return performance.now() - startedAt
    }),
  )
  expect(best / 100_000).toBeLessThan(0.001)
})
