import pg from 'pg'
import { expect, test } from 'vitest'

import { cannotStore, isDatabaseAway, isDataFault } from './failures.ts'

function refused(code: string): Error {
  return Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code })
}

test.for([
  ['57P01', 'is shut down'],
  ['57P03', 'is starting'],
  ['53100', 'has a full disk'],
  ['53200', 'has no memory'],
  ['53300', 'has no connection left'],
  ['58030', 'cannot read its files'],
  ['25006', 'is a standby'],
] as const)('isDatabaseAway() and cannotStore() know %s: PostgreSQL %s', ([code]) => {
  expect(isDatabaseAway(refused(code))).toBe(true)
  expect(cannotStore(refused(code))).toBe(true)
  expect(isDataFault(refused(code))).toBe(false)
})

test('a statement that took too long could not store; what a statement does wrong is no absence', () => {
  expect(isDatabaseAway(refused('57014'))).toBe(false)
  expect(cannotStore(refused('57014'))).toBe(true)
  for (const code of ['23505', '42P01', '40001', '22P05']) {
    expect(isDatabaseAway(refused(code))).toBe(false)
    expect(cannotStore(refused(code))).toBe(false)
  }
})

test('isDatabaseAway() knows sockets that lead nowhere, each of several addresses of a name', () => {
  const socket = (code: string) => Object.assign(new Error('connect'), { code })
  for (const code of ['ECONNREFUSED', 'ENOENT', 'ENETUNREACH', 'EADDRNOTAVAIL']) {
    expect(isDatabaseAway(socket(code)), code).toBe(true)
  }
  const both = new AggregateError([socket('EINVAL'), socket('ECONNREFUSED')])
  expect(isDatabaseAway(Object.assign(both, { code: 'EINVAL' }))).toBe(true)
  expect(isDatabaseAway(new AggregateError([socket('EINVAL')]))).toBe(false)
})
