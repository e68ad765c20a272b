import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import type { VerifierConfig } from './config/verifier-config.ts'
import { handshakeAfter, handshakeBefore, handshakeKind } from './handshake.ts'
import { listPresets, VerifierInput } from './presets/presets.ts'
import type { KeyAnswer, SignedRequest } from './request/signed-request.ts'
import { REJECTION_REASONS } from './request/signed-request.ts'
import { type CompiledVerifier, compileVerifier, verify } from './verify.ts'

const NOW_MS = 1_760_000_000_000
const SECRET = 'd2Vob29rIHNlY3JldA=='
const ED25519 = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
const OUTCOMES: readonly string[] = ['needs_key', ...REJECTION_REASONS]
const FOUND: KeyAnswer = { kind: 'found', keys: [] }

const MEMBERS: Readonly<Record<string, Record<string, unknown>>> = {
  adyen: { secret: '00ff' },
  adyenPlatform: { secret: '00ff' },
  awsSns: { topicArns: ['arn:x'] },
  braintree: { signature: { signatureKey: 'public' } },
  discord: { publicKeys: [ED25519] },
  eventGridEntra: { issuer: ['i'], audience: ['a'] },
  paypal: { params: { webhookId: 'W' } },
  plaid: { keySource: { clientId: 'c' } },
  pubSub: { audience: ['a'], claims: { email: 'e' } },
  telnyx: { publicKeys: [ED25519] },
}

interface Subject {
  name: string
  config: VerifierConfig
  compiled: CompiledVerifier
}

const SUBJECTS: Subject[] = listPresets().map(({ preset, needs }) => {
  const config = VerifierInput.parse({
    preset,
    ...(needs.includes('secret') ? { secret: SECRET } : {}),
    ...(needs.includes('username') ? { username: 'u' } : {}),
    ...MEMBERS[preset],
  })
  const slots = { current: 'secret' in config ? config.secret : undefined, previous: SECRET }
  const stored = Object.fromEntries(Object.entries(config).filter(([name]) => name !== 'secret'))
  return { name: preset, config, compiled: compileVerifier(stored, slots) }
})

/** Every header that some preset reads, so that random values meet the code behind them. */
const HEADERS = [
  ...new Set(
    [...JSON.stringify(listPresets()).matchAll(/"([a-z0-9]+(?:-[a-z0-9]+)+)"/g)].map(
      ([, name]) => name ?? '',
    ),
  ),
  'authorization',
  'content-type',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'svix-signature',
  'hmacsignature',
  'x-docusign-signature-1',
  'x-hook-secret',
  'aeg-event-type',
  'plaid-verification',
]

const value = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '',
    ' ',
    String(NOW_MS / 1000),
    String(NOW_MS),
    '2025-10-09T08:53:20Z',
    'Basic dTpw',
    'Bearer a.b.c',
  ),
  fc.constantFrom(
    'v1,',
    't=1,v1=',
    'sha256=',
    't=1760000000,v1=00',
    'eyJhbGciOiJub25lIn0.e30.',
    '1'.repeat(400),
  ),
  fc.base64String({ maxLength: 88 }),
  fc.stringMatching(/^(?:sha256=|v1=|v0=)?[0-9a-f]{64}$/),
  fc.base64String({ minLength: 44, maxLength: 44 }).map((text) => `t=1760000000,v1=${text}`),
)

const body = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc.webQueryParameters().map((text) => Buffer.from(text)),
  fc
    .record({
      signature: fc.anything(),
      notificationItems: fc.anything(),
      value: fc.array(fc.anything()),
      Signature: fc.string(),
      SignatureVersion: fc.constantFrom('1', '2', '3'),
      SigningCertURL: fc.webUrl(),
      type: fc.constantFrom('url_verification', 0, 1, null),
      challenge: fc.anything(),
    })
    .map((record) => Buffer.from(safeJson(record))),
)

function safeJson(input: unknown): string {
  try {
    return JSON.stringify(input) ?? 'null'
  } catch {
    return 'null'
  }
}

const request: fc.Arbitrary<SignedRequest> = fc
  .record({
    method: fc.constantFrom('POST', 'GET', 'HEAD', 'OPTIONS', 'PUT'),
    query: fc.oneof(fc.webQueryParameters(), fc.string({ unit: 'binary', maxLength: 40 })),
    headers: fc.dictionary(fc.constantFrom(...HEADERS), value, { maxKeys: 40 }),
    body,
    remoteIp: fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()),
  })
  .map((parts) => ({ ...parts, url: `https://in.test/abc?${parts.query}`, path: '' }))

