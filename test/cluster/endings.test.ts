import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openScene, type Scene } from './scene.ts'

/** How objects come to belong to each other, and how they end. */
const SOON_MS = 90_000
const relayRef = { name: 'main' }
const MERGE = 'application/merge-patch+json'

async function untilReason(scene: Scene, name: string, reason: string): Promise<void> {
  await eventually(async () => {
    expect(await scene.condition('connectors', name, 'Ready')).toMatchObject({ reason })
  }, SOON_MS)
}

const declare = async (scene: Scene, name: string, spec: object = {}): Promise<void> => {
  await scene.apply('connectors', name, { relayRef, replicas: 0, ...spec })
}

async function makeConnector(scene: Scene, name: string, metadata: object = {}): Promise<string> {
  const { body } = await scene.api('POST', '/v1/connectors', { name, metadata })
  return body.id
}

const secretOf = async (scene: Scene, name: string) =>
  await scene.find(`/api/v1/namespaces/${scene.namespace}/secrets/${name}-connector`)

describe('with an operator', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene()
    await scene.operator()
  })
  afterAll(async () => await scene[Symbol.asyncDispose]())

  test('a connector that is there already is taken over by its id, with a key of its own', async () => {
    const id = await makeConnector(scene, 'by hand', { team: 'payments' })
    await declare(scene, 'adopted', { connectorId: id, displayName: 'by git' })
    await untilReason(scene, 'adopted', 'ScaledToZero')
    const { body } = await scene.api('GET', `/v1/connectors/${id}`)
    expect(body.name).toBe('by git')
    expect(body.metadata).toMatchObject({ team: 'payments', 'postern.dev/name': 'adopted' })
    expect((await secretOf(scene, 'adopted')).data['enrollment-key']).toBeDefined()
    // The same one for another object is refused, and the end of that object is not the end of the connector.
    await declare(scene, 'greedy', { connectorId: id })
    await untilReason(scene, 'greedy', 'NameConflict')
    await scene.remove('connectors', 'greedy')
    await eventually(async () => {
      const names = (await scene.list('connectors')).map(({ metadata }) => metadata.name)
      expect(names).not.toContain('greedy')
    }, SOON_MS)
    expect((await scene.api('GET', `/v1/connectors/${id}`)).status).toBe(200)
  })

  test('a source of the same name that is nobody’s is taken over; that of another cluster is left alone', async () => {
    const { body: free } = await scene.api('POST', '/v1/sources', { name: 'free' })
    const metadata = { 'postern.dev/cluster': 'elsewhere', 'postern.dev/uid': 'x' }
    const { body: theirs } = await scene.api('POST', '/v1/sources', { name: 'theirs', metadata })
    await scene.apply('sources', 'free', { relayRef })
    await scene.apply('sources', 'theirs', { relayRef })
    await eventually(async () => {
      expect((await scene.get('sources', 'free')).status?.sourceId).toBe(free.id)
      const stalled = await scene.condition('sources', 'theirs', 'Stalled')
      expect(stalled).toMatchObject({ reason: 'NameConflict' })
      expect(stalled.message).toContain('elsewhere')
    }, SOON_MS)
    await scene.remove('sources', 'theirs')
    await eventually(async () => expect(await scene.list('sources')).toHaveLength(1), SOON_MS)
    expect((await scene.api('GET', `/v1/sources/${theirs.id}`)).body.metadata).toEqual(metadata)
    await scene.api('DELETE', `/v1/sources/${theirs.id}`)
  })

  test('with Retain the resource of the relay stays when its object goes', async () => {
    await declare(scene, 'retained', { deletionPolicy: 'Retain' })
    await scene.apply('sources', 'retained', { relayRef })
    await untilReason(scene, 'retained', 'ScaledToZero')
    await eventually(async () => {
      const ready = await scene.condition('sources', 'retained', 'Ready')
      expect(ready).toMatchObject({ status: 'True' })
    }, SOON_MS)
    // Decided late, it counts as well.
    await scene.merge('sources', 'retained', { spec: { deletionPolicy: 'Retain' } })
    const { connectorId } = (await scene.get('connectors', 'retained')).status
    const { sourceId } = (await scene.get('sources', 'retained')).status
    await scene.remove('connectors', 'retained')
    await scene.remove('sources', 'retained')
    await eventually(async () => {
      for (const plural of ['connectors', 'sources']) {
        const names = (await scene.list(plural)).map(({ metadata }) => metadata.name)
        expect(names).not.toContain('retained')
      }
      expect(await secretOf(scene, 'retained')).toBeUndefined()
    }, SOON_MS)
    expect((await scene.api('GET', `/v1/connectors/${connectorId}`)).status).toBe(200)
    expect((await scene.api('GET', `/v1/sources/${sourceId}`)).status).toBe(200)
    // The next object of that name has them again: a source keeps its address.
    await declare(scene, 'retained', { connectorId })
    await scene.apply('sources', 'retained', { relayRef })
    await eventually(async () => {
      expect((await scene.get('sources', 'retained')).status?.sourceId).toBe(sourceId)
      expect((await scene.get('connectors', 'retained')).status?.connectorId).toBe(connectorId)
    }, SOON_MS)
    await untilReason(scene, 'retained', 'ScaledToZero')
  })

  test('a key of the age of rotateAfter is replaced, and a young one is not', async () => {
    await declare(scene, 'aged', { enrollment: { rotateAfter: '1h' } })
    await untilReason(scene, 'aged', 'ScaledToZero')
    const path = `/api/v1/namespaces/${scene.namespace}/secrets/aged-connector`
    const before = await scene.cluster.request('GET', path)
    const age = async (ms: number): Promise<void> => {
      const annotations = { 'postern.dev/enrolled-at': new Date(Date.now() - ms).toISOString() }
      await scene.cluster.request('PATCH', path, { metadata: { annotations } }, MERGE)
    }
    await age(50 * 60_000)
    await sleep(3_000)
    expect((await secretOf(scene, 'aged')).data).toEqual(before.data)
    await age(61 * 60_000)
    await eventually(async () => {
      const { data, metadata } = await secretOf(scene, 'aged')
      expect(data['enrollment-key']).not.toBe(before.data['enrollment-key'])
      const enrolledAt = Date.parse(metadata.annotations['postern.dev/enrolled-at'])
      expect(Date.now() - enrolledAt).toBeLessThan(10 * 60_000)
    }, SOON_MS)
  })

  test('fields of others on a child stay, and theirs over ours are told as a conflict', async () => {
    await declare(scene, 'shared')
    await untilReason(scene, 'shared', 'ScaledToZero')
    const path = `/apis/policy/v1/namespaces/${scene.namespace}/poddisruptionbudgets/shared-connector`
    const apply = async (object: object): Promise<unknown> => {
      const body = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', ...object }
      const query = '?fieldManager=somebody'
      return await scene.cluster.request(
        'PATCH',
        path + query,
        body,
        'application/apply-patch+yaml',
      )
    }
    const metadata = { name: 'shared-connector' }
    await apply({ metadata: { ...metadata, annotations: { theirs: 'yes' } } })
    const asked = apply({ metadata, spec: { maxUnavailable: 2 } })
    await expect(asked).rejects.toThrow(/409.*conflict with .*postern-operator/)
    await scene.cluster.request('PATCH', path, { spec: { maxUnavailable: 2 } }, MERGE)
    await eventually(async () => {
      const found = await scene.find(path)
      expect(found.spec.maxUnavailable).toBe(1)
      expect(found.metadata.annotations).toMatchObject({ theirs: 'yes' })
    }, SOON_MS)
    // Whoever applies a Connector anew has no conflict with the operator, which writes but its status and finalizer.
    const again = await scene.cluster.request(
      'PATCH',
      `/apis/postern.dev/v1alpha1/namespaces/${scene.namespace}/connectors/shared?fieldManager=git`,
      {
        apiVersion: 'postern.dev/v1alpha1',
        kind: 'Connector',
        metadata: { name: 'shared' },
        spec: { relayRef },
      },
      'application/apply-patch+yaml',
    )
    expect(again.metadata.finalizers).toEqual(['postern.dev/relay-resource'])
  })

  test.each<[what: string, template: object, named: string]>([
    ['a quantity that is none', { resources: { limits: { memory: 'much' } } }, 'quantities'],
    ['an unknown member', { affinity: { podAfinity: { term: 1 } } }, 'podAfinity'],
    ['a contradiction', { tolerations: [{ operator: 'Exists', value: 'x' }] }, 'tolerations'],
  ])(
    'a template with %s is said, and the StatefulSet that runs stays',
    async (_, template, named) => {
      await declare(scene, 'misspelt')
      await untilReason(scene, 'misspelt', 'ScaledToZero')
      const path = `/apis/apps/v1/namespaces/${scene.namespace}/statefulsets/misspelt-connector`
      const { uid } = (await scene.find(path)).metadata
      await declare(scene, 'misspelt', { template })
      await untilReason(scene, 'misspelt', 'ChildRefused')
      const { message } = await scene.condition('connectors', 'misspelt', 'Stalled')
      expect(message).toContain(named)
      expect((await scene.find(path)).metadata.uid).toBe(uid)
    },
  )

  test('a contest with somebody who changes a child back is told, slows down, and is won when they stop', async () => {
    await declare(scene, 'contested')
    await untilReason(scene, 'contested', 'ScaledToZero')
    const path = `/apis/policy/v1/namespaces/${scene.namespace}/poddisruptionbudgets/contested-connector`
    const disturb = async (): Promise<void> => {
      const { spec } = await scene.find(path)
      if (spec.maxUnavailable === 1) {
        await scene.cluster.request('PATCH', path, { spec: { maxUnavailable: 3 } }, MERGE)
      }
    }
    await eventually(async () => {
      await disturb()
      const condition = await scene.condition('connectors', 'contested', 'Reconciling')
      expect(condition).toMatchObject({ reason: 'Contested' })
    }, SOON_MS)
    const { generation } = (await scene.find(path)).metadata
    await sleep(5_000)
    expect((await scene.find(path)).metadata.generation).toBe(generation)
    await eventually(async () => {
      expect((await scene.find(path)).spec.maxUnavailable).toBe(1)
      const condition = await scene.condition('connectors', 'contested', 'Reconciling')
      expect(condition).toBeUndefined()
    }, SOON_MS)
  })
})

