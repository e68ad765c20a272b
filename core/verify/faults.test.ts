import { generateKeyPairSync } from 'node:crypto'

import { expect, test } from 'vitest'

import { splitSecrets } from './config/secrets.ts'
import { faultsOf } from './faults.ts'
import { listPresets, VerifierInput } from './presets/presets.ts'

function pathsOf(input: Record<string, unknown>): string[] {
  const { config, secrets } = splitSecrets(VerifierInput.parse(input))
  const slots = { current: secrets.current, members: secrets.members }
  return faultsOf(config, slots).map(({ path }) => path.join('.'))
}

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const WHPK = `whpk_${KEY}`
const ed25519 = generateKeyPairSync('ed25519').publicKey
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
const p256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey
const pem = (key: typeof rsa): string => key.export({ type: 'spki', format: 'pem' })
const jwk = (key: typeof rsa): object => key.export({ format: 'jwk' })

const STANDARD = listPresets()
  .filter(({ type }) => type === 'standard_webhooks')
  .map(({ preset }) => preset)

test.each(STANDARD)(
  '%s: a secret in base64 is taken with whsec_, without it and with v1, before it',
  (preset) => {
    for (const secret of [KEY, `whsec_${KEY}`, `v1,whsec_${KEY}`, ` whsec_${KEY}\n`]) {
      expect(pathsOf({ preset, secret })).toEqual([])
    }
  },
)

const hmac = (members: object): Record<string, unknown> => ({
  type: 'hmac',
  secret: 's',
  signature: { names: ['x-sig'], encoding: 'hex' },
  ...members,
})
const signature = (members: object): Record<string, unknown> =>
  hmac({ signature: { names: ['x-sig'], encoding: 'hex', ...members } })
const jwt = (members: object): Record<string, unknown> => ({
  type: 'jwt',
  token: { in: 'header', name: 'x-token' },
  algorithms: ['RS256'],
  ...members,
})
const token = (name: string, place = 'header', secret = 's'): Record<string, unknown> => ({
  type: 'shared_token',
  secret,
  token: { in: place, name },
})
const inline = (key: object, algorithms = ['RS256']): Record<string, unknown> =>
  jwt({ algorithms, keySource: { kind: 'inline', keys: [key] } })

