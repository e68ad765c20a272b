import { expect, test } from 'vitest'

import { type AllowRule, compileAllowList, parseAllow } from './allow-list.ts'

function listOf(
  rules: readonly string[],
  more: { narrowedTo?: string[]; allowLoopback?: boolean; own?: string[] } = {},
) {
  return compileAllowList({
    rules: rules.map(parseAllow),
    narrowedTo: more.narrowedTo ?? [],
    allowLoopback: more.allowLoopback ?? false,
    ownAddresses: new Set(more.own ?? []),
  })
}

/** Ways to write addresses that no rule may open. The URL parser turns most of them into one. */
const FORBIDDEN = `
  127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1.
  127.255.255.254 ①②⑦.0.0.1 127。0。0。1 １２７.0.0.1 0x7F.0x0.0x0.0x1 127.0.0.0x1 [::1] [0:0:0:0:0:0:0:1]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1]
  [2002:7f00:1::] [2002:7f00:0001::1] [::ffff:0:127.0.0.1] 0.0.0.0 0 0x0 0.1.2.3 [::] [::0.0.0.0]
  169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.1.1 169.16689662
  [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::169.254.169.254] [2002:a9fe:a9fe::]
  [fd00:ec2::254] [fd20:ce::254] 168.63.129.16 100.100.100.200 [fe80::1] [fe80::a9fe:a9fe] [febf::1]
  224.0.0.1 239.255.255.250 [ff02::1] [ff05::2] 255.255.255.255 4294967295 240.0.0.1 192.0.2.1
  198.51.100.7 203.0.113.9 198.18.0.1 [2001:db8::1] [3fff::1] [2001:0:7f00:1::] 192.0.0.8
  [::ffff:224.0.0.1] [2001::1]
`
  .trim()
  .split(/\s+/)

const EVERYTHING = ['0.0.0.0/0', '[::]/0']

test.for(FORBIDDEN)('no CIDR opens %s', (host) => {
  expect(FORBIDDEN.length).toBeGreaterThanOrEqual(60)
  let url: URL
  try {
    url = new URL(`http://${host}/`)
  } catch {
    return // A text that is no URL is never dialled.
  }
  const list = listOf(EVERYTHING)
  expect(list.refusal(url)).toMatch(/never dialled/)
  expect(list.mayDial(url, url.hostname.replace(/^\[|\]$/g, ''))).toBe(false)
})

test.for([
  '127.0.0.1',
  '::1',
  '169.254.169.254',
  'fe80::1',
  '0.0.0.0',
  '::ffff:127.0.0.1',
  '10.9.9.9',
])('a name that resolves to %s is not dialled there', (address) => {
  const list = listOf(['service.internal', '*.internal', ...EVERYTHING], { own: ['10.9.9.9'] })
  expect(list.mayDial(new URL('http://service.internal/'), address)).toBe(false)
})

test.for(['127.0.0.1', '[::1]', '10.9.9.9'])(
  '--allow-loopback opens %s where a rule covers it',
  (host) => {
    const url = new URL(`http://${host}:3000/`)
    const rule = `http://${host}:3000`
    const own = ['10.9.9.9']
    expect(listOf([rule], { allowLoopback: true, own }).refusal(url)).toBeUndefined()
    expect(listOf([rule], { allowLoopback: false, own }).refusal(url)).toMatch(/never dialled/)
    expect(listOf(['http://other:3000'], { allowLoopback: true, own }).refusal(url)).toMatch(
      /no --allow rule/,
    )
  },
)

test('--allow-loopback opens neither metadata nor link-local', () => {
  const list = listOf(EVERYTHING, { allowLoopback: true })
  expect(list.refusal(new URL('http://169.254.169.254/'))).toMatch(/never dialled/)
})

