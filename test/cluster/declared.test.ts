import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openScene, type Scene } from './scene.ts'

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
  await scene.operator()
})

afterAll(async () => await scene[Symbol.asyncDispose]())

const SOON_MS = 90_000
const relayRef = { name: 'main' }

async function untilReady(plural: string, name: string): Promise<void> {
  await eventually(async () => {
    expect(await scene.condition(plural, name, 'Ready')).toMatchObject({ status: 'True' })
  }, SOON_MS)
}

test('a Connection waits for its ends, whatever the order in which all three come', async () => {
  await scene.apply('connections', 'paid', {
    relayRef,
    sourceRef: { name: 'stripe' },
    destinationRef: { name: 'shop' },
  })
  await eventually(async () => {
    const ready = await scene.condition('connections', 'paid', 'Ready')
    expect(ready).toMatchObject({ status: 'Unknown', reason: 'WaitingForSource' })
  }, SOON_MS)
  await scene.secret('stripe', { secret: 'whsec_first_one' })
  const secretRef = { name: 'stripe', key: 'secret' }
  await scene.apply('sources', 'stripe', { relayRef, verifier: { preset: 'stripe', secretRef } })
  await scene.apply('destinations', 'shop', { relayRef, url: 'https://shop.example.com/hooks' })
  for (const [plural, name] of [
    ['sources', 'stripe'],
    ['destinations', 'shop'],
    ['connections', 'paid'],
  ] as const) {
    await untilReady(plural, name)
  }
  const { status } = await scene.get('sources', 'stripe')
  const { body } = await scene.api('GET', `/v1/sources/${status.sourceId}`)
  expect(status.ingestUrl).toBe(body.ingestUrl)
  expect(body.metadata).toMatchObject({ 'postern.dev/name': 'stripe' })
  expect(body.secretHint).toMatch(/one$/)
})

test('a changed Secret reaches the relay', async () => {
  await scene.secret('stripe', { secret: 'whsec_second_two' })
  const { status } = await scene.get('sources', 'stripe')
  await eventually(async () => {
    const { body } = await scene.api('GET', `/v1/sources/${status.sourceId}`)
    expect(body.secretHint).toMatch(/two$/)
  }, SOON_MS)
})

test('a private Destination follows its Connector', async () => {
  await scene.apply('connectors', 'office', { relayRef, replicas: 1 })
  await scene.apply('destinations', 'inside', {
    relayRef,
    url: 'http://payroll.internal:8080/hooks',
    mode: 'private',
    connectorRef: { name: 'office' },
  })
  await untilReady('destinations', 'inside')
  const { status } = await scene.get('destinations', 'inside')
  const connector = await scene.get('connectors', 'office')
  const { body } = await scene.api('GET', `/v1/destinations/${status.destinationId}`)
  expect(body.connectorId).toBe(connector.status.connectorId)
})

test('a resource that belongs to another object is left alone', async () => {
  await scene.apply('destinations', 'twin', {
    relayRef,
    displayName: 'shop',
    url: 'https://twin.example.com/',
  })
  await eventually(async () => {
    expect(await scene.condition('destinations', 'twin', 'Stalled')).toMatchObject({
      reason: 'NameConflict',
    })
  }, SOON_MS)
  await scene.remove('destinations', 'twin')
})

test('deleting everything at once ends, and leaves nothing in the relay', async () => {
  for (const plural of ['sources', 'destinations', 'connections', 'connectors', 'relays']) {
    await scene.cluster.kubectl('-n', scene.namespace, 'delete', plural, '--all', '--wait=false')
  }
  await scene.cluster.request('DELETE', `/api/v1/namespaces/${scene.namespace}/secrets/key`)
  await eventually(async () => {
    for (const plural of ['sources', 'destinations', 'connections', 'connectors']) {
      expect(await scene.list(plural)).toEqual([])
      const { body } = await scene.api('GET', `/v1/${plural}?limit=100`)
      const left = body.data.filter(
        ({ metadata }: { metadata: Record<string, string> }) =>
          metadata['postern.dev/namespace'] === scene.namespace,
      )
      expect(left).toEqual([])
    }
  }, SOON_MS)
})
