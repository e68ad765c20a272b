import { expect, test } from 'vitest'

import { answersOf, type Answer } from './answers.ts'

function messageOf(count: number): { said: string[]; answers: Answer[] } {
  const said: string[] = []
  const message = {
    subject: 'dl.0',
    data: new Uint8Array(),
    redelivered: false,
    ack: () => void said.push('ack'),
    nak: () => void said.push('nak'),
    term: () => void said.push('term'),
  }
  return { said, answers: answersOf(message, count) }
}

test('a message is acknowledged with the last of its deliveries', () => {
  const { said, answers } = messageOf(3)
  for (const answer of answers) {
    expect(said).toEqual([])
    answer.ack()
  }
  expect(said).toEqual(['ack'])
})

test('one delivery that is given back brings the message again, once all are answered', () => {
  const { said, answers } = messageOf(3)
  answers[1]?.nak()
  answers[0]?.ack()
  expect(said).toEqual([])
  answers[2]?.ack()
  expect(said).toEqual(['nak'])
})

test('only the first answer of a delivery counts', () => {
  const { said, answers } = messageOf(2)
  answers[0]?.ack()
  answers[0]?.nak()
  answers[0]?.ack()
  expect(said).toEqual([])
  answers[1]?.ack()
  expect(said).toEqual(['ack'])
})
