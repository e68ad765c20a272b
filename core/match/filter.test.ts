import fc from 'fast-check'
import { expect, test } from 'vitest'

import { parseExactJson, parseJson } from '../request/json.ts'
import { compileFilter, Filter, type Matchable, matchFilter, matchFilters } from './filter.ts'

const LONG = 'x'.repeat(300)

const EVENT: Matchable = {
  eventType: 'order.paid',
  headers: { 'x-shop': 'one', 'x-none': undefined },
  query: [
    ['tag', 'a'],
    ['tag', 'b'],
  ],
  payload: () => null,
}

/** As a client would send it: through JSON and the schema. */
function run(filter: unknown, event: Partial<Matchable> = {}) {
  const parsed = Filter.parse(JSON.parse(JSON.stringify(filter)))
  return matchFilter(compileFilter(parsed), { ...EVENT, ...event })
}

function matchesBody(body: unknown, payload: unknown): boolean {
  return run({ body }, { payload: () => payload }).matched
}

function messagesOf(filter: unknown): string[] {
  return Filter.safeParse(filter).error?.issues.map(({ message }) => message) ?? []
}

function nested(depth: number, open: string, close: string): unknown {
  return JSON.parse(`${open.repeat(depth)}1${close.repeat(depth)}`)
}

type Case = [condition: unknown, value: unknown, matched: boolean]

const MANY = Array.from({ length: 100 }, (_, at) => `n${at}`)

