import { expect, test } from 'vitest'

import { parseAllow } from '../../core/egress/allow-list.ts'
import { openAllowedRelays } from './allowed-relays.ts'

const SERVER = 'https://10.96.0.1:443'

function refuses(baseUrl: string, rules: readonly string[] = []): boolean {
  return openAllowedRelays(rules.map(parseAllow), [SERVER]).refusal(baseUrl) !== undefined
}

test.for([
  'https://relay.example.com',
  'http://postern-api.postern.svc',
  'http://postern-api.postern.svc.cluster.local:8080',
  'https://10.0.0.7:8443',
  'https://93.184.215.14',
  'http://kubernetes.example.com',
])('without a list a Relay may name %s', (baseUrl) => {
  expect(refuses(baseUrl)).toBe(false)
})

test.for([
  'http://169.254.169.254',
  'http://[fe80::1]',
  'http://[fd00:ec2::254]',
  'http://100.100.100.200',
  'http://127.0.0.1:10250',
  'http://2130706433',
  'http://0x7f.1',
  'http://[::1]:8080',
  'http://[::ffff:127.0.0.1]',
  'http://[::ffff:169.254.169.254]',
  'http://0.0.0.0',
  'http://localhost:10250',
  'http://LOCALHOST.',
  'http://api.localhost',
  'https://kubernetes',
  'https://kubernetes.default',
  'https://kubernetes.default.svc',
  'https://kubernetes.default.svc:443',
  'https://KUBERNETES.default.svc.cluster.local.',
  SERVER,
  'http://10.96.0.1:8080',
  'https://[::ffff:10.96.0.1]',
])('without a list no Relay may name %s', (baseUrl) => {
  expect(refuses(baseUrl)).toBe(true)
})

test.for<[baseUrl: string, rules: string[], isRefused: boolean]>([
  ['https://relay.example.com', ['https://relay.example.com'], false],
  ['http://relay.example.com', ['https://relay.example.com'], true],
  ['https://relay.example.com:8443', ['https://relay.example.com'], true],
  ['https://other.example.com', ['https://relay.example.com'], true],
  ['https://eu.example.com', ['*.example.com'], false],
  ['https://example.com.evil.test', ['*.example.com'], true],
  ['https://10.1.2.3', ['10.1.0.0/16'], false],
  ['http://10.1.2.3:8080', ['10.1.0.0/16'], false],
  ['http://10.1.2.3:8080', ['http://10.1.2.3'], true],
  ['https://10.2.2.3', ['10.1.0.0/16'], true],
  ['http://127.0.0.1:8080', ['http://127.0.0.1:8080'], false],
  ['http://127.0.0.1:10250', ['http://127.0.0.1:8080'], true],
  ['http://169.254.169.254', ['169.254.169.254'], true],
  ['https://kubernetes.default.svc', ['kubernetes.default.svc'], true],
  ['https://10.96.0.1', ['10.0.0.0/8'], true],
])('%s with the list %j', ([baseUrl, rules, isRefused]) => {
  expect(refuses(baseUrl, rules)).toBe(isRefused)
})
