import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openProxy, type Proxy } from './proxy.ts'
import { openScene, showPod, startAgent, type Scene } from './scene.ts'

/** `Ready` rests on pods of this generation, on their sessions, and on a relay that answers. */
const SOON_MS = 60_000
/** RELAY_POLL_SECONDS of the scene, the 2 s of an answer, and as much for a machine that is busy. */
const SILENT_MS = 8_000

let scene: Scene
let relay: Proxy
const agents: AsyncDisposable[] = []
beforeAll(async () => {
  scene = await openScene()
  relay = await openProxy(scene.apiUrl)
  await scene.relayAt(relay.url)
  await scene.operator({ env: { ALLOWED_TEMPLATE_MEMBERS: 'serviceAccountName' } })
  await scene.apply('connectors', 'shop', { relayRef: { name: 'main' } })
  await untilEnrolled()
  for (const at of [0, 1]) agents.push(await startAgent(scene, 'shop', `shop-connector-${at}`))
})
afterAll(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]()
  await scene[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
})
beforeEach(() => {
  relay.watcher = {}
})

async function untilEnrolled(): Promise<void> {
  await eventually(async () => {
    const stored = await scene.condition('connectors', 'shop', 'EnrollmentReady')
    expect(stored).toMatchObject({ status: 'True' })
  }, SOON_MS)
}

async function expectReady(expected: object): Promise<void> {
  await eventually(async () => {
    const ready = await scene.condition('connectors', 'shop', 'Ready')
    expect(ready, ready?.message).toMatchObject(expected)
  }, SOON_MS)
}

test('it is Ready once both pods and their sessions are there', async () => {
  await expectReady({ status: 'True', reason: 'Connected' })
})

test('suspended it keeps what is known', async () => {
  await scene.merge('connectors', 'shop', { spec: { suspend: true } })
  await expectReady({ status: 'Unknown', reason: 'Suspended' })
  for (const type of ['Provisioned', 'EnrollmentReady', 'ReplicasAvailable', 'Connected']) {
    expect(await scene.condition('connectors', 'shop', type)).toMatchObject({ status: 'True' })
  }
  await scene.merge('connectors', 'shop', { spec: { suspend: false } })
  await expectReady({ status: 'True' })
})

test.each<[string, NonNullable<Proxy['watcher']['before']>]>([
  ['answers 503', () => ({ status: 503, body: { message: 'Away' } })],
  ['takes the request and says nothing', async () => await new Promise(() => {})],
])('a relay that %s makes it not Ready within the poll and 2 s', async (_, before) => {
  relay.watcher = { before }
  const began = performance.now()
  await expectReady({ status: 'Unknown', reason: 'RelayUnavailable' })
  expect(performance.now() - began).toBeLessThan(SILENT_MS)
  const provisioned = await scene.condition('connectors', 'shop', 'Provisioned')
  expect(provisioned).toMatchObject({ status: 'True' })
  relay.watcher = {}
  relay.cut()
  await expectReady({ status: 'True' })
})

test('allow that an agent could not read is refused before a pod is made of it', async () => {
  const path = `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/shop-connector`
  const { generation } = (await scene.find(path)).metadata
  for (const rule of [
    { cidrs: ['banana'] },
    { cidrs: ['10.0.0.0/33'] },
    { hosts: ['*'] },
    { hosts: ['http://a.svc'] },
    { hosts: ['a.svc:8080'] },
    { hosts: ['a..b'] },
    { hosts: ['a*b.svc'] },
  ]) {
    const refused = scene.merge('connectors', 'shop', { spec: { allow: [rule] } })
    await expect(refused).rejects.toThrow(/must be (an address|a host name)/)
  }
  // The definition takes it and the agent does not.
  await scene.merge('connectors', 'shop', { spec: { allow: [{ hosts: ['a|b'] }] } })
  await expectReady({ status: 'False', reason: 'AllowInvalid' })
  expect((await scene.find(path)).metadata.generation).toBe(generation)
  await scene.merge('connectors', 'shop', {
    spec: { allow: [{ cidrs: ['10.0.0.0/8', 'fd00::1'] }] },
  })
  await expectReady({ status: 'True' })
})

test('a rollout whose first pod does not come is not Ready, though the pods before it have sessions, and says why', async () => {
  await agents.pop()?.[Symbol.asyncDispose]()
  await scene.merge('connectors', 'shop', { spec: { template: { nodeSelector: { none: 'x' } } } })
  const message = '0/1 nodes are available: 1 node(s) did not match'
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
  await eventually(async () => {
    const pod = await scene.find(`/api/v1/namespaces/${scene.namespace}/pods/shop-connector-1`)
    expect(pod.spec.nodeSelector).toEqual({ none: 'x' })
    await showPod(scene, 'shop-connector-1', { phase: 'Pending', conditions: [condition] })
    const ready = await scene.condition('connectors', 'shop', 'Ready')
    expect(ready).toMatchObject({ status: 'Unknown', reason: 'Unschedulable' })
    expect(ready.message).toContain(message)
  }, SOON_MS)
  const { connectedReplicas } = (await scene.get('connectors', 'shop')).status
  expect(connectedReplicas).toBeGreaterThan(0)
})

test('pods that Kubernetes does not make are said, with its words', async () => {
  const template = { nodeSelector: null, serviceAccountName: 'absent' }
  await scene.merge('connectors', 'shop', { spec: { template } })
  await expectReady({
    status: 'Unknown',
    reason: 'PodsRefused',
    message: expect.stringMatching(/serviceaccount "absent" not found/i),
  })
})
