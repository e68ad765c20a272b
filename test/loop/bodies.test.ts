import { expect, test } from 'vitest'

import { PAYLOAD_KB_MAX } from '../../core/limits.ts'
import { scanJson } from '../../core/request/json-text.ts'
import { parsedOf } from '../../core/request/parsed.ts'
import { leastMs, turnMs } from './cost.ts'

const BYTES_MAX = PAYLOAD_KB_MAX * 1_024

function bodyOf(text: string, contentType = 'application/json') {
  return { headers: { 'content-type': contentType }, query: '', body: Buffer.from(text) }
}

const BRACKETS: readonly [string, string] = ['[', ']']
const BRACES: readonly [string, string] = ['{', '}']

/** As many pieces as a body may hold. */
function filled(piece: (at: number) => string, [open, close] = BRACKETS, bytes = BYTES_MAX) {
  const pieces: string[] = []
  let rest = bytes - 2
  for (let at = 0; ; at += 1) {
    const text = piece(at)
    rest -= text.length + 1
    if (rest < 0) return `${open}${pieces.join(',')}${close}`
    pieces.push(text)
  }
}

const HALF = BYTES_MAX / 2

test.for<[name: string, text: () => string]>([
  ['empty arrays', () => filled(() => '[]')],
  ['empty objects', () => filled(() => '{}')],
  ['numbers', () => filled(() => '0')],
  ['numbers with a point', () => filled(() => '1.5')],
  ['numbers that JavaScript writes differently', () => filled(() => '1.0')],
  ['long integers', () => filled(() => '12345678901234567890')],
  ['a number of a million digits', () => `[1.0,${'1'.repeat(BYTES_MAX - 8)}]`],
  ['empty texts', () => filled(() => '""')],
  ['escaped texts', () => filled(() => String.raw`"\u0041"`)],
  ['quotation marks in one text', () => `"${String.raw`\"`.repeat(HALF - 1)}"`],
  ['backslashes in one text', () => `["${'\\\\'.repeat(HALF - 4)}",1.0]`],
  ['objects of one member', () => filled(() => '{"a":0}')],
  ['objects that are all different', () => filled((at) => `{"k${at}":0}`)],
  ['members', () => filled((at) => `"k${at}":0`, BRACES)],
  ['members that are numbers', () => filled((at) => `"${at * 1_000}":0`, BRACES)],
  [
    'members in all orders',
    () => filled((at) => `{"k${at % 997}":0,"k${(at * 7) % 1_009}":0,"k${(at * 3) % 1_013}":0}`),
  ],
  ['arrays in arrays', () => '['.repeat(HALF) + ']'.repeat(HALF)],
  ['objects in objects', () => `${'{"a":'.repeat(BYTES_MAX / 6)}0${'}'.repeat(BYTES_MAX / 6)}`],
  ['brackets that are never closed', () => '['.repeat(BYTES_MAX)],
])('a body of 5 MiB of %s is read in two turns at most', ([, make]) => {
  const text = make()
  const turn = turnMs()
  expect(leastMs(() => parsedOf(bodyOf(text)).payload()) / turn).toBeLessThan(2)
  expect(leastMs(() => parsedOf(bodyOf(text)).document) / turn).toBeLessThan(2)
})

/** An order as a shop sends it. */
function order(at: number, price: string): string {
  return `{"id":"order_${at}","type":"order.paid","created":${1_760_000_000 + at},"price":${price},"isTest":false,"customer":{"id":"cus_${at}","email":"u${at}@example.test","name":"Someone Somewhere"},"tags":["a","b"],"note":"A line of text that says something about this order"}`
}

test('an ordinary JSON body of 5 MiB has its payload', () => {
  const payload = parsedOf(bodyOf(filled((at) => order(at, String(at * 1.25))))).payload()
  expect(payload).toHaveProperty('[20000].customer.email', 'u20000@example.test')
})

test('an ordinary JSON body of 3 MiB has its payload and its numbers as they were sent', () => {
  const text = filled((at) => order(at, `${at}.00`), BRACKETS, 3 * 1_024 * 1_024)
  const payload = parsedOf(bodyOf(text)).payload()
  expect(JSON.stringify(payload)).toBe(text)
})

test('ordinary objects by their ids in one object of 5 MiB have their payload', () => {
  const payload = parsedOf(bodyOf(filled((at) => `"id_${at}":${order(at, '5')}`, BRACES))).payload()
  expect(payload).toHaveProperty('id_9000.id', 'order_9000')
})

test.for([
  [12, 500],
  [300, 200],
] as const)('objects of %i members are read, whatever their names', ([count, lists]) => {
  const share = 1 / 16
  const unread: number[] = []
  for (let list = 0; list < lists; list += 1) {
    const members = Array.from({ length: count }, (_, at) => `"member_${list}_${at}":"a text"`)
    const text = filled(() => `{${members.join(',')}}`, BRACKETS, BYTES_MAX * share)
    if (scanJson(text, () => false, share).isCostly) unread.push(list)
  }
  expect(unread).toEqual([])
})

test('a body that would take too long to read has no payload', () => {
  expect(parsedOf(bodyOf(filled(() => '[]'))).payload()).toBeNull()
  expect(parsedOf(bodyOf(filled((at) => `"k${at}":0`, BRACES))).payload()).toBeNull()
  const wrapped = `payload=${encodeURIComponent(filled(() => '[]', BRACKETS, BYTES_MAX / 8))}`
  expect(parsedOf(bodyOf(wrapped, 'application/x-www-form-urlencoded')).payload()).not.toBeNull()
})

test('a wrong JSON body of 5 MiB is none, and a large one is read as a small one', () => {
  const text = filled((at) => order(at, '5'))
  expect(parsedOf(bodyOf(`${text},`)).payload()).toBeNull()
  expect(parsedOf(bodyOf(text.replace('"type":', '"type";'))).payload()).toBeNull()
  expect(parsedOf(bodyOf(text)).payload()).toEqual(JSON.parse(text))
})