const CASES: readonly Case[] = [
  // A bare value is $eq, with strict types.
  [1, 1, true],
  [1, '1', false],
  ['1', 1, false],
  [0, false, false],
  [0, null, false],
  ['', null, false],
  [null, null, true],
  [true, true, true],
  [true, 'true', false],
  [true, 1, false],
  ['a', 'A', false],
  [{ $eq: 1 }, 1, true],
  [{ $eq: 1 }, '1', false],
  [{ $eq: null }, null, true],
  [{ $eq: { a: [1, { b: 2 }], c: 3 } }, { c: 3, a: [1, { b: 2 }] }, true],
  [{ $eq: { a: 1 } }, { a: 1, b: 2 }, false],
  [{ $eq: { a: 1 } }, { a: '1' }, false],
  [{ $eq: { $gt: 1 } }, { $gt: 1 }, true],
  [{ $eq: [1, 2] }, [1, 2], true],
  [{ $eq: [1, 2] }, [2, 1], false],
  [{ $eq: [1, 2] }, [0, [1, 2]], true],
  [{ $eq: [] }, {}, false],
  [{ $eq: {} }, [], false],

  [{ $neq: 1 }, 2, true],
  [{ $neq: 1 }, 1, false],
  [{ $neq: 1 }, '1', true],
  [{ $neq: 'a' }, ['b', 'c'], true],
  [{ $neq: 'a' }, ['b', 'a'], false],
  [{ $neq: [1] }, [1], false],

  [{ $gt: 1 }, 2, true],
  [{ $gt: 1 }, 1, false],
  [{ $gt: 1 }, '2', false],
  [{ $gt: '1' }, 2, false],
  [{ $gt: 'a' }, 'b', true],
  [{ $gt: -1 }, null, false],
  [{ $gt: -1 }, true, false],
  [{ $gte: 1 }, 1, true],
  [{ $gte: 1 }, 0.5, false],
  [{ $gte: '2026-01-01' }, '2026-01-01', true],
  [{ $gte: 1 }, '1', false],
  [{ $lt: 1 }, 0, true],
  [{ $lt: 1 }, 1, false],
  [{ $lt: 1 }, null, false],
  [{ $lt: 1 }, '0', false],
  [{ $lt: 'b' }, 'a', true],
  [{ $lte: 1 }, 1, true],
  [{ $lte: 1 }, 2, false],
  [{ $lte: 1 }, '1', false],
  [{ $gte: 1, $lt: 3 }, 2, true],
  [{ $gte: 1, $lt: 3 }, 3, false],

  [{ $in: [1, 'a', null] }, 'a', true],
  [{ $in: [1, 'a', null] }, null, true],
  [{ $in: [1, 'a'] }, '1', false],
  [{ $in: [1, 'a'] }, ['x', 1], true],
  [{ $in: [] }, 1, false],
  [{ $in: MANY }, 'n99', true],
  [{ $in: MANY }, 99, false],
  [{ $in: MANY }, ['x', 'n7'], true],
  [{ $nin: MANY }, 'x', true],
  [{ $nin: MANY }, 'n99', false],
  [{ $in: 'ell' }, 'hello', true],
  [{ $in: 'elf' }, 'hello', false],
  [{ $in: 1 }, '1', false],
  [{ $in: 1 }, [2, 1], true],
  [{ $nin: [1, 'a'] }, 'b', true],
  [{ $nin: [1, 'a'] }, 'a', false],
  [{ $nin: [1] }, '1', true],
  [{ $nin: ['a'] }, ['b', 'a'], false],
  [{ $nin: 'ell' }, 'hello', false],

  [{ $startsWith: 'ab' }, 'abc', true],
  [{ $startsWith: 'ab' }, 'cab', false],
  [{ $startsWith: '1' }, 12, false],
  [{ $startsWith: ['x', 'ab'] }, 'abc', true],
  [{ $startsWith: 'ab' }, ['x', 'abc'], true],
  [{ $endsWith: 'bc' }, 'abc', true],
  [{ $endsWith: 'bc' }, 'bca', false],
  [{ $endsWith: '2' }, 12, false],
  [{ $endsWith: ['x', 'bc'] }, 'abc', true],

  [{ $exist: true }, 0, true],
  [{ $exist: true }, null, true],
  [{ $exist: false }, null, false],

  [{ $or: [1, 2] }, 2, true],
  [{ $or: [1, 2] }, 3, false],
  [{ $or: [{ $lt: 1 }, { $gt: 5 }] }, 6, true],
  [{ $and: [{ $gt: 1 }, { $lt: 5 }] }, 3, true],
  [{ $and: [{ $gt: 1 }, { $lt: 5 }] }, 5, false],
  [{ $not: 1 }, 2, true],
  [{ $not: 1 }, 1, false],
  [{ $not: 1 }, '1', true],
  [{ $not: { $gt: 1, $lt: 5 } }, 3, false],
  [{ $not: { $gt: 1, $lt: 5 } }, 7, true],
  [{ $not: { $or: [1, 2] } }, 2, false],
  [{ $not: { $not: 1 } }, 1, true],

  // An array of the payload matches if one element does, and one element must meet all members of a condition.
  ['a', ['b', 'a'], true],
  ['a', ['b', ['a']], true],
  ['a', [], false],
  [{ $gt: 5 }, [1, 9], true],
  [{ $gt: 1, $lt: 5 }, [0, 9], false],
  [{ id: 1 }, [{ id: 2 }, { id: 1 }], true],
  [{ id: 1, ok: true }, [{ id: 1 }, { ok: true }], false],
  [{ length: 1 }, [5], false],
  [['a'], ['b', 'a'], true],
  [['a', 'c'], ['b', 'a'], false],
  [['a'], 'a', false],
  [[], [], true],
  [[], ['a'], false],

  // An object needs something that is there.
  [{}, {}, true],
]

test.for(CASES)('body %j on %j is %j', ([condition, value, matched]) => {
  expect(matchesBody(condition, value)).toBe(matched)
  expect(matchesBody({ deep: { member: condition } }, { deep: { member: value } })).toBe(matched)
})

