import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openScene, type Scene } from './scene.ts'

/** How a resource of the relay goes from an object to one of another name, namespace or cluster. */
const SOON_MS = 90_000
const LET_GO_MS = 45_000
const relayRef = { name: 'main' }

const declare = async (scene: Scene, name: string, spec: object = {}): Promise<void> => {
  await scene.apply('connectors', name, { relayRef, replicas: 0, ...spec })
}

async function untilReady(scene: Scene, plural: string, name: string, expected: object) {
  return await eventually(async () => {
    const ready = await scene.condition(plural, name, 'Ready')
    expect(ready).toMatchObject(expected)
    return ready
  }, SOON_MS)
}

const untilMade = async (scene: Scene, name: string) => {
  await untilReady(scene, 'connectors', name, { reason: 'ScaledToZero' })
  return (await scene.get('connectors', name)).status.connectorId
}

async function untilSourceMade(scene: Scene, name: string) {
  await untilReady(scene, 'sources', name, { reason: 'Applied' })
  return (await scene.get('sources', name)).status.sourceId
}

const conflictOf = async (scene: Scene, plural: string, name: string): Promise<string> =>
  (await untilReady(scene, plural, name, { status: 'False', reason: 'NameConflict' })).message

/** Deletes an object, and waits until it is gone. */
async function end(scene: Scene, plural: string, name: string, policy: string): Promise<void> {
  await scene.merge(plural, name, { spec: { deletionPolicy: policy } })
  await scene.remove(plural, name)
  await eventually(async () => {
    const names = (await scene.list(plural)).map(({ metadata }) => metadata.name)
    expect(names).not.toContain(name)
  }, SOON_MS)
}

const adoptFrom = async (scene: Scene, plural: string, name: string, cluster: string) =>
  await scene.merge(plural, name, {
    metadata: { annotations: { 'postern.dev/adopt-from': cluster } },
  })