describe('no request makes anything throw', () => {
  test.each(SUBJECTS.map((subject) => [subject.name, subject] as const))(
    '%s',
    (_name, { compiled, config }) => {
      const kind = handshakeKind(config)
      fc.assert(
        fc.property(request, fc.boolean(), (input, isFound) => {
          const answer: KeyAnswer = isFound ? FOUND : { kind: 'failed', why: 'status 500' }
          const verdict = verify(compiled, input, NOW_MS, () => answer)
          // Nobody guesses a signature.
          expect(OUTCOMES).toContain(verdict.kind === 'rejected' ? verdict.reason : verdict.kind)
          if (kind === undefined) return
          handshakeBefore(kind, input, config, { current: SECRET, isArmed: true, verifyToken: 't' })
          handshakeAfter(kind, input, config, { current: SECRET })
        }),
        { numRuns: 30 },
      )
    },
  )
})

test('no configuration makes compileVerifier() throw', () => {
  const member = fc.oneof(
    fc.anything(),
    fc.constantFrom('hmac', 'jwt', 'sha256', 'hex', 'header', '{body}', '{json.a'),
  )
  const keys = fc.constantFrom(
    'type',
    'algorithm',
    'signature',
    'content',
    'token',
    'keySource',
    'publicKeys',
    'verifiers',
    'secret',
  )
  const mutated = fc
    .tuple(fc.constantFrom(...SUBJECTS), keys, member)
    .map(([{ config }, key, change]) => ({ ...config, [key]: change }))
  const config = fc.oneof(fc.anything(), fc.dictionary(keys, member), mutated)
  fc.assert(
    fc.property(
      config,
      fc.option(fc.string(), { nil: undefined }),
      request,
      (input, current, sent) => {
        const verdict = verify(compileVerifier(input, { current, previous: current }), sent, NOW_MS)
        expect(['valid', 'rejected', 'needs_key']).toContain(verdict.kind)
        VerifierInput.safeParse(input)
      },
    ),
    { numRuns: 1_000 },
  )
})

/** Bodies and header values that provoke parsers, of any length. */
const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  ampersands: (size) => '&'.repeat(size),
  fields: (size) => 'a=b&'.repeat(size / 4),
  escapes: (size) => '%41'.repeat(size / 3),
  brackets: (size) => '['.repeat(size),
  objects: (size) => '{"a":'.repeat(size / 5),
  commas: (size) => ','.repeat(size),
  pairs: (size) => 't=1,v1=00,'.repeat(size / 10),
  equals: (size) => '='.repeat(size),
  dots: (size) => '.'.repeat(size),
  spaces: (size) => ' '.repeat(size),
  digits: (size) => '1'.repeat(size),
  items: (size) =>
    `{"value":[${'{"clientState":1},'.repeat(size / 18)}0],"notificationItems":[${'{},'.repeat(size / 3)}0]}`,
  letters: (size) => 'é'.repeat(size / 2),
}

const SMALL = 16 * 1024
const FACTOR = 8

test.each(Object.entries(HOSTILE))(
  '%s: eight times the input takes no more than linear time',
  (_name, make) => {
    const slow = SUBJECTS.flatMap(({ name, compiled }) => {
      const small = requestOf(make(SMALL))
      const large = requestOf(make(SMALL * FACTOR))
      // A quadratic step would take 64 times as long; the slack is for a busy machine and the collector.
      const isLinear = [1, 2, 3].some(
        () => timeOf(compiled, large) < Math.max(timeOf(compiled, small) * FACTOR * 3, 25),
      )
      return isLinear ? [] : [name]
    })
    expect(slow).toEqual([])
  },
)

function requestOf(text: string): SignedRequest {
  const headers = Object.fromEntries(
    HEADERS.filter((name) => name !== 'content-type').map((name) => [
      name,
      text.slice(0, text.length / 4),
    ]),
  )
  const query = text.slice(0, text.length / 4)
  return {
    method: 'POST',
    url: `https://in.test/abc?${query}`,
    path: '',
    query,
    headers,
    body: Buffer.from(text),
    remoteIp: '::1',
  }
}

/** Milliseconds of this thread's own work: others may keep it waiting. */
function timeOf(compiled: CompiledVerifier, input: SignedRequest): number {
  const before = process.threadCpuUsage()
  verify(compiled, input, NOW_MS, () => FOUND)
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
