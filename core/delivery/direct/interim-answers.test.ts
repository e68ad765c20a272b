import { expect, test } from 'vitest'

import { InterimAnswers } from './interim-answers.ts'

const FINAL = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** Passes a text in pieces of this size and returns the text that is left. */
function passed(text: string, size: number, answers = new InterimAnswers(1_000)): string {
  let left = ''
  for (let at = 0; at < text.length; at += size) {
    left += answers.pass(Buffer.from(text.slice(at, at + size)))?.toString() ?? ''
  }
  return left
}

test.for([
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 100\r\n\r\n',
  'HTTP/1.0 101 Switching Protocols\r\nupgrade: x\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </b>\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20),
  'HTTP/1.1 199 Odd\r\n\r\n',
])('%j is left out, in pieces of every size', (interim) => {
  for (let size = 1; size <= interim.length + FINAL.length; size++) {
    expect(passed(interim + FINAL, size)).toBe(FINAL)
  }
})

test.for(['HTTP/1.1 500 No\r\n\r\n', 'HTTP/1.1 1x0 No\r\n\r\n', 'nonsense', 'HTTP/2 200\r\n\r\n'])(
  '%j is passed on as it is',
  (text) => {
    for (let size = 1; size <= text.length; size++) expect(passed(text, size)).toBe(text)
  },
)

test('after its head nothing of an answer is looked at, until the next one', () => {
  const answers = new InterimAnswers(1_000)
  const body = 'HTTP/1.1 100 Continue\r\n\r\n'
  expect(passed(FINAL, 7, answers) + passed(body, 7, answers)).toBe(FINAL + body)
  answers.restart()
  expect(passed(body + FINAL, 7, answers)).toBe(FINAL)
})

test('interim answers without end are refused', () => {
  const answers = new InterimAnswers(1_000)
  expect(() => passed('HTTP/1.1 100 Continue\r\n\r\n'.repeat(50), 50, answers)).toThrow(RangeError)
  answers.restart()
  expect(() => passed(`HTTP/1.1 103 Hints\r\n${'x: y\r\n'.repeat(200)}`, 50, answers)).toThrow(
    RangeError,
  )
})