const FAULTY: [why: string, input: Record<string, unknown>, path: string][] = [
  ['no base64 behind whsec_', { preset: 'standardWebhooks', secret: 'whsec_!!!' }, 'secret'],
  ['nothing behind whsec_', { preset: 'standardWebhooks', secret: 'whsec_' }, 'secret'],
  ['a quoted secret', { preset: 'standardWebhooks', secret: '"whsec_MDEyMw=="' }, 'secret'],
  ['a quoted secret that may be text', { preset: 'openai', secret: "'whsec_MDEyMw=='" }, 'secret'],
  ['base64url behind whsec_', { preset: 'svix', secret: 'whsec_a-_b' }, 'secret'],
  ['base64 cut short', { preset: 'svix', secret: 'whsec_MDEyM' }, 'secret'],
  ['no base64 where a scheme wants it', { preset: 'airtable', secret: 'not base64!' }, 'secret'],
  ['no hex where a scheme wants it', { preset: 'adyen', secret: 'xyz' }, 'secret'],
  ['half a byte of hex', { preset: 'adyenPlatform', secret: 'abc' }, 'secret'],
  ['a line break in a secret', { preset: 'github', secret: 'one\ntwo' }, 'secret'],
  ['a NUL in a password', { type: 'basic_auth', username: 'u', secret: 'a\0b' }, 'secret'],
  ['no secret', { preset: 'github' }, 'secret'],
  ['no secret of a token', { preset: 'gitlab' }, 'secret'],
  ['no password', { preset: 'postmark', username: 'u' }, 'secret'],
  ['no secret of a JWT', jwt({ algorithms: ['HS256'] }), 'secret'],
  ['no secret of Plaid', { preset: 'plaid', keySource: { clientId: 'c' } }, 'secret'],
  [
    'a control character in a user name',
    { type: 'basic_auth', username: 'a\tb', secret: 's' },
    'username',
  ],
  ['no member of a preset', { preset: 'braintree', secret: 's' }, 'signature.signatureKey'],
  ['no webhook id of PayPal', { preset: 'paypal' }, 'params.webhookId'],
  ['no audience of Pub/Sub', { preset: 'pubSub', claims: { email: 'a@b' } }, 'audience'],
  ['no account of Pub/Sub', { preset: 'pubSub', audience: ['a'] }, 'claims.email'],
  ['no issuer of Entra ID', { preset: 'eventGridEntra', audience: ['a'] }, 'issuer'],
  ['no keys of a preset', { preset: 'discord' }, 'publicKeys'],
  ['a key of another kind', { preset: 'discord', publicKeys: [pem(rsa)] }, 'publicKeys.0'],
  ['a key of another curve', { preset: 'sendgrid', publicKeys: [pem(ed25519)] }, 'publicKeys.0'],
  ['a key that is none', { preset: 'kick', publicKeys: [pem(rsa), 'abc'] }, 'publicKeys.1'],
  [
    '31 bytes of an Ed25519 key',
    { preset: 'telnyx', publicKeys: ['ab'.repeat(31)] },
    'publicKeys.0',
  ],
  ['a public key without whpk_', { preset: 'svix', publicKeys: [KEY] }, 'publicKeys.0'],
  [
    'a second whpk_ of 3 bytes',
    { preset: 'svix', publicKeys: [WHPK, 'whpk_AAAA'] },
    'publicKeys.1',
  ],
  ['a broken PEM', { preset: 'kick', publicKeys: ['-----BEGIN PUBLIC KEY-----'] }, 'publicKeys.0'],
  [
    'an HS algorithm with public keys',
    jwt({ algorithms: ['HS256'], keySource: { kind: 'jwks', url: 'https://a.test/' } }),
    'algorithms',
  ],
  ['an RS algorithm with a secret', jwt({ secret: 's' }), 'algorithms'],
  [
    'Plaid without ES256',
    { preset: 'plaid', secret: 's', algorithms: ['RS256'], keySource: { clientId: 'c' } },
    'algorithms',
  ],
  ['a JWK that is none', inline({ kty: 'RSA' }), 'keySource.keys.0'],
  ['a JWK for another algorithm', inline(jwk(p256)), 'keySource.keys.0'],
  ['a JWK that names another algorithm', inline({ ...jwk(rsa), alg: 'PS256' }), 'keySource.keys.0'],
  ['a JWK for encryption', inline({ ...jwk(rsa), use: 'enc' }), 'keySource.keys.0'],
  ['a JWK for wrapping keys', inline({ ...jwk(rsa), key_ops: ['wrapKey'] }), 'keySource.keys.0'],
  ['a JWK of another curve', inline(jwk(p256), ['ES384']), 'keySource.keys.0'],
  [
    'a JWKS with credentials',
    jwt({ keySource: { kind: 'jwks', url: 'https://u:p@a.test/' } }),
    'keySource.url',
  ],
  [
    'blanks around an issuer',
    jwt({ issuer: ['a '], keySource: { kind: 'jwks', url: 'https://a.test/' } }),
    'issuer.0',
  ],
  ['a header name with a colon', signature({ names: ['x-sig', 'x:sig'] }), 'signature.names.1'],
  ['a header name with a blank', token('x token'), 'token.name'],
  ['a header name that is not ASCII', token('x-tökén'), 'token.name'],
  ['__proto__ as a header', token('__proto__'), 'token.name'],
  ['a family of headers without a name', signature({ names: ['*'] }), 'signature.names.0'],
  [
    'a header prefix that is none',
    { preset: 'svix', secret: KEY, headerPrefixes: ['a b-'] },
    'headerPrefixes.0',
  ],
  ['a JSON path without a name', token('[]', 'json'), 'token.name'],
  [
    'every element of a signature',
    signature({ in: 'json', names: ['a[*].b'] }),
    'signature.names.0',
  ],
  ['blanks around a query field', token(' token', 'query'), 'token.name'],
  [
    'a time in a signature that is one value',
    hmac({ timestamp: { in: 'signature', format: 'unix' } }),
    'timestamp.in',
  ],
  [
    'a time without a name',
    hmac({ timestamp: { in: 'header', format: 'unix' } }),
    'timestamp.name',
  ],
  [
    'a time under a name that is none',
    hmac({ timestamp: { in: 'header', name: 'x y', format: 'unix' } }),
    'timestamp.name',
  ],
  ['{timestamp} without one', hmac({ content: '{timestamp}.{body}' }), 'timestamp'],
  ['{id} without one', hmac({ content: ['{body}', '{id}.{body}'] }), 'id'],
  ['{signedHeaders} without any', hmac({ content: '{signedHeaders}{body}' }), 'signedHeaders'],
  ['an unknown placeholder', hmac({ content: '{bodyy}' }), 'content'],
  ['{param.x} without it', hmac({ content: '{param.x}{body}' }), 'params.x'],
  ['{signature.x} of no pairs', hmac({ content: '{signature.h}{body}' }), 'content'],
  ['{header.x} that is none', hmac({ content: '{header.x y}{body}' }), 'content'],
  ['{secret} in a MAC', hmac({ content: '{secret}{body}' }), 'content'],
  ['a hash without the secret', hmac({ construction: 'hash' }), 'content'],
  [
    'a separator inside the prefix',
    signature({ prefix: 'v1,', itemSeparator: ',' }),
    'signature.prefix',
  ],
  ['a prefix that begins with a blank', signature({ prefix: ' v1=' }), 'signature.prefix'],
  [
    'one separator for two things',
    signature({ format: 'pairs', itemSeparator: '=' }),
    'signature.keySeparator',
  ],
  [
    'a separator inside a key',
    signature({ format: 'pairs', signatureKey: 'a=b' }),
    'signature.signatureKey',
  ],
  [
    'a signature under the key of its time',
    hmac({
      signature: { names: ['x'], encoding: 'hex', format: 'pairs', signatureKey: 't' },
      timestamp: { in: 'signature', format: 'unix' },
    }),
    'signature.signatureKey',
  ],
  [
    'signed headers in a signature of one value',
    hmac({
      content: '{signedHeaders}',
      signedHeaders: { in: 'signature', name: 'h', separator: ' ', render: 'values', joiner: '.' },
    }),
    'signedHeaders.in',
  ],
  [
    'a required header with blanks',
    hmac({ requiredHeaders: { 'x-v': ' 1' } }),
    'requiredHeaders.x-v',
  ],
  [
    'a parameter with a line break',
    { preset: 'paypal', params: { webhookId: 'W\n' } },
    'params.webhookId',
  ],
  ['a blank in a signed URL', { preset: 'square', secret: 's', url: 'https://a.test/ b' }, 'url'],
  [
    'an ARN of something else',
    { preset: 'awsSns', topicArns: ['arn:aws:s3:::bucket'] },
    'topicArns.0',
  ],
  [
    'an ARN of all topics',
    { preset: 'awsSns', topicArns: ['arn:aws:sns:eu-west-1:1:*'] },
    'topicArns.0',
  ],
  [
    'a member of all_of without its secret',
    { type: 'all_of', verifiers: [{ preset: 'github', secret: 's' }, { preset: 'adyen' }] },
    'verifiers.1.secret',
  ],
]

