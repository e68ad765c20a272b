import { expect, test } from 'vitest'

import { overrideArguments, UsageError } from './arguments.ts'
import { readCommand } from './commands.ts'

test('overrideArguments() reads numbers, booleans and what is unlimited', () => {
  expect(overrideArguments(['seats=unlimited', 'connectors=0', 'isHardCapped=false'])).toEqual({
    seats: null,
    connectors: 0,
    isHardCapped: false,
  })
})

test.for<[texts: string[], message: string]>([
  [['seats'], 'expected <entitlement>=<value>'],
  [['seats='], 'expected <entitlement>=<value>'],
  [['seats=1=2'], 'expected <entitlement>=<value>'],
  [['seat=3'], '--set seat: there is retentionDays'],
  [['seats=0'], '--set seats'],
  [['seats=many'], '--set seats'],
  [['retentionDays=91'], '--set retentionDays'],
  [['retentionDays=unlimited'], '--set retentionDays'],
  [['isHardCapped=1'], '--set isHardCapped'],
  [['seats=1', 'seats=2'], 'twice'],
])('overrideArguments(%j) is not understood', ([texts, message]) => {
  expect(() => overrideArguments(texts)).toThrow(UsageError)
  expect(() => overrideArguments(texts)).toThrow(message)
})

test('organisations override needs something to do', () => {
  const words = ['organisations', 'override', 'org_01h455vb4pex5vsknk084sn02q']
  expect(() => readCommand(words)).toThrow('needs --set')
  expect(readCommand([...words, '--clear'])).toBeTypeOf('function')
})
