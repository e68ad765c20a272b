import { expect, test } from 'vitest'

import { answerKind } from './answer-kind.ts'

test.for<[string | undefined, string | undefined]>([
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
  ['application/json', 'application/json'],
  ['Application/JSON; charset=utf-8', 'application/json'],
  ['application/json, text/event-stream', 'application/json'],
  ['text/event-stream, application/json;q=0.1', 'application/json'],
  ['text/html, */*;q=0.1', 'application/json'],
  ['text/event-stream', 'text/event-stream'],
  ['text/*', 'text/event-stream'],
  ['text/event-stream, application/json;q=0', 'text/event-stream'],
  ['application/json;q=0, */*', 'text/event-stream'],
  ['text/html', undefined],
  ['application/xml, text/event-stream; q=0.0', undefined],
])('Accept: %s gets %s', ([accept, kind]) => {
  expect(answerKind(accept)).toBe(kind)
})
