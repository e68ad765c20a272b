import { expect, test } from 'vitest'

import { MailTurns, type Turn } from './mail-turns.ts'

const SMALL = 1_000
const LARGE = 5_000_000

interface Named extends Turn {
  name: string
}

function turn(name: string, more: Partial<Turn> = {}): Named {
  return { name, organisations: [name], sender: `${name}'s address`, bytes: SMALL, ...more }
}

/** Takes and charges one turn. */
function run(turns: MailTurns<Named>, costMs: number, nowMs = 0): string | undefined {
  const taken = turns.take(nowMs)
  if (taken !== undefined) turns.end(taken, costMs, nowMs)
  return taken?.name
}

test('the organisation that has used the least has the next turn, however many wait of another', () => {
  const turns = new MailTurns<Named>(2)
  for (let n = 0; n < 6; n++) turns.add(turn('many'))
  expect(run(turns, 500)).toBe('many')
  turns.add(turn('few'))
  turns.add(turn('few'))
  expect([run(turns, 20), run(turns, 20), run(turns, 20)]).toEqual(['few', 'few', 'many'])
})

test('a sender that has used much waits, whatever organisation it writes to', () => {
  const turns = new MailTurns<Named>(2)
  const sender = 'a stranger'
  for (const name of ['first', 'second']) {
    turns.add(turn(name, { sender }))
    expect(run(turns, 500)).toBe(name)
  }
  turns.add(turn('third', { sender }))
  turns.add(turn('first'))
  expect([run(turns, 20), run(turns, 20)]).toEqual(['first', 'third'])
})

test('senders of one organisation take turns too', () => {
  const turns = new MailTurns<Named>(2)
  turns.add(turn('one', { sender: 'a' }))
  expect(run(turns, 500)).toBe('one')
  turns.add({ ...turn('one', { sender: 'a' }), name: 'again' })
  turns.add({ ...turn('one', { sender: 'b' }), name: 'other' })
  expect(run(turns, 20)).toBe('other')
})

test('processor time is halved with each half-life, and forgotten', () => {
  const turns = new MailTurns<Named>(2)
  turns.add(turn('long ago'))
  expect(run(turns, 1_000, 0)).toBe('long ago')
  turns.add(turn('lately'))
  expect(run(turns, 100, 60_000)).toBe('lately')
  turns.add(turn('lately'))
  turns.add(turn('long ago'))
  expect(run(turns, 20, 60_000)).toBe('long ago')
})

test('a mail for several organisations costs each its part', () => {
  const turns = new MailTurns<Named>(2)
  turns.add(turn('both', { organisations: ['a', 'b'] }))
  expect(run(turns, 300)).toBe('both')
  turns.add(turn('c'))
  expect(run(turns, 200)).toBe('c')
  turns.add(turn('c', { sender: undefined }))
  turns.add(turn('a', { sender: undefined }))
  expect(run(turns, 20)).toBe('a')
})

test('no organisation and no sender has every thread', () => {
  const turns = new MailTurns<Named>(2)
  const sender = 'a stranger'
  turns.add(turn('one', { sender }))
  turns.add(turn('one'))
  turns.add(turn('two', { sender }))
  expect(turns.take(0)?.name).toBe('one')
  expect(turns.take(0)).toBeUndefined()
  turns.add(turn('three'))
  expect(turns.take(0)?.name).toBe('three')
})

test('large mails leave a thread to small ones', () => {
  const turns = new MailTurns<Named>(2)
  turns.add(turn('one', { bytes: LARGE }))
  turns.add(turn('two', { bytes: LARGE }))
  const first = turns.take(0)
  expect(first?.name).toBe('one')
  expect(turns.take(0)).toBeUndefined()
  turns.add(turn('three'))
  expect(turns.take(0)?.name).toBe('three')
  if (first !== undefined) turns.end(first, 500, 0)
  expect(turns.take(0)?.name).toBe('two')
})
