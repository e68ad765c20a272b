import { createHash, createHmac } from 'node:crypto'

import { expect, test } from 'vitest'

import { handshakeBefore } from './handshake.ts'
import { VerifierInput } from './presets/presets.ts'
import type { SignedRequest, Verdict } from './request/signed-request.ts'
import { compileVerifier, verify } from './verify.ts'

const current = 'the-secret'
const X = VerifierInput.parse({ preset: 'x' })
const BRAINTREE = VerifierInput.parse({
  preset: 'braintree',
  signature: { signatureKey: 'pub' },
})
const MISMATCH = { kind: 'rejected', reason: 'signature_mismatch' }

function requestOf(change: Partial<SignedRequest>): SignedRequest {
  const empty = { method: 'POST', url: 'https://in.test/a', path: '/a', query: '', headers: {} }
  return { ...empty, body: Buffer.alloc(0), remoteIp: '', ...change }
}

function verdictOf(config: typeof X, change: Partial<SignedRequest>): Verdict {
  return verify(compileVerifier(config, { current }), requestOf(change), 0)
}

/** The answer to anybody who sends a challenge. */
function answerOf(kind: 'x' | 'braintree', config: typeof X, query: string): string {
  const action = handshakeBefore(kind, requestOf({ method: 'GET', query }), config, { current })
  if (action?.kind !== 'answer') throw new Error('The challenge was not answered')
  return action.answer.body
}

test.each(['1', 'true', 'null', 'hello-world_123', 'a'.repeat(128)])(
  'x: the answer to the challenge %s signs no event',
  (token) => {
    const { response_token } = JSON.parse(answerOf('x', X, `crc_token=${token}`))
    const headers = { 'x-twitter-webhooks-signature': response_token }
    expect(verdictOf(X, { headers, body: Buffer.from(token) })).toEqual(MISMATCH)
  },
)

test('x: an event is taken, also a short one', () => {
  for (const body of ['{}', '{"for_user_id":"1","tweet_create_events":[{"id":1}]}']) {
    const mac = createHmac('sha256', current).update(body).digest('base64')
    const headers = { 'x-twitter-webhooks-signature': `sha256=${mac}` }
    expect(verdictOf(X, { headers, body: Buffer.from(body) }).kind).toBe('valid')
  }
})

test.each(['0123456789abcdef0123', 'a'.repeat(32)])(
  'braintree: the answer to the challenge %s signs no notification',
  (challenge) => {
    const signature = answerOf('braintree', BRAINTREE, `bt_challenge=${challenge}`)
    for (const payloads of [[challenge], ['other', challenge]]) {
      const fields = [['bt_signature', signature], ...payloads.map((text) => ['bt_payload', text])]
      const body = Buffer.from(new URLSearchParams(fields).toString())
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      expect(verdictOf(BRAINTREE, { headers, body }).kind).toBe('rejected')
    }
  },
)

test('braintree: a notification is taken', () => {
  const payload = Buffer.from('<notification><kind>check</kind></notification>').toString('base64')
  const key = createHash('sha1').update(current).digest()
  const signature = `pub|${createHmac('sha1', key).update(payload).digest('hex')}`
  const body = new URLSearchParams({ bt_signature: signature, bt_payload: payload }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  expect(verdictOf(BRAINTREE, { headers, body: Buffer.from(body) }).kind).toBe('valid')
})
