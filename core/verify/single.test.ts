import { createHash, createHmac } from 'node:crypto'

import { describe, expect, test } from 'vitest'

import { type HeaderPair, joinHeaders } from '../request/headers.ts'
import { splitSecrets } from './config/secrets.ts'
import { bodyAuthenticated } from './config/verifier-config.ts'
import { VerifierInput } from './presets/presets.ts'
import type { SignedRequest } from './request/signed-request.ts'
import { compileVerifier, verify } from './verify.ts'

const NOW_SECONDS = 1_760_000_000
const SECRET = 's'
const JSON_TYPE: HeaderPair = ['Content-Type', 'application/json']
const FORM_TYPE: HeaderPair = ['content-type', 'application/x-www-form-urlencoded']

function verdictOf(
  config: object,
  parts: Partial<Omit<SignedRequest, 'body'>> & { body?: string },
) {
  const { config: bare, secrets } = splitSecrets(VerifierInput.parse(config))
  const rawHeaders = parts.rawHeaders ?? []
  const query = parts.query ?? ''
  const request: SignedRequest = {
    method: 'POST',
    url: `https://in.test/abc${query === '' ? '' : `?${query}`}`,
    path: '/abc',
    remoteIp: '',
    ...parts,
    query,
    headers: joinHeaders(rawHeaders),
    rawHeaders,
    body: Buffer.from(parts.body ?? ''),
  }
  const slots = { ...secrets, current: secrets.current }
  return verify(compileVerifier(bare, slots), request, NOW_SECONDS * 1000)
}

function outcome(...args: Parameters<typeof verdictOf>): string {
  const verdict = verdictOf(...args)
  return verdict.kind === 'rejected' ? verdict.reason : verdict.kind
}

function hex(text: string, algorithm = 'sha256'): string {
  return createHmac(algorithm, SECRET).update(text).digest('hex')
}

const MALFORMED = 'malformed_signature_header'

