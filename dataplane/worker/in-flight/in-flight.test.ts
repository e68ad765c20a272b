import { expect, test } from 'vitest'

import { ByteBudget } from './byte-budget.ts'
import { InFlight } from './in-flight.ts'
import { MessageAck } from './message-ack.ts'
import { sampleWork } from './sample-work.fixture.ts'

test('a delivery in hand is not taken a second time, until it has ended', () => {
  const inFlight = new InFlight()
  const first = sampleWork()
  expect(inFlight.take(first)).toBe(true)
  expect(inFlight.take(sampleWork({ isWaiting: true }))).toBe(false)
  expect(first.isWaiting).toBe(true)
  inFlight.settle(first)
  expect(inFlight.take(sampleWork({ isWaiting: true }))).toBe(true)
})

test('InFlight takes a delivery that is being parked from its row again, and the end of the old work does not end the new', () => {
  const inFlight = new InFlight()
  const parked = sampleWork()
  expect(inFlight.take(parked)).toBe(true)
  parked.place = 'parking'
  expect(inFlight.take(sampleWork({ isWaiting: true }))).toBe(true)
  inFlight.settle(parked)
  expect(inFlight.take(sampleWork({ isWaiting: true }))).toBe(false)
})

test('InFlight refuses a delivery that finished after its row was queried, and takes it after the next query', () => {
  const inFlight = new InFlight()
  const ask = () => sampleWork({ isWaiting: true, askedAt: performance.now() })
  const claim = inFlight.claiming()
  const asked = ask()
  const sent = sampleWork()
  expect(inFlight.take(sent)).toBe(true)
  inFlight.settle(sent)
  expect(inFlight.take(asked)).toBe(false)
  expect(inFlight.take(ask())).toBe(true)
  claim[Symbol.dispose]()
})

test('InFlight takes a delivery that was parked after its row was queried', () => {
  const inFlight = new InFlight()
  using _claim = inFlight.claiming()
  const parked = sampleWork()
  const asked = sampleWork({ isWaiting: true, askedAt: performance.now() })
  expect(inFlight.take(parked)).toBe(true)
  parked.place = 'parking'
  inFlight.settle(parked)
  expect(inFlight.take(asked)).toBe(true)
})

/** A message of one delivery, and what is said of it. */
function oneMessage(): { said: string[]; message: MessageAck } {
  const said: string[] = []
  const message = new MessageAck(
    { ack: () => void said.push('ack'), nak: () => void said.push('nak') },
    1,
  )
  return { said, message }
}

test('InFlight acks the redelivered message instead of the first', () => {
  const inFlight = new InFlight()
  const [first, again, claimed] = [oneMessage(), oneMessage(), oneMessage()]
  const work = sampleWork({ message: first.message })
  expect(inFlight.renew(work.deliveryId, again.message)).toBe(false)
  expect(inFlight.take(work)).toBe(true)
  expect(inFlight.renew(work.deliveryId, again.message)).toBe(true)
  expect(inFlight.take(sampleWork({ message: claimed.message }))).toBe(false)
  expect(inFlight.take(sampleWork())).toBe(false)
  inFlight.settle(work)
  expect([first.said, again.said, claimed.said]).toEqual([[], [], ['ack']])
  expect(inFlight.renew(work.deliveryId, again.message)).toBe(false)
})

test('a message is answered once: when its row stands for it, or with how its delivery ends', () => {
  const inFlight = new InFlight()
  const [acknowledged, released, abandoned] = [oneMessage(), oneMessage(), oneMessage()]
  const work = sampleWork({ message: acknowledged.message })
  inFlight.take(work)
  inFlight.acknowledge(work)
  expect(acknowledged.said).toEqual(['ack'])
  expect(inFlight.renew(work.deliveryId, released.message)).toBe(false)
  inFlight.release(work)
  expect(acknowledged.said).toEqual(['ack'])
  inFlight.release(sampleWork({ message: released.message }))
  inFlight.abandon(sampleWork({ message: abandoned.message }))
  expect([released.said, abandoned.said]).toEqual([['nak'], []])
})

test('an attempt is under way until its work ends, which gives back what it took of memory', () => {
  const inFlight = new InFlight()
  const memory = new ByteBudget(10)
  for (const end of ['settle', 'release', 'abandon'] as const) {
    const work = sampleWork({ room: memory.reserve(3) })
    inFlight.take(work)
    expect(inFlight.underWay.size).toBe(0)
    inFlight.begin(work)
    work.room.grow(4)
    expect([...inFlight.underWay]).toEqual([work])
    expect(memory.reserved).toBe(7)
    inFlight[end](work)
    expect(inFlight.underWay.size).toBe(0)
    expect(memory.reserved).toBe(0)
  }
})

test('InFlight.handOver leaves behind the attempts that have a row, and only these', () => {
  const inFlight = new InFlight()
  const withRow = sampleWork({ deliveryId: 'with a row', isWaiting: true })
  const withoutRow = sampleWork({ deliveryId: 'without a row' })
  const parked = sampleWork({ deliveryId: 'parked after it began', isWaiting: true })
  for (const work of [withRow, withoutRow, parked]) inFlight.begin(work)
  parked.place = 'parking'

  for (const work of inFlight.underWay) inFlight.handOver(work)

  expect(withRow.place).toBe('handed_over')
  expect(withoutRow.place).toBe('sending')
  expect(parked.place).toBe('parking')
})
