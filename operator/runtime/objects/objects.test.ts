import { expect, test } from 'vitest'

import { stateConditions } from './conditions.ts'
import { covers } from './covers.ts'
import { withFinalizer, withoutFinalizer } from './ownership.ts'

test('a condition keeps its time while its status stays, and takes the new reason', () => {
  const at = (generation: number, now: string) => ({ generation, now })
  const ready = (status: 'True' | 'False', reason: string) => [
    { type: 'Ready', status, reason, message: '' },
  ]
  const first = stateConditions([], ready('False', 'A'), at(1, 't1'))
  const second = stateConditions(first, ready('False', 'B'), at(2, 't2'))
  expect(second).toMatchObject([{ reason: 'B', observedGeneration: 2, lastTransitionTime: 't1' }])
  const third = stateConditions(second, ready('True', 'C'), at(2, 't3'))
  expect(third).toMatchObject([{ status: 'True', lastTransitionTime: 't3' }])
  expect(stateConditions(third, [], at(3, 't4'))).toEqual([])
})

test.for<[string, unknown, unknown, boolean]>([
  ['defaults of the server', { a: 1 }, { a: 1, b: 2 }, true],
  ['another value', { a: 1 }, { a: 2 }, false],
  ['a member that is gone', { a: { b: 1 } }, { a: {} }, false],
  ['a sidecar', { c: [{ name: 'x' }] }, { c: [{ name: 'side' }, { name: 'x', y: 1 }] }, true],
  ['a container that is gone', { c: [{ name: 'x' }] }, { c: [{ name: 'side' }] }, false],
  ['plain lists in another order', ['a', 'b'], ['b', 'a'], false],
  ['a plain list with more', ['a'], ['a', 'b'], false],
  ['an empty list', [], [], true],
  ['the same quantity', { cpu: '0.1', memory: '1024Mi' }, { cpu: '100m', memory: '1Gi' }, true],
  ['another quantity', { cpu: '0.1' }, { cpu: '200m' }, false],
  ['what is not wanted', { a: undefined }, {}, true],
  [
    'an empty text that the server leaves out',
    { e: [{ name: 'x', value: '' }] },
    { e: [{ name: 'x' }] },
    true,
  ],
  ['an empty list that the server leaves out', { a: { b: [] } }, {}, true],
  ['an empty object that the server leaves out', { a: { b: {} } }, { a: null }, true],
  ['an empty text where there is one', { a: '' }, { a: 'x' }, false],
  ['an empty list where there is one', { a: [] }, { a: ['x'] }, false],
  ['no number where there is none', { a: 0, b: false }, {}, false],
  [
    'items of one name',
    { p: [{ name: 'x', a: 2 }] },
    {
      p: [
        { name: 'x', a: 1 },
        { name: 'x', a: 2 },
      ],
    },
    true,
  ],
  ['the same quantity, but for its last digit', { cpu: '0.7' }, { cpu: '700m' }, true],
  ['almost the same quantity', { cpu: '0.7' }, { cpu: '701m' }, false],
])('covers(): %s', ([, wanted, found, expected]) => {
  expect(covers(wanted, found)).toBe(expected)
})

test('finalizers of others stay, and a patch is for one version of the object', () => {
  const object = { metadata: { name: 'x', resourceVersion: '7', finalizers: ['other'] } }
  expect(withFinalizer(object, 'ours')).toEqual({
    metadata: { resourceVersion: '7', finalizers: ['other', 'ours'] },
  })
  const both = { metadata: { ...object.metadata, finalizers: ['other', 'ours'] } }
  expect(withoutFinalizer(both, 'ours')).toEqual({
    metadata: { resourceVersion: '7', finalizers: ['other'] },
  })
})
