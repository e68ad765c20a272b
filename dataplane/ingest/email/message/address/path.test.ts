import fc from 'fast-check'
import { expect, test } from 'vitest'

import { readAddresses } from './address-list.ts'
import { readPath } from './path.ts'

test.for<[text: string, address: string, parameters?: string]>([
  ['<ann@example.net>', 'ann@example.net'],
  [' <ann@example.net> SIZE=5 BODY=8BITMIME', 'ann@example.net', 'SIZE=5 BODY=8BITMIME'],
  ['<>', ''],
  ['<Postmaster>', 'Postmaster'],
  ['<"a b"@example.net>', '"a b"@example.net'],
  ['<"mask"@example.net>', 'mask@example.net'],
  ['<"ma+tag"@example.net>', 'ma+tag@example.net'],
  [String.raw`<"a\"\b"@example.net>`, String.raw`"a\"b"@example.net`],
  ['<"a@b>c"@example.net> SIZE=1', '"a@b>c"@example.net', 'SIZE=1'],
  ['<ann@exa_mple.net>', 'ann@exa_mple.net'],
  ['<ann@example.net.>', 'ann@example.net'],
  ['<a..b.@docomo.test>', 'a..b.@docomo.test'],
  ['<@a.test,@b.test:c@d.test>', 'c@d.test'],
  ['<ann@[192.0.2.1]>', 'ann@[192.0.2.1]'],
  ['<ann@[IPv6:2001:db8::1]>', 'ann@[IPv6:2001:db8::1]'],
  ['<bounce+x=y.test@example.net>', 'bounce+x=y.test@example.net'],
  ['<jürgen@müller.test>', 'jürgen@müller.test'],
])('%s', ([text, address, parameters = '']) => {
  expect(readPath(text)).toEqual({ address, parameters })
})

test.for([
  'ann@example.net',
  '<ann@example.net',
  '<ann>',
  '<@example.net>',
  '<ann@>',
  '<ann@example.net>SIZE=1',
  '<a b@example.net>',
  '<a@b@example.net>',
  '<"a"b@example.net>',
  '<"a@example.net>',
  '<a"b@example.net>',
  '<ann@exam ple.net>',
  '<ann@.example.net>',
  '<ann@example..net>',
  '<(c)ann@example.net>',
  '<ann@example.net,b@example.net>',
  '<<ann@example.net>>',
  '<ann@example.net\0>',
  '<ann\u200b@example.net>',
  '<ann@exam\u200bple.net>',
  `<${'a'.repeat(250)}@example.net>`,
])('%s is no path', (text) => {
  expect(readPath(text)).toBeUndefined()
})

test('the header of an address and its path have one reading', () => {
  const local = fc.oneof(
    fc.stringMatching(/^[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,8}(?:\.[a-z0-9]{1,4})?$/),
    fc.stringMatching(/^"[a-z @,;:<>()]{0,8}"$/),
  )
  const domain = fc.stringMatching(/^[a-z0-9_-]{1,8}(?:\.[a-z0-9]{1,8}){0,2}\.?$/)
  fc.assert(
    fc.property(local, domain, (before, after) => {
      fc.pre(!before.includes('=?'))
      const [mailbox] = readAddresses(`<${before}@${after}>`)
      expect(readPath(`<${before}@${after}>`)?.address).toBe(mailbox?.address)
    }),
    { numRuns: 2_000 },
  )
})

test('a long path takes no longer than its length', () => {
  const before = process.cpuUsage()
  for (const piece of ['a.', '@a,', '"', 'a', '@', '.', '\\"', '<'])
    readPath(`<${piece.repeat(4_000)}`)
  const { user, system } = process.cpuUsage(before)
  expect(user + system).toBeLessThan(1_000_000)
})
