import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openApiProxy, type ApiProxy } from './api-proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** Secrets that no object names are neither listed nor watched nor read: there may be tens of thousands. */
const SOON_MS = 60_000
const FOREIGN = 20
const LABELS = new Set(['postern.dev/use', 'app.kubernetes.io/managed-by=postern-operator'])

let scene: Scene
let kube: ApiProxy
beforeAll(async () => {
  scene = await openScene()
  kube = await openApiProxy(scene.cluster)
  for (let at = 0; at < FOREIGN; at++) await scene.secret(`foreign-${at}`, { key: 'x' }, '')
  await scene.operator({ kubeconfig: kube.kubeconfig })
})
afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await kube[Symbol.asyncDispose]()
})

test('the operator lists and watches Secrets by label, and reads those alone that objects name', async () => {
  await scene.apply('connectors', 'named', { relayRef: { name: 'main' }, replicas: 0 })
  await eventually(async () => {
    const ready = await scene.condition('connectors', 'named', 'Ready')
    expect(ready).toMatchObject({ reason: 'ScaledToZero' })
  }, SOON_MS)
  await scene.secret('foreign-0', { key: 'y' }, '')
  // A change that the operator has to see: all that it does about the other one has come before.
  await scene.secret('key', { apiKey: 'replaced' })
  await eventually(async () => {
    expect(await scene.condition('relays', 'main', 'Ready')).toMatchObject({ status: 'False' })
  }, SOON_MS)

  const secrets = kube.seen.filter(
    ({ method, path }) => method === 'GET' && /\/secrets\b/.test(path),
  )
  const urls = secrets.map(({ path }) => new URL(path, 'http://kube'))
  const many = urls.filter(({ pathname }) => pathname.endsWith('/secrets'))
  const selectors = new Set(many.map(({ searchParams }) => searchParams.get('labelSelector') ?? ''))
  expect(selectors).toEqual(LABELS)
  expect(many.some(({ searchParams }) => searchParams.get('watch') !== null)).toBe(true)
  const single = urls
    .filter((url) => !many.includes(url))
    .map(({ pathname }) => pathname.split('/').at(-1))
  expect(single).toContain('key')
  expect(single.filter((name) => name?.startsWith('foreign-'))).toEqual([])
}, 120_000)