describe('a part that a signature covers or is read from must come once', () => {
  const gitea = { preset: 'gitea', secret: SECRET }
  const good = '{"action":"opened"}'
  const evil = encodeURIComponent('{"action":"deleted"}')
  const payload = `payload=${encodeURIComponent(good)}`
  const signedForm: HeaderPair[] = [['x-gitea-signature', hex(good)], FORM_TYPE]

  test.for<[body: string, expected: string]>([
    [payload, 'valid'],
    [`&${payload}&`, 'valid'],
    [`${payload}&payload=${evil}`, MALFORMED],
    [`payload=${evil}&${payload}`, MALFORMED],
    [`${payload}&${payload}`, MALFORMED],
    [`${payload}&payloa%64=${evil}`, MALFORMED],
    [`${payload}&ref=evil`, 'signature_mismatch'],
    [`${payload}&=`, 'signature_mismatch'],
  ])('gitea: the form %s', ([body, expected]) => {
    expect(outcome(gitea, { rawHeaders: signedForm, body })).toBe(expected)
  })

  test('gitea: a payload in a multipart form, whose headers nobody has signed, is none', () => {
    const body = `--b\r\nContent-Disposition: form-data; name=payload\r\n\r\n${good}\r\n--b--`
    const multipart: HeaderPair = ['content-type', 'multipart/form-data; boundary=b']
    const headers: HeaderPair[] = [['x-gitea-signature', hex(good)], multipart]
    expect(outcome(gitea, { rawHeaders: headers, body })).toBe('signature_mismatch')
  })

  test('gitea: two payloads in a query', () => {
    const get = { rawHeaders: signedForm.slice(0, 1), method: 'GET' }
    expect(outcome(gitea, { ...get, query: payload })).toBe('valid')
    expect(outcome(gitea, { ...get, query: `${payload}&payload=${evil}` })).toBe(MALFORMED)
  })

  test('braintree: its two fields and nothing else', () => {
    const braintree = { preset: 'braintree', secret: SECRET, signature: { signatureKey: 'pub' } }
    const key = createHash('sha1').update(SECRET).digest()
    const signature = createHmac('sha1', key).update('UGF5').digest('hex')
    const body = `bt_signature=pub|${signature}&bt_payload=UGF5`
    expect(outcome(braintree, { rawHeaders: [FORM_TYPE], body })).toBe('valid')
    for (const more of ['bt_payload=RXZpbA', 'bt_signature=pub|00']) {
      expect(outcome(braintree, { rawHeaders: [FORM_TYPE], body: `${body}&${more}` })).toBe(
        MALFORMED,
      )
    }
    const extra = { rawHeaders: [FORM_TYPE], body: `${body}&kind=evil` }
    expect(outcome(braintree, extra)).toBe('signature_mismatch')
  })

  const mailgun = { preset: 'mailgun', secret: SECRET }
  const at = String(NOW_SECONDS)
  const signature = hex(`${at}token`)
  const sealed = `{"timestamp":"${at}","token":"token","signature":"${signature}"}`

  test.for<[body: string, expected: string]>([
    [`{"signature":${sealed},"event-data":{}}`, 'valid'],
    [`{"signature":${sealed},"event-data":1,"event-data":2}`, 'valid'],
    [`{"signature":{},"signature":${sealed}}`, MALFORMED],
    [String.raw`{"\u0073ignature":{},"signature":${sealed}}`, MALFORMED],
    [`{"signature":${sealed.replace('{', '{"token":"other",')}}`, MALFORMED],
    [`{"signature":${sealed.replace('{', '{"timestamp":"1",')}}`, MALFORMED],
    [`{"signature":${sealed.replace('{', '{"signature":"00",')}}`, MALFORMED],
  ])('mailgun: %s', ([body, expected]) => {
    expect(outcome(mailgun, { rawHeaders: [JSON_TYPE], body })).toBe(expected)
  })

  const routed = `timestamp=${at}&token=token&signature=${signature}`
  const routes = { preset: 'mailgunRoutes', secret: SECRET }

  test.for<[body: string, expected: string]>([
    [`${routed}&sender=a%40b.test`, 'valid'],
    [`${routed}&token=other`, MALFORMED],
    [`${routed}&timestamp=1`, MALFORMED],
    [`${routed}&signature=00`, MALFORMED],
    [routed.replace('token=token', 'token=other'), 'signature_mismatch'],
    [routed.replace('token=token&', ''), 'signature_mismatch'],
    [routed.replace(/&signature=.*/, ''), 'missing_signature_header'],
    [routed.replace(/timestamp=\d+&/, ''), 'missing_timestamp_header'],
    [routed.replace(/timestamp=\d+/, 'timestamp=x'), 'malformed_timestamp'],
    [routed.replace(/signature=../, 'signature=zz'), 'malformed_signature_header'],
  ])('mailgunRoutes: %s', ([body, expected]) => {
    expect(outcome(routes, { rawHeaders: [FORM_TYPE], body })).toBe(expected)
  })

  test('mailgunRoutes: the fields of a mail with files come as multipart, each once', () => {
    const rawHeaders: HeaderPair[] = [['content-type', 'multipart/form-data; boundary=b']]
    const part = (name: string, value: string, more = '') =>
      `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
    const parts = [
      part('timestamp', at),
      part('token', 'token'),
      part('signature', signature),
      part('attachment-1', 'hello', '; filename="a.txt"'),
    ]
    const sent = (...more: string[]) => `${[...parts, ...more].join('')}--b--\r\n`
    expect(outcome(routes, { rawHeaders, body: sent() })).toBe('valid')
    for (const twice of [
      part('token', 'other'),
      part('signature', '00', '; filename="b"'),
      part('timestamp', '1', '; filename="b"'),
    ]) {
      expect(outcome(routes, { rawHeaders, body: sent(twice) })).toBe(MALFORMED)
    }
  })

  test('mailgun: a body that nobody else would read as JSON is not read as JSON here', () => {
    const body = `{"signature":${sealed}}`
    const types: [string | undefined, string][] = [
      ['text/plain', 'valid'],
      [undefined, 'valid'],
      ['application/x-www-form-urlencoded', 'missing_signature_header'],
      ['application/octet-stream', 'missing_signature_header'],
      ['application/jsonp', 'missing_signature_header'],
    ]
    for (const [type, expected] of types) {
      const given: HeaderPair[] = type === undefined ? [] : [['content-type', type]]
      expect(outcome(mailgun, { rawHeaders: given, body })).toBe(expected)
    }
  })

  test('a header read by the first of two, or joined of two, is not read at all', () => {
    const basic = { type: 'basic_auth', username: 'u', secret: 'p' }
    const credentials: HeaderPair = ['authorization', `Basic ${btoa('u:p')}`]
    expect(outcome(basic, { rawHeaders: [credentials] })).toBe('valid')
    expect(outcome(basic, { rawHeaders: [credentials, ['Authorization', 'x']] })).toBe(MALFORMED)

    const okta = { preset: 'okta', secret: SECRET }
    const token: HeaderPair = ['Authorization', SECRET]
    expect(outcome(okta, { rawHeaders: [token] })).toBe('valid')
    expect(outcome(okta, { rawHeaders: [token, token] })).toBe(MALFORMED)

    const pagerduty = { preset: 'pagerduty', secret: SECRET }
    const signed: HeaderPair = ['x-pagerduty-signature', `v1=${hex('{}')}`]
    const rotating: HeaderPair = ['x-pagerduty-signature', `v1=${hex('{}')}, v1=${hex('')}`]
    expect(outcome(pagerduty, { rawHeaders: [rotating], body: '{}' })).toBe('valid')
    expect(outcome(pagerduty, { rawHeaders: [signed, signed], body: '{}' })).toBe(MALFORMED)

    const slack = { preset: 'slack', secret: SECRET }
    const time: HeaderPair = ['x-slack-request-timestamp', at]
    const v0: HeaderPair = ['x-slack-signature', `v0=${hex(`v0:${at}:{}`)}`]
    expect(outcome(slack, { rawHeaders: [v0, time], body: '{}' })).toBe('valid')
    expect(outcome(slack, { rawHeaders: [v0, time, time], body: '{}' })).toBe(MALFORMED)
  })

  test('standard_webhooks: a second signature, time or id, in the other family too', () => {
    const key = Buffer.alloc(32, 1)
    const standard = { preset: 'svix', secret: `whsec_${key.toString('base64')}` }
    const mac = createHmac('sha256', key).update(`msg_1.${at}.{}`).digest('base64')
    const headers: HeaderPair[] = [
      ['svix-id', 'msg_1'],
      ['svix-timestamp', at],
      ['svix-signature', `v1,${mac}`],
    ]
    const withMore = (...more: HeaderPair[]) =>
      outcome(standard, { rawHeaders: [...headers, ...more], body: '{}' })
    expect(withMore()).toBe('valid')
    expect(withMore(['webhook-id', 'msg_1'])).toBe('valid')
    expect(withMore(['webhook-id', 'msg_2'])).toBe(MALFORMED)
    expect(withMore(['svix-signature', `v1,${mac}`])).toBe(MALFORMED)
    expect(withMore(['svix-id', 'msg_1'])).toBe(MALFORMED)
  })

  test('a token in a query, a form or JSON', () => {
    const token = (place: string) => ({
      type: 'shared_token',
      token: { in: place, name: 'token' },
      secret: SECRET,
    })
    expect(outcome(token('query'), { query: 'token=s' })).toBe('valid')
    expect(outcome(token('query'), { query: 'token=s&t%6Fken=x' })).toBe(MALFORMED)
    expect(outcome(token('form'), { rawHeaders: [FORM_TYPE], body: 'token=s&a=1' })).toBe('valid')
    expect(outcome(token('form'), { rawHeaders: [FORM_TYPE], body: 'token=s&token=' })).toBe(
      MALFORMED,
    )
    const json = { rawHeaders: [JSON_TYPE], body: '{"token":"s","token":"s"}' }
    expect(outcome(token('json'), json)).toBe(MALFORMED)
    const part = '--b\r\nContent-Disposition: form-data; name=token'
    const multipart: HeaderPair = ['content-type', 'multipart/form-data; boundary=b']
    const form = (body: string) => ({ rawHeaders: [multipart], body })
    expect(outcome(token('form'), form(`${part}\r\n\r\ns\r\n--b--`))).toBe('valid')
    expect(
      outcome(token('form'), form(`${part}\r\n\r\ns\r\n${part}; filename=x\r\n\r\n\r\n--b--`)),
    ).toBe(MALFORMED)
  })

  test('graph: no element may hold the client state twice, nor the body its list', () => {
    const graph = { preset: 'sharePoint', secret: SECRET }
    const send = (body: string) => outcome(graph, { rawHeaders: [JSON_TYPE], body })
    expect(send('\uFEFF{"value":[{"clientState":"s"},{"clientState":"s"}]}')).toBe('valid')
    expect(send('{"value":[{"clientState":"x","clientState":"s"}]}')).toBe(MALFORMED)
    expect(send('{"value":[{"clientState":"x"}],"value":[{"clientState":"s"}]}')).toBe(MALFORMED)
  })

  test('adyen and aws_sns: no signed member may stand twice', () => {
    const key = Buffer.from('00ff', 'hex')
    const mac = createHmac('sha256', key).update('p:::::::').digest('base64')
    const item = `{"additionalData":{"hmacSignature":"${mac}"},"pspReference":"p"}`
    const body = (inner: string) => `{"notificationItems":[{"NotificationRequestItem":${inner}}]}`
    const adyen = (text: string) =>
      outcome({ preset: 'adyen', secret: '00ff' }, { rawHeaders: [JSON_TYPE], body: text })
    expect(adyen(body(item))).toBe('valid')
    expect(adyen(body(item.replace('{', '{"pspReference":"q",')))).toBe(MALFORMED)
    expect(adyen(body(item.replace('{', '{"amount":{"value":1,"value":2},')))).toBe(MALFORMED)

    const sns = { preset: 'awsSns', topicArns: ['arn:a'] }
    const message = (more: string) =>
      `{"Type":"Notification","TopicArn":"arn:a","SignatureVersion":"2","Signature":"aaaa",` +
      `"SigningCertURL":"https://sns.eu-west-1.amazonaws.com/c.pem"${more}}`
    const plain: HeaderPair[] = [['content-type', 'text/plain; charset=UTF-8']]
    expect(outcome(sns, { rawHeaders: plain, body: message('') })).toBe('needs_key')
    expect(outcome(sns, { rawHeaders: plain, body: message(',"Message":"a","Message":"b"') })).toBe(
      MALFORMED,
    )
  })

  test('twilio: two hashes of a body', () => {
    const hash = createHash('sha256').update('{}').digest('hex')
    const query = `bodySHA256=${hash}&bodySHA256=${hash}`
    const value = createHmac('sha1', SECRET).update(`https://in.test/abc?${query}`).digest('base64')
    const rawHeaders: HeaderPair[] = [['x-twilio-signature', value], JSON_TYPE]
    const twilio = { preset: 'twilio', secret: SECRET }
    expect(outcome(twilio, { rawHeaders, query, body: '{}' })).toBe(MALFORMED)
  })
})

