import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { documentedRows } from './documented-reasons.fixture.ts'
import { PASSING_FAULTS, STALLED_FAULTS, STATES } from './reasons.ts'

const OPERATOR = fileURLToPath(new URL('..', import.meta.url))
const ALL: readonly string[] = [...STATES, ...PASSING_FAULTS, ...STALLED_FAULTS]

const sourcesOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(file))
    .map((file) => join(directory, file))

test('docs/kubernetes/conditions.md has every reason that a condition can have, and no other', () => {
  const rows = documentedRows()
  const inTables = rows.map(({ reason }) => reason)
  expect(ALL.filter((reason) => !inTables.includes(reason))).toEqual([])
  expect(
    [...new Set(rows.map(({ reason }) => reason))].filter((one) => !ALL.includes(one)),
  ).toEqual([])
})

test('docs/kubernetes/conditions.md says of each fault whether somebody has to do something', () => {
  const stalled = documentedRows().filter(({ stalled: word }) => word !== '')
  const yes = stalled.filter((row) => row.stalled === 'yes').map(({ reason }) => reason)
  const no = stalled.filter((row) => row.stalled === 'no').map(({ reason }) => reason)
  expect(yes.toSorted()).toEqual(STALLED_FAULTS.toSorted())
  // The others stand with the kind that has them.
  const elsewhere = new Set([
    'SecretNotFound',
    ...ALL.filter((one) => /^WaitingFor[CDS][a-z]+$/.test(one)),
  ])
  expect(no.toSorted()).toEqual(
    PASSING_FAULTS.filter((reason) => !elsewhere.has(reason)).toSorted(),
  )
})

test('docs/kubernetes/conditions.md has every type of condition that the operator writes', () => {
  const text = sourcesOf(OPERATOR)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const written = [...text.matchAll(/\btype(?::| =) '([A-Z]\w+)'/g)].map(([, type = '']) => type)
  const events = new Set(['Normal', 'Warning', 'Opaque', 'RollingUpdate', 'RuntimeDefault'])
  const types = new Set(written.filter((type) => !events.has(type)))
  const inTables = new Set(documentedRows().map(({ type }) => type))
  // It is told above the tables.
  const told = new Set([...inTables, 'Stalled'].filter((type) => type !== ''))
  expect([...types].toSorted()).toEqual([...told].toSorted())
})

test('the operator uses every reason of the contract', () => {
  const text = sourcesOf(OPERATOR)
    .filter((file) => !file.endsWith('reasons.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const unused = ALL.filter((reason) => !text.includes(`'${reason}'`))
  const byKind = ['WaitingForConnector', 'WaitingForDestination', 'WaitingForSource']
  expect(unused.toSorted()).toEqual(byKind)
})