test.for<Case>([
  [{ a: 1 }, {}, false],
  [{ a: null }, {}, false],
  [{ a: { $neq: 1 } }, {}, false],
  [{ a: { $nin: [1] } }, {}, false],
  [{ a: { $exist: true } }, {}, false],
  [{ a: { $exist: false } }, {}, true],
  [{ a: { $exist: false } }, null, true],
  [{ a: { $not: 1 } }, {}, true],
  [{ a: { $or: [{ $exist: false }, 1] } }, {}, true],
  [{ $or: [{ a: 1 }, { b: 2 }] }, { b: 2 }, true],
  [{ $and: [{ a: 1 }, { b: 2 }] }, { b: 2 }, false],
  [{ $not: { a: 1 }, b: 2 }, { b: 2 }, true],
  [{ a: 1 }, 'a', false],
  [{ 'a.b': 1 }, { a: { b: 1 } }, false],
  [{ 'a.b': 1 }, { 'a.b': 1 }, true],
])('body %j on the whole payload %j is %j', ([condition, value, matched]) => {
  expect(matchesBody(condition, value)).toBe(matched)
})

test.for(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'matchFilter() takes %s for data only',
  (key) => {
    const condition: unknown = JSON.parse(`{"${key}":{"$exist":true}}`)
    expect(matchesBody(condition, {})).toBe(false)
    expect(matchesBody(condition, [])).toBe(false)
    expect(matchesBody(condition, JSON.parse(`{"${key}":1}`))).toBe(true)
    expect(run({ headers: condition }).matched).toBe(false)
    expect(run({ query: condition }).matched).toBe(false)
    expect(run({ query: condition }, { query: [[key, '']] }).matched).toBe(true)
  },
)

test.for<[patterns: string[], eventType: string | null, matched: boolean]>([
  [['order.paid'], 'order.paid', true],
  [['order.paid'], 'order.paid.late', false],
  [['order.pai'], 'order.paid', false],
  [['a', 'order.*'], 'order.paid', true],
  [['order.*'], 'order.', true],
  [['order.*'], 'order', false],
  [['order.*'], 'orders.paid', false],
  [['order.paid'], null, false],
  [['null'], null, false],
  [['*'], 'order.paid', true],
  [['*'], null, true],
])('eventTypes %j on %j is %j', ([eventTypes, eventType, matched]) => {
  expect(run({ eventTypes }, { eventType }).matched).toBe(matched)
})

test.for<[filter: unknown, failed: { failedPart: string; path: string } | undefined]>([
  [{}, undefined],
  [
    { eventTypes: ['x'], body: 1 },
    { failedPart: 'eventTypes', path: 'eventTypes' },
  ],
  [{ headers: { 'X-Shop': 'one' } }, undefined],
  [{ headers: { $or: [{ 'X-SHOP': 'one' }, { b: 1 }] } }, undefined],
  [{ headers: { 'X-Shop': 'two' } }, { failedPart: 'headers', path: 'headers.X-Shop' }],
  [{ headers: { 'x-none': { $exist: false } } }, undefined],
  [{ query: { tag: 'b' } }, undefined],
  [{ query: { tag: ['a', 'b'] } }, undefined],
  [{ query: { tag: 'c' } }, { failedPart: 'query', path: 'query.tag' }],
  [
    { headers: { 'x-shop': 1 }, query: { tag: 'c' } },
    { failedPart: 'headers', path: 'headers.x-shop' },
  ],
  [{ body: { a: { b: { $gt: 1 } } } }, { failedPart: 'body', path: 'body.a.b.$gt' }],
  [
    { body: { $and: [{ a: {} }, { a: { b: 1 } }] } },
    { failedPart: 'body', path: 'body.$and.1.a.b' },
  ],
  [{ body: { a: { $or: [1, { b: 2 }] } } }, { failedPart: 'body', path: 'body.a.$or' }],
  [{ body: { a: { $not: { $or: [{ b: 0 }] } } } }, { failedPart: 'body', path: 'body.a.$not' }],
  [{ body: { a: { b: 1, $exist: false } } }, { failedPart: 'body', path: 'body.a.$exist' }],
  [{ body: { a: {}, '': { c: 1 } } }, { failedPart: 'body', path: 'body..c' }],
  [{ body: { [LONG]: 1 } }, { failedPart: 'body', path: `body.${LONG}`.slice(0, 255) }],
])('filter %j fails at %j', ([filter, failed]) => {
  const result = run(filter, { payload: () => ({ a: { b: 0 } }) })
  expect(result).toEqual(failed === undefined ? { matched: true } : { matched: false, ...failed })
})

