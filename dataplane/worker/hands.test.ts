import { expect, test } from 'vitest'

import { Hands } from './hands.ts'
import { sampleWork } from './sample-work.ts'

test('a delivery in hand is not taken a second time, until it has ended', () => {
  const hands = new Hands()
  const first = sampleWork()
  expect(hands.take(first)).toBe(true)
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(false)
  expect(first.isWaiting).toBe(true)
  first.settle()
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(true)
})

test('one that is being parked is taken anew from its row, and its end does not end the new one', () => {
  const hands = new Hands()
  const parked = sampleWork()
  expect(hands.take(parked)).toBe(true)
  hands.leave(parked)
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(true)
  parked.settle()
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(false)
})

test('what was settled since its row was asked for is not taken, and is when it is asked for anew', () => {
  const hands = new Hands()
  const ask = () => sampleWork({ isWaiting: true, askedAt: performance.now() })
  const claim = hands.claiming()
  const asked = ask()
  const sent = sampleWork()
  expect(hands.take(sent)).toBe(true)
  sent.settle()
  expect(hands.take(asked)).toBe(false)
  expect(hands.take(ask())).toBe(true)
  claim[Symbol.dispose]()
})

test('what was parked since its row was asked for is taken', () => {
  const hands = new Hands()
  using _claim = hands.claiming()
  const parked = sampleWork()
  const asked = sampleWork({ isWaiting: true, askedAt: performance.now() })
  expect(hands.take(parked)).toBe(true)
  hands.leave(parked)
  parked.settle()
  expect(hands.take(asked)).toBe(true)
})