type Case = [rules: string[], url: string, address: string | undefined, isAllowed: boolean]
test.for<Case>([
  [['service.internal'], 'http://service.internal/', '10.0.0.1', true],
  [['service.internal'], 'https://service.internal/', '10.0.0.1', true],
  [['service.internal'], 'http://service.internal:8080/', '10.0.0.1', false],
  [['service.internal:8080'], 'http://service.internal:8080/', '10.0.0.1', true],
  [['service.internal:8080'], 'http://service.internal/', '10.0.0.1', false],
  [['https://service.internal'], 'http://service.internal/', '10.0.0.1', false],
  [['https://service.internal'], 'https://service.internal/', '10.0.0.1', true],
  [['https://service.internal'], 'https://service.internal:80/', '10.0.0.1', false],
  [['SERVICE.internal.'], 'http://Service.Internal./', '10.0.0.1', true],
  [['bücher.example'], 'http://xn--bcher-kva.example/', '10.0.0.1', true],
  [['*.internal'], 'http://a.internal/', '10.0.0.1', true],
  [['*.internal'], 'http://a.b.internal/', '10.0.0.1', true],
  [['*.internal'], 'http://internal/', '10.0.0.1', false],
  [['*.internal'], 'http://evilinternal/', '10.0.0.1', false],
  [['*.internal'], 'http://a.internal.evil.example/', '10.0.0.1', false],
  [['service.internal'], 'http://service.internal@evil.example/', '10.0.0.1', false],
  [['10.0.0.0/8'], 'http://10.1.2.3/', undefined, true],
  [['10.0.0.0/8'], 'http://11.1.2.3/', undefined, false],
  [['10.0.0.0/8:8080'], 'http://10.1.2.3:8080/', undefined, true],
  [['10.0.0.0/8'], 'http://anything.example/', '10.0.0.1', true],
  [['10.0.0.0/8'], 'http://anything.example/', '11.0.0.1', false],
  [['10.0.0.7'], 'http://10.0.0.7/', undefined, true],
  [['10.0.0.7'], 'http://10.0.0.8/', undefined, false],
  [['[fd12::]/16'], 'http://[fd12::1]/', undefined, true],
  [['10.0.0.0/8'], 'http://[::ffff:10.0.0.1]/', undefined, true],
  [['93.184.216.0/24'], 'http://93.184.216.34/', undefined, true],
  [[], 'http://service.internal/', '10.0.0.1', false],
  [['*.internal'], 'ftp://a.internal/', '10.0.0.1', false],
])('rules %j on %s at %s: %s', ([rules, text, address, isAllowed]) => {
  const url = new URL(text)
  const list = listOf(rules)
  const isDialled = (): boolean => address === undefined || list.mayDial(url, address)
  expect(list.refusal(url) === undefined && isDialled()).toBe(isAllowed)
})

test('the list of the server narrows the rules and never widens them', () => {
  const url = (host: string) => new URL(`http://${host}/`)
  const list = listOf(['*.internal'], { narrowedTo: ['a.internal', 'evil.example'] })
  expect(list.refusal(url('a.internal'))).toBeUndefined()
  expect(list.refusal(url('b.internal'))).toMatch(/allowedHosts do not cover/)
  expect(list.refusal(url('evil.example'))).toMatch(/no --allow rule/)
  expect(list.mayDial(url('b.internal'), '10.0.0.1')).toBe(false)
})

test.for<[text: string, rule: AllowRule]>([
  ['http://localhost:3000', { hosts: ['localhost'], ports: [3000], schemes: ['http'] }],
  ['HTTPS://*.Internal', { hosts: ['*.Internal'], schemes: ['https'] }],
  ['10.0.0.0/8:8080', { cidrs: ['10.0.0.0/8'], ports: [8080] }],
  ['[fd00::]/8', { cidrs: ['fd00::/8'] }],
  ['service', { hosts: ['service'] }],
  ['service/', { hosts: ['service'] }],
])('parseAllow() reads %s', ([text, rule]) => {
  expect(parseAllow(text)).toEqual(rule)
})

test.for([
  '',
  'http://',
  'a b',
  'host/path',
  'host:99999',
  'host:0',
  '10.0.0.0/33',
  'ftp://a',
  '*',
  'a.*.b',
  'host/8',
  '[::1',
  'http://u:p@host',
])('parseAllow() refuses "%s" and shows it', (text) => {
  expect(() => parseAllow(text)).toThrow(/Cannot read/)
})
