import fc from 'fast-check'
import { expect, test } from 'vitest'

import { readBody, refuseUnstorable } from '../../api/http/body.ts'
import { readCursor } from '../../api/http/cursor.ts'
import { answerOf, badRequest, faultsOf } from '../../api/http/failure.ts'
import { comparable } from '../../api/http/idempotency.ts'
import { ROUTES } from '../../api/routes.ts'
import { FILTER_BYTES_MAX, LIST_LIMIT_MAX } from '../../core/limits.ts'
import {
  compileFilter,
  Filter,
  matchFilter,
  matchFilters,
  type Matchable,
} from '../../core/match/filter.ts'
import { compileSelector, readSelector, Selector } from '../../core/match/selector.ts'
import { parsedOf } from '../../core/request/parsed.ts'
import { listPresets, VerifierInput } from '../../core/verify/presets/presets.ts'
import { compileVerifier, verify } from '../../core/verify/verify.ts'
import { leastMs, turnMs } from './cost.ts'

const RUNS = 25
const KIB = 1024

/** Parts of values that are hard to read, walk or compare: deep, wide, alike, long, many. */
const leaf = fc.constantFrom<unknown>(0, -1, '', 'a', 'x'.repeat(300), null, true, {}, [], 'p99')
const key = fc.constantFrom('a', 'b', 'k0', '__proto__', 'constructor', '0', 'x'.repeat(200))
const { shape } = fc.letrec<{ shape: unknown }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 6 },
    leaf,
    fc
      .tuple(tie('shape'), fc.constantFrom(1, 3, 30, 1_000))
      .map(([item, n]) => many(n, () => item)),
    fc
      .tuple(tie('shape'), fc.constantFrom(1, 3, 30, 1_000))
      .map(([item, n]) => Object.fromEntries(many(n, (at) => [`k${at}`, item]))),
    fc.tuple(key, tie('shape')).map(([name, item]) => Object.fromEntries([[name, item]])),
  ),
}))

function many<T>(n: number, make: (at: number) => T): T[] {
  return Array.from({ length: n }, (_, at) => make(at))
}