test('matchFilter() parses the body only for a filter with a body that the other parts let through', () => {
  let calls = 0
  const payload = () => ++calls
  run({ eventTypes: ['order.*'], headers: { 'x-shop': 'one' }, query: { tag: 'a' } }, { payload })
  run({ eventTypes: ['x'], body: 1 }, { payload })
  run({ query: { tag: 'x' }, body: 1 }, { payload })
  expect(calls).toBe(0)
  run({ body: { $or: [1, 2] } }, { payload })
  expect(calls).toBe(1)
})

test.for<[filter: unknown, message: string]>([
  [{ body: { a: { $regex: 'x' } } }, 'body.a.$regex is an unknown operator'],
  [{ body: { $or: [{ a: { $exists: true } }] } }, 'body.$or.0.a.$exists is an unknown operator'],
  [{ headers: { $and: [{ X: { $foo: 1 } }] } }, 'headers.$and.0.X.$foo is an unknown operator'],
  [{ body: { a: { $gt: true } } }, 'body.a.$gt must be a number or a text'],
  [{ body: { a: { $lte: [1] } } }, 'body.a.$lte must be a number or a text'],
  [{ body: { a: { $in: {} } } }, 'body.a.$in must be'],
  [{ body: { a: { $nin: [[1]] } } }, 'body.a.$nin must be'],
  [{ body: { a: { $startsWith: 1 } } }, 'body.a.$startsWith must be a text'],
  [{ body: { a: { $endsWith: [] } } }, 'body.a.$endsWith must be a text'],
  [{ body: { a: { $exist: 1 } } }, 'body.a.$exist must be true or false'],
  [{ body: { $or: [] } }, 'body.$or must be an array'],
  [{ body: { $and: { a: 1 } } }, 'body.$and must be an array'],
  [{ body: { 'a\0': 1 } }, 'U+0000'],
  [{ body: { a: { $eq: '\uD800' } } }, 'U+0000 or half a surrogate pair'],
  [{ headers: [] }, 'must be an object'],
  [{ query: 'a' }, 'must be an object'],
  [{ eventTypes: ['a*b'] }, 'only as its last character'],
  [{ eventTypes: ['a\0'] }, 'U+0000'],
  [{ method: 'POST' }, 'method'],
  [JSON.parse('{"__proto__":{"a":1}}'), '__proto__'],
])('Filter refuses %j: %s', ([filter, message]) => {
  expect(messagesOf(filter).join('\n')).toContain(message)
})

test('Filter names the path of a fault as zod does', () => {
  const issues = Filter.safeParse({ body: { a: [{ $x: 1 }] } }).error?.issues
  expect(issues?.map(({ path }) => path)).toEqual([['body', 'a', '0', '$x']])
})

test('Filter takes 16 KiB and refuses a byte more', () => {
  const room = 16 * 1024 - JSON.stringify({ body: '' }).length
  expect(messagesOf({ body: 'x'.repeat(room) })).toEqual([])
  expect(messagesOf({ body: 'x'.repeat(room + 1) })).toEqual(['must be at most 16384 bytes'])
  expect(messagesOf({ body: 'é'.repeat(room / 2 + 1) })).toEqual(['must be at most 16384 bytes'])
})

test.for([
  ['{"a":', '}'],
  ['[', ']'],
  ['{"$not":', '}'],
])('Filter takes 10 levels of %s and refuses more, however deep', ([open = '', close = '']) => {
  expect(messagesOf({ body: nested(10, open, close) })).toEqual([])
  expect(messagesOf({ body: nested(11, open, close) })).toHaveLength(1)
  expect(messagesOf({ body: nested(100_000, open, close) })).toHaveLength(1)
  expect(messagesOf({ body: { $eq: nested(9, '[', ']') } })).toHaveLength(0)
  expect(messagesOf({ body: { $eq: nested(100_000, open, close) } })).toHaveLength(1)
  expect(messagesOf({ headers: { $not: nested(100_000, open, close) } })).toHaveLength(1)
  expect(messagesOf({ headers: nested(100_000, '{"$and":[', ']}') })).toHaveLength(1)
})

