import { Registry } from 'prom-client'
import { beforeEach, expect, test } from 'vitest'

import { openOperatorMetrics, type OperatorMetrics, SERIES_MAX } from './operator-metrics.ts'
import { keyOf, type KubeObject } from './runtime/kube/object.ts'
import { Store } from './runtime/watch/store.ts'

let registry: Registry
let metrics: OperatorMetrics
let world: Record<
  'relays' | 'connectors' | 'sources' | 'destinations' | 'connections',
  Store<KubeObject>
>
beforeEach(() => {
  registry = new Registry()
  world = {
    relays: new Store(),
    connectors: new Store(),
    sources: new Store(),
    destinations: new Store(),
    connections: new Store(),
  }
  metrics = openOperatorMetrics(registry, world)
})

/** The samples of a gauge, by their labels. */
async function valuesOf(name: string): Promise<Record<string, number>> {
  const found = (await registry.getMetricsAsJSON()).find((metric) => metric.name === name)
  const samples = (found?.values ?? []).map(
    ({ labels, value }) => [Object.values(labels).join('/'), value] as const,
  )
  return Object.fromEntries(samples)
}

const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString()

let count = 0
function objectOf(name: string, ready?: [status: string, reason: string, seconds: number]) {
  const [status, reason, seconds = 0] = ready ?? []
  const condition = { type: 'Ready', status, reason, lastTransitionTime: ago(seconds) }
  return {
    metadata: {
      name,
      namespace: 'shop',
      uid: name,
      resourceVersion: String(++count),
      creationTimestamp: ago(5_000),
    },
    spec: { replicas: 2 },
    status: { conditions: ready === undefined ? [] : [condition], connectedReplicas: 1 },
  }
}

const AGE = 'postern_operator_not_ready_age_seconds'

test('the age of what is not Ready is that of the oldest of its kind', async () => {
  world.connectors.put(objectOf('good', ['True', 'Connected', 9_000]))
  world.connectors.put(objectOf('young', ['Unknown', 'RollingOut', 10]))
  world.connectors.put(objectOf('old', ['False', 'NotConnected', 600]))
  world.sources.put(objectOf('good', ['True', 'Applied', 9_000]))
  world.destinations.put(objectOf('unseen'))
  const { Connector, Destination, ...others } = await valuesOf(AGE)
  expect(Connector).toBeGreaterThanOrEqual(600)
  expect(Connector).toBeLessThan(630)
  expect(Destination).toBeGreaterThanOrEqual(5_000)
  expect(others).toEqual({ Relay: 0, Source: 0, Connection: 0 })
  world.connectors.put(objectOf('old', ['True', 'Connected', 0]))
  expect((await valuesOf(AGE))['Connector']).toBeLessThan(60)
})

test.each(['Suspended', 'Disabled', 'ScaledToZero'])(
  'an object that is %s waits for nothing, and is to have no agents',
  async (reason) => {
    world.connectors.put(objectOf('off', ['False', reason, 9_000]))
    expect(await valuesOf(AGE)).toMatchObject({ Connector: 0 })
    expect(await valuesOf('postern_operator_connector_replicas')).toEqual({ 'shop/off': 0 })
    expect(await valuesOf('postern_operator_connector_sessions')).toEqual({ 'shop/off': 1 })
  },
)

test('among too many Connectors those that lack agents are shown, and the same by each gauge', async () => {
  const isGone = 'zz'
  for (let index = 0; index < SERIES_MAX; index++) {
    const connector = objectOf(`c${index}`, ['True', 'Connected', 1])
    world.connectors.put({ ...connector, status: { ...connector.status, connectedReplicas: 2 } })
  }
  world.connectors.put(objectOf(isGone, ['False', 'NotConnected', 600]))
  const sessions = await valuesOf('postern_operator_connector_sessions')
  expect(Object.keys(sessions)).toHaveLength(SERIES_MAX)
  expect(sessions).toMatchObject({ [`shop/${isGone}`]: 1 })
  const replicas = await valuesOf('postern_operator_connector_replicas')
  expect(Object.keys(replicas)).toEqual(Object.keys(sessions))
})

const CONTACT = 'postern_operator_relay_contact_age_seconds'

test('the age of a contact is shown by the process that leads, for the relays that are there', async () => {
  world.relays.put(objectOf('main'))
  expect(await valuesOf(CONTACT)).toEqual({})
  const ages = new Map([
    ['shop/main', 1_500],
    ['shop/other', 90_000],
  ])
  metrics.watchRelays((relay) => ages.get(keyOf(relay)) ?? 0)
  world.relays.put(objectOf('other'))
  expect(await valuesOf(CONTACT)).toEqual({ 'shop/main': 1.5, 'shop/other': 90 })
  world.relays.remove('shop/other')
  expect(await valuesOf(CONTACT)).toEqual({ 'shop/main': 1.5 })
})

test('among too many Relays those without a contact for longest are shown', async () => {
  for (let index = 0; index <= SERIES_MAX; index++) world.relays.put(objectOf(`r${index}`))
  metrics.watchRelays((relay) => Number(relay.metadata.name.slice(1)))
  const shown = await valuesOf(CONTACT)
  expect(Object.keys(shown)).toHaveLength(SERIES_MAX)
  expect(shown).not.toHaveProperty('shop/r0')
})
