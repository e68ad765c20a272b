import { expect, test } from 'vitest'

import { newId } from '../ids.ts'
import {
  newSpanId,
  parentIn,
  readTraceparent,
  spanIdOfAttempt,
  spanIdOfRequest,
  spanIdOfWait,
  writeTraceparent,
} from './trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test.for([
  [`00-${TRACE}-${SPAN}-01`, true],
  [`00-${TRACE}-${SPAN}-00`, false],
  [`00-${TRACE}-${SPAN}-03`, true],
  // A later version may say more behind it.
  [`01-${TRACE}-${SPAN}-01-more`, true],
] as const)('%s names a span', ([text, isSampled]) => {
  expect(readTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled })
})

test.for([
  undefined,
  '',
  'none',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
])('%s names none', (text) => {
  expect(readTraceparent(text)).toBeUndefined()
})

test('a header is found in any case, and two of it are none', () => {
  const header = ['TraceParent', `00-${TRACE}-${SPAN}-01`] as const
  expect(parentIn([['host', 'a'], header])?.spanId).toBe(SPAN)
  expect(parentIn([header, header])).toBeUndefined()
  expect(parentIn([])).toBeUndefined()
})

test('a span is written as it is read', () => {
  const name = { traceId: TRACE, spanId: SPAN, isSampled: false }
  expect(readTraceparent(writeTraceparent(name))).toEqual(name)
})

test('the spans of a delivery follow from its id, and no two are alike', () => {
  const ids = Array.from({ length: 200 }, () => newId(Date.now()))
  const spans = ids.flatMap((id) => [
    spanIdOfRequest(id),
    ...[1, 2, 3, 30].flatMap((number) => [spanIdOfAttempt(id, number), spanIdOfWait(id, number)]),
  ])
  expect(new Set(spans).size).toBe(spans.length)
  expect(spans.filter((span) => !/^(?!0{16})[0-9a-f]{16}$/.test(span))).toEqual([])
  expect(spanIdOfAttempt(ids[0] ?? '', 2)).toBe(spanIdOfAttempt(ids[0] ?? '', 2))
  expect(newSpanId()).toMatch(/^[0-9a-f]{16}$/)
})
