import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { BODY_BYTES_PER_SECOND_MIN, BODY_RATE_SECONDS } from '../../../core/limits.ts'
import { ArrivingBytes } from './arriving-bytes.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const share = (holder: string, bytesMax = 30) => ({ holder, bytesMax })
const never = (): void => expect.unreachable()

test('a holder has all bytes while less than half is used, and its share past that', () => {
  const arriving = new ArrivingBytes(100)
  const one = arriving.begin([share('a')], never)
  expect(one.grow(50)).toBe(true)
  expect(one.grow(1)).toBe(false)
  const other = arriving.begin([share('b')], never)
  expect(other.grow(30)).toBe(true)
  expect(other.grow(1)).toBe(false)
  one.release()
  expect(other.grow(10)).toBe(true)
  other.release()
  expect(arriving.bytes).toBe(0)
})

test('an arrival counts to each of its shares, and the smallest that is left decides', () => {
  const arriving = new ArrivingBytes(100)
  const first = arriving.begin([share('sender', 40), share('source', 60)], never)
  expect(first.grow(40)).toBe(true)
  const second = arriving.begin([share('other sender', 40), share('source', 60)], never)
  expect(second.grow(20)).toBe(true)
  expect(second.grow(1)).toBe(false)
  const third = arriving.begin([share('sender', 40), share('other source', 60)], never)
  expect(third.grow(1)).toBe(false)
})

test('an arrival that is discarded gives its room back once', () => {
  const arriving = new ArrivingBytes(100)
  const one = arriving.begin([share('a')], never)
  one.grow(40)
  one.discard()
  expect(arriving.bytes).toBe(0)
  expect(one.grow(500)).toBe(true)
  one.release()
  expect(arriving.bytes).toBe(0)
})

test('an arrival slower than the least rate is given up, kept or discarded, and none that is complete', () => {
  const arriving = new ArrivingBytes(1_000_000)
  const slow = vi.fn<() => void>()
  const discarded = vi.fn<() => void>()
  const [held, thrown, quick, whole] = [
    arriving.begin([share('a')], slow),
    arriving.begin([share('b')], discarded),
    arriving.begin([share('c')], never),
    arriving.begin([share('d')], never),
  ]
  held.grow(90_000)
  thrown.grow(90_000)
  thrown.discard()
  quick.grow(90_000)
  whole.complete()
  vi.advanceTimersByTime(BODY_RATE_SECONDS * 1_000)
  expect(slow).not.toHaveBeenCalled()
  for (let second = 0; second < BODY_RATE_SECONDS; second++) {
    held.grow(1)
    quick.grow(BODY_BYTES_PER_SECOND_MIN)
    vi.advanceTimersByTime(1_000)
  }
  expect(slow).toHaveBeenCalledOnce()
  expect(discarded).toHaveBeenCalledOnce()
})