test('mailgun: signed parts that are cut elsewhere are the same text, and name the same event', () => {
  const mailgun = { preset: 'mailgun', secret: SECRET }
  const at = String(NOW_SECONDS)
  const text = `${at}7token`
  const onceOf = (config: object, timestamp: string, token: unknown) => {
    const body = JSON.stringify({ signature: { timestamp, token, signature: hex(text) } })
    const verdict = verdictOf(config, { rawHeaders: [JSON_TYPE], body })
    return verdict.kind === 'valid' ? verdict.once : verdict.kind
  }
  expect(onceOf(mailgun, at, '7token')).toBe(text)
  expect(onceOf(mailgun, at.slice(0, -3), `${at.slice(-3)}7token`)).toBe(text)
  expect(onceOf(mailgun, `${at}7`, 'token')).toBe(text)
  const member = { ...mailgun, secret: SECRET }
  expect(onceOf({ type: 'all_of', verifiers: [member] }, at, '7token')).toBe(text)
  const form = `timestamp=${at.slice(0, -3)}&token=${at.slice(-3)}7token&signature=${hex(text)}`
  const routes = { preset: 'mailgunRoutes', secret: SECRET }
  expect(verdictOf(routes, { rawHeaders: [FORM_TYPE], body: form })).toMatchObject({ once: text })
  expect(verdictOf({ type: 'none' }, {})).not.toHaveProperty('once')
})

test('a body with members that the signature leaves out is not authenticated', () => {
  const sns = VerifierInput.parse({ preset: 'awsSns', topicArns: ['arn:a'] })
  expect(bodyAuthenticated(sns)).toBe(false)
})
