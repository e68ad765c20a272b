import { createHash, createHmac } from 'node:crypto'

import { describe, expect, test } from 'vitest'

import { splitSecrets } from './config/secrets.ts'
import {
  type HandshakeSecrets,
  handshakeAfter,
  handshakeBefore,
  handshakeKind,
} from './handshake.ts'
import { VerifierInput } from './presets/presets.ts'
import type { SignedRequest } from './request/signed-request.ts'

type Change = Partial<Omit<SignedRequest, 'body'>> & { body?: string }

const SECRET = 'handshake-secret'

function attempt(
  when: typeof handshakeBefore,
  input: Record<string, unknown>,
  change: Change,
  more: Partial<HandshakeSecrets> = {},
): ReturnType<typeof handshakeBefore> {
  const { config } = splitSecrets(VerifierInput.parse(input))
  const kind = handshakeKind(config)
  if (kind === undefined) throw new Error('The preset has no handshake')
  const query = change.query ?? ''
  const request = {
    method: 'GET',
    url: 'https://in.test/a',
    path: '',
    query,
    headers: {},
    remoteIp: '',
    ...change,
    body: Buffer.from(change.body ?? ''),
  }
  return when(kind, request, config, { current: SECRET, ...more })
}

const before = (preset: string, change: Change, more?: Partial<HandshakeSecrets>) =>
  attempt(handshakeBefore, { preset }, change, more)
const after = (
  preset: string,
  body: unknown,
  headers: Record<string, string> = {},
  more?: Partial<HandshakeSecrets>,
) =>
  attempt(handshakeAfter, { preset }, { method: 'POST', headers, body: JSON.stringify(body) }, more)

const answered = (status: number, body: string) => ({
  kind: 'answer',
  answer: expect.objectContaining({ status, body }) as unknown,
})

test('a source without a preset that knows one has no handshake', () => {
  expect(handshakeKind(VerifierInput.parse({ type: 'none' }))).toBeUndefined()
  expect(handshakeKind(VerifierInput.parse({ preset: 'github' }))).toBeUndefined()
  expect(handshakeKind(VerifierInput.parse({ preset: 'slack' }))).toBe('slack')
})

