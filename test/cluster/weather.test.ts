import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openApiProxy } from './api-proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** An API server that goes, comes back, and has forgotten. */
const SOON_MS = 90_000
const HELD_SECONDS = 3_600
const LEASE_MS = 10_000

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(async () => await scene[Symbol.asyncDispose]())

const declare = async (name: string): Promise<void> => {
  await scene.apply('connectors', name, { relayRef: { name: 'main' }, replicas: 0 })
}

async function untilScaledToZero(name: string): Promise<void> {
  await eventually(async () => {
    const ready = await scene.condition('connectors', name, 'Ready')
    expect(ready).toMatchObject({ reason: 'ScaledToZero' })
  }, SOON_MS)
}

/** Somebody who does not renew has the lease until the test ends: operators stand by, with their caches filled. */
async function holdLease(): Promise<void> {
  await scene.cluster.request('POST', scene.lease.slice(0, scene.lease.lastIndexOf('/')), {
    metadata: { name: 'postern-operator' },
    spec: { holderIdentity: 'nobody', leaseDurationSeconds: HELD_SECONDS, leaseTransitions: 1 },
  })
  onTestFinished(giveLease)
}

async function giveLease(): Promise<void> {
  const patch = { spec: { holderIdentity: '' } }
  await scene.cluster.request('PATCH', scene.lease, patch, 'application/merge-patch+json')
}

test('an operator that has missed what is compacted away meets a real 410, and lists again', async () => {
  await holdLease()
  await using api = await openApiProxy(scene.cluster)
  for (const name of ['stays', 'goes']) await declare(name)
  await using operator = await scene.operator({ kubeconfig: api.kubeconfig })
  const objects = async (): Promise<number> =>
    await operator.metric('postern_operator_objects{kind="Connector"')
  await eventually(async () => expect(await objects()).toBe(2), SOON_MS)

  // Its watches end, and for a while it gets no other.
  const isWatch = (path: string): boolean => path.includes('watch=true')
  api.watcher = { before: ({ path }) => (isWatch(path) ? 'drop' : undefined) }
  api.cut()
  const { resourceVersion } = (await scene.get('connectors', 'goes')).metadata
  await scene.remove('connectors', 'goes')
  for (const name of ['new-1', 'new-2', 'stays']) await declare(name)
  await scene.cluster.compact()
  await scene.cluster.restartApiserver()
  const watch = `/apis/postern.dev/v1alpha1/connectors?watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=1`
  // An API server that has just started answers 429 until its own cache is filled.
  await eventually(async () => {
    const told = await scene.cluster.request('GET', watch).catch(String)
    expect(JSON.stringify(told)).toContain('410')
  }, SOON_MS)

  const listed = (): number =>
    api.seen.filter(({ path }) => /\/connectors\?.*limit=/.test(path)).length
  const before = listed()
  api.watcher = {}
  await eventually(async () => expect(await objects()).toBe(3), SOON_MS)
  expect(listed()).toBeGreaterThan(before)
  await giveLease()
  for (const name of ['stays', 'new-1', 'new-2']) await untilScaledToZero(name)
})

test('an API server that restarts is no fault: the operator goes on and sees what came meanwhile', async () => {
  let operator = await scene.operator({ name: 'restarts' })
  await declare('before')
  await untilScaledToZero('before')
  for (const [round, downtimeMs] of [0, 500, 12_000].entries()) {
    await scene.cluster.restartApiserver({ downtimeMs })
    await declare(`round-${round}`)
    // An operator that could not renew its lease ends, as it must; its pod would start again.
    const seen = untilScaledToZero(`round-${round}`)
    const code = await Promise.race([operator.exit, seen.then(() => 'runs' as const)])
    expect(code).toBeOneOf(downtimeMs > LEASE_MS ? [1] : [1, 'runs'])
    if (code !== 'runs') operator = await scene.operator({ name: 'restarts' })
    await seen
  }
  await operator[Symbol.asyncDispose]()
})
