import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openProxy, type Proxy } from './proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** An author of objects gets nothing by the operator that the namespace does not give. (docs/kubernetes/rights.md) */
const SOON_MS = 60_000

let scene: Scene
let relay: Proxy
beforeAll(async () => {
  scene = await openScene()
  relay = await openProxy(scene.apiUrl)
  await scene.operator()
})
afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
})

const relayRef = { name: 'main' }

async function expectReady(plural: string, name: string, expected: object): Promise<void> {
  await eventually(async () => {
    expect(await scene.condition(plural, name, 'Ready')).toMatchObject(expected)
  }, SOON_MS)
}

const hint = (name: string, use: string): unknown =>
  expect.stringContaining(`kubectl label secret ${name} postern.dev/use=${use}`)

test('a Relay sends the value of no Secret that is not for Relays, and of one that becomes so at once', async () => {
  await scene.secret('database', { password: 's3cret' }, '')
  await scene.secret('stripe', { secret: 's3cret' }, 'source')
  for (const [name, key] of [
    ['database', 'password'],
    ['stripe', 'secret'],
  ] as const) {
    await scene.apply('relays', name, { baseUrl: relay.url, apiKeySecretRef: { name, key } })
    const message = hint(name, 'relay')
    await expectReady('relays', name, { status: 'False', reason: 'ApiKeySecretNotFound', message })
  }
  expect(relay.seen).toEqual([])
  await scene.secret('database', { password: scene.apiKey }, 'relay')
  await expectReady('relays', 'database', { status: 'True', reason: 'Reachable' })
  await scene.secret('database', { password: scene.apiKey }, '')
  await expectReady('relays', 'database', { reason: 'ApiKeySecretNotFound' })
})

test.each(['http://169.254.169.254', 'https://kubernetes.default.svc'])(
  'a Relay at %s is refused',
  async (baseUrl) => {
    const apiKeySecretRef = { name: 'key', key: 'apiKey' }
    await scene.apply('relays', 'inward', { baseUrl, apiKeySecretRef })
    const expected = { status: 'False', reason: 'RelayNotAllowed' }
    await expectReady('relays', 'inward', expected)
    const stalled = await scene.condition('relays', 'inward', 'Stalled')
    expect(stalled).toMatchObject({
      status: 'True',
      message: expect.stringContaining('spec.baseUrl'),
    })
  },
)

test('a Source and a Destination take the values of Secrets that are for them alone', async () => {
  await scene.secret('stripe', { secret: 'whsec_first_one' }, 'relay')
  const secretRef = { name: 'stripe', key: 'secret' }
  await scene.apply('sources', 'named', { relayRef, verifier: { preset: 'stripe', secretRef } })
  const auth = { type: 'bearer', tokenSecretRef: secretRef }
  await scene.apply('destinations', 'named', { relayRef, url: 'https://shop.example.com/', auth })
  const expected = { status: 'Unknown', reason: 'SecretNotFound' }
  await expectReady('sources', 'named', { ...expected, message: hint('stripe', 'source') })
  await expectReady('destinations', 'named', {
    ...expected,
    message: hint('stripe', 'destination'),
  })
  await scene.secret('stripe', { secret: 'whsec_first_one' }, 'source.destination')
  await expectReady('sources', 'named', { status: 'True' })
  await expectReady('destinations', 'named', { status: 'True' })
})

test('a Connector mounts no Secret that is not for Connectors, and nothing is made for it meanwhile', async () => {
  await scene.secret('ca', { 'ca.crt': 'x' }, 'relay')
  const tls = { caSecretRef: { name: 'ca', key: 'ca.crt' } }
  await scene.apply('connectors', 'mounting', { relayRef, replicas: 0, tls })
  const message = hint('ca', 'connector')
  await expectReady('connectors', 'mounting', { reason: 'SecretNotFound', message })
  const path = `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/mounting-connector`
  expect(await scene.find(path)).toBeUndefined()
  await scene.secret('ca', { 'ca.crt': 'x' }, 'relay.connector')
  await expectReady('connectors', 'mounting', { reason: 'ScaledToZero' })
})

test('a variable of a Connector has the value of no Secret that is not for Connectors', async () => {
  const { cluster, namespace } = scene
  await scene.secret('proxy', { url: 'http://user:password@proxy.internal:3128' }, 'relay')
  const secretKeyRef = { name: 'proxy', key: 'url' }
  const template = { env: [{ name: 'POSTERN_PROXY', valueFrom: { secretKeyRef } }] }
  await scene.apply('connectors', 'proxied', { relayRef, replicas: 0, template })
  const message = hint('proxy', 'connector')
  await expectReady('connectors', 'proxied', { reason: 'SecretNotFound', message })
  await scene.secret('proxy', { url: 'http://user:password@proxy.internal:3128' }, 'connector')
  await expectReady('connectors', 'proxied', { reason: 'ScaledToZero' })
  const path = `/apis/apps/v1/namespaces/${namespace}/statefulsets/proxied-connector`
  const { spec } = await cluster.request('GET', path)
  expect(spec.template.spec.containers[0].env).toContainEqual({
    name: 'POSTERN_PROXY',
    valueFrom: { secretKeyRef },
  })
})

test('a template that makes more than agents is refused, and the pods that run stay as they are', async () => {
  await scene.apply('connectors', 'more', { relayRef, replicas: 0 })
  await expectReady('connectors', 'more', { reason: 'ScaledToZero' })
  const path = `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/more-connector`
  const { metadata } = await scene.find(path)
  const env = [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,1' }]
  for (const template of [
    { image: 'evil.test/shell:1' },
    { env },
    { serviceAccountName: 'admin' },
  ]) {
    await scene.apply('connectors', 'more', { relayRef, replicas: 0, template })
    const message = expect.stringContaining(`spec.template.${Object.keys(template)[0]}`)
    await expectReady('connectors', 'more', {
      status: 'False',
      reason: 'TemplateNotAllowed',
      message,
    })
  }
  expect((await scene.find(path)).metadata.generation).toBe(metadata.generation)
})
