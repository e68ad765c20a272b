import { expect, test } from 'vitest'

import {
  cluster,
  createNamespace,
  declare,
  helm,
  made,
  MINUTES,
  OPERATOR,
  OPERATOR_VALUES,
  RELAY,
  words,
} from './site.ts'

const LEAVING = 'leaving'
const KINDS = 'connectors.postern.dev,sources.postern.dev,relays.postern.dev'

/** Behind the deletion of the customer's objects: an operator without objects runs. */
export function testLeaving(): void {
  test(
    'a namespace with objects, deleted while no operator runs, goes soon after one is installed again',
    testNamespace,
    15 * MINUTES,
  )
}

async function testNamespace(): Promise<void> {
  await createNamespace(LEAVING)
  const inside = async (...args: string[]): Promise<string> =>
    await cluster.kubectl('-n', LEAVING, ...args)
  await inside(...words('create secret generic relay'), `--from-literal=key=${made.key}`)
  await inside(...words('label secret relay postern.dev/use=relay'))
  const relayRef = { name: 'main' }
  await declare(
    'Relay',
    'main',
    {
      baseUrl: `http://postern-api.${RELAY}.svc`,
      apiKeySecretRef: { name: 'relay', key: 'key' },
    },
    LEAVING,
  )
  await declare('Source', 'left', { relayRef }, LEAVING)
  await declare('Connector', 'left', { relayRef, replicas: 1, allow: [] }, LEAVING)
  await inside('wait', '--for=condition=Ready', KINDS, '--all', '--timeout=4m')

  await helm(...words(`uninstall operator -n ${OPERATOR} --wait --timeout 3m`))
  // Agents are no part of the release: they go on.
  await inside('wait', '--for=condition=Ready', 'pod/left-connector-0', '--timeout=1m')
  await cluster.kubectl('delete', 'namespace', LEAVING, '--wait=false')
  const connector = `/apis/postern.dev/v1alpha1/namespaces/${LEAVING}/connectors/left`
  await expect(
    cluster.kubectl(...words(`wait --for=delete namespace/${LEAVING} --timeout=20s`)),
  ).rejects.toThrow(/timed out/)
  const { metadata } = await cluster.request('GET', connector)
  expect(metadata.finalizers).toEqual(['postern.dev/relay-resource'])

  await helm(
    ...words(`install operator charts/postern-connector -n ${OPERATOR} --wait --timeout 5m`),
    ...OPERATOR_VALUES,
  )
  // Its Relay is gone, and what is known of that relay with it: 45 s, and a little for the namespace itself.
  await cluster.kubectl(...words(`wait --for=delete namespace/${LEAVING} --timeout=120s`))
}
