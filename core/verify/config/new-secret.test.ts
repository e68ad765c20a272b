import { expect, test } from 'vitest'

import { VerifierInput } from '../presets/presets.ts'
import { compileVerifier } from '../verify.ts'
import { newSecret } from './new-secret.ts'
import { acceptsSecret, VerifierConfig } from './verifier-config.ts'

const hmac = { type: 'hmac', signature: { names: ['x-sig'], encoding: 'hex' } }
const jwt = { type: 'jwt', token: { in: 'header', name: 'authorization' } }

test.for<[name: string, config: object, form: RegExp]>([
  ['Standard Webhooks', { type: 'standard_webhooks' }, /^whsec_[A-Za-z0-9+/]{43}=$/],
  ['OpenAI', { preset: 'openai' }, /^whsec_[A-Za-z0-9+/]{43}=$/],
  ['Polar', { preset: 'polar' }, /^[A-Za-z0-9_-]{43}$/],
  ['an HMAC over text', hmac, /^[A-Za-z0-9_-]{43}$/],
  ['an HMAC of base64', { ...hmac, secretEncoding: 'base64' }, /^[A-Za-z0-9+/]{43}=$/],
  ['an HMAC of hex', { ...hmac, secretEncoding: 'hex' }, /^[0-9a-f]{64}$/],
  ['Braintree', { ...hmac, secretEncoding: 'sha1' }, /^[A-Za-z0-9_-]{43}$/],
  ['Adyen', { preset: 'adyen' }, /^[0-9a-f]{64}$/],
  ['Twilio', { preset: 'twilio' }, /^[A-Za-z0-9_-]{43}$/],
  ['Telegram', { preset: 'telegram' }, /^[A-Za-z0-9_-]{1,256}$/],
  ['basic auth', { type: 'basic_auth', username: 'me' }, /^[A-Za-z0-9_-]{43}$/],
  ['a JSON Web Token', { ...jwt, algorithms: ['HS512'] }, /^[A-Za-z0-9_-]{64,}$/],
])('newSecret() makes a secret that the verifier of %s can use', ([, input, form]) => {
  const config = VerifierInput.parse(input)
  const secret = newSecret(config)
  expect(secret).toMatch(form)
  expect(newSecret(config)).not.toBe(secret)
  expect(acceptsSecret(config)).toBe(true)
  expect(compileVerifier(config, { current: secret }).fault).toBeUndefined()
})

test.for<[name: string, config: object]>([
  ['none', { type: 'none' }],
  ['ip_allow_list', { type: 'ip_allow_list', cidrs: ['192.0.2.0/24'] }],
  ['aws_sns', { type: 'aws_sns', topicArns: ['arn:aws:sns:us-east-1:1:a'] }],
  [
    'a secret that is an account',
    {
      ...jwt,
      algorithms: ['ES256'],
      keySource: { kind: 'plaid', environment: 'sandbox', clientId: 'c' },
    },
  ],
])('newSecret() makes none for %s', ([, config]) => {
  expect(newSecret(VerifierConfig.parse(config))).toBeUndefined()
})