describe('in two clusters with an operator each', () => {
  let here: Scene
  let there: Scene
  beforeAll(async () => {
    here = await openScene()
    there = await openScene()
    await here.operator({ name: 'here', env: { CLUSTER_ID: 'cluster-here' } })
    await there.operator({ name: 'there', env: { CLUSTER_ID: 'cluster-there' } })
  })
  afterAll(async () => {
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })

  test('an object that exists keeps its connector, and leaves it to another name by Retain, as the message says', async () => {
    await declare(here, 'first')
    const connectorId = await untilMade(here, 'first')
    await declare(here, 'second', { connectorId })
    const message = await conflictOf(here, 'connectors', 'second')
    expect(message).toContain(`first of the cluster cluster-here, which exists`)
    expect(message).toContain('delete that object with deletionPolicy: Retain')
    await end(here, 'connectors', 'first', 'Retain')
    expect(await untilMade(here, 'second')).toBe(connectorId)
    const { body } = await here.api('GET', `/v1/connectors/${connectorId}`)
    expect(body.metadata).toMatchObject({ 'postern.dev/name': 'second' })
    expect(body.metadata['postern.dev/released']).toBeUndefined()
  })

  test('a connector that was left goes to another namespace and cluster by its id alone', async () => {
    await declare(here, 'moving')
    const connectorId = await untilMade(here, 'moving')
    await end(here, 'connectors', 'moving', 'Retain')
    await declare(there, 'moved', { connectorId })
    expect(await untilMade(there, 'moved')).toBe(connectorId)
  })

  test('the connector of an object that exists in another cluster needs the annotation, and is not deleted with it', async () => {
    await declare(here, 'lively')
    const connectorId = await untilMade(here, 'lively')
    await declare(there, 'taker', { connectorId })
    const message = await conflictOf(there, 'connectors', 'taker')
    expect(message).toContain('postern.dev/adopt-from: cluster-here')
    await adoptFrom(there, 'connectors', 'taker', 'cluster-here')
    expect(await untilMade(there, 'taker')).toBe(connectorId)
    expect(await conflictOf(here, 'connectors', 'lively')).toContain('was taken over by')
    await end(here, 'connectors', 'lively', 'Delete')
    const { status, body } = await there.api('GET', `/v1/connectors/${connectorId}`)
    expect(status).toBe(200)
    expect(body.metadata).toMatchObject({ 'postern.dev/cluster': 'cluster-there' })
  })

  test('a source that was left is taken by the annotation, and keeps its address', async () => {
    await here.apply('sources', 'orders', { relayRef, displayName: 'adopted orders' })
    const sourceId = await untilSourceMade(here, 'orders')
    await there.apply('sources', 'invoices', { relayRef, displayName: 'adopted orders' })
    expect(await conflictOf(there, 'sources', 'invoices')).toContain('Retain')
    await end(here, 'sources', 'orders', 'Retain')
    await adoptFrom(there, 'sources', 'invoices', 'cluster-here')
    expect(await untilSourceMade(there, 'invoices')).toBe(sourceId)
    await end(there, 'sources', 'invoices', 'Delete')
    expect((await there.api('GET', `/v1/sources/${sourceId}`)).status).toBe(404)
  })

  test('the name of a connector that was left: the message has what takes it over', async () => {
    await declare(here, 'named', { displayName: 'adopted name' })
    const connectorId = await untilMade(here, 'named')
    await declare(there, 'namesake', { displayName: 'adopted name' })
    expect(await conflictOf(there, 'connectors', 'namesake')).toContain(connectorId)
    await end(here, 'connectors', 'named', 'Retain')
    await end(there, 'connectors', 'namesake', 'Delete')
    await declare(there, 'namesake', { displayName: 'adopted name', connectorId })
    expect(await untilMade(there, 'namesake')).toBe(connectorId)
  })

  test('with Retain a relay that is away holds an object for 45 s, with a warning', async () => {
    await there.apply('sources', 'stranded', { relayRef })
    await untilSourceMade(there, 'stranded')
    await there.relayAt('http://127.0.0.1:1')
    const began = Date.now()
    await end(there, 'sources', 'stranded', 'Retain')
    expect(Date.now() - began).toBeGreaterThan(LET_GO_MS - 1_500)
    await eventually(async () => {
      const reasons = (await there.events('stranded')).map(({ reason }) => reason)
      expect(reasons).toContain('LeftUnreleased')
    }, SOON_MS)
  })
})

describe('in a cluster that was restored elsewhere', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene()
  })
  afterAll(async () => await scene[Symbol.asyncDispose]())

  const declareAll = async (): Promise<void> => {
    await scene.apply('sources', 'survivor', { relayRef, displayName: 'restored source' })
    await declare(scene, 'survivor')
  }

  /** Objects of these names with other uids, as a backup brings them. */
  async function restore(): Promise<void> {
    for (const plural of ['sources', 'connectors']) {
      await scene.merge(plural, 'survivor', { metadata: { finalizers: [] } })
      await scene.remove(plural, 'survivor')
      expect(await scene.list(plural)).toEqual([])
    }
    await declareAll()
  }

  test('the message names operator.clusterId, by which objects have their resources again', async () => {
    let before: string[] = []
    {
      await using _old = await scene.operator({ env: { CLUSTER_ID: 'old-cluster' } })
      await declareAll()
      before = [await untilSourceMade(scene, 'survivor'), await untilMade(scene, 'survivor')]
    }
    await restore()
    {
      await using _new = await scene.operator({ env: { CLUSTER_ID: 'new-cluster' } })
      const message = await conflictOf(scene, 'sources', 'survivor')
      expect(message).toContain('operator.clusterId: old-cluster')
      await untilMade(scene, 'survivor')
      await end(scene, 'connectors', 'survivor', 'Delete')
    }
    await declareAll()
    await using _new = await scene.operator({ env: { CLUSTER_ID: 'old-cluster' } })
    const after = [await untilSourceMade(scene, 'survivor'), await untilMade(scene, 'survivor')]
    expect(after).toEqual(before)
  })
})
