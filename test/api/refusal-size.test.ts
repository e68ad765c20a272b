import { afterAll, beforeAll, expect, test } from 'vitest'

import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

const many = (count: number, make: (at: number) => [string, unknown]): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => make(at)))

const LONG = 'x'.repeat(10_000)

const BODIES: [name: string, body: unknown][] = [
  ['very many unknown members', { name: 'a', ...many(20_000, (at) => [`u${at}`, 0]) }],
  ['more values than are read', { name: 'a', ...many(110_000, (at) => [`u${at}`, 0]) }],
  ['a member with a very long name', { name: 'a', [LONG]: 1 }],
  ['very long names with a lone surrogate', { name: 'a', [`${LONG}\ud800`]: 1 }],
  ['values that are all wrong', { name: 'a', metadata: many(20_000, (at) => [`k${at}`, at]) }],
  ['a union of which nothing fits', { name: 'a', verifier: many(50_000, (at) => [`u${at}`, 0]) }],
  ['text that is no JSON', `{"name": ${'['.repeat(500_000)}`],
]

test.for(BODIES)('a refusal of %s is short', async ([, body]) => {
  const answer = await world.api('POST', '/v1/sources', body)
  const text = JSON.stringify(answer.body)
  expect(answer.status).toBe(400)
  expect(answer.body.data.fields.length).toBeLessThanOrEqual(20)
  expect(text.length).toBeLessThan(25_000)
  for (const { path, message } of answer.body.data.fields) {
    expect(Math.max(path.length, message.length)).toBeLessThanOrEqual(255)
  }
})

test('a refusal of a query with very many parameters is short', async () => {
  const query = Array.from({ length: 1_500 }, (_, at) => `u${at}=1`).join('&')
  const answer = await world.api('GET', `/v1/sources?${query}`)
  expect(answer.status).toBe(400)
  expect(answer.body.data.fields).toHaveLength(20)
})