test('Filter tells the first faults of a filter that has many', () => {
  const body = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`$${at}`, 1]))
  expect(messagesOf({ body })).toHaveLength(20)
})

test('matchFilter() survives payloads of any depth', () => {
  const filters = [
    1,
    { $eq: nested(8, '[', ']') },
    { $not: { a: 1 } },
    nested(10, '[', ']'),
    nested(10, '{"a":', '}'),
    { a: { $in: [1] } },
  ]
  for (const [open = '', close = ''] of [
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"a":', '}]'],
  ]) {
    const payload = nested(200_000, open, close)
    const results = filters.map((body) => matchesBody(body, payload))
    expect(results).toEqual([false, false, true, false, false, false])
  }
})

test.for<[name: string, body: unknown, payload: unknown]>([
  [
    'many conditions on many elements',
    Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`k${at}`, { $exist: false }])),
    Array.from({ length: 100_000 }, () => ({ k599: 1 })),
  ],
  [
    'texts that repeat themselves',
    { $in: `${'a'.repeat(8000)}b${'a'.repeat(8000)}` },
    `${'a'.repeat(2_000_000)}c`,
  ],
  [
    'an operand of many members and many elements',
    { a: { $eq: Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`k${at}`, 1])) } },
    { a: Array.from({ length: 500_000 }, () => ({})) },
  ],
  [
    'objects of many members that are all but equal',
    { a: { $eq: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, 1])) } },
    {
      a: Array.from({ length: 9000 }, (_, other) =>
        Object.fromEntries(
          Array.from({ length: 101 }, (__, at) => [at < 100 ? `k${at}` : `z${other}`, 1]),
        ),
      ),
    },
  ],
  [
    'many prefixes on many texts',
    { $startsWith: Array.from({ length: 2000 }, (_, at) => `p${at}`) },
    Array.from({ length: 100_000 }, () => 'p'),
  ],
])('matchFilter() gives up on %s, negated or not', ([, body, payload]) => {
  const filter = compileFilter(Filter.parse({ body }))
  const negated = compileFilter(Filter.parse({ body: { $not: body } }))
  const event = { ...EVENT, payload: () => payload }
  const before = process.threadCpuUsage()
  const expected = { matched: false, failedPart: 'body', path: 'body' }
  expect(matchFilter(filter, event)).toEqual(expected)
  expect(matchFilter(negated, event)).toEqual(expected)
  const { user, system } = process.threadCpuUsage(before)
  expect(user + system).toBeLessThan(500_000)
})

test('matchFilter() lists the members of an object once, however many conditions compare it', () => {
  const payload = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]))
  const filter = (operand: unknown) => ({
    $or: Array.from({ length: 1000 }, () => ({ $eq: operand })),
  })
  const before = process.threadCpuUsage()
  const event = { ...EVENT, payload: () => payload }
  const results = [{ k1: 1 }, { k1: 2 }].map((operand) =>
    matchFilter(compileFilter({ body: filter(operand) }), event),
  )
  const { user, system } = process.threadCpuUsage(before)
  expect(results).toEqual([
    { matched: false, failedPart: 'body', path: 'body.$or' },
    { matched: false, failedPart: 'body', path: 'body.$or' },
  ])
  expect(user + system).toBeLessThan(400_000)
})

test('matchFilters() has one budget for all filters, and a costly one takes nothing from the others', () => {
  const compile = (body: unknown) => compileFilter(Filter.parse({ body }))
  const costly = compile({ list: { $or: Array.from({ length: 500 }, (_, at) => ({ $eq: at })) } })
  const cheap = compile({ id: 7 })
  const payload = { id: 7, list: Array.from({ length: 100_000 }, () => -1) }
  const filters = [...Array.from({ length: 250 }, () => costly), cheap]
  const before = process.threadCpuUsage()
  const matches = matchFilters(filters, { ...EVENT, payload: () => payload })
  const { user, system } = process.threadCpuUsage(before)
  expect(matches.at(-1)).toEqual({ matched: true })
  expect(matches.slice(0, -1).some(({ matched }) => matched)).toBe(false)
  expect(user + system).toBeLessThan(500_000)
})

