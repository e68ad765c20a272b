import { describe, expect, test } from 'vitest'

import { joinSecrets, secretTexts, splitSecrets } from '../config/secrets.ts'
import {
  acceptsSecret,
  bodyAuthenticated,
  secretCarriers,
  signsUrl,
  VerifierConfig,
  verifiedWith,
} from '../config/verifier-config.ts'
import { compileVerifier } from '../verify.ts'
import { expandPreset, handsOverSecret, listPresets, PRESETS, VerifierInput } from './presets.ts'

/** A value for every member that a preset can need. */
const NEEDED: Readonly<Record<string, unknown>> = {
  secret: '00ff00ff',
  username: 'u',
  publicKeys: ['-----BEGIN PUBLIC KEY-----'],
  audience: ['me'],
  issuer: ['them'],
  topicArns: ['arn:aws:sns:eu-west-1:1:t'],
  'claims.email': 'a@b',
  'params.webhookId': 'WH-1',
  'signature.signatureKey': 'public',
  'keySource.clientId': 'client',
}

function filled(preset: string, needs: readonly string[]): Record<string, unknown> {
  const config: Record<string, unknown> = { preset }
  for (const need of needs.filter((name) => !name.startsWith('handshake.'))) {
    const [group = '', member] = need.split('.')
    config[group] = member === undefined ? NEEDED[need] : { [member]: NEEDED[need] }
  }
  return config
}

const entries = listPresets()

test('every preset of the catalogue is listed once, in alphabetical order', () => {
  const names = entries.map(({ preset }) => preset)
  expect(names).toHaveLength(new Set(names).size)
  expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b, 'en')))
  expect(names).toEqual(expect.arrayContaining(CATALOGUE))
})

const CATALOGUE =
  `standardWebhooks svix clerk resend openai gitlabSigned bigCommerce github meta whatsapp webSub bitbucket jira notion gitea
  forgejo gogs lemonSqueezy goCardless coinbaseCommerce asana dropbox sentry alchemy razorpay calcom shopify
  woocommerce xero quickbooks docusign line heroku typeform x airtable adyenPlatform intercom vercel trello mandrill
  pagerduty circleci slack zoom stripe mux calendly workos sanity paddle recurly revolut coinbaseCdp contentful square
  linear zendesk hubspotV3 hubspotV2 hubspotV1 twitch box mailgun mailgunRoutes braintree sendgrid discord telnyx kick paypal plaid
  netlify pubSub eventGridEntra gitlab telegram okta auth0 graph dockerHub mailchimp eventGrid cloudEvents postmark azure chargebee
  sendgridInbound zendeskBasic docusignBasic twilio adyen awsSns`.split(/\s+/)

test.each(entries.map((entry) => [entry.preset, entry] as const))(
  '%s: the short form with the needed members is a full configuration',
  (name, { needs, type, bodyAuthenticated: authenticates }) => {
    const config = VerifierInput.parse(filled(name, needs))
    expect(config).toMatchObject({ preset: name, type })
    expect(verifiedWith(config)).toBe(name)
    expect(acceptsSecret(config)).toBe(
      needs.includes('secret') || handsOverSecret(PRESETS.get(name)),
    )
    expect(bodyAuthenticated(config)).toBe(authenticates)
    expect(VerifierInput.parse(config)).toEqual(config)
    const { config: stored, secrets } = splitSecrets(config)
    expect(VerifierConfig.parse(stored)).toEqual(stored)
    if (needs.includes('publicKeys') || !needs.includes('secret')) return
    expect(compileVerifier(stored, { current: secrets.current }).fault).toBeUndefined()
  },
)

test.each(
  entries.map(
    ({ preset, eventTypeField, idempotencyKeys }) =>
      [preset, eventTypeField, idempotencyKeys] as const,
  ),
)('%s: its selectors are selectors', (_name, eventTypeField, idempotencyKeys) => {
  const selectors = [...(eventTypeField === null ? [] : [eventTypeField]), ...idempotencyKeys]
  const isSelector = /^(?:header\.[a-z0-9-]+|query\.\w+|body(?:\.[\w-]+|\[\d+\])+)$/
  expect(selectors.filter((selector) => !isSelector.test(selector))).toEqual([])
  expect(idempotencyKeys.length).toBeLessThanOrEqual(5)
})

