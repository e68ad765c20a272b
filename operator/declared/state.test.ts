import { expect, test } from 'vitest'

import { documentedRows } from '../kinds/documented-reasons.fixture.ts'
import { PASSING_FAULTS, STALLED_FAULTS } from '../kinds/reasons.ts'
import { Halt } from '../relay/problem.ts'
import { conditionsOf, type Ending } from './state.ts'

const MESSAGE = 'as a test has it'
const FAULTS = [...PASSING_FAULTS, ...STALLED_FAULTS].map(
  (reason) => new Halt(reason, MESSAGE).problem,
)
const wordsOf = (ending: Ending): string =>
  conditionsOf(ending)
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`)
    .join(' ')

test.for([
  ['applied', 'Ready=True/Applied', 'as it is declared'],
  ['suspended', 'Ready=Unknown/Suspended', 'spec.suspend'],
] as const)('%s', ([ending, expected, reads]) => {
  expect(wordsOf(ending)).toBe(expected)
  expect(conditionsOf(ending)[0]?.message).toContain(reads)
})

test('a fault shows its message, in Stalled too where waiting does not help', () => {
  for (const fault of FAULTS) {
    const messages = conditionsOf(fault).map(({ message }) => message)
    expect(messages).toEqual(fault.isStalled ? [MESSAGE, MESSAGE] : [MESSAGE])
  }
})

test('docs/kubernetes/conditions.md has each status and reason of a declared resource, and no other', () => {
  const endings: readonly Ending[] = ['applied', 'suspended', ...FAULTS]
  const documented = documentedRows()
    .filter(({ section }) => section === 'Source, Destination, Connection' || section === 'Faults')
    .map(({ status, reason, stalled }) =>
      stalled === 'yes'
        ? `Ready=${status}/${reason} Stalled=True/${reason}`
        : `Ready=${status}/${reason}`,
    )
  expect(endings.map(wordsOf).toSorted()).toEqual(documented.toSorted())
})
