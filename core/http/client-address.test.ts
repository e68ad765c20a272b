import { expect, test } from 'vitest'

import { compileCidrs } from '../egress/address.ts'
import { clientAddress } from './client-address.ts'

const TRUSTED = compileCidrs(['10.0.0.0/8', '2001:db8::/32'])

test.for<[title: string, socket: string, forwarded: string | undefined, expected: string]>([
  ['the socket without a proxy', '192.0.2.1', undefined, '192.0.2.1'],
  ['the socket when nobody trusts it', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['whom a trusted proxy speaks for', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  [
    'the last one that is no proxy',
    '10.0.0.1',
    '203.0.113.9, 198.51.100.7, 10.2.2.2',
    '198.51.100.7',
  ],
  ['the first of a row of proxies', '10.0.0.1', '10.3.3.3, 10.2.2.2', '10.3.3.3'],
  ['a proxy that says nothing useful', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['an IPv4 address of an IPv6 socket', '::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['an IPv6 client of a trusted proxy', '2001:db8::1', '2001:4860::8', '2001:4860::8'],
])('the client is %s', ([, socket, forwarded, expected]) => {
  const request = {
    socket: { remoteAddress: socket },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }
  expect(clientAddress(request, TRUSTED)).toBe(expected)
})
