import { expect, test } from 'vitest'
import { z } from 'zod'

import { ConnectorSpec } from '../../kinds/connector.ts'
import { podSpec } from './pod.ts'

const surroundings = { image: 'postern', baseUrl: 'https://relay.test', hasCa: false }
const metadata = { namespace: 'shop', name: 'payroll', uid: 'u' }

const environmentOf = (template: object): unknown[] => {
  const spec = ConnectorSpec.parse({ relayRef: { name: 'main' }, template })
  const Pod = z.object({ containers: z.tuple([z.object({ env: z.array(z.unknown()) })]) })
  return Pod.parse(podSpec({ metadata }, spec, surroundings)).containers[0].env
}

test('an agent serves its health at the address of its pod, which may be one of IPv6', () => {
  expect(environmentOf({})).toContainEqual({
    name: 'HOST',
    valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } },
  })
})

test('a variable has its value from a Secret or a ConfigMap, and then no other', () => {
  const secretKeyRef = { name: 'proxy', key: 'url' }
  const env = [
    { name: 'POSTERN_PROXY', value: '', valueFrom: { secretKeyRef } },
    { name: 'NO_PROXY', valueFrom: { configMapKeyRef: { name: 'proxy', key: 'none' } } },
    { name: 'TZ', value: 'UTC' },
  ]
  expect(environmentOf({ env }).slice(-3)).toEqual([
    { name: 'POSTERN_PROXY', valueFrom: { secretKeyRef } },
    { name: 'NO_PROXY', valueFrom: { configMapKeyRef: { name: 'proxy', key: 'none' } } },
    { name: 'TZ', value: 'UTC' },
  ])
})

test('a variable of a template takes the place of one of its name', () => {
  const env = environmentOf({ env: [{ name: 'HOST', value: '::' }] })
  const named = z.array(z.looseObject({ name: z.string() })).parse(env)
  expect(named.filter(({ name }) => name === 'HOST')).toEqual([{ name: 'HOST', value: '::' }])
})
