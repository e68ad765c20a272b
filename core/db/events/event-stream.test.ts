import { expect, test } from 'vitest'

import { HOUR_MS } from '../../clock.ts'
import { idTimes } from './event-stream.ts'

const AT_MS = 1_800_000_000_000

test('idTimes() holds the ids of a window, whichever way the clock was set within an hour', () => {
  for (const stepMs of [0, 1_000, HOUR_MS]) {
    // Ahead and back within the window, only back, and only ahead.
    const round = idTimes(AT_MS, AT_MS + 1_000)
    expect(round.lastMs).toBeGreaterThan(AT_MS + stepMs + 1_000)
    const back = idTimes(AT_MS + stepMs, AT_MS + 1_000)
    expect(back.firstMs).toBeLessThan(AT_MS)
    expect(back.lastMs).toBeGreaterThan(AT_MS + stepMs)
    const ahead = idTimes(AT_MS, AT_MS + stepMs + 1_000)
    expect(ahead.firstMs).toBeLessThan(AT_MS)
    expect(ahead.lastMs).toBeGreaterThan(AT_MS + stepMs + 1_000)
  }
})

test('idTimes() looks back no further than the lag while the clock goes on', () => {
  expect(AT_MS - idTimes(AT_MS, AT_MS + 60_000).firstMs).toBe(15_000)
})
