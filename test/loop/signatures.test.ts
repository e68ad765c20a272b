import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'

import { expect, test } from 'vitest'

import type { SecretSlots } from '../../core/verify/config/secrets.ts'
import { compileVerifier, verify } from '../../core/verify/verify.ts'
import { leastMs, turnMs } from './cost.ts'

const BODY_BYTES = 5 * 1024 * 1024
const SECRETS: SecretSlots = { current: 'secret', previous: 'former', members: undefined }
const HEADERS = Array.from({ length: 10 }, (_, at) => `x-signature-${at}`)

const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' })
const ed25519 = many(10, () => generateKeyPairSync('ed25519').publicKey)
const p256 = many(10, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)
const whpk = (key: KeyObject): string =>
  `whpk_${key.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')}`
const rsa = generateKeyPairSync('rsa', { modulusLength: 4096 }).publicKey

function many<T>(n: number, make: (at: number) => T): T[] {
  return Array.from({ length: n }, (_, at) => make(at))
}

const TWILIO = compileVerifier({ type: 'twilio' }, SECRETS)
const STANDARD = compileVerifier(
  { type: 'standard_webhooks', publicKeys: ed25519.map(whpk) },
  { ...SECRETS, current: undefined, previous: undefined },
)

/** Smallest integers r and s in DER. */
const DER = (at: number): Buffer => Buffer.from([0x30, 6, 2, 1, at + 1, 2, 1, at + 1])

const hmac = { type: 'hmac', algorithm: 'sha512' }
const forms = ['{body}', '{body}.', '.{body}', '{timestamp}{body}']
const CASES: Record<string, { config: object; candidate: (at: number) => Buffer }> = {
  'a content that holds the body very often': {
    config: { ...hmac, content: '{body}'.repeat(40) },
    candidate: (at) => Buffer.alloc(64, at),
  },
  'a content that holds a member of the body very often': {
    config: { ...hmac, content: '{json.a}'.repeat(40) },
    candidate: (at) => Buffer.alloc(64, at),
  },
  'a content that holds hashes of the body very often': {
    config: { ...hmac, content: '{bodySha256}'.repeat(40) },
    candidate: (at) => Buffer.alloc(64, at),
  },
  'a content that escapes the body very often': {
    config: { ...hmac, content: '{bodyEscaped}'.repeat(40) },
    candidate: (at) => Buffer.alloc(64, at),
  },
  'four contents': { config: { ...hmac, content: forms }, candidate: (at) => Buffer.alloc(64, at) },
  'ten keys of Ed25519': {
    config: {
      type: 'public_key',
      algorithm: 'ed25519',
      publicKeys: ed25519.map(pem),
      content: forms,
    },
    candidate: (at) => Buffer.alloc(64, at),
  },
  'ten keys of P-256': {
    config: { type: 'public_key', algorithm: 'ecdsa_p256_sha256', publicKeys: p256.map(pem) },
    candidate: DER,
  },
  'a key of RSA': {
    config: { type: 'public_key', algorithm: 'rsa_sha256', publicKeys: [pem(rsa)] },
    candidate: (at) => Buffer.alloc(512, at),
  },
}

const BODIES: Record<string, Buffer> = {
  text: Buffer.alloc(BODY_BYTES, 'a'),
  letters: Buffer.alloc(BODY_BYTES, 'é'),
  json: Buffer.from(`{"a":"${'b'.repeat(BODY_BYTES - 8)}"}`),
}

test.each(Object.entries(CASES))(
  'a request of 5 MiB for %s is refused in two turns at most',
  (_, of) => {
    const signature = { in: 'header', names: HEADERS, encoding: 'hex' }
    const verifier = compileVerifier({ content: '{body}', signature, ...of.config }, SECRETS)
    expect(verifier.fault).toBeUndefined()
    const turn = turnMs()
    for (const body of Object.values(BODIES)) {
      const headers = Object.fromEntries(
        HEADERS.map((name, at) => [name, of.candidate(at).toString('hex')]),
      )
      const cost = leastMs(() => verify(verifier, requestOf(headers, body), 0))
      expect(cost / turn).toBeLessThan(2)
    }
  },
)

function requestOf(headers: Record<string, string>, body: Buffer) {
  return {
    method: 'POST',
    url: 'https://x.test/m',
    path: '/m',
    query: '',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    remoteIp: '192.0.2.1',
  }
}

test('a form of 5 MiB for Twilio is refused in two turns at most', () => {
  const url = 'http://x.test:80/%C3%A9?a=%5B'
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': Buffer.alloc(20).toString('base64'),
  }
  const body = Buffer.from(`a=${'b'.repeat(BODY_BYTES - 2)}`)
  const cost = leastMs(() => verify(TWILIO, { ...requestOf(headers, body), url }, 0))
  expect(cost / turnMs()).toBeLessThan(2)
})

test('ten public keys of Standard Webhooks refuse 5 MiB in two turns at most', () => {
  const signatures = many(10, (at) => `v1a,${Buffer.alloc(64, at).toString('base64')}`)
  const headers = {
    'webhook-id': 'a',
    'webhook-timestamp': '1',
    'webhook-signature': signatures.join(' '),
  }
  const cost = leastMs(() =>
    verify(STANDARD, requestOf(headers, BODIES['text'] ?? Buffer.alloc(0)), 0),
  )
  expect(cost / turnMs()).toBeLessThan(2)
})

test('several verifiers share what a request may cost', () => {
  const signature = { in: 'header', names: HEADERS, encoding: 'hex' }
  const body = Buffer.alloc(BODY_BYTES, 'a')
  const right = createHmac('sha512', 'secret').update(body).digest('hex')
  const members = many(5, () => ({ ...hmac, signature, content: ['{body}', '.{body}'] }))
  const verifier = compileVerifier(
    { type: 'all_of', verifiers: members },
    { current: undefined, previous: undefined, members: many(5, () => 'secret') },
  )
  const headers = { 'x-signature-9': right }
  expect(verify(verifier, requestOf(headers, body), 0).kind).toBe('valid')
  const cost = leastMs(() => verify(verifier, requestOf(headers, body), 0))
  expect(cost / turnMs()).toBeLessThan(2)
})
