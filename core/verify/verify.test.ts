import { createHash, createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { crc32 } from 'node:zlib'

import { describe, expect, test } from 'vitest'

import { splitSecrets } from './config/secrets.ts'
import { VerifierInput } from './presets/presets.ts'
import type {
  KeyAnswer,
  KeyLookup,
  RejectionReason,
  SignedRequest,
} from './request/signed-request.ts'
import { compileVerifier, verify } from './verify.ts'

const NOW_SECONDS = 1_760_000_000
const NOW_MS = NOW_SECONDS * 1000
const BODY = '{"type":"invoice.paid"}'

type Change = Partial<Omit<SignedRequest, 'body'>> & { body?: string | Buffer }

function requestWith(change: Change): SignedRequest {
  const query = change.query ?? ''
  return {
    method: 'POST',
    url: `https://in.test/abc${query === '' ? '' : `?${query}`}`,
    path: '',
    query,
    headers: {},
    remoteIp: '203.0.113.7',
    ...change,
    body: Buffer.from(change.body ?? BODY),
  }
}

function outcome(
  config: Record<string, unknown>,
  change: Change,
  options: { previous?: string; keys?: KeyLookup; nowMs?: number } = {},
): string {
  const split = splitSecrets(VerifierInput.parse(config))
  const slots = { ...split.secrets, current: split.secrets.current, previous: options.previous }
  const compiled = compileVerifier(split.config, slots)
  const verdict = verify(compiled, requestWith(change), options.nowMs ?? NOW_MS, options.keys)
  if (verdict.kind === 'valid') return verdict.slot === null ? 'valid' : `valid:${verdict.slot}`
  return verdict.kind === 'rejected' ? verdict.reason : verdict.kind
}

function hmac(algorithm: string, key: string | Buffer, ...parts: (string | Buffer)[]): Buffer {
  const mac = createHmac(algorithm, key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

type Row = [why: string, change: Change, expected: RejectionReason | `valid${string}`]

const ts = String(NOW_SECONDS)

describe('standard_webhooks', () => {
  const key = Buffer.from('0123456789abcdef0123456789abcdef')
  const config = { type: 'standard_webhooks', secret: `whsec_${key.toString('base64')}` }
  const signature = (id: string, at: string, body = BODY): string =>
    `v1,${hmac('sha256', key, `${id}.${at}.`, body).toString('base64')}`
  const headers = (over: Record<string, string | undefined> = {}) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': ts,
    'webhook-signature': signature('msg_1', ts),
    ...over,
  })
  const late = String(NOW_SECONDS - 301)
  const rows: Row[] = [
    ['everything in place', { headers: headers() }, 'valid:current'],
    [
      'no signature',
      { headers: headers({ 'webhook-signature': undefined }) },
      'missing_signature_header',
    ],
    [
      'a blank signature',
      { headers: headers({ 'webhook-signature': '  ' }) },
      'missing_signature_header',
    ],
    ['nothing at all', { headers: {} }, 'missing_signature_header'],
    ['no id', { headers: headers({ 'webhook-id': undefined }) }, 'missing_id_header'],
    [
      'no id and no time',
      { headers: headers({ 'webhook-id': '', 'webhook-timestamp': '' }) },
      'missing_id_header',
    ],
    [
      'no time',
      { headers: headers({ 'webhook-timestamp': undefined }) },
      'missing_timestamp_header',
    ],
    [
      'a signature without version',
      { headers: headers({ 'webhook-signature': 'abc' }) },
      'malformed_signature_header',
    ],
    [
      'a bad signature and a bad time',
      { headers: headers({ 'webhook-signature': 'v1,x', 'webhook-timestamp': 'x' }) },
      'malformed_signature_header',
    ],
    [
      'a time in words',
      { headers: headers({ 'webhook-timestamp': 'soon' }) },
      'malformed_timestamp',
    ],
    [
      'a time with a tail',
      { headers: headers({ 'webhook-timestamp': `${ts}x` }) },
      'malformed_timestamp',
    ],
    [
      'a time with a sign',
      { headers: headers({ 'webhook-timestamp': `+${ts}` }) },
      'malformed_timestamp',
    ],
    [
      'two times',
      { headers: headers({ 'webhook-timestamp': `${ts}, ${ts}` }) },
      'malformed_timestamp',
    ],
    [
      'a late time, rightly signed',
      {
        headers: headers({
          'webhook-timestamp': late,
          'webhook-signature': signature('msg_1', late),
        }),
      },
      'timestamp_out_of_tolerance',
    ],
    [
      'a late time, wrongly signed',
      { headers: headers({ 'webhook-timestamp': late }) },
      'signature_mismatch',
    ],
    ['another body', { headers: headers(), body: '{}' }, 'signature_mismatch'],
    [
      'a border moved by a full stop in the id',
      { headers: headers({ 'webhook-id': 'msg.1', 'webhook-signature': signature('msg.1', ts) }) },
      'signature_mismatch',
    ],
    [
      'the other family of headers',
      {
        headers: {
          'svix-id': 'msg_1',
          'svix-timestamp': ts,
          'svix-signature': signature('msg_1', ts),
        },
      },
      'valid:current',
    ],
    [
      'families mixed',
      {
        headers: {
          'svix-id': 'msg_1',
          'webhook-timestamp': ts,
          'svix-signature': signature('msg_1', ts),
        },
      },
      'missing_timestamp_header',
    ],
  ]
  test.each(rows)('%s', (_why, change, expected) => {
    expect(outcome(config, change)).toBe(expected)
  })

  test('the vector of the reference library verifies', () => {
    const published = {
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
      body: '{"test": 2432232314}',
    }
    const secret = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const nowMs = 1_614_265_330_000
    expect(outcome({ type: 'standard_webhooks', secret }, published, { nowMs })).toBe(
      'valid:current',
    )
  })

  test('v1a verifies with a public key, beside a v1 that fits nothing', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    const v1a = sign(null, Buffer.from(`msg_1.${ts}.${BODY}`), privateKey).toString('base64')
    const change = {
      headers: headers({
        'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')} v1a,${v1a}`,
      }),
    }
    const asymmetric = { type: 'standard_webhooks', publicKeys: [`whpk_${raw.toString('base64')}`] }
    expect(outcome(asymmetric, change)).toBe('valid')
    expect(outcome(asymmetric, { ...change, body: '{}' })).toBe('signature_mismatch')
    expect(outcome(config, change)).toBe('signature_mismatch')
  })

  test('openai reads a secret without whsec_ as text', () => {
    const change = {
      headers: headers({
        'webhook-signature': `v1,${hmac('sha256', 'plain', `msg_1.${ts}.`, BODY).toString('base64')}`,
      }),
    }
    expect(outcome({ preset: 'openai', secret: 'plain' }, change)).toBe('valid:current')
    expect(outcome({ ...config, preset: 'openai' }, { headers: headers() })).toBe('valid:current')
  })
})

describe('hmac', () => {
  const secret = 'whsec_c2VjcmV0'
  const stripe = { preset: 'stripe', secret }
  const v1 = (at: string, key = secret, body: string | Buffer = BODY): string =>
    `v1=${hmac('sha256', key, `${at}.`, body).toString('hex')}`
  const late = String(NOW_SECONDS - 301)
  const early = String(NOW_SECONDS + 301)
  const rows: Row[] = [
    ['whsec_ of Stripe is not decoded', stripeHeader(`t=${ts},${v1(ts)}`), 'valid:current'],
    ['spaces after the comma', stripeHeader(`t=${ts}, ${v1(ts)}`), 'valid:current'],
    ['no header', { headers: {} }, 'missing_signature_header'],
    ['no time', stripeHeader(v1(ts)), 'missing_timestamp_header'],
    ['a blank time', stripeHeader(`t=,${v1(ts)}`), 'missing_timestamp_header'],
    ['garbage', stripeHeader('garbage'), 'malformed_signature_header'],
    [
      'two headers joined',
      stripeHeader(`t=${ts},${v1(ts)}, t=${ts},${v1(ts)}`),
      'malformed_signature_header',
    ],
    ['a time of letters', stripeHeader(`t=abc,${v1('abc')}`), 'malformed_timestamp'],
    ['a time with an exponent', stripeHeader(`t=1e9,${v1('1e9')}`), 'malformed_timestamp'],
    ['late', stripeHeader(`t=${late},${v1(late)}`), 'timestamp_out_of_tolerance'],
    ['early', stripeHeader(`t=${early},${v1(early)}`), 'timestamp_out_of_tolerance'],
    ['late and forged', stripeHeader(`t=${late},${v1(late, 'other')}`), 'signature_mismatch'],
    ['another secret', stripeHeader(`t=${ts},${v1(ts, 'other')}`), 'signature_mismatch'],
    [
      'one byte short',
      stripeHeader(`t=${ts},${v1(ts).slice(0, -2)}`),
      'malformed_signature_header',
    ],
  ]
  test.each(rows)('stripe: %s', (_why, change, expected) => {
    expect(outcome(stripe, change)).toBe(expected)
  })

  test('the key of the time may be named by the timestamp', () => {
    const config = {
      type: 'hmac',
      secret,
      signature: { names: ['X-Sig'], format: 'pairs', encoding: 'hex', signatureKey: 's' },
      content: '{timestamp}.{body}',
      timestamp: { in: 'signature', name: 'at', format: 'unix' },
    }
    const value = hmac('sha256', secret, `${ts}.`, BODY).toString('hex')
    expect(outcome(config, { headers: { 'x-sig': `at=${ts},s=${value}` } })).toBe('valid:current')
    expect(outcome(config, { headers: { 'x-sig': `s=${value}` } })).toBe('missing_timestamp_header')
  })

  const bodies: [string, Buffer][] = [
    ['invalid UTF-8', Buffer.from([0xff, 0xfe, 0xc3, 0x28])],
    ['a byte order mark', Buffer.from('\ufeff{"a":1}')],
    ['CRLF', Buffer.from('{"a":1,\r\n"b":2}\r\n')],
    ['a number with a trailing zero', Buffer.from('{"amount":1.50}')],
    ['letters beyond ASCII', Buffer.from('{"name":"Zoë 東京 🎉"}')],
    ['nothing', Buffer.alloc(0)],
  ]
  test.each(bodies)('github: a body of %s is verified byte for byte', (_name, body) => {
    const value = `sha256=${hmac('sha256', secret, body).toString('hex')}`
    const headers = { 'x-hub-signature-256': value }
    expect(outcome({ preset: 'github', secret }, { headers, body })).toBe('valid:current')
    const other = Buffer.concat([body, Buffer.from(' ')])
    expect(outcome({ preset: 'github', secret }, { headers, body: other })).toBe(
      'signature_mismatch',
    )
  })

  test('gitea: an empty signature header is a missing one', () => {
    const change = { headers: { 'x-gitea-signature': '' } }
    expect(outcome({ preset: 'gitea', secret }, change)).toBe('missing_signature_header')
  })

  test('gitea: payload of a form or a GET verifies, but a signed query vouches for no body', () => {
    const headers = { 'x-gitea-signature': hmac('sha256', secret, BODY).toString('hex') }
    const query = `payload=${encodeURIComponent(BODY)}`
    const gitea = { preset: 'gitea', secret }
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
    expect(outcome(gitea, { headers: form, body: query })).toBe('valid:current')
    expect(outcome(gitea, { headers, query, method: 'GET', body: '' })).toBe('valid:current')
    expect(outcome(gitea, { headers, query, body: '{"forged":true}' })).toBe('signature_mismatch')
    const empty = { 'x-gitea-signature': hmac('sha256', secret, '').toString('hex') }
    expect(outcome(gitea, { headers: empty, body: '{"forged":true}' })).toBe('signature_mismatch')
  })

  test('a time that the signature does not cover is not enforced', () => {
    const config = {
      preset: 'sentry',
      secret,
      timestamp: {
        in: 'header',
        name: 'sentry-hook-timestamp',
        format: 'unix',
        toleranceSeconds: 60,
      },
    }
    const value = hmac('sha256', secret, BODY).toString('hex')
    const headers = { 'sentry-hook-signature': value, 'sentry-hook-timestamp': '1' }
    expect(outcome(config, { headers })).toBe('valid:current')
  })

  test('twitch: a missing id is a mismatch, for missing_id_header is of Standard Webhooks', () => {
    const at = new Date(NOW_MS).toISOString()
    const value = `sha256=${hmac('sha256', secret, `id${at}`, BODY).toString('hex')}`
    const headers = {
      'twitch-eventsub-message-signature': value,
      'twitch-eventsub-message-timestamp': at,
    }
    expect(outcome({ preset: 'twitch', secret }, { headers })).toBe('signature_mismatch')
    const withId = { ...headers, 'twitch-eventsub-message-id': 'id' }
    expect(outcome({ preset: 'twitch', secret }, { headers: withId })).toBe('valid:current')
  })

  test('box: version and algorithm must be known, and escaped bodies verify', () => {
    const at = '2025-10-09T08:53:20Z'
    const body = '{"name":"é"}'
    const value = hmac('sha256', secret, '{"name":"\\u00e9"}', at).toString('base64')
    const headers = {
      'box-signature-secondary': value,
      'box-delivery-timestamp': at,
      'box-signature-version': '1',
      'box-signature-algorithm': 'HmacSHA256',
    }
    const box = { preset: 'box', secret }
    expect(outcome(box, { headers, body })).toBe('valid:current')
    const other = { ...headers, 'box-signature-version': '2' }
    expect(outcome(box, { headers: other, body })).toBe('unsupported_verifier')
  })

  test('mailgun: signature, time and token come from the body, and an old time is no fault', () => {
    const sealed = (over: Record<string, string> = {}): Change => ({
      body: JSON.stringify({
        signature: {
          timestamp: '1',
          token: 'tok',
          signature: hmac('sha256', secret, '1tok').toString('hex'),
          ...over,
        },
      }),
    })
    const mailgun = { preset: 'mailgun', secret }
    expect(outcome(mailgun, sealed())).toBe('valid:current')
    expect(outcome(mailgun, sealed({ token: 'other' }))).toBe('signature_mismatch')
    expect(outcome(mailgun, sealed({ timestamp: 'x' }))).toBe('malformed_timestamp')
    expect(outcome(mailgun, sealed({ timestamp: '' }))).toBe('missing_timestamp_header')
    expect(outcome(mailgun, { body: 'not json' })).toBe('missing_signature_header')
  })

  test('hubspot: the URL is the public one, an override or its unescaped spelling', () => {
    const at = String(NOW_MS)
    const headersFor = (url: string) => ({
      'x-hubspot-request-timestamp': at,
      'x-hubspot-signature-v3': hmac('sha256', secret, `POST${url}${BODY}${at}`).toString('base64'),
    })
    const config = { preset: 'hubspotV3', secret }
    expect(outcome(config, { headers: headersFor('https://in.test/abc') })).toBe('valid:current')
    const query = 'to=a%40b%3Ac'
    const headers = headersFor('https://in.test/abc?to=a@b:c')
    expect(outcome(config, { headers, query })).toBe('valid:current')
    const override = { ...config, url: 'https://hooks.shop.test/x' }
    const moved = headersFor('https://hooks.shop.test/x?a=1')
    expect(outcome(override, { headers: moved, query: 'a=1' })).toBe('valid:current')
    expect(outcome(override, { headers: headersFor('https://in.test/abc') })).toBe(
      'signature_mismatch',
    )
  })

  test('recurly, airtable, trello, mandrill, coinbase and braintree verify in their own ways', () => {
    const hex = (key: string | Buffer, ...parts: string[]) =>
      hmac('sha256', key, ...parts).toString('hex')
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const at = String(NOW_MS)
    const payload = Buffer.from('<kind/>').toString('base64')
    const braintreeKey = createHash('sha1').update(secret).digest()
    const listed = `${ts}.x-a x-b.1.2.${BODY}`
    const cases: [Record<string, unknown>, Change][] = [
      [
        { preset: 'recurly' },
        {
          headers: {
            'recurly-signature': `${at},${'0'.repeat(64)},${hex(secret, `${at}.`, BODY)}`,
          },
        },
      ],
      [
        { preset: 'airtable', secret: 'c2VjcmV0' },
        { headers: { 'x-airtable-content-mac': `hmac-sha256=${hex('secret', BODY)}` } },
      ],
      [
        { preset: 'trello' },
        {
          headers: {
            'x-trello-webhook': hmac('sha1', secret, BODY, 'https://in.test/abc').toString(
              'base64',
            ),
          },
        },
      ],
      [
        { preset: 'mandrill' },
        {
          headers: {
            ...form,
            'x-mandrill-signature': hmac('sha1', secret, 'https://in.test/abca1b2').toString(
              'base64',
            ),
          },
          body: 'b=2&a=1',
        },
      ],
      [
        { preset: 'coinbaseCdp' },
        {
          headers: {
            'x-a': '1',
            'x-b': '2',
            'x-hook0-signature': `t=${ts},h=x-a x-b,v1=${hex(secret, listed)}`,
          },
        },
      ],
      [
        { preset: 'braintree', signature: { signatureKey: 'pub' } },
        {
          headers: form,
          body: new URLSearchParams({
            bt_signature: `pub|${hmac('sha1', braintreeKey, payload).toString('hex')}`,
            bt_payload: payload,
          }).toString(),
        },
      ],
    ]
    for (const [config, change] of cases) {
      expect([config['preset'], outcome({ secret, ...config }, change)]).toEqual([
        config['preset'],
        'valid:current',
      ])
    }
  })
})

describe('public_key', () => {
  const pair = generateKeyPairSync('ed25519')
  const raw = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const discord = { preset: 'discord', publicKeys: [raw.toString('hex')] }
  const headers = (over: Record<string, string | undefined> = {}) => ({
    'x-signature-timestamp': ts,
    'x-signature-ed25519': sign(null, Buffer.from(ts + BODY), pair.privateKey).toString('hex'),
    ...over,
  })
  const late = String(NOW_SECONDS - 400)
  const lateSignature = sign(null, Buffer.from(late + BODY), pair.privateKey).toString('hex')
  const rows: Row[] = [
    ['valid', { headers: headers() }, 'valid'],
    ['another body', { headers: headers(), body: '{}' }, 'signature_mismatch'],
    [
      'no signature',
      { headers: headers({ 'x-signature-ed25519': undefined }) },
      'missing_signature_header',
    ],
    [
      'no time',
      { headers: headers({ 'x-signature-timestamp': undefined }) },
      'missing_timestamp_header',
    ],
    [
      '63 bytes',
      { headers: headers({ 'x-signature-ed25519': '00'.repeat(63) }) },
      'malformed_signature_header',
    ],
    [
      'a time of letters',
      { headers: headers({ 'x-signature-timestamp': 'x' }) },
      'malformed_timestamp',
    ],
    [
      'late',
      { headers: headers({ 'x-signature-timestamp': late, 'x-signature-ed25519': lateSignature }) },
      'timestamp_out_of_tolerance',
    ],
  ]
  test.each(rows)('discord: %s', (_why, change, expected) => {
    expect(outcome(discord, change)).toBe(expected)
  })

  test('a key is read as PEM, base64 SPKI, base64 or hex', () => {
    const spki = pair.publicKey.export({ format: 'der', type: 'spki' })
    const pem = pair.publicKey.export({ format: 'pem', type: 'spki' })
    for (const text of [
      pem,
      spki.toString('base64'),
      raw.toString('base64'),
      raw.toString('hex'),
    ]) {
      expect(outcome({ preset: 'discord', publicKeys: [text] }, { headers: headers() })).toBe(
        'valid',
      )
    }
  })

  test('a key of the wrong curve is a fault of the configuration', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' })
    const text = publicKey.export({ format: 'pem', type: 'spki' })
    for (const preset of ['sendgrid', 'discord', 'kick']) {
      expect(outcome({ preset, publicKeys: [text] }, {})).toBe('verifier_misconfigured')
    }
  })

  test('paypal: the certificate comes from its own hosts, and the webhook id is part of the text', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const at = '2025-10-09T08:53:20Z'
    const text = `tid|${at}|WH-1|${crc32(BODY)}`
    const base = {
      'paypal-transmission-id': 'tid',
      'paypal-transmission-time': at,
      'paypal-transmission-sig': sign('sha256', Buffer.from(text), rsa.privateKey).toString(
        'base64',
      ),
      'paypal-cert-url': 'https://api.paypal.com/v1/notifications/certs/CERT-1',
      'paypal-auth-algo': 'SHA256withRSA',
    }
    const paypal = { preset: 'paypal', params: { webhookId: 'WH-1' } }
    const found = lookup({ key: rsa.publicKey, validFromMs: NOW_MS - 1, validToMs: NOW_MS + 1 })
    const judge = (over: Record<string, string | undefined>, keys?: KeyLookup): string =>
      outcome(paypal, { headers: { ...base, ...over } }, keys === undefined ? {} : { keys })
    expect(judge({}, found)).toBe('valid')
    expect(judge({})).toBe('needs_key')
    expect(judge({}, () => ({ kind: 'failed', why: 'status 500' }))).toBe('verifier_misconfigured')
    expect(judge({}, lookup({ key: rsa.publicKey, validToMs: NOW_MS - 1 }))).toBe(
      'signature_mismatch',
    )
    expect(judge({ 'paypal-auth-algo': 'SHA512withRSA' }, found)).toBe('unsupported_verifier')
    for (const url of [
      'https://evil.test/cert',
      'http://api.paypal.com/cert',
      'https://api.paypal.com:8443/cert',
      'https://user@api.paypal.com/cert',
      'https://api.paypal.com.evil.test/cert',
      'nonsense',
    ]) {
      expect(judge({ 'paypal-cert-url': url }, found)).toBe('malformed_signature_header')
    }
    expect(outcome({ preset: 'paypal' }, { headers: base }, { keys: found })).toBe(
      'verifier_misconfigured',
    )
  })
})

function lookup(...keys: Extract<KeyAnswer, { kind: 'found' }>['keys']): KeyLookup {
  return () => ({ kind: 'found', keys })
}

describe('jwt', () => {
  const jws = (header: object, claims: object, signer: (text: string) => Buffer): string => {
    const text = `${jwtPart(header)}.${jwtPart(claims)}`
    return `${text}.${signer(text).toString('base64url')}`
  }
  const hs256 = (claims: object, secret = 'jwt-secret'): string =>
    jws({ alg: 'HS256' }, claims, (text) => hmac('sha256', secret, text))
  const bodyHash = createHash('sha256').update(BODY).digest('hex')
  const netlify = { preset: 'netlify', secret: 'jwt-secret' }
  const good = { iss: 'netlify', sha256: bodyHash }
  const rows: Row[] = [
    ['valid', netlifyToken(hs256(good)), 'valid:current'],
    ['absent', netlifyToken(undefined), 'missing_signature_header'],
    ['two parts', netlifyToken('a.b'), 'malformed_signature_header'],
    [
      'alg none',
      netlifyToken(`${jwtPart({ alg: 'none' })}.${jwtPart(good)}.`),
      'malformed_signature_header',
    ],
    [
      'an alg not allowed',
      netlifyToken(jws({ alg: 'HS512' }, good, (text) => hmac('sha512', 'jwt-secret', text))),
      'malformed_signature_header',
    ],
    [
      'an extension',
      netlifyToken(
        jws({ alg: 'HS256', crit: ['b64'] }, good, (text) => hmac('sha256', 'jwt-secret', text)),
      ),
      'malformed_signature_header',
    ],
    ['another secret', netlifyToken(hs256(good, 'other')), 'signature_mismatch'],
    ['another issuer', netlifyToken(hs256({ ...good, iss: 'x' })), 'signature_mismatch'],
    ['another body', { ...netlifyToken(hs256(good)), body: '{}' }, 'signature_mismatch'],
    ['a time in words', netlifyToken(hs256({ ...good, exp: 'soon' })), 'malformed_timestamp'],
    [
      'expired',
      netlifyToken(hs256({ ...good, exp: NOW_SECONDS - 60 })),
      'timestamp_out_of_tolerance',
    ],
    [
      'expired within the skew',
      netlifyToken(hs256({ ...good, exp: NOW_SECONDS - 59 })),
      'valid:current',
    ],
    [
      'not yet valid',
      netlifyToken(hs256({ ...good, nbf: NOW_SECONDS + 61 })),
      'timestamp_out_of_tolerance',
    ],
  ]
  test.each(rows)('netlify: %s', (_why, change, expected) => {
    expect(outcome(netlify, change)).toBe(expected)
  })

  const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const es256 = (claims: object, kid = 'k1', key: KeyObject = ec.privateKey): string =>
    jws({ alg: 'ES256', kid }, claims, (text) =>
      sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }),
    )
  const plaid = { preset: 'plaid', secret: 'api', keySource: { clientId: 'c' } }
  const plaidClaims = { iat: NOW_SECONDS, request_body_sha256: bodyHash }

  test('plaid: iat is needed and bounded, the key is asked for by its id', () => {
    const keys = lookup({ key: ec.publicKey, kid: 'k1' })
    const judge = (claims: object): string => outcome(plaid, plaidToken(es256(claims)), { keys })
    expect(judge(plaidClaims)).toBe('valid')
    expect(judge({ request_body_sha256: bodyHash })).toBe('missing_timestamp_header')
    expect(judge({ ...plaidClaims, iat: 'now' })).toBe('malformed_timestamp')
    expect(judge({ ...plaidClaims, iat: NOW_SECONDS - 301 })).toBe('timestamp_out_of_tolerance')
    expect(judge({ ...plaidClaims, iat: NOW_SECONDS + 301 })).toBe('timestamp_out_of_tolerance')
    expect(outcome(plaid, plaidToken(es256(plaidClaims)))).toBe('needs_key')
  })

  test('pubSub: unknown key, audience and account are mismatches; shared keys need both bindings', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const claims = {
      iss: 'https://accounts.google.com',
      aud: 'me',
      email: 'a@b',
      email_verified: true,
      exp: NOW_SECONDS + 60,
    }
    const rs256 = (over: object, kid = 'g1'): Change => ({
      headers: {
        authorization: `bearer ${jws({ alg: 'RS256', kid }, { ...claims, ...over }, (text) => sign('sha256', Buffer.from(text), rsa.privateKey))}`,
      },
    })
    const config = { preset: 'pubSub', audience: ['me'], claims: { email: 'a@b' } }
    const keys = lookup({ key: rsa.publicKey, kid: 'g1' })
    expect(outcome(config, rs256({}), { keys })).toBe('valid')
    expect(outcome(config, rs256({}, 'g2'), { keys })).toBe('signature_mismatch')
    expect(outcome(config, rs256({ aud: 'you' }), { keys })).toBe('signature_mismatch')
    expect(outcome(config, rs256({ email: 'c@d' }), { keys })).toBe('signature_mismatch')
    expect(outcome(config, rs256({ email_verified: false }), { keys })).toBe('signature_mismatch')
    expect(outcome(config, { headers: { authorization: 'Basic YTpi' } }, { keys })).toBe(
      'malformed_signature_header',
    )
    expect(
      outcome(config, rs256({}), { keys: () => ({ kind: 'failed', why: 'status 500' }) }),
    ).toBe('verifier_misconfigured')
    expect(outcome({ preset: 'pubSub', audience: ['me'] }, rs256({}))).toBe(
      'verifier_misconfigured',
    )
    expect(outcome({ preset: 'eventGridEntra', audience: ['me'] }, rs256({}))).toBe(
      'verifier_misconfigured',
    )
  })

  test('a public key is never taken for a secret', () => {
    const jwk = { ...ec.publicKey.export({ format: 'jwk' }), kty: 'EC' }
    const inline = {
      type: 'jwt',
      token: { in: 'header', name: 'x-jwt' },
      keySource: { kind: 'inline', keys: [jwk] },
    }
    expect(outcome({ ...inline, algorithms: ['HS256'] }, {})).toBe('verifier_misconfigured')
    expect(outcome({ ...inline, algorithms: ['ES256'] }, { headers: { 'x-jwt': es256({}) } })).toBe(
      'valid',
    )
  })
})

describe('shared_token and basic_auth', () => {
  const gitlab = { preset: 'gitlab', secret: 'tøken' }
  const bytes = Buffer.from('tøken').toString('latin1')

  test('a token is compared whole, as bytes, after its prefix', () => {
    const judge = (value: string): string =>
      outcome(gitlab, { headers: { 'x-gitlab-token': value } })
    expect(judge(bytes)).toBe('valid:current')
    expect(judge('tøken')).toBe('signature_mismatch')
    expect(judge(bytes.slice(0, 3))).toBe('signature_mismatch')
    expect(judge(' ')).toBe('missing_signature_header')
    const bearer = {
      type: 'shared_token',
      token: { in: 'header', name: 'Authorization', prefix: 'Bearer ' },
      secret: 's',
    }
    expect(outcome(bearer, { headers: { authorization: 'bearer s' } })).toBe('valid:current')
    expect(outcome(bearer, { headers: { authorization: 's' } })).toBe('malformed_signature_header')
  })

  test('graph: every element must hold the client state', () => {
    const judge = (...states: unknown[]): string =>
      outcome(
        { preset: 'graph', secret: 's' },
        { body: JSON.stringify({ value: states.map((clientState) => ({ clientState })) }) },
      )
    expect(judge('s', 's')).toBe('valid:current')
    expect(judge('s', 'other')).toBe('signature_mismatch')
    expect(judge('s', undefined)).toBe('signature_mismatch')
    expect(judge()).toBe('missing_signature_header')
    expect(outcome({ preset: 'graph', secret: 's' }, { body: 'x' })).toBe(
      'missing_signature_header',
    )
  })

  test('basic_auth tells absent, malformed and wrong credentials apart', () => {
    const config = { type: 'basic_auth', username: 'u', secret: 'p:w' }
    const judge = (text: string, scheme = 'Basic'): string =>
      outcome(config, {
        headers: { authorization: `${scheme} ${Buffer.from(text).toString('base64')}` },
      })
    expect(judge('u:p:w')).toBe('valid:current')
    expect(judge('u:p')).toBe('signature_mismatch')
    expect(judge('x:p:w')).toBe('signature_mismatch')
    expect(judge('u')).toBe('malformed_signature_header')
    expect(judge('u:p:w', 'Bearer')).toBe('malformed_signature_header')
    expect(outcome(config, { headers: {} })).toBe('missing_signature_header')
  })
})

describe('twilio, adyen, aws_sns', () => {
  const secret = 'auth-token'

  test('twilio: port and query are signed in four spellings', () => {
    const twilio = { preset: 'twilio', secret }
    const query = "a=%20x'&b"
    for (const signedUrl of [
      `https://in.test/abc?${query}`,
      `https://in.test:443/abc?${query}`,
      "https://in.test/abc?a=%20x'&b=",
      "https://in.test:443/abc?a=%20x'&b=",
    ]) {
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': hmac('sha1', secret, `${signedUrl}k1k2`).toString('base64'),
      }
      expect(outcome(twilio, { headers, query, body: 'k=2&k=1&k=1' })).toBe('valid:current')
    }
  })

  test('twilio: a form without content type and a JSON body without its hash are no way around', () => {
    const twilio = { preset: 'twilio', secret }
    const headers = {
      'content-type': 'application/json',
      'x-twilio-signature': hmac('sha1', secret, 'https://in.test/abc').toString('base64'),
    }
    expect(outcome(twilio, { headers, body: '' })).toBe('valid:current')
    expect(outcome(twilio, { headers, body: '{"forged":true}' })).toBe('signature_mismatch')
    expect(outcome(twilio, { headers: { 'x-twilio-signature': 'x' } })).toBe(
      'malformed_signature_header',
    )
    expect(outcome(twilio, {})).toBe('missing_signature_header')
  })

  const key = '0011223344556677'
  const item = (pspReference: string, signedAs = pspReference): object => ({
    NotificationRequestItem: {
      pspReference,
      merchantAccountCode: 'M',
      merchantReference: 'R',
      amount: { value: 1130, currency: 'EUR' },
      eventCode: 'AUTHORISATION',
      success: 'true',
      additionalData: {
        hmacSignature: hmac(
          'sha256',
          Buffer.from(key, 'hex'),
          `${signedAs}::M:R:1130:EUR:AUTHORISATION:true`,
        ).toString('base64'),
      },
    },
  })

  test('adyen: one forged item spoils the batch', () => {
    const judge = (...items: object[]): string =>
      outcome(
        { preset: 'adyen', secret: key },
        { body: JSON.stringify({ notificationItems: items }) },
      )
    expect(judge(item('a'), item('b'))).toBe('valid:current')
    expect(judge(item('a'), item('b', 'a'))).toBe('signature_mismatch')
    expect(judge(item('a'), {})).toBe('missing_signature_header')
    expect(judge()).toBe('missing_signature_header')
    expect(judge({ NotificationRequestItem: { additionalData: { hmacSignature: '!' } } })).toBe(
      'malformed_signature_header',
    )
    expect(outcome({ preset: 'adyen', secret: 'not hex' }, {})).toBe('verifier_misconfigured')
  })

  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const arn = 'arn:aws:sns:eu-west-1:1:t'
  const message = (over: Record<string, unknown> = {}): Record<string, unknown> => ({
    Type: 'Notification',
    MessageId: 'm',
    TopicArn: arn,
    Message: 'hello',
    Timestamp: '2025-10-09T08:53:20.000Z',
    SignatureVersion: '2',
    SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/cert.pem',
    ...over,
  })
  const snsBody = (fields: Record<string, unknown>, order: string[], digest = 'sha256'): string => {
    const text = order.map((name) => `${name}\n${String(fields[name])}\n`).join('')
    const Signature = sign(digest, Buffer.from(text), rsa.privateKey).toString('base64')
    return JSON.stringify({ Signature, ...fields })
  }
  const NOTIFICATION = ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type']
  const judgeSns = (body: string, keys: KeyLookup = lookup({ key: rsa.publicKey })): string =>
    outcome(
      { preset: 'awsSns', topicArns: [arn] },
      { body, headers: { 'content-type': 'text/plain' } },
      { keys },
    )

  test('aws_sns: both signature versions, all three types', () => {
    expect(judgeSns(snsBody(message(), NOTIFICATION))).toBe('valid')
    expect(judgeSns(snsBody(message({ SignatureVersion: '1' }), NOTIFICATION, 'sha1'))).toBe(
      'valid',
    )
    const withSubject = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
    expect(judgeSns(snsBody(message({ Subject: 'hi' }), withSubject))).toBe('valid')
    const more = { SubscribeURL: 'https://sns.eu-west-1.amazonaws.com/?x', Token: 'tok' }
    const confirmation = [
      'Message',
      'MessageId',
      'SubscribeURL',
      'Timestamp',
      'Token',
      'TopicArn',
      'Type',
    ]
    expect(
      judgeSns(snsBody(message({ ...more, Type: 'SubscriptionConfirmation' }), confirmation)),
    ).toBe('valid')
    const farewell = message({ ...more, Type: 'UnsubscribeConfirmation' })
    expect(judgeSns(snsBody(farewell, confirmation))).toBe('valid')
    expect(
      judgeSns(
        snsBody(
          farewell,
          confirmation.filter((name) => name !== 'Token'),
        ),
      ),
    ).toBe('valid')
  })

  test('aws_sns: each way to be refused', () => {
    expect(judgeSns('not json')).toBe('missing_signature_header')
    expect(judgeSns(JSON.stringify(message()))).toBe('missing_signature_header')
    expect(judgeSns(snsBody(message({ SignatureVersion: '3' }), NOTIFICATION))).toBe(
      'unsupported_verifier',
    )
    for (const SigningCertURL of [
      'https://sns.eu-west-1.amazonaws.com.evil.test/cert.pem',
      'http://sns.eu-west-1.amazonaws.com/cert.pem',
      'https://sns.eu-west-1.amazonaws.com/cert',
      'https://s3.amazonaws.com/cert.pem',
    ]) {
      expect(judgeSns(snsBody(message({ SigningCertURL }), NOTIFICATION))).toBe(
        'malformed_signature_header',
      )
    }
    expect(judgeSns(snsBody(message({ TopicArn: 'arn:other' }), NOTIFICATION))).toBe(
      'signature_mismatch',
    )
    expect(judgeSns(snsBody(message(), NOTIFICATION).replace('hello', 'jello'))).toBe(
      'signature_mismatch',
    )
    expect(
      judgeSns(snsBody(message(), NOTIFICATION), () => ({ kind: 'failed', why: 'status 500' })),
    ).toBe('verifier_misconfigured')
    expect(judgeSns(snsBody(message(), NOTIFICATION), () => undefined)).toBe('needs_key')
  })
})