describe('with an operator that was started since', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene()
  })
  afterAll(async () => await scene[Symbol.asyncDispose]())

  test('objects whose Relay and key are gone are let go after 45 s, with a warning', async () => {
    {
      await using _operator = await scene.operator()
      await declare(scene, 'left')
      await scene.apply('sources', 'left', { relayRef })
      await untilReason(scene, 'left', 'ScaledToZero')
      await eventually(async () => {
        const ready = await scene.condition('sources', 'left', 'Ready')
        expect(ready).toMatchObject({ status: 'True' })
      }, SOON_MS)
    }
    const { connectorId } = (await scene.get('connectors', 'left')).status
    await scene.remove('relays', 'main')
    await scene.cluster.request('DELETE', `/api/v1/namespaces/${scene.namespace}/secrets/key`)
    await scene.remove('connectors', 'left')
    await scene.remove('sources', 'left')
    const deletedAt = Date.now()
    await using _operator = await scene.operator()
    await untilReason(scene, 'left', 'RelayNotFound')
    await eventually(async () => {
      expect(await scene.list('connectors')).toEqual([])
      expect(await scene.list('sources')).toEqual([])
    }, SOON_MS)
    expect(Date.now() - deletedAt).toBeGreaterThan(44_000)
    await eventually(async () => {
      const warnings = (await scene.events('left')).filter(({ type }) => type === 'Warning')
      const kinds = warnings
        .filter(({ reason }) => reason === 'ReleasedWithoutDeletion')
        .map(({ regarding }): string => regarding.kind)
      expect(kinds.toSorted()).toEqual(['Connector', 'Source'])
    }, SOON_MS)
    // It stays where it is, as the warning says.
    expect((await scene.api('GET', `/v1/connectors/${connectorId}`)).status).toBe(200)
    await scene.api('DELETE', `/v1/connectors/${connectorId}`)
  })
})

describe('a namespace that is deleted as a whole', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene()
  })
  afterAll(async () => await scene[Symbol.asyncDispose]())

  test('ends, and leaves nothing in the relay', async () => {
    // The operator lives elsewhere, as it does in a cluster.
    await scene.operator({ env: { POD_NAMESPACE: 'default', LEASE_NAME: scene.namespace } })
    await declare(scene, 'inside', { replicas: 1 })
    await scene.apply('sources', 'inside', { relayRef })
    await untilReason(scene, 'inside', 'RollingOut')
    await eventually(async () => {
      const ready = await scene.condition('sources', 'inside', 'Ready')
      expect(ready).toMatchObject({ status: 'True' })
    }, SOON_MS)
    const { sourceId } = (await scene.get('sources', 'inside')).status
    await scene.cluster.request('DELETE', `/api/v1/namespaces/${scene.namespace}`)
    await eventually(async () => {
      expect(await scene.find(`/api/v1/namespaces/${scene.namespace}`)).toBeUndefined()
    }, SOON_MS)
    expect(await scene.connectors()).toEqual([])
    expect((await scene.api('GET', `/v1/sources/${sourceId}`)).status).toBe(404)
  })
})
