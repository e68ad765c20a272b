import { setTimeout as sleep } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openScene, startAgent, type Scene } from './scene.ts'

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
  await scene.operator()
})

afterAll(async () => await scene[Symbol.asyncDispose]())

const SOON_MS = 60_000
const childrenOf = async (name: string) =>
  await Promise.all(
    [
      `/api/v1/namespaces/${scene.namespace}/secrets/${name}-connector`,
      `/api/v1/namespaces/${scene.namespace}/serviceaccounts/${name}-connector`,
      `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/${name}-connector`,
      `/apis/policy/v1/namespaces/${scene.namespace}/poddisruptionbudgets/${name}-connector`,
      `/apis/networking.k8s.io/v1/namespaces/${scene.namespace}/networkpolicies/${name}-connector`,
    ].map(async (path) => await scene.find(path)),
  )

async function expectCondition(name: string, type: string, expected: object): Promise<void> {
  await eventually(async () => {
    expect(await scene.condition('connectors', name, type)).toMatchObject(expected)
  }, SOON_MS)
}

test('a Relay says that it is reachable', async () => {
  await eventually(async () => {
    expect(await scene.condition('relays', 'main', 'Ready')).toMatchObject({ status: 'True' })
  }, SOON_MS)
})

test('a Connector is made in the relay, gets its children, and is ready once its agents have sessions', async () => {
  await scene.apply('connectors', 'payroll', {
    relayRef: { name: 'main' },
    replicas: 1,
    allow: [{ hosts: ['payroll.internal'], ports: [8080] }],
  })
  await expectCondition('payroll', 'Provisioned', { status: 'True' })
  await expectCondition('payroll', 'EnrollmentReady', { status: 'True' })
  const [made] = await scene.connectors()
  const { status, metadata } = await scene.get('connectors', 'payroll')
  expect(status.connectorId).toBe(made.id)
  expect(made.metadata).toMatchObject({
    'postern.dev/name': 'payroll',
    'postern.dev/uid': metadata.uid,
  })
  const children = await childrenOf('payroll')
  for (const child of children) {
    expect(child.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid, controller: true }])
  }
  await expectCondition('payroll', 'Ready', { status: 'Unknown', reason: 'RollingOut' })
  {
    await using _agent = await startAgent(scene, 'payroll', 'payroll-connector-0')
    await expectCondition('payroll', 'Ready', { status: 'True', reason: 'Connected' })
    await eventually(async () => {
      const { status: seen } = await scene.get('connectors', 'payroll')
      expect(seen.replicaStatuses).toMatchObject([{ name: 'payroll-connector-0', state: 'online' }])
    }, SOON_MS)
  }
  await expectCondition('payroll', 'Ready', { status: 'False', reason: 'NotConnected' })
})

test('no pod of it has a token of Kubernetes, a secret among its arguments, or more rights than it needs', async () => {
  const path = `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/payroll-connector`
  const { spec } = await scene.find(path)
  const pod = spec.template.spec
  expect(pod.automountServiceAccountToken).toBe(false)
  expect(JSON.stringify(pod)).not.toMatch(/pst_/)
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(65)
  expect(pod.containers[0].securityContext).toMatchObject({ readOnlyRootFilesystem: true })
  const label = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } }
  const type = 'application/merge-patch+json'
  await scene.cluster.request('PATCH', `/api/v1/namespaces/${scene.namespace}`, label, type)
  const made = { metadata: { name: 'probe' }, spec: { ...pod, restartPolicy: 'Never' } }
  await scene.cluster.request('POST', `/api/v1/namespaces/${scene.namespace}/pods?dryRun=All`, made)
})

test('children that are deleted or changed come back', async () => {
  const [secret] = await childrenOf('payroll')
  const apps = `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/payroll-connector`
  const type = 'application/merge-patch+json'
  await scene.cluster.request('PATCH', apps, { spec: { replicas: 7 } }, type)
  await scene.cluster.request(
    'DELETE',
    `/api/v1/namespaces/${scene.namespace}/secrets/payroll-connector`,
  )
  await scene.cluster.request(
    'DELETE',
    `/apis/policy/v1/namespaces/${scene.namespace}/poddisruptionbudgets/payroll-connector`,
  )
  await eventually(async () => {
    const [again, , workload, budget] = await childrenOf('payroll')
    expect(workload.spec.replicas).toBe(1)
    expect(budget).toBeDefined()
    expect(again.data['enrollment-key']).not.toBe(secret.data['enrollment-key'])
  }, SOON_MS)
  // The key in it is the one that is good.
  await using _agent = await startAgent(scene, 'payroll', 'payroll-connector-0')
  await expectCondition('payroll', 'Ready', { status: 'True' })
})

test('a connector that a hand renamed, disabled or deleted in the relay is put right', async () => {
  const before = await scene.get('connectors', 'payroll')
  const id = before.status.connectorId
  await scene.api('PATCH', `/v1/connectors/${id}`, { data: { name: 'by hand' } })
  await eventually(async () => {
    const { body } = await scene.api('GET', `/v1/connectors/${id}`)
    expect(body.name).toBe(before.status.name)
  }, SOON_MS)
  await scene.api('DELETE', `/v1/connectors/${id}`)
  await eventually(async () => {
    const { status } = await scene.get('connectors', 'payroll')
    expect(status.connectorId).not.toBe(id)
    expect(await scene.connectors()).toHaveLength(1)
  }, SOON_MS)
  await using _agent = await startAgent(scene, 'payroll', 'payroll-connector-0')
  await expectCondition('payroll', 'Ready', { status: 'True' })
})