/** The JSON text of a value, at most so long; written until then. */
function textWithin(value: unknown, length: number): string | undefined {
  let rest = length
  const write = (item: unknown): string | undefined => {
    if (rest < 0) return undefined
    if (typeof item !== 'object' || item === null) {
      const text = JSON.stringify(item)
      rest -= text.length
      return text
    }
    const parts: string[] = []
    for (const [name, inner] of Object.entries(item)) {
      const text = write(inner)
      if (text === undefined) return undefined
      rest -= name.length + 4
      parts.push(Array.isArray(item) ? text : `${JSON.stringify(name)}:${text}`)
    }
    return Array.isArray(item) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`
  }
  return write(value)
}

/** As many copies of a value as have room in a body. */
function filled(value: unknown, bytes: number): string {
  const text = textWithin(value, bytes) ?? '{}'
  const copies = Math.max(1, Math.min(100_000, Math.trunc(bytes / (text.length + 1))))
  return `[${many(copies, () => text).join(',')}]`
}

const OPERATORS = [
  '$eq',
  '$neq',
  '$in',
  '$nin',
  '$gt',
  '$lt',
  '$startsWith',
  '$endsWith',
  '$or',
  '$and',
  '$not',
  '$exist',
  'a',
  'k0',
]
const { condition } = fc.letrec<{ condition: unknown }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 5 },
    leaf,
    shape.filter((value) => textWithin(value, 4 * KIB) !== undefined),
    fc
      .tuple(fc.constantFrom(...OPERATORS), tie('condition'))
      .map(([name, inner]) => ({ [name]: inner })),
    fc
      .tuple(
        fc.constantFrom('$or', '$and', '$in', '$startsWith'),
        tie('condition'),
        fc.constantFrom(1, 20, 500),
      )
      .map(([name, inner, n]) => ({ [name]: many(n, () => inner) })),
  ),
}))

const filters = condition
  .filter((body) => textWithin(body, FILTER_BYTES_MAX - 20) !== undefined)
  .filter((body) => Filter.safeParse({ body }).success)

function eventWith(payload: unknown): Matchable {
  return { eventType: null, headers: {}, query: [], payload: () => payload }
}

/** The cost of the worst of many inputs, in turns of a loop. */
function worstOf<T>(inputs: fc.Arbitrary<T>, act: (input: T) => unknown, runs = RUNS): number {
  const turn = turnMs()
  let worst = 0
  fc.assert(
    fc.property(inputs, (input) => {
      const seemed = leastMs(() => act(input)) / turn
      if (seemed <= worst) return
      // Somebody else on the machine makes the same work dearer: it is measured again, beside a floor of its own.
      worst = Math.max(worst, Math.min(seemed, leastMs(() => act(input)) / turnMs()))
    }),
    { numRuns: runs },
  )
  return worst
}

test('matching an event with one filter or with many takes a turn at most', () => {
  const inputs = fc.tuple(filters, shape, fc.constantFrom(1, 10, 500))
  const worst = worstOf(inputs, ([body, value, count]) => {
    const event = eventWith(JSON.parse(filled(value, 256 * KIB)))
    const filter = compileFilter(Filter.parse({ body }))
    const one = leastMs(() => matchFilter(filter, event))
    return (
      one +
      leastMs(() =>
        matchFilters(
          many(count, () => filter),
          event,
        ),
      )
    )
  })
  // It parses 256 KiB, compiles, and matches six times.
  expect(worst).toBeLessThan(8)
  const matching = worstOf(
    inputs.map(([body, value, count]) => ({
      compiled: many(count, () => compileFilter(Filter.parse({ body }))),
      event: eventWith(JSON.parse(filled(value, 256 * KIB))),
    })),
    ({ compiled, event }) => matchFilters(compiled, event),
  )
  expect(matching).toBeLessThan(1)
})

test('reading and compiling a filter takes a turn at most, valid or not', () => {
  const worst = worstOf(condition, (body) => {
    const text = textWithin({ body }, FILTER_BYTES_MAX)
    if (text === undefined) return undefined
    const read = Filter.safeParse(JSON.parse(text))
    return read.success ? compileFilter(read.data) : read.error.issues.length
  })
  expect(worst).toBeLessThan(1)
})

test('a page of the largest filters is written in a turn at most', () => {
  const worst = worstOf(filters, (body) => {
    const text = textWithin({ body }, FILTER_BYTES_MAX) ?? '{}'
    return JSON.stringify({ data: many(LIST_LIMIT_MAX, () => ({ filter: JSON.parse(text) })) })
  })
  // It parses the filters too, as the driver does with each row.
  expect(worst).toBeLessThan(1)
})

test('a selector is read and applied in a turn at most', () => {
  const parts = fc.constantFrom('[0]', '.a', '..', '[', ']', '0', '[123456]', '.k0', '.[1]')
  const texts = fc.tuple(fc.array(parts, { maxLength: 4 }), fc.constantFrom(1, 20, 200))
  const worst = worstOf(texts, ([units, n]) => {
    const text = `body${units.join('').repeat(n)}`
    if (!Selector.safeParse(text).success) return undefined
    const payload = [[{ a: [] }]]
    return readSelector(compileSelector(text), {
      header: () => undefined,
      query: [],
      payload: () => payload,
      isExact: () => true,
    })
  })
  expect(worst).toBeLessThan(1)
})

/** A value where requests have something else, and very many members. */
const WRAPS: ((text: string) => string)[] = [
  (text) => text,
  (text) => `{"name":"a","metadata":${text}}`,
  (text) => `{"filter":{"body":${text}},"sample":{"body":${text}}}`,
  (text) => `{"verifier":{"type":"all_of","verifiers":${text}}}`,
  () => `{${many(40_000, (at) => `"u${at}":0`).join(',')}}`,
  () => `{"name":"a",${many(20_000, (at) => `"u${at}":0`).join(',')}}`,
  () => `{"metadata":{${many(20_000, (at) => `"u${at}":0`).join(',')}}}`,
  () => `{"auth":{"type":"basic",${many(20_000, (at) => `"u${at}":0`).join(',')}}}`,
  () => '['.repeat(512 * KIB),
  () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
]

test('the body of a management request is read, checked and refused in three turns at most', () => {
  const routes = ROUTES.filter((route) => route.body !== null)
  const bodies = fc.tuple(shape, fc.nat(routes.length - 1), fc.constantFrom(...WRAPS))
  const worst = worstOf(
    bodies,
    ([value, at, wrap]) => {
      const text = wrap(filled(value, 512 * KIB))
      try {
        const sent = readBody(Buffer.from(text), 'application/json')
        refuseUnstorable('body', sent)
        const read = routes[at]?.body?.safeParse(sent)
        if (read?.error === undefined) return undefined
        return JSON.stringify(answerOf(badRequest(faultsOf('body', read.error))))
      } catch (error) {
        return JSON.stringify(answerOf(error))
      }
    },
    50,
  )
  // Two of them are what V8 takes to parse half a MiB of the worst JSON.
  expect(worst).toBeLessThan(3)
})

test('a body is compared for its Idempotency-Key in three turns at most', () => {
  const worst = worstOf(fc.tuple(shape, fc.constantFrom(...WRAPS)), ([value, wrap]) =>
    comparable(Buffer.from(wrap(filled(value, 512 * KIB)))),
  )
  expect(worst).toBeLessThan(3)
})

test('a cursor that is none is refused in a turn at most', () => {
  const texts = fc.tuple(fc.string({ maxLength: 20, unit: 'grapheme' }), fc.constantFrom(1, 50))
  const worst = worstOf(texts, ([unit, n]) => {
    try {
      return readCursor({ kind: 'events' }, unit.repeat(n).slice(0, 1_024))
    } catch {
      return undefined
    }
  })
  expect(worst).toBeLessThan(1)
})

const TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=b',
  '',
]

test('the body of an event of 256 KiB is read in two turns at most, whatever it says it is', () => {
  const units = [
    'a&',
    'a=1&',
    '&',
    '%41',
    '{"a":',
    '[',
    '{},',
    '1e9,',
    '"\\u0000',
    'é',
    '--b\r\n',
    '\r\n\r\n',
  ]
  const worst = worstOf(
    fc.tuple(
      fc.constantFrom(...units),
      fc.constantFrom(...units),
      fc.constantFrom(...TYPES),
      fc.constantFrom('', '['),
    ),
    ([one, other, type, first]) => {
      const unit = one + other
      const body = Buffer.from(first + unit.repeat(Math.trunc((256 * KIB) / unit.length)))
      return parsedOf({ headers: { 'content-type': type }, query: '', body }).payload()
    },
    150,
  )
  expect(worst).toBeLessThan(2)
})

const MEMBERS: Readonly<Record<string, Record<string, unknown>>> = {
  awsSns: { topicArns: ['arn:x'] },
  braintree: { signature: { signatureKey: 'public' } },
}
const VERIFIERS = listPresets().flatMap(({ preset, needs }) => {
  const read = VerifierInput.safeParse({
    preset,
    ...(needs.includes('secret') ? { secret: 'd2Vob29rIHNlY3JldA==' } : {}),
    ...(needs.includes('username') ? { username: 'u' } : {}),
    ...MEMBERS[preset],
  })
  if (!read.success) return []
  const current = 'secret' in read.data ? read.data.secret : undefined
  const stored = Object.fromEntries(Object.entries(read.data).filter(([name]) => name !== 'secret'))
  return [compileVerifier(stored, { current, previous: undefined, members: undefined })]
})

/** Headers that presets read. */
const HEADER_NAMES = [
  ...new Set(
    [...JSON.stringify(listPresets()).matchAll(/"([a-z0-9]+(?:-[a-z0-9]+)+)"/g)].map(
      ([, name]) => name ?? '',
    ),
  ),
  'authorization',
]

test('a request with hostile headers and a hostile body is verified in two turns at most', () => {
  const unit = fc.constantFrom(
    'v1,',
    't=1,',
    'a=',
    ' ',
    ',',
    ';',
    '"',
    '=',
    'v1=00',
    '%',
    '%41',
    'é',
    '.',
    'a.b.c ',
  )
  const bodies = fc.constantFrom(
    'a&',
    'a=1&',
    '{"a":',
    '[',
    '"\\u0000',
    '<a>',
    '%%',
    'é',
    '\r\n',
    '{},',
  )
  const types = fc.constantFrom(
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    '',
  )
  const inputs = fc.tuple(unit, bodies, types, fc.constantFrom(...VERIFIERS))
  const worst = worstOf(
    inputs,
    ([header, body, type, verifier]) => {
      const value = header.repeat(Math.trunc(1_000 / header.length))
      const headers = Object.fromEntries(HEADER_NAMES.map((name) => [name, value]))
      return verify(
        verifier,
        {
          method: 'POST',
          url: `https://x.test/m?${value}`,
          path: '/m',
          query: value,
          headers: { ...headers, 'content-type': type },
          body: Buffer.from(body.repeat(Math.trunc((256 * KIB) / body.length))),
          remoteIp: '192.0.2.1',
        },
        1_760_000_000_000,
      )
    },
    200,
  )
  expect(worst).toBeLessThan(2)
})
