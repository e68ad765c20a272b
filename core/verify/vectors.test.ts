import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { splitSecrets } from './config/secrets.ts'
import type { VerifierConfig } from './config/verifier-config.ts'
import { VerifierInput } from './presets/presets.ts'
import type { SignedRequest } from './request/signed-request.ts'
import { compileVerifier, verify } from './verify.ts'

const Vector = z.object({
  name: z.string(),
  provider: z.string(),
  scheme: z.record(z.string(), z.unknown()),
  secret: z.string().optional(),
  publicKey: z.string().optional(),
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  rawBodyBase64: z.string(),
  nowEpochSeconds: z.number(),
  expected: z.string(),
  alsoAcceptable: z.array(z.string()).optional(),
})
type Vector = z.infer<typeof Vector>

const FILE = new URL('../../test/vectors/signatures.json', import.meta.url)
const VECTORS = z.array(Vector).parse(JSON.parse(readFileSync(FILE, 'utf8')))

/** Where the preset's name is not the provider's. */
const PRESET_OF: Readonly<Record<string, string>> = {
  standardwebhooks: 'standardWebhooks',
  hubspot: 'hubspotV3',
  'hubspot-v1': 'hubspotV1',
  lemonsqueezy: 'lemonSqueezy',
  adyen: 'adyenPlatform',
  'adyen-payments': 'adyen',
}

function configOf(vector: Vector): VerifierConfig {
  const { provider, secret, publicKey, scheme } = vector
  const preset = PRESET_OF[provider] ?? provider
  const members = publicKey === undefined ? { secret } : { publicKeys: [publicKey] }
  switch (provider) {
    case 'basic-auth': {
      const [username = '', ...rest] = (secret ?? '').split(':')
      return VerifierInput.parse({ type: 'basic_auth', username, secret: rest.join(':') })
    }
    case 'braintree':
      return VerifierInput.parse({
        preset,
        ...members,
        signature: { signatureKey: scheme['publicKeyId'] },
      })
    case 'livekit':
      return VerifierInput.parse({ preset, ...members, issuer: [scheme['issuer']] })
    default:
      return VerifierInput.parse({ preset, ...members })
  }
}

function requestOf(vector: Vector): SignedRequest {
  const { pathname, search } = new URL(vector.url)
  return {
    method: vector.method,
    url: vector.url,
    path: pathname,
    query: search.slice(1),
    headers: vector.headers,
    body: Buffer.from(vector.rawBodyBase64, 'base64'),
    remoteIp: '203.0.113.7',
  }
}

test('there are 707 vectors', () => {
  expect(VECTORS).toHaveLength(707)
})

const byProvider = Object.entries(Object.groupBy(VECTORS, ({ provider }) => provider))

test.each(byProvider)('verify() agrees with every vector of %s', (_provider, vectors = []) => {
  const wrong = vectors.flatMap((vector) => {
    const { config, secrets } = splitSecrets(configOf(vector))
    const compiled = compileVerifier(config, { current: secrets.current })
    const verdict = verify(compiled, requestOf(vector), vector.nowEpochSeconds * 1000)
    const outcome = verdict.kind === 'rejected' ? verdict.reason : verdict.kind
    const expected = [vector.expected === 'ok' ? 'valid' : vector.expected]
    const accepted = [...expected, ...(vector.alsoAcceptable ?? [])]
    return accepted.includes(outcome) ? [] : [`${vector.name}: ${outcome}, not ${expected[0]}`]
  })
  expect(wrong).toEqual([])
})