test('suspending leaves it alone, disabling ends its sessions, no replicas is said', async () => {
  await scene.merge('connectors', 'payroll', { spec: { suspend: true } })
  await expectCondition('payroll', 'Ready', { status: 'Unknown', reason: 'Suspended' })
  await scene.merge('connectors', 'payroll', { spec: { suspend: false, disabled: true } })
  await expectCondition('payroll', 'Ready', { status: 'False', reason: 'Disabled' })
  const [made] = await scene.connectors()
  expect(made.isDisabled).toBe(true)
  await scene.merge('connectors', 'payroll', { spec: { disabled: false, replicas: 0 } })
  await expectCondition('payroll', 'Ready', { status: 'False', reason: 'ScaledToZero' })
})

test('an annotation has the enrolment key replaced', async () => {
  const [before] = await childrenOf('payroll')
  const annotations = { 'postern.dev/rotate-enrollment': '2026-11-25' }
  await scene.merge('connectors', 'payroll', { metadata: { annotations } })
  await eventually(async () => {
    const [after] = await childrenOf('payroll')
    expect(after.data['enrollment-key']).not.toBe(before.data['enrollment-key'])
  }, SOON_MS)
})

test('kubectl scale works, and get shows what matters', async () => {
  const { cluster, namespace } = scene
  await cluster.kubectl('-n', namespace, 'scale', 'connector/payroll', '--replicas=3')
  expect((await scene.get('connectors', 'payroll')).spec.replicas).toBe(3)
  await eventually(async () => {
    const text = await cluster.kubectl('-n', namespace, 'get', 'postern')
    expect(text).toMatch(/NAME +READY +REPLICAS +CONNECTED +CONNECTOR-ID +AGE/)
    expect(text).toMatch(/connector.postern.dev\/payroll +Unknown +3 +0 +cnr_/)
  }, SOON_MS)
})

test('empty values and quantities that the API server writes in another way are no contest', async () => {
  const template = {
    tolerations: [],
    env: [{ name: 'NO_PROXY' }],
    resources: { limits: { cpu: '0.7' } },
  }
  await scene.merge('connectors', 'payroll', { spec: { template } })
  await eventually(async () => {
    const [, , workload] = await childrenOf('payroll')
    const [agent] = workload.spec.template.spec.containers
    expect(JSON.stringify(agent.env)).toContain('NO_PROXY')
    expect(agent.resources.limits).toEqual({ cpu: '700m' })
  }, SOON_MS)
  // It is looked at again and again.
  for (let look = 0; look < 10; look++) {
    await scene.merge('connectors', 'payroll', { metadata: { annotations: { look: `${look}` } } })
    await sleep(300)
  }
  const reconciling = await scene.condition('connectors', 'payroll', 'Reconciling')
  expect(reconciling?.reason).not.toBe('Contested')
})

/** The Relay with a CA or without, and the template of the Connector: the pods that come of it. */
async function podsWith(caBundle: string | undefined, template: object) {
  const apiKeySecretRef = { name: 'key', key: 'apiKey' }
  const ca = caBundle === undefined ? {} : { caBundle }
  await scene.apply('relays', 'main', { baseUrl: scene.apiUrl, apiKeySecretRef, ...ca })
  await scene.merge('connectors', 'payroll', { spec: { template } })
  return async () => {
    const [secret, , workload] = await childrenOf('payroll')
    const { metadata, spec } = workload.spec.template
    const [agent] = spec.containers
    const env = agent.env.map(({ name }: { name: string }) => name)
    return { secret, metadata, spec, agent, env }
  }
}

test('everything that is taken out of a Connector and of its Relay leaves its pods', async () => {
  const before = await podsWith(rootCertificates[0], {
    env: [{ name: 'POSTERN_PROXY', value: 'http://proxy.internal:3128' }],
    nodeSelector: { zone: 'a' },
    tolerations: [{ key: 'gpu', operator: 'Exists' }],
    resources: { limits: { cpu: '1', memory: '256Mi' } },
    annotations: { team: 'payments' },
  })
  await eventually(async () => {
    const { secret, metadata, spec, agent, env } = await before()
    expect(secret.data['ca.crt']).toBeDefined()
    expect(env).toEqual(expect.arrayContaining(['RELAY_CA_FILE', 'POSTERN_PROXY']))
    expect(spec).toMatchObject({ nodeSelector: { zone: 'a' }, tolerations: [{ key: 'gpu' }] })
    expect(agent.resources.limits).toEqual({ cpu: '1', memory: '256Mi' })
    // No other: a mark of the operator on the pods would have them replaced.
    expect(metadata.annotations).toEqual({ team: 'payments' })
  }, SOON_MS)
  // Nothing is added, since by that all the rest would be seen as well.
  const after = await podsWith(undefined, {
    env: null,
    nodeSelector: null,
    tolerations: null,
    resources: { limits: { cpu: null } },
    annotations: null,
  })
  await eventually(async () => {
    const { secret, metadata, spec, agent, env } = await after()
    expect(secret.data['ca.crt']).toBeUndefined()
    expect(env).not.toContain('RELAY_CA_FILE')
    expect(env).not.toContain('POSTERN_PROXY')
    expect(spec.nodeSelector).toBeUndefined()
    expect(spec.tolerations).toBeUndefined()
    expect(agent.resources.limits).toEqual({ memory: '256Mi' })
    expect(metadata.annotations).toBeUndefined()
  }, SOON_MS)
})

test('deleting it deletes the connector of the relay and every child', async () => {
  await scene.remove('connectors', 'payroll')
  await eventually(async () => {
    expect(await scene.list('connectors')).toEqual([])
    expect(await scene.connectors()).toEqual([])
    expect(await childrenOf('payroll')).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  }, SOON_MS)
})
