import { expect, test } from 'vitest'

import { splitSecrets } from '../config/secrets.ts'
import { VerifierConfig } from '../config/verifier-config.ts'
import { listPresets, VerifierInput } from '../presets/presets.ts'
import { compileVerifier, verify } from '../verify.ts'
import { makeSample } from './sample.ts'

const NOW_MS = Date.parse('2026-11-25T10:00:00.000Z')
const AT = { address: 'https://hooks.example.com/mask', nowMs: NOW_MS }

/** Good as text, as base64 and as hex. */
const SECRET = '0123456789abcdef0123456789abcdef'

const SOURCE = { kind: 'http', isEnabled: true, allowedMethods: ['POST'], eventTypeField: null }

function sampleOf(written: object, fields: object = {}) {
  const { config, secrets } = splitSecrets(VerifierConfig.parse(written))
  const slots = { current: secrets.current, members: secrets.members }
  const source = { ...SOURCE, kind: 'http' as const, ...fields, verifier: config }
  return { sample: makeSample(source, slots, AT), compiled: compileVerifier(config, slots) }
}

/** All that the sample says, as text; the obstacle where there is none. */
function told(written: object, fields: object = {}): string {
  const { sample } = sampleOf(written, fields)
  if ('obstacle' in sample) return sample.obstacle
  const { headers, query, body } = sample.request
  return JSON.stringify({ headers, query, body: body.toString() })
}

/** Members that presets need, by the paths that they list. */
const NEEDS: Readonly<Record<string, object>> = {
  secret: { secret: SECRET },
  username: { username: 'ann' },
  publicKeys: { publicKeys: ['a key of the provider'] },
  topicArns: { topicArns: ['arn:aws:sns:eu-west-1:1:orders'] },
  audience: { audience: ['ours'] },
  'signature.signatureKey': { signature: { signatureKey: 'ours' } },
  'params.webhookId': { params: { webhookId: '1' } },
  'keySource.clientId': { keySource: { clientId: 'ours' } },
  'claims.email': { claims: { email: 'push@example.com' } },
}

const ELSEWHERE = 'Postern cannot sign'
const PRIVATE = 'Only the provider can sign'
/** The provider hands its secret over. */
const LATER = 'The source has no secret yet'

/** Presets without a sample. */
const UNSIGNED: Readonly<Record<string, string>> = {
  adyen: ELSEWHERE,
  asana: LATER,
  awsSns: PRIVATE,
  braintree: ELSEWHERE,
  discord: PRIVATE,
  eventGridEntra: PRIVATE,
  graph: ELSEWHERE,
  kick: PRIVATE,
  livekit: ELSEWHERE,
  mailgun: ELSEWHERE,
  mailgunRoutes: ELSEWHERE,
  mandrill: ELSEWHERE,
  netlify: ELSEWHERE,
  notion: LATER,
  paypal: PRIVATE,
  plaid: PRIVATE,
  pubSub: PRIVATE,
  sendgrid: PRIVATE,
  sharePoint: ELSEWHERE,
  telnyx: PRIVATE,
}

test.for(listPresets())(
  'a sample of $preset is verified, or its obstacle is told',
  ({ preset, needs, eventTypeField, allowedMethods }) => {
    const members = needs.map((need) => NEEDS[need] ?? {})
    const wish = VerifierInput.parse(Object.assign({ preset }, ...members))
    const { sample, compiled } = sampleOf(wish ?? {}, { eventTypeField, allowedMethods })
    const outcome =
      'obstacle' in sample ? sample.obstacle : verify(compiled, sample.request, NOW_MS).kind
    expect(outcome.startsWith(UNSIGNED[preset] ?? 'valid'), outcome).toBe(true)
  },
)

test('a sample has a type where the source looks for one, and an id of its own each time', () => {
  const read = (field: string) => told({ type: 'none' }, { eventTypeField: field })
  expect(read('header.x-type')).toContain('"x-type":"invoice.paid"')
  expect(read('query.kind')).toContain('"query":"kind=invoice.paid"')
  expect(read('body.event.name')).toContain(String.raw`\"event\":{\"name\":\"invoice.paid\"}`)
  expect(read('body[0].type')).toContain('sample_')
  expect(read('body.type')).not.toBe(read('body.type'))
})

test.for<[title: string, written: object, fields: object, expected: string]>([
  ['of a source that is disabled', { type: 'none' }, { isEnabled: false }, 'is disabled'],
  ['of a source of mail', { type: 'email' }, { kind: 'email' }, 'takes mail'],
  ['of a source that takes no body', { type: 'none' }, { allowedMethods: ['GET'] }, 'takes GET'],
  [
    'without the secret',
    { type: 'hmac', signature: { names: ['s'], encoding: 'hex' } },
    {},
    'no secret yet',
  ],
  ['for addresses', { type: 'ip_allow_list', cidrs: ['192.0.2.0/24'] }, {}, 'Only the addresses'],
  [
    'with a secret that is not written as the verifier says',
    {
      type: 'hmac',
      secret: 'not hex',
      secretEncoding: 'hex',
      signature: { names: ['s'], encoding: 'hex' },
    },
    {},
    'The secret is not valid hex',
  ],
])('there is no sample %s', ([, written, fields, expected]) => {
  expect(told(written, fields)).toContain(expected)
})

test.for([
  'Host',
  'content-length',
  'Transfer-Encoding',
  'X-Forwarded-For',
  'proxy-x',
  'postern-hops',
  'a b',
])('a verifier cannot have the API set the header %s', (name) => {
  const token = { in: 'header', name }
  expect(told({ type: 'shared_token', token, secret: SECRET })).toContain(ELSEWHERE)
  expect(told({ type: 'none' }, { eventTypeField: 'header.x-forwarded-host' })).toContain(ELSEWHERE)
})

test('a path of a verifier reaches no prototype', () => {
  const timestamp = { in: 'json', name: '__proto__.polluted', format: 'unix' }
  const signature = { names: ['s'], encoding: 'hex' }
  told({ type: 'hmac', secret: SECRET, signature, timestamp, content: '{body}' })
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

test('a token that a body would carry is not put into an event', () => {
  const token = { in: 'json', name: 'auth.token' }
  expect(told({ type: 'shared_token', token, secret: SECRET })).toContain(ELSEWHERE)
})