test('matchFilters() gives a costly filter nearly all of the budget where the others are cheap', () => {
  const compile = (body: unknown) => compileFilter(Filter.parse({ body }))
  const payload = { id: 7, text: `${'x'.repeat(250_000)}needle` }
  const filters = Array.from({ length: 400 }, (_, at) =>
    compile(at === 3 || at === 390 ? { text: { $in: 'needle' } } : { id: 7 }),
  )
  const matches = matchFilters(filters, { ...EVENT, payload: () => payload })
  expect(matches.every(({ matched }) => matched)).toBe(true)
})

test('matchFilters() parses the payload once for all filters', () => {
  let calls = 0
  const filters = Array.from({ length: 20 }, () => compileFilter({ body: { b: 1 } }))
  const event = { ...EVENT, payload: () => ({ b: ++calls }) }
  expect(matchFilters(filters, event).every(({ matched }) => matched)).toBe(true)
  expect(calls).toBe(1)
})

const KEYS = [
  'a',
  'b',
  '__proto__',
  'constructor',
  'toString',
  '$eq',
  '$not',
  '$in',
  '$or',
  '$exist',
]
const key = fc.constantFrom(...KEYS)
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false, 0, 1, '', 'a', '1'),
    fc.array(tie('json'), { maxLength: 4 }),
    fc
      .array(fc.tuple(key, tie('json')), { maxLength: 4 })
      .map((pairs) => Object.fromEntries(pairs)),
  ),
}))

test('Filter and matchFilter() never throw, and $not turns every answer round', () => {
  fc.assert(
    fc.property(json, json, (body, payload) => {
      const event = { ...EVENT, payload: () => payload }
      const plain = matchFilter(compileFilter({ body }), event)
      const negated = matchFilter(compileFilter({ body: { $not: body } }), event)
      const isValid = Filter.safeParse({ body }).success
      expect(negated.matched).toBe(!plain.matched)
      expect(Filter.safeParse({ body: { $not: body } }).success).toBe(isValid)
    }),
    { numRuns: 1000 },
  )
})

test('a value that is no filter is refused without throwing', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      expect(Filter.safeParse(value).success).toBeTypeOf('boolean')
      expect(Filter.safeParse({ more: value }).success).toBe(false)
    }),
  )
})

test('every JSON value equals itself and no value beside it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4, noUnicodeString: true }), (value) => {
      expect(matchesBody({ $eq: value }, value)).toBe(true)
      expect(matchesBody({ $eq: { value } }, { value, more: 1 })).toBe(false)
    }),
  )
})

/** A body as it is sent, and a filter as the API reads it. */
function matchesText(filter: string, payload: string): boolean {
  const parsed = Filter.parse(parseExactJson(`{"body":{"a":${filter}}}`))
  return matchFilter(compileFilter(parsed), {
    ...EVENT,
    payload: () => parseJson(`{"a":${payload}}`),
  }).matched
}

