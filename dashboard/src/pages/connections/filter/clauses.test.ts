import { expect, test } from 'vitest'

import { clausesOf } from './clauses.ts'

test('each clause of a filter can be tried by itself', () => {
  const clauses = clausesOf({
    eventTypes: ['order.*'],
    body: { amount: { $gt: 5, $lt: 10 }, customer: { country: 'SE' }, $or: [{ a: 1 }, { b: 2 }] },
  })
  expect(clauses.map(({ path, operator }) => `${path} ${operator}`)).toEqual([
    'eventTypes $in',
    'body.amount $gt',
    'body.amount $lt',
    'body.customer.country $eq',
    'body $or',
  ])
  expect(clauses.map(({ alone }) => alone)).toEqual([
    { eventTypes: ['order.*'] },
    { body: { amount: { $gt: 5 } } },
    { body: { amount: { $lt: 10 } } },
    { body: { customer: { country: 'SE' } } },
    { body: { $or: [{ a: 1 }, { b: 2 }] } },
  ])
})
