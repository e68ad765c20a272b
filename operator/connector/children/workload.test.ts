import { expect, test } from 'vitest'

import { MINUTE_MS } from '../../../core/clock.ts'
import { keyOf, type KubeObject } from '../../runtime/kube/object.ts'
import { Store } from '../../runtime/watch/store.ts'
import { BY_UID } from '../../world/by.ts'
import type { RollingSince } from '../memory.ts'
import { rollingIn } from './workload.ts'

function connector(name: string, disabled: boolean, version = 1): KubeObject {
  const metadata = { namespace: 'shop', name, uid: `${name}-uid`, resourceVersion: `${version}` }
  return { metadata, spec: { disabled } }
}

function statefulSet(name: string, version: number, status: object): KubeObject {
  const owner = { apiVersion: 'postern.dev/v1alpha1', kind: 'Connector', name, uid: `${name}-uid` }
  return {
    metadata: {
      namespace: 'shop',
      name,
      uid: `${name}-set`,
      resourceVersion: `${version}`,
      generation: 2,
      ownerReferences: [{ ...owner, controller: true }],
    },
    status,
  }
}

const to = (updateRevision: string, observedGeneration = 2) => ({
  observedGeneration,
  currentRevision: 'a',
  updateRevision,
})

test('a roll counts for 10 minutes from when it was seen, and not at all where the Connector is disabled', () => {
  const connectors = new Store<KubeObject>()
  connectors.index(BY_UID, ({ metadata }) => [metadata.uid ?? ''])
  const statefulSets = new Store<KubeObject>()
  const since: RollingSince = new Map()
  const at = (minutes: number): string[] =>
    rollingIn({ connectors, statefulSets }, since, minutes * MINUTE_MS).map(keyOf)
  for (const name of ['long', 'off', 'rests']) connectors.put(connector(name, name === 'off'))
  for (const name of ['long', 'off']) statefulSets.put(statefulSet(name, 1, to('b')))
  statefulSets.put(statefulSet('rests', 1, to('a')))
  expect(at(0)).toEqual(['shop/long'])

  statefulSets.put(statefulSet('rests', 2, to('a', 1)))
  expect(at(9)).toEqual(['shop/long', 'shop/rests'])
  expect(at(10)).toEqual(['shop/rests'])
  // To enable a Connector does not begin its roll anew, and another revision does.
  connectors.put(connector('off', false, 2))
  expect(at(11)).toEqual(['shop/rests'])
  statefulSets.put(statefulSet('long', 2, to('c')))
  expect(at(12)).toEqual(['shop/long', 'shop/rests'])

  // Nothing is kept of those that have ended.
  statefulSets.put(statefulSet('long', 3, to('a')))
  statefulSets.remove('shop/rests')
  expect(at(13)).toEqual([])
  expect([...since.keys()]).toEqual(['off-set b'])
})
