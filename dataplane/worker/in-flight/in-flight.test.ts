import { expect, test } from 'vitest'

import { ByteBudget } from './byte-budget.ts'
import { Hands } from './in-flight.ts'
import { Answers } from './message-ack.ts'
import { sampleWork } from './sample-work.fixture.ts'

test('a delivery in hand is not taken a second time, until it has ended', () => {
  const hands = new Hands()
  const first = sampleWork()
  expect(hands.take(first)).toBe(true)
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(false)
  expect(first.isWaiting).toBe(true)
  hands.settle(first)
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(true)
})

test('InFlight takes a delivery that is being parked from its row again, and the end of the old work does not end the new', () => {
  const hands = new Hands()
  const parked = sampleWork()
  expect(hands.take(parked)).toBe(true)
  parked.isParking = true
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(true)
  hands.settle(parked)
  expect(hands.take(sampleWork({ isWaiting: true }))).toBe(false)
})

test('InFlight refuses a delivery that finished after its row was queried, and takes it after the next query', () => {
  const hands = new Hands()
  const ask = () => sampleWork({ isWaiting: true, askedAt: performance.now() })
  const claim = hands.claiming()
  const asked = ask()
  const sent = sampleWork()
  expect(hands.take(sent)).toBe(true)
  hands.settle(sent)
  expect(hands.take(asked)).toBe(false)
  expect(hands.take(ask())).toBe(true)
  claim[Symbol.dispose]()
})

test('InFlight takes a delivery that was parked after its row was queried', () => {
  const hands = new Hands()
  using _claim = hands.claiming()
  const parked = sampleWork()
  const asked = sampleWork({ isWaiting: true, askedAt: performance.now() })
  expect(hands.take(parked)).toBe(true)
  parked.isParking = true
  hands.settle(parked)
  expect(hands.take(asked)).toBe(true)
})

/** A message of one delivery, and what is said of it. */
function oneMessage(): { said: string[]; message: Answers } {
  const said: string[] = []
  const message = new Answers(
    { ack: () => void said.push('ack'), nak: () => void said.push('nak') },
    1,
  )
  return { said, message }
}

test('InFlight acks the redelivered message instead of the first', () => {
  const hands = new Hands()
  const [first, again, claimed] = [oneMessage(), oneMessage(), oneMessage()]
  const work = sampleWork({ message: first.message })
  expect(hands.renew(work.deliveryId, again.message)).toBe(false)
  expect(hands.take(work)).toBe(true)
  expect(hands.renew(work.deliveryId, again.message)).toBe(true)
  expect(hands.take(sampleWork({ message: claimed.message }))).toBe(false)
  expect(hands.take(sampleWork())).toBe(false)
  hands.settle(work)
  expect([first.said, again.said, claimed.said]).toEqual([[], [], ['ack']])
  expect(hands.renew(work.deliveryId, again.message)).toBe(false)
})

test('a message is answered once: when its row stands for it, or with how its delivery ends', () => {
  const hands = new Hands()
  const [acknowledged, released, abandoned] = [oneMessage(), oneMessage(), oneMessage()]
  const work = sampleWork({ message: acknowledged.message })
  hands.take(work)
  hands.acknowledge(work)
  expect(acknowledged.said).toEqual(['ack'])
  expect(hands.renew(work.deliveryId, released.message)).toBe(false)
  hands.release(work)
  expect(acknowledged.said).toEqual(['ack'])
  hands.release(sampleWork({ message: released.message }))
  hands.abandon(sampleWork({ message: abandoned.message }))
  expect([released.said, abandoned.said]).toEqual([['nak'], []])
})

test('an attempt is under way until its work ends, which gives back what it took of memory', () => {
  const hands = new Hands()
  const memory = new ByteBudget(10)
  for (const end of ['settle', 'release', 'abandon'] as const) {
    const work = sampleWork({ room: memory.hold(3) })
    hands.take(work)
    expect(hands.underWay.size).toBe(0)
    hands.begin(work)
    work.room.grow(4)
    expect([...hands.underWay]).toEqual([work])
    expect(memory.held).toBe(7)
    hands[end](work)
    expect(hands.underWay.size).toBe(0)
    expect(memory.held).toBe(0)
  }
})
