import { describe, expect, test } from 'vitest'

import { compileSelector, dedupeKey, readKey, readSelector } from '../match/selector.ts'
import { Parsed } from '../request/parsed.ts'
import { splitSecrets } from './config/secrets.ts'
import { keysOf, type SentRequest, signedOf, VECTORS } from './events.fixture.ts'
import { faultsOf } from './faults.ts'
import type { Preset } from './presets/preset.ts'
import { PRESETS, VerifierInput } from './presets/presets.ts'
import { compileVerifier, verify } from './verify.ts'

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
    const keyOf = (request: SentRequest): string | undefined =>
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

function parsed(request: SentRequest): Parsed {
  return new Parsed(signedOf(request))
}
