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
])('%s with NO_PROXY=%s', ([url, noProxy, exempt]) => {
  expect(isExempt(new URL(url), noProxy)).toBe(exempt)
})
