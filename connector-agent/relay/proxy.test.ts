import { expect, test } from 'vitest'

import { isExempt } from './proxy.ts'

test.for<[url: string, noProxy: string, exempt: boolean]>([
  ['https://relay.example.com', '', false],
  ['https://relay.example.com', 'relay.example.com', true],
  ['https://relay.example.com', 'example.com', true],
  ['https://relay.example.com', '.example.com', true],
  ['https://relay.example.com', '*.example.com', true],
  ['https://relay.example.com', 'ample.com', false],
  ['https://relay.example.com', 'RELAY.example.com ,other', true],
  ['https://relay.example.com', 'relay.example.com:443', true],
  ['https://relay.example.com', 'relay.example.com:8443', false],
  ['wss://relay.example.com:8443/v1/tunnel', 'relay.example.com:8443', true],
  ['http://127.0.0.1:80', '127.0.0.1', true],
  ['http://127.0.0.1:80', '0.0.1', false],
  ['http://[::1]:8080', '::1', true],
  ['http://[::1]:8080', '[::1]:8080', true],
  ['http://a.example', '*', true],
  ['http://10.1.2.3:8080', '10.0.0.0/8', true],
  ['http://10.1.2.3:8080', '10.9.9.9/8', true],
  ['http://10.1.2.3', 'a.example,192.168.0.0/16', false],
  ['https://[fd00::1]', 'fd00::/8', true],
  ['https://[::ffff:10.0.0.1]', '10.0.0.0/8', true],
  ['https://relay.example.com', '0.0.0.0/0', false],
  ['http://10.1.2.3', '10.0.0.0/99, /, 10/8', false],
])('%s with NO_PROXY=%s', ([url, noProxy, exempt]) => {
  expect(isExempt(new URL(url), noProxy)).toBe(exempt)
})
