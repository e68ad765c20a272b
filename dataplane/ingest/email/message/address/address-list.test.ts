import fc from 'fast-check'
import addressparser from 'nodemailer/lib/addressparser'
import { expect, test } from 'vitest'

import { readAddresses } from './address-list.ts'

const at = (address: string, name = ''): object => ({ name, address })

test.for<[text: string, mailboxes: object[]]>([
  // RFC 5322, appendix A.
  ['John Doe <jdoe@machine.example>', [at('jdoe@machine.example', 'John Doe')]],
  [
    'Mary Smith <mary@x.test>, jdoe@example.org, Who? <one@y.test>',
    [at('mary@x.test', 'Mary Smith'), at('jdoe@example.org'), at('one@y.test', 'Who?')],
  ],
  [
    String.raw`<boss@nil.test>, "Giant; \"Big\" Box" <sysservices@example.net>`,
    [at('boss@nil.test'), at('sysservices@example.net', 'Giant; "Big" Box')],
  ],
  [
    'A Group:Ed Jones <c@a.test>,joe@where.test,John <jdoe@one.test>;',
    [at('c@a.test', 'Ed Jones'), at('joe@where.test'), at('jdoe@one.test', 'John')],
  ],
  ['Undisclosed recipients:;', []],
  [
    String.raw`Pete(A nice \) chap) <pete(his account)@silly.test(his host)>`,
    [at('pete@silly.test', 'Pete')],
  ],
  [
    "A Group(Some people)\t:Chris Jones <c@(Chris's host.)public.example>,\t joe@example.org, John <jdoe@one.test> (my dear friend); (the end of the group)",
    [at('c@public.example', 'Chris Jones'), at('joe@example.org'), at('jdoe@one.test', 'John')],
  ],
  ['(Empty list)(start)Hidden recipients  :(nobody(that I know))  ;', []],
  ['Joe Q. Public <john.q.public@example.com>', [at('john.q.public@example.com', 'Joe Q. Public')]],
  [
    'Mary Smith <@node.test:mary@example.net>, , jdoe@test  . example',
    [at('mary@example.net', 'Mary Smith'), at('jdoe@test.example')],
  ],
  // Forms that old programs write.
  ['<@a.test,@b.test:c@d.test>', [at('c@d.test')]],
  ['<@a.test,,@b.test:c@d.test>', [at('c@d.test')]],
  ['Doe, John <john@example.net>', [at('john@example.net', 'Doe, John')]],
  [
    'Doe, Dr. John, Jr. <j@e.test>, k@e.test',
    [at('j@e.test', 'Doe, Dr. John, Jr.'), at('k@e.test')],
  ],
  ['joe@example.com <joe@example.com>', [at('joe@example.com', 'joe@example.com')]],
  ['John [Sales] <j@e.test>', [at('j@e.test', 'John [Sales]')]],
  ['John [Sales & Co] <j@e.test>', [at('j@e.test', 'John [Sales & Co]')]],
  ['a@[ 192.0.2.1 ]', [at('a@[192.0.2.1]')]],
  ['a@[b@victim.test]', [at('', 'a@[b@victim.test]')]],
  ['joe@example.net (Joe Doe)', [at('joe@example.net', 'Joe Doe')]],
  ['ann@example.net.', [at('ann@example.net')]],
  ['a..b.@docomo.test', [at('a..b.@docomo.test')]],
  ['a@b.test; c@d.test', [at('a@b.test'), at('c@d.test')]],
  ['"a b"@example.net', [at('"a b"@example.net')]],
  ['"a"."b"@example.net', [at('a.b@example.net')]],
  ['"mask"@example.net', [at('mask@example.net')]],
  [String.raw`"a\"b"@example.net`, [at(String.raw`"a\"b"@example.net`)]],
  ['"@"@[192.0.2.1]', [at('"@"@[192.0.2.1]')]],
  ['Cron Daemon <root>', [at('root', 'Cron Daemon')]],
  ['<>', [at('')]],
  ['Jürgen <jürgen@müller.test>', [at('jürgen@müller.test', 'Jürgen')]],
  ['=?utf-8?Q?Doe,_J?= <j@e.test>', [at('j@e.test', '=?utf-8?Q?Doe,_J?=')]],
  ['=?utf-8?Q?A?= =?utf-8?Q?B?= <j@e.test>', [at('j@e.test', '=?utf-8?Q?A?= =?utf-8?Q?B?=')]],
  // An address out of an encoded word, a quote or a comment is none.
  ['=?utf-8?B?QW5uIDxhQGJhbmsudGVzdD4=?=', [at('', '=?utf-8?B?QW5uIDxhQGJhbmsudGVzdD4=?=')]],
  ['=?utf-8?Q?a@bank.test?=, x@evil.test', [at('', '=?utf-8?Q?a@bank.test?='), at('x@evil.test')]],
  ['=?utf-8?Q?a@bank.test?= ;"x@evil.test"', [at('', '=?utf-8?Q?a@bank.test?=, x@evil.test')]],
  ['=?utf-8?Q?a?=@bank.test', [at('', '=?utf-8?Q?a?=@bank.test')]],
  ['a@=?utf-8?Q?bank.test?=', [at('', 'a@=?utf-8?Q?bank.test?=')]],
  ['"a@bank.test" <x@evil.test>', [at('x@evil.test', 'a@bank.test')]],
  ['x@evil.test (a@bank.test)', [at('x@evil.test', 'a@bank.test')]],
  // No single address.
  ['<a@evil.test boss@victim.test>', [at('', '<a@evil.test boss@victim.test>')]],
  ['"n" <a@evil.test\tboss@victim.test>', [at('', '"n" <a@evil.test boss@victim.test>')]],
  ['<a@evil.test,boss@victim.test>', [at('', '<a@evil.test,boss@victim.test>')]],
  ['<a@evil.test><boss@victim.test>', [at('', '<a@evil.test><boss@victim.test>')]],
  ['<a@evil.test> boss@victim.test', [at('', '<a@evil.test> boss@victim.test')]],
  ['<<a@evil.test>>', [at('', '<<a@evil.test>>')]],
  ['a@evil.test@victim.test', [at('', 'a@evil.test@victim.test')]],
  ['a b@victim.test', [at('', 'a b@victim.test')]],
  ['a@evil.test b.victim.test', [at('', 'a@evil.test b.victim.test')]],
  ['a@victim..test', [at('', 'a@victim..test')]],
  ['a@"victim.test"', [at('', 'a@"victim.test"')]],
  [`a@evil.test\0.victim.test`, [at('', 'a@evil.test\0.victim.test')]],
  ['"a@victim.test', [at('', '"a@victim.test')]],
  ['(a@victim.test', [at('', '(a@victim.test')]],
  ['<a@victim.test', [at('', '<a@victim.test')]],
  ['<@evil.test a@victim.test>', [at('', '<@evil.test a@victim.test>')]],
  ['', []],
  [' ,, (comment) ;', []],
])('%s', ([text, mailboxes]) => {
  expect(readAddresses(text)).toEqual(mailboxes)
})

