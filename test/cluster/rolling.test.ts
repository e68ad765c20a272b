import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openScene, type Scene } from './scene.ts'

/** An operator that brings another image, where no pod ever becomes ready: there are no nodes. */
const SOON_MS = 90_000
const ROLLING_MAX = 10
const OLD = 'postern.test/postern:old'
const NEW = 'postern.test/postern:new'

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(async () => await scene[Symbol.asyncDispose]())

async function imageOf(name: string): Promise<string | undefined> {
  const path = `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/${name}-connector`
  return (await scene.find(path))?.spec.template.spec.containers[0].image
}

async function untilImage(name: string, image: string): Promise<void> {
  await eventually(async () => expect(await imageOf(name)).toBe(image), SOON_MS)
}

test('a Connector waits while 10 others roll, and not for one that is disabled', async () => {
  const relayRef = { name: 'main' }
  const others = Array.from({ length: ROLLING_MAX }, (_, at) => `other-${at}`)
  {
    await using _operator = await scene.operator({ env: { CONNECTOR_IMAGE: OLD } })
    for (const name of [...others, 'last']) {
      await scene.apply('connectors', name, { relayRef, replicas: 1 })
    }
    for (const name of [...others, 'last']) await untilImage(name, OLD)
  }
  await scene.merge('connectors', 'last', { spec: { suspend: true } })
  await using _operator = await scene.operator({ env: { CONNECTOR_IMAGE: NEW } })
  for (const name of others) await untilImage(name, NEW)
  await scene.merge('connectors', 'last', { spec: { suspend: false } })
  await eventually(async () => {
    const ready = await scene.condition('connectors', 'last', 'Ready')
    expect(ready).toMatchObject({ status: 'Unknown', reason: 'RollingOut' })
  }, SOON_MS)
  expect(await imageOf('last')).toBe(OLD)
  await scene.merge('connectors', 'other-0', { spec: { disabled: true } })
  await untilImage('last', NEW)
})
