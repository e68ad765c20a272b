import { expect, test } from 'vitest'

import { refusalOf, type Presence } from './adoption.ts'
import { markersOf, released } from './markers.ts'

const object = (name: string, uid: string, annotations = {}) => ({
  metadata: { namespace: 'team', name, uid, annotations },
})
const left = released(markersOf('a', object('kept', 'u1')))
const held = markersOf('a', object('kept', 'u1'))

interface Case {
  metadata: Record<string, string>
  clusterId?: string
  annotation?: string
  isNamed?: boolean
  hasHad?: boolean
  presence?: Presence
}

function refusal({ metadata, clusterId = 'a', annotation, presence = 'alive', ...rest }: Case) {
  const annotations = annotation === undefined ? {} : { 'postern.dev/adopt-from': annotation }
  const adoption = { isNamed: false, hasHad: false, ...rest }
  const wish = { ...adoption, clusterId, object: object('new', 'u2', annotations) }
  return refusalOf({ ...wish, presenceOf: () => presence }, metadata)
}

test.for<[string, Case]>([
  ['nobody’s', { metadata: {} }],
  ['released, by its id', { metadata: left, isNamed: true }],
  ['released, by its id, in another cluster', { metadata: left, isNamed: true, clusterId: 'b' }],
  ['released, by the annotation', { metadata: left, annotation: 'a', clusterId: 'b' }],
  ['of an object that is gone, by its id', { metadata: held, isNamed: true, presence: 'gone' }],
  [
    'of a namespace out of sight, annotated',
    { metadata: held, annotation: 'a', presence: 'unseen' },
  ],
  ['of another cluster, annotated', { metadata: held, annotation: 'a', clusterId: 'b' }],
])('taken over: %s', ([, wish]) => {
  expect(refusal(wish)).toBeUndefined()
})

test.for<[string, Case, words: string]>([
  ['of one that exists, by its id', { metadata: held, isNamed: true }, 'which exists: delete'],
  ['of one that exists, annotated', { metadata: held, annotation: 'a' }, 'which exists: delete'],
  ['released, by its name', { metadata: left }, 'set the annotation postern.dev/adopt-from: a'],
  ['gone, by its name', { metadata: held, presence: 'gone' }, 'postern.dev/adopt-from: a here'],
  ['of another cluster', { metadata: held, isNamed: true, clusterId: 'b' }, 'or, where it is gone'],
  ['annotated wrongly', { metadata: held, annotation: 'c', clusterId: 'b' }, 'adopt-from: a here'],
  [
    'taken away before, annotated',
    { metadata: held, annotation: 'a', clusterId: 'b', hasHad: true },
    'was taken over by team/kept of the cluster a: delete this object',
  ],
])('left alone: %s', ([, wish, words]) => {
  expect(refusal(wish)).toContain(words)
})

test('that of an object of the same cluster, namespace and name is its own', () => {
  const adoption = { isNamed: false, hasHad: false, presenceOf: (): Presence => 'gone' }
  const again = object('kept', 'u3')
  expect(refusalOf({ ...adoption, clusterId: 'a', object: again }, held)).toBeUndefined()
  const restored = refusalOf({ ...adoption, clusterId: 'b', object: again }, held)
  expect(restored).toContain('operator.clusterId: a')
})
