import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { buildApp } from '../../api/app.ts'
import { CallerLimits } from '../../api/auth/caller-limits.ts'
import { pruneReplicas } from '../../core/db/connectors/replicas.ts'
import { makeSecret } from '../../core/keys/secret-text.ts'
import { CLOSE } from '../../core/tunnel/protocol.ts'
import { eventually, type Resource } from '../kit/relay.ts'
import { startWorld, type World } from '../kit/world.ts'
import { LONG, startAgent as startProgram } from '../tunnel/agent-world.ts'
import { endWithin, startAgent } from '../tunnel/agent.ts'
import { openGateway, type GatewayProcess } from '../tunnel/gateway.ts'

const GATEWAY_URL = 'ws://gateway.test'

let world: World
let gateway: GatewayProcess
beforeAll(async () => {
  world = await startWorld({ gatewayUrl: GATEWAY_URL, trustedProxies: ['127.0.0.1'] })
  gateway = await openGateway(world, 'gateway')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

let count = 0
/** Each caller has an address of its own, so that no test eats what another may ask. */
const someAddress = (): string => `192.0.2.${++count}`

interface Asked {
  from?: string
  api?: string
  authorization?: string
}

async function call(path: string, token: string, body: unknown, asked: Asked = {}) {
  const { from = someAddress(), api = world.apiUrl, authorization = `Bearer ${token}` } = asked
  const response = await fetch(`${api}/v1/connectors${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from, authorization },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const parsed: Resource = JSON.parse(text)
  return { status: response.status, headers: response.headers, text, body: parsed }
}

const agent = (instanceName = 'a') => ({
  instanceName,
  version: '1.2.3',
  startedAt: '2026-11-20T09:00:00.000Z',
})
const bootstrap = async (key: string, body: unknown = agent(), asked?: Asked) =>
  await call('/bootstrap', key, body, asked)
const heartbeat = async (token: string, asked?: Asked, body: unknown = BEAT) =>
  await call('/replicas/heartbeat', token, body, asked)
const BEAT = { inFlight: 3, sessions: 2, uptimeSeconds: 60 }

async function make(key = world.key): Promise<Resource> {
  const body = { name: `connector ${++count}`, allowedHosts: ['*.internal'] }
  const made = await world.api('POST', '/v1/connectors', body, { key })
  expect(made.status).toBe(201)
  return made.body
}

/** The limit of a connector, as if its seconds were over. */
async function waitOut(kind: string): Promise<void> {
  await world.pool.query('delete from public_limit where scope like $1', [`${kind}:%`])
  world.deps.callers = new CallerLimits()
}

async function replicasOf(id: string): Promise<Resource[]> {
  return (await world.api('GET', `/v1/connectors/${id}/replicas?sortDir=asc`)).body.data
}

test('an agent enrols, reports, dials, is seen, and reads what has changed', async () => {
  const connector = await make()
  const from = someAddress()
  const enrolled = await bootstrap(connector.enrollmentKey, agent('office-0'), { from })
  expect(enrolled.status).toBe(200)
  expect(enrolled.headers.get('cache-control')).toBe('no-store')
  expect(enrolled.body).toEqual({
    connectorId: connector.id,
    replicaId: expect.stringMatching(/^rpl_/),
    heartbeatToken: expect.stringMatching(/^pst_hb_[0-9A-Za-z]{43}$/),
    heartbeatIntervalSeconds: 15,
    gatewayUrl: GATEWAY_URL,
    allowedHosts: ['*.internal'],
  })
  const { heartbeatToken, replicaId } = enrolled.body
  expect(await replicasOf(connector.id)).toMatchObject([
    { id: replicaId, name: 'office-0', version: '1.2.3', remoteIp: from, status: 'offline' },
  ])
  using dialled = await startAgent(gateway.url, heartbeatToken)
  await eventually(async () => {
    expect(await replicasOf(connector.id)).toMatchObject([{ status: 'online' }])
  }, 3_000)
  const beat = await heartbeat(heartbeatToken, { from })
  expect(beat).toMatchObject({
    status: 200,
    body: {
      heartbeatIntervalSeconds: 15,
      gatewayUrl: GATEWAY_URL,
      allowedHosts: ['*.internal'],
      isDisabled: false,
    },
  })
  expect(await replicasOf(connector.id)).toMatchObject([{ inFlight: 3 }])
  const { body: disabled } = await world.api(
    'POST',
    `/v1/connectors/${connector.id}/toggle-disabled`,
    { isDisabled: true },
  )
  expect(disabled.isDisabled).toBe(true)
  expect(await endWithin(dialled, 1_000)).toMatchObject({ code: CLOSE.DISABLED })
  await waitOut('heartbeat')
  expect((await heartbeat(heartbeatToken)).body.isDisabled).toBe(true)
})

test('whatever is wrong with a token, the answer is the same bytes', async () => {
  const connector = await make()
  const { heartbeatToken } = (await bootstrap(connector.enrollmentKey)).body
  await world.api('POST', `/v1/connectors/${connector.id}/regenerate-enrollment`)
  const wrong = [
    '',
    'nonsense',
    'pst_enr_short',
    makeSecret('pst', 'enr').text,
    makeSecret('pst', 'hb').text,
    makeSecret('abc', 'enr').text,
    connector.enrollmentKey,
    world.key,
  ]
  const seen = new Set<string>()
  for (const token of wrong) {
    // A body that is wrong too says nothing more.
    for (const body of [agent(), { nonsense: true }]) {
      const answer = await bootstrap(token, body)
      expect(answer.status, token).toBe(401)
      seen.add(answer.text)
    }
  }
  for (const token of [...wrong, connector.enrollmentKey]) {
    const answer = await heartbeat(token)
    expect(answer.status, token).toBe(401)
    seen.add(answer.text)
  }
  expect((await bootstrap('', agent(), { authorization: 'Basic eDp5' })).status).toBe(401)
  expect([...seen]).toHaveLength(1)
  expect((await heartbeat(heartbeatToken)).status).toBe(200)
})

test('after regenerating, one key is good and enrolled replicas go on', async () => {
  const connector = await make()
  const { heartbeatToken } = (await bootstrap(connector.enrollmentKey)).body
  const path = `/v1/connectors/${connector.id}/regenerate-enrollment`
  const { body, headers } = await world.api('POST', path)
  expect(headers.get('cache-control')).toBe('no-store')
  await waitOut('bootstrap')
  expect((await bootstrap(body.enrollmentKey, agent('b'))).status).toBe(200)
  expect((await heartbeat(heartbeatToken)).status).toBe(200)
})

test('the body is looked at last, and its faults are named', async () => {
  const connector = await make()
  const answer = await bootstrap(connector.enrollmentKey, { ...agent('a\n'), extra: 1 })
  expect(answer.status).toBe(400)
  const paths = answer.body.data.fields.map(({ path }: { path: string }) => path)
  expect(paths).toEqual(['body.instanceName', 'body.extra'])
})

test('a client may ask 20 times at once and then 5 times a second, over all processes and before its token is looked at', async () => {
  const app = buildApp({ ...world.deps, callers: new CallerLimits(), registry: new Registry() })
  const other = await app.listen({ host: '127.0.0.1', port: 0 })
  const from = someAddress()
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, n) =>
      n % 2 === 0
        ? await heartbeat('nobody', { from, api: n % 4 === 0 ? other : world.apiUrl })
        : await bootstrap('nobody', agent(), { from, api: n % 4 === 1 ? other : world.apiUrl }),
    ),
  )
  await app.close()
  const passed = answers.filter(({ status }) => status === 401)
  expect(passed.length).toBeGreaterThanOrEqual(20)
  // Requests that came later than the first may have been let in by the second.
  expect(passed.length).toBeLessThan(30)
  const [limited] = answers.filter(({ status }) => status === 429)
  expect(limited?.body).toMatchObject({
    code: 'RATE_LIMITED',
    data: { limit: 20, remaining: 0, retryAfterSeconds: 1 },
  })
  expect(limited?.headers.get('retry-after')).toBe('1')
  expect((await heartbeat('nobody')).status).toBe(401)
  await sleep(1_000)
  expect((await heartbeat('nobody', { from })).status).toBe(401)
})

test('a connector enrols one agent in five seconds, and a replica reports once a second', async () => {
  const connector = await make()
  const first = await bootstrap(connector.enrollmentKey, agent('one'))
  const second = await bootstrap(connector.enrollmentKey, agent('two'))
  expect(second).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
  expect(second.body.data.retryAfterSeconds).toBeGreaterThanOrEqual(4)
  const token = first.body.heartbeatToken
  expect((await heartbeat(token)).status).toBe(200)
  expect(await heartbeat(token)).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
  await sleep(1_050)
  expect((await heartbeat(token)).status).toBe(200)
})

test('an offline instance of the same name is replaced and told so; a live one is not', async () => {
  const connector = await make()
  const former = (await bootstrap(connector.enrollmentKey)).body
  await waitOut('bootstrap')
  const next = (await bootstrap(connector.enrollmentKey)).body
  expect((await replicasOf(connector.id)).map(({ id }) => id)).toEqual([next.replicaId])
  expect(await heartbeat(former.heartbeatToken)).toMatchObject({
    status: 403,
    body: { code: 'CONNECTOR_REPLICA_REVOKED', data: { reason: 'replica_revoked' } },
  })
  using dialled = await startAgent(gateway.url, next.heartbeatToken)
  await eventually(async () => {
    expect(await replicasOf(connector.id)).toMatchObject([{ status: 'online' }])
  }, 3_000)
  await waitOut('bootstrap')
  const twin = await bootstrap(connector.enrollmentKey)
  expect(twin.status).toBe(200)
  expect((await heartbeat(next.heartbeatToken)).status).toBe(200)
  expect(await endWithin(dialled, 500)).toBe('open')
  expect(await replicasOf(connector.id)).toHaveLength(2)
})

test('the replicas of a plan are a limit, also for agents that enrol at once', async () => {
  const { key } = await world.createTenant('hobby')
  const connector = await make(key)
  for (const name of ['one', 'two']) {
    await waitOut('bootstrap')
    expect((await bootstrap(connector.enrollmentKey, agent(name))).status).toBe(200)
  }
  await waitOut('bootstrap')
  expect(await bootstrap(connector.enrollmentKey, agent('three'))).toMatchObject({
    status: 403,
    body: { code: 'REPLICA_LIMIT_REACHED', data: { limit: 2, current: 2 } },
  })
  await waitOut('bootstrap')
  // A restart is none more.
  expect((await bootstrap(connector.enrollmentKey, agent('two'))).status).toBe(200)
})

test('a revoked replica is shown as such, refused with its reason, and frees its place', async () => {
  const connector = await make()
  const { replicaId, heartbeatToken } = (await bootstrap(connector.enrollmentKey)).body
  using dialled = await startAgent(gateway.url, heartbeatToken)
  const path = `/v1/connectors/${connector.id}/replicas/${replicaId}/revoke`
  const revoked = await world.api('POST', path)
  expect(revoked).toMatchObject({ status: 200, body: { id: replicaId, status: 'revoked' } })
  expect(await endWithin(dialled, 1_000)).toEqual({ code: 4403, reason: 'replica_revoked' })
  expect((await world.api('POST', path)).body).toEqual(revoked.body)
  expect((await heartbeat(heartbeatToken)).body.data).toEqual({ reason: 'replica_revoked' })
  const other = await make()
  const foreign = `/v1/connectors/${other.id}/replicas/${replicaId}/revoke`
  expect((await world.api('POST', foreign)).status).toBe(404)
})

test('the token of a deleted connector is refused with that reason, and its session ends', async () => {
  const connector = await make()
  const { heartbeatToken } = (await bootstrap(connector.enrollmentKey)).body
  using dialled = await startAgent(gateway.url, heartbeatToken)
  await eventually(async () => {
    expect((await world.api('DELETE', `/v1/connectors/${connector.id}`)).status).toBe(204)
  })
  expect(await endWithin(dialled, 1_000)).toEqual({ code: 4403, reason: 'connector_deleted' })
  expect(await heartbeat(heartbeatToken)).toMatchObject({
    status: 403,
    body: { data: { reason: 'connector_deleted' } },
  })
})

test(
  'an agent whose connector was deleted is back within 30 s of the key of another',
  LONG,
  async () => {
    world.deps.gatewayUrl = gateway.url
    onTestFinished(() => void (world.deps.gatewayUrl = GATEWAY_URL))
    const [before, after] = [await make(), await make()]
    const args = ['--relay', world.apiUrl, '--allow', 'a.internal']
    await using running = startProgram(args, { key: before.enrollmentKey })
    await running.said('Connected to gateway')
    expect((await world.api('DELETE', `/v1/connectors/${before.id}`)).status).toBe(204)
    await running.said('was deleted')
    writeFileSync(join(running.stateDir, 'key'), after.enrollmentKey)
    await eventually(async () => {
      expect(await replicasOf(after.id)).toMatchObject([{ status: 'online' }])
    }, 30_000)
  },
)

test('a replica that was silent for a week is forgotten, and its token says so for 30 days', async () => {
  const connector = await make()
  const { heartbeatToken } = (await bootstrap(connector.enrollmentKey)).body
  const days = { silent: 7, revoked: 30 }
  const in8Days = world.clock.now() + 8 * 86_400_000
  await pruneReplicas(world.db, in8Days, days)
  expect(await heartbeat(heartbeatToken)).toMatchObject({
    status: 403,
    body: { data: { reason: 'identity_absent' } },
  })
  await pruneReplicas(world.db, in8Days + 31 * 86_400_000, days)
  await waitOut('heartbeat')
  expect((await heartbeat(heartbeatToken)).status).toBe(401)
})

test('the interval grows with the replicas behind one address', async () => {
  const connector = await make()
  const from = someAddress()
  const { replicaId, heartbeatToken } = (
    await bootstrap(connector.enrollmentKey, agent(), { from })
  ).body
  await world.pool.query(
    `insert into replica (id, connector_id, name, version, remote_ip, token_hash, started_at, last_heartbeat_at, created_at)
     select gen_random_uuid(), connector_id, 'n' || n, version, remote_ip, sha256(n::text::bytea), started_at, last_heartbeat_at, created_at
     from replica, generate_series(1, 199) n where remote_ip = $1`,
    [from],
  )
  const beat = await heartbeat(heartbeatToken, { from })
  expect(beat.body.heartbeatIntervalSeconds).toBe(80)
  expect(replicaId).toMatch(/^rpl_/)
})
