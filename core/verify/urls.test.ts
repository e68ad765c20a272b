import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { splitSecrets } from './config/secrets.ts'
import { PRESETS, VerifierInput } from './presets/presets.ts'
import { compileVerifier, verify } from './verify.ts'

/** Requests signed by the provider's own library, or by its documented algorithm, `madeBy` says which. */
const Vector = z.object({
  preset: z.string(),
  name: z.string(),
  madeBy: z.string(),
  verifier: z.record(z.string(), z.unknown()),
  now: z.int(),
  request: z.object({
    method: z.string(),
    /** As it is on the wire. */
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
  }),
})
type Vector = z.infer<typeof Vector>

const FILE = new URL('../../test/vectors/urls.json', import.meta.url)
const VECTORS = z.array(Vector).parse(JSON.parse(readFileSync(FILE, 'utf8')))

/** The verdict on a vector's request, when it is sent to `url`. */
function outcomeOf({ preset, verifier, request, now }: Vector, url = request.url): string {
  const { config, secrets } = splitSecrets(VerifierInput.parse({ preset, ...verifier }))
  const { pathname, search } = new URL(url)
  const signed = {
    method: request.method,
    url,
    path: pathname,
    query: search.slice(1),
    headers: request.headers,
    body: Buffer.from(request.body),
    remoteIp: '203.0.113.7',
  }
  const verdict = verify(compileVerifier(config, { current: secrets.current }), signed, now * 1000)
  return verdict.kind === 'rejected' ? verdict.reason : verdict.kind
}

const byPreset = Object.entries(Object.groupBy(VECTORS, ({ preset }) => preset))

test('every preset that signs a URL, a path or a list of headers has vectors', () => {
  const signing = [...PRESETS]
    .filter(([, { config }]) => /\{(?:url|path|signedHeaders)/.test(JSON.stringify(config)))
    .map(([name]) => name)
  expect(byPreset.map(([name]) => name)).toEqual(expect.arrayContaining([...signing, 'twilio']))
})

test.each(byPreset)('%s: what its sender signs verifies', (_preset, vectors = []) => {
  const wrong = vectors
    .map((vector) => `${vector.name}: ${outcomeOf(vector)}`)
    .filter((text) => !text.endsWith(': valid'))
  expect(wrong).toEqual([])
})

const SIGN_URL = new Set([
  'contentful',
  'twilio',
  'hubspotV2',
  'hubspotV3',
  'square',
  'trello',
  'mandrill',
])

test.each(byPreset.filter(([preset]) => SIGN_URL.has(preset)))(
  '%s: at another URL it does not',
  (_preset, vectors = []) => {
    for (const vector of vectors) {
      const { url } = vector.request
      for (const other of [
        `${url}${url.includes('?') ? '&' : '?'}x=1`,
        url.replace('/k7w2', '/x7w2'),
      ]) {
        expect(outcomeOf(vector, other), `${vector.name} at ${other}`).toBe('signature_mismatch')
      }
    }
  },
)
