import { afterAll, beforeAll, expect, test } from 'vitest'

import { callApi } from '../kit/call-api.ts'
import { eventually } from '../kit/relay.ts'
import { openScene, type Scene } from './scene.ts'

/** Secrets with enrolment keys that are changed while no operator runs. */
const SOON_MS = 60_000
const MERGE = 'application/merge-patch+json'

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(async () => await scene[Symbol.asyncDispose]())

const pathOf = (name: string): string =>
  `/api/v1/namespaces/${scene.namespace}/secrets/${name}-connector`
const secretOf = async (name: string) => await scene.cluster.request('GET', pathOf(name))
const patch = async (name: string, body: object) =>
  await scene.cluster.request('PATCH', pathOf(name), body, MERGE)

async function keyOf(name: string): Promise<string> {
  const { data } = await secretOf(name)
  return Buffer.from(data['enrollment-key'], 'base64').toString('utf8')
}

/** The status of the answer to an agent that has no name to enrol with: 401 for a key that is not good. */
async function enrol(key: string): Promise<number> {
  const asked = { method: 'POST', path: '/v1/connectors/bootstrap', body: {} }
  return (await callApi(scene.apiUrl, asked, { key })).status
}

async function untilMade(...names: string[]): Promise<void> {
  for (const name of names) {
    await scene.apply('connectors', name, { relayRef: { name: 'main' }, replicas: 0 })
  }
  await eventually(async () => {
    for (const name of names) {
      const ready = await scene.condition('connectors', name, 'Ready')
      expect(ready).toMatchObject({ reason: 'ScaledToZero' })
    }
  }, SOON_MS)
}

test('the first look of an operator finds garbage and an old key, replaces them, and leaves good ones', async () => {
  let old: { data: object; metadata: { annotations: Record<string, string> } }
  let good: string
  {
    await using _before = await scene.operator()
    await untilMade('enrolled-garbage', 'enrolled-old', 'enrolled-good', 'enrolled-touched')
    old = await secretOf('enrolled-old')
    const annotations = { 'postern.dev/rotate-enrollment': 'once' }
    await scene.merge('connectors', 'enrolled-old', { metadata: { annotations } })
    await eventually(async () => {
      expect((await secretOf('enrolled-old')).data).not.toEqual(old.data)
      expect((await scene.get('connectors', 'enrolled-old')).status.enrolledAt).not.toBe(
        old.metadata.annotations['postern.dev/enrolled-at'],
      )
    }, SOON_MS)
    good = await keyOf('enrolled-good')
  }
  const touched = await keyOf('enrolled-touched')
  await patch('enrolled-garbage', { stringData: { 'enrollment-key': 'garbage' } })
  const annotations = { ...old.metadata.annotations, 'postern.dev/rotate-enrollment': 'once' }
  await patch('enrolled-old', { data: old.data, metadata: { annotations } })
  await patch('enrolled-touched', { metadata: { annotations: { theirs: 'yes' } } })
  const bad = ['enrolled-garbage', 'enrolled-old']
  const before = await Promise.all(bad.map(keyOf))
  for (const key of before) expect(await enrol(key)).toBe(401)
  await using _after = await scene.operator()
  await eventually(async () => {
    for (const name of bad) expect(before, name).not.toContain(await keyOf(name))
  }, SOON_MS)
  // The key is good, and the body is not.
  for (const name of bad) expect(await enrol(await keyOf(name)), name).toBe(400)
  expect(await keyOf('enrolled-good')).toBe(good)
  expect(await keyOf('enrolled-touched')).toBe(touched)
})
