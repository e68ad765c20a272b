import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openProxy, type Proxy } from './proxy.ts'
import { openScene, startAgent, type Scene } from './scene.ts'

/** The figures on which the alerts of the operator rest, of real objects. */
const SOON_MS = 60_000

let scene: Scene
let relay: Proxy
let leader: Awaited<ReturnType<Scene['operator']>>
let standby: typeof leader
beforeAll(async () => {
  scene = await openScene()
  relay = await openProxy(scene.apiUrl)
  await scene.relayAt(relay.url)
  leader = await scene.operator()
  await scene.apply('connectors', 'figures', { relayRef: { name: 'main' }, replicas: 1 })
  await expectEnrolled()
  standby = await scene.operator({ name: 'standby' })
})
afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
})

async function expectEnrolled(): Promise<void> {
  await eventually(async () => {
    const stored = await scene.condition('connectors', 'figures', 'EnrollmentReady')
    expect(stored).toMatchObject({ status: 'True' })
  }, SOON_MS)
}

const ofConnector = (metric: string): string =>
  `${metric}{namespace="${scene.namespace}",connector="figures"}`

async function expectShown(sessions: number, replicas: number): Promise<void> {
  await eventually(async () => {
    for (const operator of [leader, standby]) {
      const shown = [
        await operator.metric(ofConnector('postern_operator_connector_sessions')),
        await operator.metric(ofConnector('postern_operator_connector_replicas')),
      ]
      expect(shown).toEqual([sessions, replicas])
    }
  }, SOON_MS)
}

test('sessions of a Connector are shown beside the agents that it is to have, by a standby too', async () => {
  await expectShown(0, 1)
  await using _agent = await startAgent(scene, 'figures', 'figures-connector-0')
  await expectShown(1, 1)
  await scene.merge('connectors', 'figures', { spec: { suspend: true } })
  await expectShown(1, 0)
  await scene.merge('connectors', 'figures', { spec: { suspend: false } })
  await expectShown(1, 1)
})

test('a relay that answers no more has an older contact, and its Relay an age without Ready', async () => {
  const contact = `postern_operator_relay_contact_age_seconds{namespace="${scene.namespace}",relay="main"}`
  const notReady = 'postern_operator_not_ready_age_seconds{kind="Relay"}'
  // A list comes each 2 seconds.
  await eventually(async () => expect(await leader.metric(contact)).toBeLessThan(6), SOON_MS)
  expect(await leader.metric(notReady)).toBe(0)
  relay.watcher = { before: () => ({ status: 503, body: { message: 'Away' } }) }
  await eventually(async () => {
    expect(await leader.metric(contact)).toBeGreaterThan(8)
    expect(await leader.metric(notReady)).toBeGreaterThan(2)
  }, SOON_MS)
  const text = await (await fetch(`${standby.opsUrl}/metrics`)).text()
  expect(text).not.toContain('\npostern_operator_relay_contact_age_seconds{')
  relay.watcher = {}
  await eventually(async () => {
    expect(await leader.metric(contact)).toBeLessThan(6)
    expect(await leader.metric(notReady)).toBe(0)
  }, SOON_MS)
})

test('a single operator leads, under the name of its lease', async () => {
  const name = 'leader_election_master_status{'
  expect(await leader.metric(name)).toBe(1)
  expect(await standby.metric(name)).toBe(0)
})
