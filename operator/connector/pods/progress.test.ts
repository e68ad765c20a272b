import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { MINUTE_MS } from '../../../core/clock.ts'
import { Memories } from '../memory.ts'
import { leftMs } from './progress.ts'

const START = Date.parse('2026-11-26T12:00:00Z')

beforeEach(() => void vi.useFakeTimers({ now: START, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const later = (minutes: number): void => void vi.setSystemTime(START + minutes * MINUTE_MS)
const said = (status: 'True' | 'False' | 'Unknown', reason: string, generation: number) => [
  {
    type: 'ReplicasAvailable',
    status,
    reason,
    message: '',
    observedGeneration: generation,
    lastTransitionTime: new Date(START).toISOString(),
  },
]

test('pods of a generation have 10 minutes, and those of another generation their own', () => {
  const memory = new Memories().of('a')
  const left = (generation: number) => leftMs({ memory, generation, before: [], isAwaited: true })
  expect(left(1)).toBe(10 * MINUTE_MS)
  later(9)
  expect(left(1)).toBe(MINUTE_MS)
  expect(left(2)).toBe(10 * MINUTE_MS)
  later(20)
  expect(left(2)).toBe(0)
})

test('the time in which something else is missing does not count', () => {
  const memory = new Memories().of('a')
  const left = (isAwaited: boolean) => leftMs({ memory, generation: 1, before: [], isAwaited })
  left(true)
  later(9)
  expect(left(false)).toBeUndefined()
  later(30)
  expect(left(true)).toBe(10 * MINUTE_MS)
})

test('an operator that starts goes on with the time and the verdict of the one before it', () => {
  later(8)
  const left = (before: ReturnType<typeof said>) =>
    leftMs({ memory: new Memories().of('a'), generation: 4, before, isAwaited: true })
  expect(left(said('Unknown', 'PodsStarting', 4))).toBe(2 * MINUTE_MS)
  expect(left(said('False', 'ProgressDeadlineExceeded', 4))).toBe(0)
  expect(left(said('Unknown', 'PodsStarting', 3))).toBe(10 * MINUTE_MS)
  expect(left(said('False', 'ProgressDeadlineExceeded', 3))).toBe(10 * MINUTE_MS)
})