describe('none, ip_allow_list and all_of', () => {
  test('none lets everything pass', () => {
    expect(outcome({ type: 'none' }, {})).toBe('valid')
  })

  test('ip_allow_list knows ranges of both families and mapped addresses', () => {
    const config = {
      type: 'ip_allow_list',
      cidrs: ['203.0.113.0/24', '2001:db8::/32', '192.0.2.1'],
    }
    const judge = (remoteIp: string): string => outcome(config, { remoteIp })
    expect(['203.0.113.9', '::ffff:203.0.113.9', '2001:db8::1', '192.0.2.1'].map(judge)).toEqual([
      'valid',
      'valid',
      'valid',
      'valid',
    ])
    expect(['203.0.114.1', '2001:db9::1', '192.0.2.2', '', 'x'].map(judge)).toEqual(
      Array(5).fill('signature_mismatch'),
    )
  })

  test('all_of: the first failure wins, and the slot is that of a member with a secret', () => {
    const config = {
      type: 'all_of',
      verifiers: [
        { type: 'ip_allow_list', cidrs: ['203.0.113.0/24'] },
        { preset: 'github', secret: 's' },
        { type: 'basic_auth', username: 'u', secret: 'p' },
      ],
    }
    const good = {
      'x-hub-signature-256': `sha256=${hmac('sha256', 's', BODY).toString('hex')}`,
      authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
    }
    expect(outcome(config, { headers: good })).toBe('valid:current')
    expect(outcome(config, { headers: {} })).toBe('missing_signature_header')
    expect(outcome(config, { headers: {}, remoteIp: '192.0.2.1' })).toBe('signature_mismatch')
    expect(outcome(config, { headers: { ...good, authorization: 'x' } })).toBe(
      'malformed_signature_header',
    )
  })
})

