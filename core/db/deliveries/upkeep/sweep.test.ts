import { expect, test } from 'vitest'

import { firstIdAt } from '../../../ids.ts'
import { walkFrom } from './sweep.ts'

const NOW_MS = Date.UTC(2026, 10, 20, 9)
const before = (ms: number): string => firstIdAt(NOW_MS - ms)

test('walkFrom() goes on where the walk was while the clock goes on', () => {
  expect(walkFrom(before(20_000), NOW_MS)).toBe(before(20_000))
  expect(walkFrom(before(86_400_000), NOW_MS)).toBe(before(86_400_000))
  expect(walkFrom(before(20_000), NOW_MS - 4_000)).toBe(before(20_000))
})

test('walkFrom() goes back when ids may be made below the watermark: the clock was set back', () => {
  for (const stepMs of [6_000, 21_000, 3_600_000]) {
    const now = NOW_MS - stepMs
    expect(walkFrom(before(20_000), now)).toBe(firstIdAt(now - 900_000))
  }
})
