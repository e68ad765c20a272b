import { expect, test } from 'vitest'

import { MessageAck } from './message-ack.ts'

function answersOf(deliveries: number): { said: string[]; answers: MessageAck } {
  const said: string[] = []
  const message = { ack: () => void said.push('ack'), nak: () => void said.push('nak') }
  return { said, answers: new MessageAck(message, deliveries) }
}

test('a message is acknowledged with the last of its deliveries', () => {
  const { said, answers } = answersOf(3)
  answers.ack()
  answers.ack()
  expect(said).toEqual([])
  answers.ack()
  expect(said).toEqual(['ack'])
})

test('MessageAck naks the message if any delivery was given back, once all are answered', () => {
  const { said, answers } = answersOf(3)
  answers.nak()
  answers.ack()
  expect(said).toEqual([])
  answers.ack()
  expect(said).toEqual(['nak'])
})
