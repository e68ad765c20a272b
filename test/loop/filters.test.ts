import { expect, test } from 'vitest'

import { giveWay } from '../../core/loop/turn.ts'
import { compileFilter, type CompiledFilter, Filter } from '../../core/match/filter.ts'
import { heapBytes, leastMs, longestTurnMs, turnMs } from './cost.ts'

const FILTER_BYTES = 12 * 1_024

/** As many pieces as have room. */
function filled(open: string, piece: (at: number) => string, close: string): string {
  const pieces: string[] = []
  let rest = FILTER_BYTES - open.length - close.length
  for (let at = 0; ; at += 1) {
    const text = piece(at)
    rest -= text.length + 1
    if (rest < 0) return `${open}${pieces.join(',')}${close}`
    pieces.push(text)
  }
}

type Shape = [name: string, make: (filter: number) => string]

/** Shapes of filters: no two filters are alike. */
const SHAPES: readonly Shape[] = [
  ['numbers', (n) => filled(`{"f${n}":[`, () => '0', ']}')],
  ['empty objects', (n) => filled(`{"f${n}":[`, () => '{}', ']}')],
  ['empty arrays', (n) => filled(`{"f${n}":[`, () => '[]', ']}')],
  ['objects of one member', (n) => filled('{"$or":[', (at) => `{"k${n}_${at}":0}`, ']}')],
  ['members', (n) => filled('{', (at) => `"k${n}_${at}":0`, '}')],
  ['texts in a set', (n) => filled('{"$in":[', (at) => `"${n * 7_919 + at}"`, ']}')],
  ['numbers in a set', (n) => filled('{"$in":[', (at) => `${(n * 37 + at) % 9_999}`, ']}')],
  ['short sets', (n) => filled('{"$or":[', (at) => `{"$in":[${n},${at}]}`, ']}')],
  ['beginnings', (n) => filled('{"$or":[', () => `{"$startsWith":"${n}a"}`, ']}')],
  ['data', (n) => filled(`{"f${n}":{"$eq":[`, () => '{}', ']}}')],
  ['members of data', (n) => filled('{"$eq":{', (at) => `"k${n}_${at}":0`, '}}')],
  ['negations', (n) => filled(`{"f${n}":{"$and":[`, (at) => `{"$neq":${at % 10}}`, ']}}')],
  ['items behind a long key', (n) => filled(`{"${'x'.repeat(6_000)}${n}":[`, () => '0', ']}')],
  ['items in the depth', (n) => filled(`{"f${n}":{"a":{"b":{"c":{"d":[`, () => '0', ']}}}}}')],
  ['deep trees', (n) => filled('{"$or":[', () => `{"a":{"b":{"c":{"d":{"e":${n}}}}}}`, ']}')],
]

const compile = (text: string): CompiledFilter => compileFilter({ body: JSON.parse(text) })

test.for(SHAPES)('a filter of 12 KB of %s takes 120 KB at most when it is compiled', ([, make]) => {
  const filters = 40
  const texts = Array.from({ length: filters }, (_, at) => make(at))
  expect(Filter.safeParse({ body: JSON.parse(texts[0] ?? '') }).error).toBeUndefined()
  compile(texts[0] ?? '')
  const before = heapBytes()
  const kept = texts.map(compile)
  const each = (heapBytes() - before) / kept.length
  expect(each).toBeLessThan(120 * 1_024)
})

test.for(SHAPES)('a filter of 12 KB of %s is compiled in a fifth of a turn', ([, make]) => {
  const text = make(1)
  expect(leastMs(() => compile(text)) / turnMs()).toBeLessThan(0.2)
})

test('500 filters of 12 KB that differ are compiled in turns that are short', async () => {
  const texts = Array.from({ length: 500 }, (_, at) => SHAPES[at % SHAPES.length]?.[1](at) ?? '')
  const kept: CompiledFilter[] = []
  const longest = await longestTurnMs(async () => {
    for (const text of texts) {
      await giveWay()
      kept.push(compile(text))
    }
  })
  expect(kept).toHaveLength(500)
  expect(longest / turnMs()).toBeLessThan(1)
})
