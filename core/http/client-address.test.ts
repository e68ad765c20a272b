import { expect, test } from 'vitest'

import { compileCidrs } from '../egress/address.ts'
import { clientAddress } from './client-address.ts'

const TRUSTED = compileCidrs(['10.0.0.0/8', '2001:db8::/32'])

function clientOf(socket: string | undefined, forwarded: string | undefined): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return clientAddress({ socket: { remoteAddress: socket }, headers }, TRUSTED)
}

test.for<[title: string, socket: string, forwarded: string | undefined, expected: string]>([
  ['the socket without a proxy', '192.0.2.1', undefined, '192.0.2.1'],
  ['the socket that is no trusted proxy', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['the client that a trusted proxy names', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  [
    'the last one that is no proxy',
    '10.0.0.1',
    '203.0.113.9, 198.51.100.7, 10.2.2.2',
    '198.51.100.7',
  ],
  ['the first of a row of proxies', '10.0.0.1', '10.3.3.3, 10.2.2.2', '10.3.3.3'],
  ['the proxy that names no address', '10.0.0.1', '198.51.100.7, unknown', '10.0.0.1'],
  ['an IPv4 address of an IPv6 socket', '::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['an IPv6 client of a trusted proxy', '2001:db8::1', '2001:4860::8', '2001:4860::8'],
])('the client is %s', ([, socket, forwarded, expected]) => {
  expect(clientOf(socket, forwarded)).toBe(expected)
})

test('a socket that has closed has no address', () => {
  expect(clientOf(undefined, '198.51.100.7')).toBe('')
})

test.for([
  ['203.0.113.7:51234', '203.0.113.7'],
  ['198.51.100.9:1, 203.0.113.7:51234', '203.0.113.7'],
  ['[2001:4860::8]:443', '2001:4860::8'],
  ['[2001:4860::8]', '2001:4860::8'],
  ['2001:4860:0:0::8', '2001:4860::8'],
  ['2001:4860::ABCD', '2001:4860::abcd'],
  ['::FFFF:203.0.113.7', '203.0.113.7'],
  ['::ffff:cb00:7107', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
  ['fe80::7%eth0', 'fe80::7'],
  ['\t203.0.113.7 ', '203.0.113.7'],
] as const)('a trusted proxy that writes "%s" names %s', ([forwarded, expected]) => {
  expect(clientOf('10.0.0.1', forwarded)).toBe(expected)
})

test.for([
  '',
  ',',
  'unknown',
  '_hidden',
  'x'.repeat(300),
  '203.0.113',
  '203.0.113.7:',
  '203.0.113.7:80:80',
  '[203.0.113.7',
  '[]:80',
  '::1::2',
  '203.0.113.7/24',
  '<script>alert(1)</script>',
])('a trusted proxy that writes "%s" names no address', (forwarded) => {
  expect(clientOf('10.0.0.1', forwarded)).toBe('10.0.0.1')
})

test('a row of more than 20 proxies ends at the twentieth', () => {
  const row = ['203.0.113.7', ...Array.from({ length: 20 }, (_, at) => `10.1.1.${at}`)]
  expect(clientOf('10.0.0.1', row.join(', '))).toBe('10.1.1.0')
})