describe('handshakeBefore()', () => {
  test('meta: the challenge for the right token, 403 for another', () => {
    const more = { verifyToken: 'tøken' }
    expect(before('meta', subscription(encodeURIComponent('tøken')), more)).toEqual(
      answered(200, '42'),
    )
    expect(before('meta', subscription('wrong'), more)).toEqual(answered(403, ''))
    expect(before('meta', subscription('x'))).toEqual(answered(403, ''))
    expect(before('meta', {}, more)).toBeUndefined()
    expect(before('meta', { ...subscription('wrong'), method: 'POST' }, more)).toBeUndefined()
  })

  test('webSub: the challenge of a subscription and of its end, without a verify token', () => {
    for (const mode of ['subscribe', 'unsubscribe']) {
      expect(before('webSub', webSub({ mode }))).toEqual(answered(200, '<b>'))
    }
    expect(before('webSub', webSub({}))).toMatchObject({
      answer: {
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'x-content-type-options': 'nosniff',
        },
      },
    })
    for (const change of [
      { ...webSub({}), method: 'POST' },
      webSub({ mode: 'denied' }),
      webSub({ mode: 'Subscribe' }),
      webSub({ challenge: '' }),
      webSub({ challenge: 'a'.repeat(1025) }),
      { query: `${webSub({}).query}&hub.topic=b` },
      { query: `${webSub({}).query}&hub.challenge=b` },
      { query: 'hub.mode=subscribe&hub.challenge=a' },
    ]) {
      expect(before('webSub', change), change.query).toBeUndefined()
    }
  })

  test('webSub: 404 for another topic or token than those of the source', () => {
    const topic = 'https://hub.test/feed?channel_id=UC1'
    const input = { preset: 'webSub', params: { topic } }
    const given = webSub({ topic: encodeURIComponent(topic) })
    expect(attempt(handshakeBefore, input, given)).toEqual(answered(200, '<b>'))
    for (const other of ['', 'https://hub.test/feed', `${encodeURIComponent(topic)}2`]) {
      expect(attempt(handshakeBefore, input, webSub({ topic: other }))).toEqual(answered(404, ''))
    }
    const more = { verifyToken: 'tøken' }
    const withToken = (token: string) => ({
      query: `${webSub({}).query}&hub.verify_token=${token}`,
    })
    expect(before('webSub', withToken(encodeURIComponent('tøken')), more)).toEqual(
      answered(200, '<b>'),
    )
    expect(before('webSub', withToken('wrong'), more)).toEqual(answered(404, ''))
    expect(before('webSub', webSub({}), more)).toEqual(answered(404, ''))
  })

  test('x: signs a token that can be no body, nothing else', () => {
    const mac = createHmac('sha256', SECRET).update('tok_1').digest('base64')
    expect(before('x', { query: 'crc_token=tok_1&nonce=n' })).toEqual(
      answered(200, JSON.stringify({ response_token: `sha256=${mac}` })),
    )
    expect(before('x', { query: 'crc_token=%7B%7D' })).toBeUndefined()
    expect(before('x', { query: `crc_token=${'a'.repeat(129)}` })).toBeUndefined()
    expect(before('x', { query: 'crc_token=a' }, { current: undefined })).toBeUndefined()
  })

  test('dropbox: echoes as text that no browser sniffs, up to 1 KiB', () => {
    const action = before('dropbox', { query: 'challenge=%3Cb%3E' })
    expect(action).toEqual(answered(200, '<b>'))
    expect(action).toMatchObject({
      answer: {
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'x-content-type-options': 'nosniff',
        },
      },
    })
    expect(before('dropbox', { query: `challenge=${'a'.repeat(1025)}` })).toBeUndefined()
    expect(before('dropbox', { query: 'challenge=a&challenge=b' })).toBeUndefined()
  })

  test('okta: checks the secret that comes with the challenge', () => {
    const headers = { 'x-okta-verification-challenge': 'v', authorization: SECRET }
    expect(before('okta', { headers })).toEqual(answered(200, '{"verification":"v"}'))
    expect(before('okta', { headers: { ...headers, authorization: 'x' } })).toBeUndefined()
  })

  test('braintree: signs hexadecimal challenges only', () => {
    const input = { preset: 'braintree', signature: { signatureKey: 'pub' } }
    const challenge = '20f9f8ed05f77439fe955c977e4c8a53'
    const key = createHash('sha1').update(SECRET).digest()
    const mac = createHmac('sha1', key).update(challenge).digest('hex')
    expect(attempt(handshakeBefore, input, { query: `bt_challenge=${challenge}` })).toEqual(
      answered(200, `pub|${mac}`),
    )
    expect(attempt(handshakeBefore, input, { query: 'bt_challenge=PHhtbD4' })).toBeUndefined()
  })

  test.each(['mailchimp', 'mandrill', 'trello', 'intercom'])(
    '%s: GET and HEAD are 200 without a body',
    (preset) => {
      expect(before(preset, {})).toEqual(answered(200, ''))
      expect(before(preset, { method: 'HEAD' })).toEqual(answered(200, ''))
      expect(before(preset, { method: 'POST' })).toBeUndefined()
    },
  )

  test('graph: echoes the decoded token of a POST without a body', () => {
    const query = 'validationToken=Validation%3a+Testing'
    expect(before('graph', { method: 'POST', query })).toEqual(answered(200, 'Validation: Testing'))
    expect(before('graph', { method: 'POST', query, body: '{}' })).toBeUndefined()
    const small = query.replace('validationToken', 'validationtoken')
    expect(before('sharePoint', { method: 'POST', query: small })).toEqual(
      answered(200, 'Validation: Testing'),
    )
  })

  test('eventGrid: grants CloudEvents leave to send when the token is right', () => {
    const change = {
      method: 'OPTIONS',
      headers: { 'webhook-request-origin': 'eventgrid.azure.net' },
      query: `token=${SECRET}`,
    }
    expect(before('eventGrid', change)).toMatchObject({
      answer: {
        headers: { 'webhook-allowed-origin': 'eventgrid.azure.net', 'webhook-allowed-rate': '*' },
      },
    })
    expect(before('eventGrid', { ...change, query: 'token=x' })).toBeUndefined()
  })

  test('cloudEvents: grants leave to send without a token, and to a plain origin alone', () => {
    const change = (origin: string) => ({
      method: 'OPTIONS',
      headers: { 'webhook-request-origin': origin, 'webhook-request-rate': '120' },
    })
    expect(before('cloudEvents', change('eventemitter.example.com'))).toEqual({
      kind: 'answer',
      answer: {
        status: 200,
        headers: {
          allow: 'POST',
          'webhook-allowed-origin': 'eventemitter.example.com',
          'webhook-allowed-rate': '*',
        },
        body: '',
      },
    })
    for (const origin of ['', 'a b', '<script>', 'a, b', 'a\r\nx: y', 'a'.repeat(256)]) {
      expect(before('cloudEvents', change(origin)), origin).toBeUndefined()
    }
    expect(before('cloudEvents', { method: 'OPTIONS' })).toBeUndefined()
    expect(before('cloudEvents', { ...change('a.test'), method: 'POST' })).toBeUndefined()
  })

  test('asana and notion: a secret is captured only while there is none or the window is open', () => {
    const asana = { method: 'POST', headers: { 'x-hook-secret': 'asana-secret' } }
    const notion = { method: 'POST', body: '{"verification_token":"secret_notion"}' }
    for (const more of [{ current: undefined }, { isArmed: true }]) {
      expect(before('asana', asana, more)).toMatchObject({
        kind: 'capture',
        secret: 'asana-secret',
        answer: { status: 200, headers: { 'x-hook-secret': 'asana-secret' } },
      })
      expect(before('notion', notion, more)).toMatchObject({
        kind: 'capture',
        secret: 'secret_notion',
      })
    }
    expect(before('asana', asana)).toBeUndefined()
    expect(before('notion', notion)).toBeUndefined()
    const more = { ...notion, body: '{"verification_token":"secret_notion","type":"x"}' }
    expect(before('notion', more, { isArmed: true })).toBeUndefined()
  })

  test('woocommerce: the unsigned ping of exactly its form', () => {
    const ping = { method: 'POST', body: 'webhook_id=12' }
    expect(before('woocommerce', ping)).toEqual(answered(200, ''))
    expect(before('woocommerce', { ...ping, body: 'webhook_id=12&a=1' })).toBeUndefined()
    expect(
      before('woocommerce', { ...ping, headers: { 'x-wc-webhook-signature': 'x' } }),
    ).toBeUndefined()
  })

  test('signed handshakes are not answered before verification', () => {
    for (const preset of ['slack', 'discord', 'twitch', 'zoom', 'awsSns']) {
      const input = preset === 'awsSns' ? { preset, topicArns: ['arn:x'] } : { preset }
      const body = JSON.stringify({
        type: 'url_verification',
        challenge: 'c',
        event: 'endpoint.url_validation',
        Type: 'SubscriptionConfirmation',
      })
      expect(attempt(handshakeBefore, input, { method: 'POST', body })).toBeUndefined()
    }
  })
})