describe('rotation', () => {
  const rows: [string, Record<string, unknown>, (secret: string) => Change][] = [
    [
      'hmac',
      { preset: 'github' },
      (secret) => ({
        headers: {
          'x-hub-signature-256': `sha256=${hmac('sha256', secret, BODY).toString('hex')}`,
        },
      }),
    ],
    ['shared_token', { preset: 'gitlab' }, (secret) => ({ headers: { 'x-gitlab-token': secret } })],
    [
      'basic_auth',
      { type: 'basic_auth', username: 'u' },
      (secret) => ({
        headers: { authorization: `Basic ${Buffer.from(`u:${secret}`).toString('base64')}` },
      }),
    ],
    [
      'twilio',
      { preset: 'twilio' },
      (secret) => ({
        body: '',
        headers: {
          'x-twilio-signature': hmac('sha1', secret, 'https://in.test/abc').toString('base64'),
        },
      }),
    ],
    [
      'standard_webhooks',
      { type: 'standard_webhooks' },
      (secret) => ({
        headers: {
          'webhook-id': 'm',
          'webhook-timestamp': ts,
          'webhook-signature': `v1,${hmac('sha256', Buffer.from(secret, 'base64'), `m.${ts}.`, BODY).toString('base64')}`,
        },
      }),
    ],
    [
      'jwt',
      { preset: 'netlify' },
      (secret) => {
        const claims = { iss: 'netlify', sha256: createHash('sha256').update(BODY).digest('hex') }
        const text = `${jwtPart({ alg: 'HS256' })}.${jwtPart(claims)}`
        return {
          headers: {
            'x-webhook-signature': `${text}.${hmac('sha256', secret, text).toString('base64url')}`,
          },
        }
      },
    ],
  ]
  test.each(rows)(
    '%s: both secrets verify and the verdict names which',
    (_type, config, requestSignedWith) => {
      const secret = 'bmV3IHNlY3JldA=='
      const previous = 'b2xkIHNlY3JldA=='
      const judge = (by: string, old?: string): string =>
        outcome(
          { ...config, secret },
          requestSignedWith(by),
          old === undefined ? {} : { previous: old },
        )
      expect(judge(secret, previous)).toBe('valid:current')
      expect(judge(previous, previous)).toBe('valid:previous')
      expect(judge(previous)).toBe('signature_mismatch')
      expect(judge('b3RoZXI=', previous)).toBe('signature_mismatch')
    },
  )
})

