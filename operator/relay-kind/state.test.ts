import { expect, test } from 'vitest'

import { documentedRows } from '../kinds/documented-reasons.fixture.ts'
import type { Reason } from '../kinds/reasons.ts'
import { conditionsOf, type Facts } from './state.ts'

const MESSAGE = 'as a test has it'
const GOOD: Facts = {
  kind: 'ready',
  isLate: false,
  standing: { kind: 'good', message: 'The relay answers' },
  lacked: [],
}
const missing = (reason: Reason): Facts => ({ kind: 'missing', reason, message: MESSAGE })
const standing = (kind: 'refused' | 'away' | 'foreign' | 'forbidden'): Facts => ({
  ...GOOD,
  standing: { kind, message: MESSAGE },
})

const CASES: readonly [cause: string, facts: Facts, expected: string, reads: string][] = [
  ['the relay answers', GOOD, 'Ready=True/Reachable', 'The relay answers'],
  ['no call was made yet', { ...GOOD, standing: undefined }, 'Ready=Unknown/RelayUnavailable', ''],
  ['a list takes too long', { ...GOOD, isLate: true }, 'Ready=Unknown/RelayUnavailable', '2 s'],
  ['the relay is away', standing('away'), 'Ready=Unknown/RelayUnavailable', MESSAGE],
  ['another service answers', standing('foreign'), 'Ready=Unknown/NotPostern', MESSAGE],
  [
    'the relay refuses the key',
    standing('refused'),
    'Ready=False/CredentialsInvalid Stalled=True/CredentialsInvalid',
    MESSAGE,
  ],
  [
    'the name leads to a forbidden address',
    standing('forbidden'),
    'Ready=False/RelayNotAllowed Stalled=True/RelayNotAllowed',
    MESSAGE,
  ],
  [
    'baseUrl is not allowed',
    missing('RelayNotAllowed'),
    'Ready=False/RelayNotAllowed Stalled=True/RelayNotAllowed',
    MESSAGE,
  ],
  [
    'the key lacks permissions',
    { ...GOOD, lacked: ['list sources', 'create sources'] },
    'Ready=False/InsufficientPermissions Stalled=True/InsufficientPermissions',
    'list sources, create sources',
  ],
  [
    'there is no Secret',
    missing('ApiKeySecretNotFound'),
    'Ready=False/ApiKeySecretNotFound',
    MESSAGE,
  ],
  ['the Secret has no key', missing('ApiKeyInvalid'), 'Ready=False/ApiKeyInvalid', MESSAGE],
  ['there is no CA', missing('CaSecretNotFound'), 'Ready=False/CaSecretNotFound', MESSAGE],
]

test.for(CASES)('%s', ([, facts, expected, reads]) => {
  const conditions = conditionsOf(facts)
  const words = conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`)
  expect(words.join(' ')).toBe(expected)
  for (const { message } of conditions) expect(message).toContain(reads)
})

test('docs/kubernetes/conditions.md has each status and reason of a Relay, and no other', () => {
  const computed = CASES.map(([, , expected]) => expected.replace(/ Stalled=\S+/, '; Stalled'))
  const documented = documentedRows()
    .filter(({ section }) => section === 'Relay')
    .map(({ type, status, reason, meaning }) => {
      const stalled = meaning.endsWith('; Stalled too') ? '; Stalled' : ''
      return `${type}=${status}/${reason}${stalled}`
    })
  expect([...new Set(computed)].toSorted()).toEqual(documented.toSorted())
})