test.for<[filter: string, payload: string, matched: boolean]>([
  ['9007199254740992', '9007199254740992', true],
  ['9007199254740992', '9007199254740993', false],
  ['{"$eq":9007199254740992}', '9007199254740993', false],
  ['{"$neq":9007199254740992}', '9007199254740993', true],
  ['{"$in":[1,9007199254740992]}', '9007199254740993', false],
  ['{"$nin":[1,9007199254740992]}', '9007199254740993', true],
  ['{"$gt":9007199254740992}', '9007199254740993', true],
  ['{"$gte":9007199254740994}', '9007199254740993', false],
  ['{"$lt":9007199254740994}', '9007199254740993', true],
  ['{"$lte":9007199254740992}', '9007199254740993', false],
  ['{"$lt":-9007199254740992}', '-9007199254740993', true],
  [
    '{"$in":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,9007199254740992]}',
    '9007199254740993',
    false,
  ],
  ['{"$in":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}', '16.0', true],
  ['{"$in":9007199254740992}', '[9007199254740993]', false],
  ['9007199254740992', '[1,9007199254740993]', false],
  ['[9007199254740992]', '[9007199254740993]', false],
  ['{"$eq":[1,9007199254740992]}', '[1,9007199254740993]', false],
  ['{"$eq":{"b":9007199254740992}}', '{"b":9007199254740993}', false],
  ['{"b":9007199254740992}', '{"b":9007199254740993}', false],
  ['{"$not":9007199254740992}', '9007199254740993', true],
  ['1', '1.0', true],
  ['1.0', '1', true],
  ['100', '1e2', true],
  ['1e2', '100.00', true],
  ['{"$in":[1]}', '1.0', true],
  ['{"$eq":{"b":[1]}}', '{"b":[1.00]}', true],
  ['0', '-0', true],
  ['-0', '0', true],
  ['0.1', '0.1', true],
  ['0.10', '0.100', true],
  ['0.1', '0.1000000000000000055511151231257827', false],
  ['{"$gt":1e308}', '1e400', true],
  ['{"$lt":0}', '-1e400', true],
  ['{"$gt":0}', '1e-400', true],
  ['0', '1e-400', false],
  ['"1.0"', '1.0', false],
  ['{"$gt":"0"}', '1.0', false],
  ['{"$startsWith":"1"}', '1.0', false],
  ['{"text":"1.0"}', '1.0', false],
  ['{"$eq":{}}', '1.0', false],
  ['{"$exist":true}', '1e400', true],
  ['true', '1.0', false],
])('a filter on %s meets the number in %s: %s', ([filter, payload, matched]) => {
  expect(matchesText(filter, payload)).toBe(matched)
})

test('numbers compare as the decimals that were written, however many digits they have', () => {
  const integer = fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n })
  const near = fc.tuple(integer, fc.bigInt({ min: -3n, max: 3n }))
  fc.assert(
    fc.property(near, ([from, step]) => {
      // A filter may hold only numbers that a double writes back unchanged.
      const operand =
        BigInt(String(Number(from)).replace(/e.*/, '')) === from ? from : from % 2n ** 53n
      const value = operand + step
      expect(matchesText(String(operand), String(value))).toBe(step === 0n)
      expect(matchesText(`{"$gt":${operand}}`, String(value))).toBe(step > 0n)
      expect(matchesText(`{"$lte":${operand}}`, String(value))).toBe(step <= 0n)
    }),
  )
})

test.for<[body: string, path: string]>([
  ['{"a":7100000000000000123}', 'body.a'],
  ['{"a":{"$eq":7100000000000000123}}', 'body.a.$eq'],
  ['{"a":{"$gt":1e400}}', 'body.a.$gt'],
  ['{"a":{"$in":[1,7100000000000000123]}}', 'body.a.$in.1'],
  ['{"a":[7100000000000000123]}', 'body.a.0'],
  ['{"a":{"$eq":{"b":[0.1000000000000000055511151231257827]}}}', 'body.a.$eq.b.0'],
  ['{"$or":[{"a":12345678901234567891}]}', 'body.$or.0.a'],
  ['{"a":{"$not":12345678901234567891}}', 'body.a.$not'],
  ['12345678901234567891', 'body'],
])('a filter of %s is refused where its number stands', ([body, path]) => {
  const result = Filter.safeParse(parseExactJson(`{"body":${body}}`))
  expect(result.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  expect(result.error?.issues[0]?.message).toBe(`${path} is a number that cannot be kept exactly`)
})

test('a number of a million digits costs its steps', () => {
  const long = '1'.repeat(1_000_000)
  const filter = {
    $or: Array.from({ length: 200 }, () => ({ $gt: 1 })).map((each) => ({ $not: each })),
  }
  const startedAt = performance.now()
  expect(matchesText(JSON.stringify(filter), long)).toBe(false)
  expect(performance.now() - startedAt).toBeLessThan(2_000)
})
