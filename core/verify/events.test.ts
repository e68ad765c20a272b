import { readFileSync } from 'node:fs'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { compileSelector, dedupeKey, readKey, readSelector } from '../match/selector.ts'
import { Parsed } from '../request/parsed.ts'
import { splitSecrets } from './config/secrets.ts'
import { faultsOf } from './faults.ts'
import type { Preset } from './presets/preset.ts'
import { PRESETS, VerifierInput } from './presets/presets.ts'
import { readCertificate } from './request/asymmetric.ts'
import type { KeyAnswer, KeyRequest, SignedRequest } from './request/signed-request.ts'
import { readJwk } from './schemes/jwt.ts'
import { compileVerifier, verify } from './verify.ts'

const Request = z.object({
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

/** Two events of one provider, as alike as two of its events can be, each with how it is sent again. */
const Vector = z.object({
  preset: z.string(),
  /** Where the form of its requests is described. */
  source: z.string(),
  verifier: z.record(z.string(), z.unknown()),
  /** Certificates and JWKs by the URL that they are got from; Plaid's are got by its API. */
  keys: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.unknown())])).default({}),
  now: z.int(),
  events: z
    .array(
      z.object({
        /** The provider's name for the type. */
        eventType: z.string().nullable(),
        request: Request,
        retry: Request.optional(),
      }),
    )
    .length(2),
})
type Vector = z.infer<typeof Vector>

const FILE = new URL('../../test/vectors/events.json', import.meta.url)
const VECTORS = z.array(Vector).parse(JSON.parse(readFileSync(FILE, 'utf8')))

test('there are two events of every preset', () => {
  expect(VECTORS.map(({ preset }) => preset).toSorted()).toEqual([...PRESETS.keys()].toSorted())
})

describe.each(VECTORS)('$preset', (vector) => {
  const { eventTypeField, idempotencyKeys = [] } = presetNamed(vector.preset)
  const { config, secrets } = splitSecrets(
    VerifierInput.parse({ preset: vector.preset, ...vector.verifier }),
  )
  const slots = { current: secrets.current }
  const requests = vector.events.flatMap(({ request, retry }) => [
    request,
    ...(retry ? [retry] : []),
  ])

  test('both events and their retries verify', () => {
    expect(faultsOf(config, slots)).toEqual([])
    const compiled = compileVerifier(config, slots)
    const verdicts = requests.map((request) =>
      verify(compiled, signedOf(request), vector.now * 1000, (wanted) => keysOf(vector, wanted)),
    )
    expect(verdicts).toEqual(requests.map(() => expect.objectContaining({ kind: 'valid' })))
  })

  test('the type of each is what the provider calls it', () => {
    const types = vector.events.map(({ request }) =>
      eventTypeField === undefined
        ? null
        : (readSelector(compileSelector(eventTypeField), parsed(request)) ?? null),
    )
    expect(types).toEqual(vector.events.map(({ eventType }) => eventType))
  })

  test('under the suggested keys both are kept, and a retry of each is a duplicate', () => {
    const keyOf = (request: z.infer<typeof Request>): string | undefined =>
      dedupeKey(
        idempotencyKeys.map((key) => readKey(compileSelector(key), parsed(request))),
      )?.toString('hex')
    const keys = vector.events.map(({ request }) => keyOf(request))
    const retries = vector.events.map(({ retry }) =>
      retry === undefined ? undefined : keyOf(retry),
    )
    const isDeduplicated = idempotencyKeys.length > 0
    expect(keys.map((key) => key !== undefined)).toEqual([isDeduplicated, isDeduplicated])
    expect(new Set(keys).size).toBe(isDeduplicated ? 2 : 1)
    expect(retries).toEqual(keys)
  })
})

function presetNamed(name: string): Preset {
  const preset = PRESETS.get(name)
  if (preset === undefined) throw new Error(`There is no preset ${name}`)
  return preset
}

function signedOf({ method, url, headers, body }: z.infer<typeof Request>): SignedRequest {
  const { pathname, search } = new URL(url)
  return {
    method,
    url,
    path: pathname,
    query: search.slice(1),
    headers,
    body: Buffer.from(body),
    remoteIp: '203.0.113.7',
  }
}

function parsed(request: z.infer<typeof Request>): Parsed {
  return new Parsed(signedOf(request))
}

function keysOf({ keys }: Vector, wanted: KeyRequest): KeyAnswer {
  const held = keys[wanted.kind === 'plaid' ? 'plaid' : wanted.url]
  if (held === undefined) return { kind: 'failed', why: 'The vector has no such key' }
  const key = typeof held === 'string' ? readCertificate(held) : readJwk(held)
  return key === undefined ? { kind: 'failed', why: 'No key' } : { kind: 'found', keys: [key] }
}
