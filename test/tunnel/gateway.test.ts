import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  deleteConnector,
  findConnector,
  insertConnector,
  updateConnector,
  type Connector,
} from '../../core/db/connectors/connectors.ts'
import { insertReplica, listReplicas, revokeReplica } from '../../core/db/connectors/replicas.ts'
import { decodeId, newId } from '../../core/ids.ts'
import { hashSecret, makeSecret } from '../../core/keys/secret-text.ts'
import { noticeConnectors } from '../../core/notices/connector-notices.ts'
import { CLOSE } from '../../core/tunnel/protocol.ts'
import { eventually } from '../kit/relay.ts'
import { startWorld, type World } from '../kit/world.ts'
import { answers, endWithin, startAgent } from './agent.ts'
import { openGateway, type GatewayProcess } from './gateway.ts'

/** For what is promised within 1 s, on a machine that may stand still meanwhile. */
const SOON_MS = 3_000

let world: World
let gateway: GatewayProcess
beforeAll(async () => {
  world = await startWorld()
  gateway = await openGateway(world, 'gateway one')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const reach = () => ({
  organisationId: decodeId('org', world.organisationId) ?? '',
  projectId: decodeId('prj', world.projectId) ?? '',
})

async function makeConnector(): Promise<Connector> {
  const now = new Date(world.clock.now())
  const id = newId(now.getTime())
  const connector: Connector = {
    ...reach(),
    id,
    name: id,
    isDisabled: false,
    provisionedAt: null,
    allowedHosts: [],
    enrollmentHash: hashSecret(id),
    metadata: {},
    createdAt: now,
    updatedAt: now,
  }
  await insertConnector(world.db, connector)
  return connector
}

async function makeReplica(connectorId: string): Promise<{ id: string; token: string }> {
  const now = new Date(world.clock.now())
  const { text, hash } = makeSecret('pst', 'hb')
  const id = newId(now.getTime())
  await insertReplica(world.db, {
    id,
    connectorId,
    name: id,
    version: '1',
    remoteIp: '127.0.0.1',
    tokenHash: hash,
    startedAt: now,
    lastHeartbeatAt: now,
    createdAt: now,
  })
  return { id, token: text }
}

async function seen(connector: Connector) {
  const found = await findConnector(world.db, reach(), connector.id)
  if (found === undefined) throw new Error('It is gone')
  return found
}

test('a gateway takes a new connector over at once, without any replica', async () => {
  const connector = await makeConnector()
  noticeConnectors(world.nats, [connector.id])
  const { provisionedAt } = await eventually(async () => {
    const found = await seen(connector)
    expect(found.provisionedAt).not.toBeNull()
    return found
  }, SOON_MS)
  expect(provisionedAt).toBeInstanceOf(Date)
})

test('a connector whose notice was lost is taken over all the same', async () => {
  const connector = await makeConnector()
  await eventually(
    async () => expect((await seen(connector)).provisionedAt).not.toBeNull(),
    // A gateway at rest looks every five seconds.
    15_000,
  )
})

test.each([
  ['no token', ''],
  ['a token that never was', 'pst_hb_nothing'],
  ['a well-formed token that nobody has', makeSecret('pst', 'hb').text],
])('%s gets the one 401', async (_title, token) => {
  const { refused } = await startAgent(gateway.url, token)
  expect(refused).toMatchObject({
    status: 401,
    code: 'UNAUTHORIZED',
    message: 'Token is missing or invalid',
  })
})

test('an online replica is seen, and one whose session ends is not any more', async () => {
  const connector = await makeConnector()
  const replica = await makeReplica(connector.id)
  const agent = await startAgent(gateway.url, replica.token)
  expect(agent.gateway).toBe('gateway one')
  await eventually(async () => expect(agent.settings).toHaveLength(1))
  expect(agent.settings[0]).toEqual({ name: 'gateway one', streamsMax: 64, allowedHosts: [] })
  await eventually(async () => {
    expect(await seen(connector)).toMatchObject({
      onlineReplicas: 1,
      lastSeenAt: expect.any(Date),
    })
  }, SOON_MS)
  const page = { limit: 10, sortBy: 'createdAt', sortDir: 'asc', after: undefined } as const
  expect(await listReplicas(world.db, connector.id, page)).toMatchObject([{ isOnline: true }])
  expect(await gateway.metric('postern_gateway_sessions')).toBe(1)
  agent.link?.cut()
  await eventually(async () => expect((await seen(connector)).onlineReplicas).toBe(0), SOON_MS)
  expect(await gateway.metric('postern_gateway_sessions')).toBe(0)
})

test('a revoked replica loses its session within a second, and its token is refused with the reason', async () => {
  const connector = await makeConnector()
  const replica = await makeReplica(connector.id)
  const bystander = await makeReplica(connector.id)
  using agent = await startAgent(gateway.url, replica.token)
  using other = await startAgent(gateway.url, bystander.token)
  await revokeReplica(
    world.db,
    { connectorId: connector.id, id: replica.id },
    new Date(world.clock.now()),
  )
  noticeConnectors(world.nats, [connector.id])
  expect(await endWithin(agent, 1_000)).toEqual({ code: CLOSE.REVOKED, reason: 'replica_revoked' })
  const { refused } = await startAgent(gateway.url, replica.token)
  expect(refused).toMatchObject({
    status: 403,
    code: 'CONNECTOR_REPLICA_REVOKED',
    reason: 'replica_revoked',
  })
  expect(await endWithin(other, 200)).toBe('open')
})

test('a revocation that nobody was told of is found by the sweep', async () => {
  const connector = await makeConnector()
  const replica = await makeReplica(connector.id)
  using agent = await startAgent(gateway.url, replica.token)
  await sleep(200)
  await deleteConnector(world.db, connector.id, new Date(world.clock.now()))
  expect(await endWithin(agent, 15_000)).toEqual({
    code: CLOSE.REVOKED,
    reason: 'connector_deleted',
  })
})

test('a disabled connector has no sessions: the present one is closed, another is closed at once', async () => {
  const connector = await makeConnector()
  const { token } = await makeReplica(connector.id)
  using agent = await startAgent(gateway.url, token)
  await updateConnector(world.db, { ...connector, isDisabled: true })
  noticeConnectors(world.nats, [connector.id])
  expect(await endWithin(agent, 1_000)).toMatchObject({ code: CLOSE.DISABLED })
  using again = await startAgent(gateway.url, token)
  expect(await endWithin(again, 1_000)).toMatchObject({ code: CLOSE.DISABLED })
})

test('agents hear of other hosts while they are connected, and only of a change', async () => {
  const connector = await makeConnector()
  const { token } = await makeReplica(connector.id)
  using agent = await startAgent(gateway.url, token)
  noticeConnectors(world.nats, [connector.id])
  await sleep(200)
  expect(agent.settings).toHaveLength(1)
  await updateConnector(world.db, { ...connector, allowedHosts: ['a.internal'] })
  noticeConnectors(world.nats, [connector.id])
  await eventually(() => expect(agent.settings).toHaveLength(2), SOON_MS)
  expect(agent.settings[1]?.allowedHosts).toEqual(['a.internal'])
})

test('a second session of a replica at one gateway is told so, with the number of gateways', async () => {
  await using second = await openGateway(world, 'gateway two')
  const { id } = await makeConnector()
  const { token } = await makeReplica(id)
  using first = await startAgent(gateway.url, token)
  const { refused } = await startAgent(gateway.url, token, answers(200), [first.gateway])
  expect(refused).toMatchObject({ status: 409, code: 'CONFLICT' })
  using elsewhere = await startAgent(second.url, token, answers(200), [first.gateway])
  expect(elsewhere.gateway).toBe('gateway two')
})

test('an agent that forgot its session, as after a power cut, gets a new one in its place', async () => {
  const { id } = await makeConnector()
  const { token } = await makeReplica(id)
  using former = await startAgent(gateway.url, token)
  await sleep(3_100)
  using again = await startAgent(gateway.url, token)
  expect(again.refused).toBeUndefined()
  expect(await endWithin(former, 1_000)).toMatchObject({ code: CLOSE.DUPLICATE })
  expect(await endWithin(again, 200)).toBe('open')
})

test('a gateway that goes away says so first, lets agents finish, and closes with 1001', async () => {
  await using leaving = await openGateway(world, 'leaving')
  const { id } = await makeConnector()
  const { token } = await makeReplica(id)
  using agent = await startAgent(leaving.url, token)
  const drained = leaving.drain()
  await eventually(() => expect(agent.isParting).toBe(true), SOON_MS)
  const { refused } = await startAgent(leaving.url, token)
  expect(refused).toMatchObject({ status: 503, retryAfterMs: expect.any(Number) })
  expect(await endWithin(agent, 3_000)).toMatchObject({ code: CLOSE.GOING_AWAY })
  await drained
})