const word = fc.stringMatching(/^[a-z0-9!#$%&'*+/?^_`{|}~-]{1,8}$/)
const label = fc.stringMatching(/^[a-z0-9]{1,8}$/)
const space = fc.constantFrom('', ' ', '\t', ' (c) ', String.raw`(a (b) \) c)`)
const dotted = (part: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.array(part, { minLength: 1, maxLength: 3 })
const spread = fc
  .record({ local: dotted(word), domain: dotted(label), name: fc.array(word, { maxLength: 2 }) })
  .filter(({ name }) => !name.join(' ').includes('=?'))

/** An address written with comments and white space wherever the grammar lets them be. */
const written = fc
  .tuple(spread, fc.array(space, { minLength: 12, maxLength: 12 }))
  .map(([{ local, domain, name }, spaces]) => {
    let n = 0
    const gap = (): string => spaces[n++ % spaces.length] ?? ''
    const loose = (parts: string[]): string => parts.join(`${gap()}.${gap()}`)
    const spec = `${gap()}${loose(local)}${gap()}@${gap()}${loose(domain)}${gap()}`
    const address = `${local.join('.')}@${domain.join('.')}`
    return name.length === 0
      ? { text: spec, address, name: undefined }
      : { text: `${name.join(' ')} <${spec}>`, address, name: name.join(' ') }
  })

test('a list is read as it was made, however many comments and spaces stand in it', () => {
  fc.assert(
    fc.property(fc.array(written, { minLength: 1, maxLength: 4 }), (list) => {
      const read = readAddresses(list.map(({ text }) => text).join(','))
      expect(read.map(({ address }) => address)).toEqual(list.map(({ address }) => address))
      const named = read.map(({ name }, n) => (list[n]?.name === undefined ? undefined : name))
      expect(named).toEqual(list.map(({ name }) => name))
    }),
    { numRuns: 2_000 },
  )
})

test('another reader finds the same in lists without comments', () => {
  const plain = spread.map(({ local, domain, name }) => {
    const address = `${local.join('.')}@${domain.join('.')}`
    return name.length === 0 ? address : `"${name.join(' ')}" <${address}>`
  })
  fc.assert(
    fc.property(fc.array(plain, { minLength: 1, maxLength: 4 }), (list) => {
      const text = list.join(', ')
      expect(readAddresses(text)).toEqual(addressparser(text))
    }),
    { numRuns: 1_000 },
  )
})

const ADDRESSES = ['a@evil.test', 'b@victim.test', '=?utf-8?Q?a@victim.test?=']
const PIECES = [...ADDRESSES, ...'<>"()\\,;:@. \t[]\0én'.split('')]

test('any text has a reading, and an address of it has at most one domain', () => {
  const piece = fc.constantFrom(...PIECES)
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      for (const { address } of readAddresses(pieces.join(''))) {
        const domain = address.replace(/^"(?:[^"\\]|\\.)*"/, '').replace(/^[^@]*/, '')
        expect(domain).toMatch(/^(?:@[^@\s<>",;:\\\0]+|@\[\])?$/)
      }
    }),
    { numRuns: 20_000 },
  )
})

const MARKS = 'a,<(".:[\\'.split('')
const LONGER = [
  '@:',
  'a:',
  'a ',
  'a,',
  '(a)',
  '"a"',
  '<a@b>',
  '<@a,',
  'a ; ',
  '=?a?q?',
  '=?a?q?b?=',
]

test.for([...MARKS, ...LONGER])('64 KiB of %s are read in a moment', (piece) => {
  const text = piece.repeat(65_536 / piece.length)
  const before = process.cpuUsage()
  readAddresses(`a a @ ${text}`)
  const { user, system } = process.cpuUsage(before)
  expect(user + system).toBeLessThan(2_000_000)
})