describe('handshakeAfter()', () => {
  test('slack and twitch echo the challenge', () => {
    expect(after('slack', { type: 'url_verification', challenge: 'c' })).toEqual(answered(200, 'c'))
    expect(after('slack', { type: 'event_callback', challenge: 'c' })).toBeUndefined()
    const verification = { 'twitch-eventsub-message-type': 'webhook_callback_verification' }
    expect(after('twitch', { challenge: 'c' }, verification)).toEqual(answered(200, 'c'))
    expect(
      after('twitch', { challenge: 'c' }, { 'twitch-eventsub-message-type': 'revocation' }),
    ).toBeUndefined()
  })

  test('discord: pings of interactions and of webhook events', () => {
    expect(after('discord', { type: 1 })).toEqual(answered(200, '{"type":1}'))
    expect(after('discord', { type: 0 })).toEqual(answered(204, ''))
    expect(after('discord', { type: 1, event: { type: 'ENTITLEMENT_CREATE' } })).toBeUndefined()
  })

  test('zoom: signs with the secret that the request was signed with', () => {
    const body = { event: 'endpoint.url_validation', payload: { plainToken: 't' } }
    expect(after('zoom', body)).toEqual(zoomAnswer(SECRET))
    expect(after('zoom', body, {}, { previous: 'old', verifiedBy: 'previous' })).toEqual(
      zoomAnswer('old'),
    )
    expect(after('zoom', { event: 'meeting.started' })).toBeUndefined()
  })

  test('awsSns: the subscription is confirmed at Amazon only', () => {
    const url = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription'
    expect(confirmation(url)).toMatchObject({ kind: 'visit', url, answer: { status: 200 } })
    expect(confirmation('https://169.254.169.254/')).toBeUndefined()
    expect(confirmation('https://sns.eu-west-1.amazonaws.com.evil.test/')).toBeUndefined()
  })

  test('eventGrid: returns the validation code', () => {
    const headers = { 'aeg-event-type': 'SubscriptionValidation' }
    const body = [{ data: { validationCode: 'code' } }]
    expect(after('eventGrid', body, headers)).toEqual(
      answered(200, '{"validationResponse":"code"}'),
    )
    expect(after('eventGrid', body)).toBeUndefined()
  })
})

function webSub({ mode = 'subscribe', topic = 'a', challenge = '%3Cb%3E' }): Change {
  return { query: `hub.mode=${mode}&hub.topic=${topic}&hub.challenge=${challenge}` }
}

function subscription(token: string): Change {
  return { query: `hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=42` }
}

function zoomAnswer(secret: string): ReturnType<typeof answered> {
  const encryptedToken = createHmac('sha256', secret).update('t').digest('hex')
  return answered(200, JSON.stringify({ plainToken: 't', encryptedToken }))
}

function confirmation(SubscribeURL: string): ReturnType<typeof handshakeAfter> {
  const body = JSON.stringify({ Type: 'SubscriptionConfirmation', SubscribeURL })
  const input = { preset: 'awsSns', topicArns: ['arn:x'] }
  return attempt(handshakeAfter, input, { method: 'POST', body })
}