test.each(FAULTY)('%s is a fault of that member', (_why, input, path) => {
  expect(pathsOf(input)).toEqual([path])
})

const USABLE: [why: string, input: Record<string, unknown>][] = [
  ['a secret that Asana hands over', { preset: 'asana' }],
  ['a secret that Notion hands over', { preset: 'notion' }],
  ['quotes that somebody chose', { preset: 'github', secret: '"s"' }],
  ['a token in every element', { preset: 'graph', secret: 's' }],
  ['a numbered family of headers', { preset: 'docusign', secret: 's' }],
  ['an Ed25519 key in hex', { preset: 'discord', publicKeys: ['ab'.repeat(32)] }],
  ['an Ed25519 key of Standard Webhooks', { preset: 'svix', publicKeys: [WHPK] }],
  ['keys without their kind in the JWK', inline(jwk(rsa), ['PS256', 'RS256'])],
  ['a key of Ed25519 as a JWK', inline(jwk(ed25519), ['EdDSA'])],
  [
    'an SNS topic',
    { preset: 'awsSns', topicArns: ['arn:aws-cn:sns:cn-north-1:123456789012:a_b-c'] },
  ],
  ['a secret in another script', { preset: 'github', secret: 'geheimnis-ü' }],
]

test.each(USABLE)('%s is no fault', (_why, input) => {
  expect(pathsOf(input)).toEqual([])
})
