import { expect, test } from 'vitest'

import { addressClass, compileCidrs, isReachable, networkOf } from './address.ts'

const LITERALS = [
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.0', 'cgnat'],
  ['100.127.255.255', 'cgnat'],
  ['100.100.100.200', 'metadata'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['168.63.129.16', 'metadata'],
  ['169.254.0.1', 'link_local'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'link_local'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.192', 'reserved'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', 'reserved'],
  ['192.168.1.1', 'private'],
  ['198.18.0.1', 'benchmark'],
  ['198.19.255.255', 'benchmark'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.9', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.254', 'reserved'],
  ['255.255.255.255', 'broadcast'],
] as const

const NEIGHBOURS = [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '191.255.255.255',
  '192.0.1.0',
  '192.0.3.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
]

test.for(LITERALS)('addressClass(%s) is %s', ([ip, expected]) => {
  expect(addressClass(ip)).toBe(expected)
})

test.for(NEIGHBOURS)('addressClass(%s), beside a range, is public', (ip) => {
  expect(addressClass(ip)).toBe('public')
})

/** The ways in which IPv6 carries an IPv4 address. */
const HIDING: Record<string, (ip: string) => string> = {
  mapped: (ip) => `::ffff:${ip}`,
  'mapped in hexadecimal': (ip) => `::ffff:${hexOf(ip)}`,
  'mapped in full': (ip) => `0:0:0:0:0:FFFF:${ip}`,
  translated: (ip) => `::ffff:0:${ip}`,
  compatible: (ip) => `::${ip}`,
  NAT64: (ip) => `64:ff9b::${ip}`,
  '6to4': (ip) => `2002:${hexOf(ip)}::1`,
  'a Teredo client': (ip) => `2001:0:808:808:0:0:${turnedHexOf(ip)}`,
  'a Teredo server': (ip) => `2001:0:${hexOf(ip)}:0:0:${turnedHexOf('8.8.8.8')}`,
}

test.for(Object.entries(HIDING))('addressClass() sees IPv4 that is %s', ([, hide]) => {
  for (const [ip] of LITERALS) {
    expect([hide(ip), isReachable(hide(ip), [])]).toEqual([hide(ip), false])
  }
  // "::0.x.y.z" spells the unspecified and loopback addresses of IPv6, never a public one.
  for (const ip of NEIGHBOURS)
    expect([hide(ip), addressClass(hide(ip))]).toEqual([hide(ip), 'public'])
})

test.for([
  ['::', 'unspecified'],
  ['0:0:0:0:0:0:0:0', 'unspecified'],
  ['::1', 'loopback'],
  ['::0.0.0.1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['64:ff9b:1::1', 'private'],
  ['64:ff9b:1:ffff:ffff::8.8.8.8', 'private'],
  ['64:ff9b:0:0:0:1::', 'reserved'],
  ['100::1', 'reserved'],
  ['2001:2::1', 'benchmark'],
  ['2001:1::1', 'reserved'],
  ['2001:20::1', 'reserved'],
  ['2001:db8::1', 'documentation'],
  ['3fff::1', 'documentation'],
  ['5f00::1', 'reserved'],
  ['fc00::1', 'unique_local'],
  ['fdff:ffff::1', 'unique_local'],
  ['fd00:ec2::254', 'metadata'],
  ['fe80::1', 'link_local'],
  ['fe80::1%eth0', 'link_local'],
  ['febf::1', 'link_local'],
  ['fec0::1', 'private'],
  ['ff02::1', 'multicast'],
  ['4000::1', 'reserved'],
  ['2001:200::1', 'public'],
  ['2606:4700:4700::1111', 'public'],
  ['2a00:1450:4001:80b::200e', 'public'],
  ['not-an-address', 'invalid'],
  ['', 'invalid'],
  ['1.2.3', 'invalid'],
  ['0177.0.0.1', 'invalid'],
  ['[::1]', 'invalid'],
] as const)('addressClass(%s) is %s', ([ip, expected]) => {
  expect(addressClass(ip)).toBe(expected)
})

test('isReachable() lets an opened range through in every spelling, and nothing beside it', () => {
  const allowed = compileCidrs(['127.0.0.0/8', '::1/128', '10.1.0.0/16', '192.168.7.7', 'fd00::/9'])
  const open = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.1.9.9', '64:ff9b::10.1.9.9']
  for (const ip of [...open, '192.168.7.7', 'fd12::1', '8.8.8.8']) {
    expect([ip, isReachable(ip, allowed)]).toEqual([ip, true])
  }
  const closed = ['10.2.0.1', '192.168.7.8', '::', '::ffff:10.2.0.1', 'fd80::1', '::2', 'nonsense']
  for (const ip of closed) expect([ip, isReachable(ip, allowed)]).toEqual([ip, false])
})

test('compileCidrs() takes any length, and an address whose host bits are set', () => {
  expect(isReachable('10.9.9.9', compileCidrs(['10.1.2.3/8']))).toBe(true)
  expect(isReachable('192.168.0.1', compileCidrs(['0.0.0.0/0']))).toBe(true)
  expect(isReachable('fe80::1', compileCidrs(['0.0.0.0/0']))).toBe(false)
  expect(isReachable('172.20.0.1', compileCidrs(['172.16.0.0/13']))).toBe(true)
  expect(isReachable('172.24.0.1', compileCidrs(['172.16.0.0/13']))).toBe(false)
})

test.for([
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '10.0.0.0/x',
  '10.0.0.0/8/8',
  '10.0.0/8',
  '::/129',
  'fe80::1%eth0/64',
  'localhost',
  '',
])('compileCidrs() names the bad "%s"', (cidr) => {
  expect(() => compileCidrs(['10.0.0.0/8', cidr])).toThrow(`Cannot read "${cidr}"`)
})

function hexOf(ip: string): string {
  return groups(ip.split('.').map(Number))
}

function turnedHexOf(ip: string): string {
  return groups(ip.split('.').map((byte) => Number(byte) ^ 0xff))
}

function groups([a = 0, b = 0, c = 0, d = 0]: readonly number[]): string {
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

test.for([
  ['192.0.2.7', '192.0.2.7/32', '192.0.2.0/24'],
  ['::ffff:192.0.2.7', '192.0.2.7/32', '192.0.2.0/24'],
  ['2001:db8:1:2:3::4', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['fe80::1%eth0', 'fe80::/64', 'fe80::/48'],
  ['no address', 'no address', 'no address'],
] as const)('networkOf(%s) is the network of its holder', ([ip, own, wide]) => {
  expect(networkOf(ip)).toBe(own)
  expect(networkOf(ip, { ipv4Bits: 24, ipv6Bits: 48 })).toBe(wide)
})
