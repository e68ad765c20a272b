import { expect, test } from 'vitest'

import { readBody, refuseUnstorable } from './body.ts'

/** The paths that are refused; none when the body is read. */
function refused(text: string): unknown {
  try {
    refuseUnstorable('body', readBody(Buffer.from(text), 'application/json'))
    return []
  } catch (error) {
    return error
  }
}

test.for<[text: string, path: string]>([
  ['{"timeoutMs":1e400}', 'body.timeoutMs'],
  ['{"data":{"metadata":12345678901234567891}}', 'body.data.metadata'],
  ['{"filter":{"body":{"a":{"$in":[1,7100000000000000123]}}}}', 'body.filter.body.a.$in.1'],
  ['{"sample":{"headers":{"a":1e400}}}', 'body.sample.headers.a'],
  ['1.00000000000000000001', 'body'],
  [`${'['.repeat(2_000)}1e400${']'.repeat(2_000)}`, 'body'],
])(
  'refuseUnstorable() refuses a number that it cannot keep, where it stands: %s',
  ([text, path]) => {
    expect(refused(text)).toMatchObject({ data: { fields: [{ path }] } })
  },
)

test('refuseUnstorable() takes numbers that are spelt another way, and any number in a sample', () => {
  const bodies = ['{"timeoutMs":1.5e4}', '{"a":[1.0,-0,0.10]}', '{"sample":{"body":{"a":1e400}}}']
  expect(bodies.map(refused)).toEqual([[], [], []])
  expect(readBody(Buffer.from('{"timeoutMs":1.5e4}'), 'application/json')).toEqual({
    timeoutMs: 15_000,
  })
})