describe('expandPreset()', () => {
  test('members given besides the preset win, one by one', () => {
    const config = VerifierInput.parse({
      preset: 'stripe',
      secret: 's',
      timestamp: { toleranceSeconds: 60 },
    })
    expect(config).toMatchObject({
      type: 'hmac',
      timestamp: { in: 'signature', format: 'unix', toleranceSeconds: 60 },
      content: '{timestamp}.{body}',
    })
  })

  test('a secret is trimmed', () => {
    expect(VerifierInput.parse({ preset: 'github', secret: ' s\n' })).toMatchObject({ secret: 's' })
  })

  test('a full configuration passes as it is', () => {
    const config = { type: 'none' }
    expect(expandPreset(config)).toBe(config)
  })

  test('the members of all_of are expanded too', () => {
    const config = VerifierInput.parse({
      type: 'all_of',
      verifiers: [
        { preset: 'adyen', secret: '00' },
        { preset: 'chargebee', username: 'u', secret: 'p' },
      ],
    })
    expect(config).toMatchObject({ verifiers: [{ type: 'adyen' }, { type: 'basic_auth' }] })
  })

  const refused: [string, unknown, string][] = [
    ['an unknown preset', { preset: 'nobody', secret: 's' }, 'preset'],
    [
      'an unknown preset of a member',
      { type: 'all_of', verifiers: [{ preset: 'nobody' }] },
      'verifiers.0.preset',
    ],
    ['an unknown member', { preset: 'github', secret: 's', tolerance: 1 }, ''],
    ['a colon in a user name', { type: 'basic_auth', username: 'a:b', secret: 's' }, 'username'],
    ['an address range that is none', { type: 'ip_allow_list', cidrs: ['10.0.0.0/33'] }, 'cidrs.0'],
    [
      'a JWKS over http',
      {
        type: 'jwt',
        token: { in: 'header', name: 'a' },
        algorithms: ['RS256'],
        keySource: { kind: 'jwks', url: 'http://a.test' },
      },
      'keySource.url',
    ],
    [
      'a private JWK',
      {
        type: 'jwt',
        token: { in: 'header', name: 'a' },
        algorithms: ['RS256'],
        keySource: { kind: 'inline', keys: [{ kty: 'RSA', d: 'x' }] },
      },
      'keySource.keys.0',
    ],
    [
      'all_of in all_of',
      { type: 'all_of', verifiers: [{ type: 'all_of', verifiers: [] }] },
      'verifiers.0.type',
    ],
    ['no record', 'github', ''],
  ]
  test.each(refused)('%s is refused', (_why, input, path) => {
    const { error } = VerifierInput.safeParse(input)
    expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
  })

  test('__proto__ in JSON sets no prototype', () => {
    const input: unknown = JSON.parse('{"preset":"github","__proto__":{"type":"none"}}')
    expect(expandPreset(input)).toMatchObject({ type: 'hmac' })
  })
})

describe('splitSecrets()', () => {
  test('joinSecrets() is its inverse, and no secret is left behind', () => {
    const config = VerifierInput.parse({
      type: 'all_of',
      verifiers: [
        { type: 'ip_allow_list', cidrs: ['10.0.0.0/8'] },
        { preset: 'github', secret: 'one-secret' },
        { preset: 'postmark', username: 'u', secret: 'two-secret' },
      ],
    })
    const { config: bare, secrets } = splitSecrets(config)
    expect(JSON.stringify(bare)).not.toContain('secret"')
    expect(secretTexts(secrets)).toEqual(['one-secret', 'two-secret'])
    expect(secrets.members).toEqual([null, 'one-secret', 'two-secret'])
    expect(joinSecrets(bare, secrets)).toEqual(config)
  })

  test('a single verifier has its secret as the current one', () => {
    const config = VerifierInput.parse({ preset: 'github', secret: 's' })
    const { config: bare, secrets } = splitSecrets(config)
    expect(bare).not.toHaveProperty('secret')
    expect(secrets).toEqual({ current: 's' })
    expect(joinSecrets(bare, secrets)).toEqual(config)
    expect(joinSecrets(bare, {})).toEqual(bare)
  })
})

test('bodyAuthenticated() is false where the signature leaves the body free', () => {
  const free = entries.filter((entry) => !entry.bodyAuthenticated).map(({ preset }) => preset)
  expect(free).toEqual(
    expect.arrayContaining([
      'mailgun',
      'mailgunRoutes',
      'gitlab',
      'postmark',
      'pubSub',
      'eventGridEntra',
      'adyen',
      'paypal',
      'awsSns',
    ]),
  )
  for (const name of ['github', 'stripe', 'gitea', 'braintree', 'mandrill', 'plaid', 'twilio']) {
    expect(free).not.toContain(name)
  }
})

test('signsUrl() names the presets that a new mask breaks', () => {
  const signing = entries
    .filter(({ preset, needs }) => signsUrl(VerifierInput.parse(filled(preset, needs))))
    .map(({ preset }) => preset)
  expect(signing).toEqual([
    'contentful',
    'hubspotV2',
    'hubspotV3',
    'mandrill',
    'square',
    'trello',
    'twilio',
  ])
  expect(signsUrl(VerifierInput.parse({ preset: 'square', url: 'https://a.test/x' }))).toBe(false)
})

test('secretCarriers() says where a request holds the secret itself', () => {
  expect(carriersOf({ preset: 'gitlab' })).toEqual([{ in: 'header', name: 'x-gitlab-token' }])
  expect(carriersOf({ preset: 'postmark', username: 'u' })).toEqual([
    { in: 'header', name: 'authorization' },
  ])
  expect(carriersOf({ preset: 'github' })).toEqual([])
})

test('the presets that answer in their own way say so', () => {
  expect(PRESETS.get('xero')?.ingestResponse).toEqual({ kind: 'empty' })
  expect(PRESETS.get('okta')?.ingestResponse).toEqual({ kind: 'empty' })
  expect(PRESETS.get('airtable')?.ingestResponse).toEqual({ kind: 'empty' })
  expect(PRESETS.get('twilio')?.ingestResponse).toMatchObject({ body: '<Response/>' })
  expect(PRESETS.get('discord')?.ingestResponse).toEqual({ kind: 'empty', status: 204 })
  expect(
    entries.filter((entry) => entry.forcesIdempotencyKeys).map(({ preset }) => preset),
  ).toEqual(['mailgun', 'mailgunRoutes'])
})

function carriersOf(input: unknown): ReturnType<typeof secretCarriers> {
  return secretCarriers(VerifierInput.parse(input))
}