describe('compileVerifier() never throws', () => {
  const github = { type: 'hmac', signature: { names: ['x-sig'], encoding: 'hex' } }
  const rows: [string, unknown, string | undefined, RejectionReason][] = [
    ['an unknown type', { type: 'quantum' }, 's', 'unsupported_verifier'],
    ['no type', {}, 's', 'unsupported_verifier'],
    ['nothing', null, 's', 'unsupported_verifier'],
    ['an unknown algorithm', { ...github, algorithm: 'sha3' }, 's', 'unsupported_verifier'],
    [
      'an unknown key source',
      {
        type: 'jwt',
        token: { in: 'header', name: 'a' },
        algorithms: ['RS256'],
        keySource: { kind: 'dns' },
      },
      's',
      'unsupported_verifier',
    ],
    ['an unknown member', { ...github, extra: 1 }, 's', 'verifier_misconfigured'],
    ['no secret', github, undefined, 'verifier_misconfigured'],
    ['a blank secret', github, '  ', 'verifier_misconfigured'],
    ['whsec_ and nothing', { type: 'standard_webhooks' }, 'whsec_', 'verifier_misconfigured'],
    ['whsec_ and no base64', { type: 'standard_webhooks' }, 'whsec_!!!', 'verifier_misconfigured'],
    [
      'a public key that is none',
      { type: 'standard_webhooks', publicKeys: ['whpk_AAAA'] },
      undefined,
      'verifier_misconfigured',
    ],
    [
      'a secret that is no hex',
      { ...github, secretEncoding: 'hex' },
      'xyz',
      'verifier_misconfigured',
    ],
    ['an unknown placeholder', { ...github, content: '{bodi}' }, 's', 'verifier_misconfigured'],
    [
      'a placeholder of Object.prototype',
      { ...github, content: '{constructor}' },
      's',
      'verifier_misconfigured',
    ],
    [
      'no key',
      { type: 'public_key', algorithm: 'ed25519', signature: github.signature },
      undefined,
      'verifier_misconfigured',
    ],
    ['no topic', { type: 'aws_sns' }, undefined, 'verifier_misconfigured'],
  ]
  test.each(rows)('%s', (_why, config, current, reason) => {
    const compiled = compileVerifier(config, { current })
    expect(compiled.fault?.message).toBeTypeOf('string')
    expect(verify(compiled, requestWith({}), NOW_MS)).toMatchObject({ kind: 'rejected', reason })
  })

  test('a previous secret that cannot be read does not stop the current one', () => {
    const headers = {
      'x-airtable-content-mac': `hmac-sha256=${hmac('sha256', 'secret', BODY).toString('hex')}`,
    }
    expect(
      outcome({ preset: 'airtable', secret: 'c2VjcmV0' }, { headers }, { previous: '!' }),
    ).toBe('valid:current')
  })

  test('a private key is no public key', () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' })
    const config = { preset: 'discord', publicKeys: [pem] }
    expect(VerifierInput.safeParse(config).success).toBe(false)
    const stored = { ...VerifierInput.parse({ preset: 'discord' }), publicKeys: [pem] }
    expect(compileVerifier(stored, { current: undefined }).fault?.path).toEqual(['publicKeys', 0])
  })
})

function stripeHeader(value: string): Change {
  return { headers: { 'stripe-signature': value } }
}

function jwtPart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function netlifyToken(value: string | undefined): Change {
  return { headers: { 'x-webhook-signature': value } }
}

function plaidToken(value: string): Change {
  return { headers: { 'plaid-verification': value } }
}
