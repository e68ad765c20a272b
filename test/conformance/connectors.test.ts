import { setTimeout as sleep } from 'node:timers/promises'

import { beforeAll, expect, inject, test } from 'vitest'

import type { Answer } from '../kit/call-api.ts'
import type { Resource } from '../kit/relay.ts'
import { endWithin, startAgent } from '../tunnel/agent.ts'
import { accept, call, eventually, openTenant, type Tenant } from './tenant.ts'

const { gatewayUrl } = inject('installation')
const BEAT = { inFlight: 0, sessions: 0, uptimeSeconds: 1 }
const GENERIC = { code: 'UNAUTHORIZED', status: 401, message: 'Token is missing or invalid' }
/** All callers share an address here: one that comes too often waits as it is told. */
const TRIES = 10

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

async function callPublic(path: string, token: string, body: object): Promise<Answer> {
  let answer = await call('POST', `/v1/connectors${path}`, body, { key: token })
  for (let tries = 0; tries < TRIES && answer.status === 429; tries++) {
    await sleep(answer.body.data.retryAfterSeconds * 1_000)
    answer = await call('POST', `/v1/connectors${path}`, body, { key: token })
  }
  return answer
}

const enrol = async (key: string, instanceName = 'agent'): Promise<Answer> =>
  await callPublic('/bootstrap', key, {
    instanceName,
    version: '1',
    startedAt: '2026-11-20T09:00:00.000Z',
  })
const heartbeat = async (token: string): Promise<Answer> =>
  await callPublic('/replicas/heartbeat', token, BEAT)

/** The connector is provisioned, and an agent has enrolled. */
async function enrolled(): Promise<{ connector: Resource; replicaId: string; token: string }> {
  const connector = await tenant.make('connectors')
  const { status, body } = await enrol(connector.enrollmentKey)
  expect(status).toBe(200)
  return { connector, replicaId: body.replicaId, token: body.heartbeatToken }
}

test('the service, line 4: "private destinations are reached through a connector"', async () => {
  const { connector, replicaId, token } = await enrolled()
  const url = 'http://billing.internal/hook'
  const members = { url, mode: 'private', connectorId: connector.id }
  const destination = await tenant.make('destinations', members)
  const source = await tenant.make('sources')
  await tenant.connect(source, destination)
  const eventId = await accept(source, { body: 'private' })
  await tenant.reaches(eventId, { status: 'pending', lastError: 'connector_offline' })
  using _agent = await startAgent(gatewayUrl, token)
  const { attempts } = await tenant.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
  expect(attempts).toMatchObject([{ requestUrl: url, replicaId, responseStatus: 200 }])
})

test('destination: "private mode" names a connector, and a public one has none', async () => {
  const connector = await tenant.make('connectors')
  const url = 'http://billing.internal'
  const made = await tenant.make('destinations', {
    url,
    mode: 'private',
    connectorId: connector.id,
  })
  expect(made).toMatchObject({ mode: 'private', connectorId: connector.id })
  const without = { name: 'without', url, mode: 'private' }
  expect(await tenant.api('POST', '/v1/destinations', without)).toMatchObject({ status: 400 })
})

test('connector: "provisionedAt" is null while provisioning, and "replicas can be revoked"', async () => {
  const { connector, replicaId, token } = await enrolled()
  expect(connector.provisionedAt).toBeNull()
  await eventually(async () => {
    const { provisionedAt } = await tenant.get(`/v1/connectors/${connector.id}`)
    expect(provisionedAt).toEqual(expect.any(String))
  })
  using agent = await startAgent(gatewayUrl, token)
  const path = `/v1/connectors/${connector.id}/replicas/${replicaId}/revoke`
  expect(await tenant.post(path)).toMatchObject({ id: replicaId, status: 'revoked' })
  expect(await endWithin(agent, 5_000)).toEqual({ code: 4403, reason: 'replica_revoked' })
})

test('connectors: POST is 403 CONNECTOR_LIMIT_REACHED "when the plan limit is used up"', async () => {
  const hobby = await openTenant('hobby')
  expect(await hobby.make('connectors')).toMatchObject({
    enrollmentKey: expect.stringMatching(/_enr_/),
  })
  expect(await hobby.api('POST', '/v1/connectors', { name: 'one more' })).toMatchObject({
    status: 403,
    body: { code: 'CONNECTOR_LIMIT_REACHED', data: { limit: 1, current: 1 } },
  })
})

test('connectors: bootstrap is "public, authenticated by an enrolment key"', async () => {
  const { enrollmentKey, id } = await tenant.make('connectors')
  expect(await enrol(enrollmentKey)).toMatchObject({
    status: 200,
    body: { connectorId: id, gatewayUrl, heartbeatToken: expect.stringMatching(/_hb_/) },
  })
})

test('connectors: heartbeat is "authenticated by a heartbeat token"; 403 CONNECTOR_REPLICA_REVOKED with its reason', async () => {
  const { connector, replicaId, token } = await enrolled()
  expect(await heartbeat(token)).toMatchObject({ status: 200, body: { gatewayUrl } })
  await tenant.post(`/v1/connectors/${connector.id}/replicas/${replicaId}/revoke`)
  const revoked = { status: 403, body: { code: 'CONNECTOR_REPLICA_REVOKED' } }
  expect(await heartbeat(token)).toMatchObject(revoked)
  expect((await heartbeat(token)).body.data).toEqual({ reason: 'replica_revoked' })
  const other = await enrolled()
  await eventually(async () => {
    const path = `/v1/connectors/${other.connector.id}`
    expect(await tenant.api('DELETE', path)).toMatchObject({ status: 204 })
  })
  expect((await heartbeat(other.token)).body.data).toEqual({ reason: 'connector_deleted' })
})

test('connectors: regenerate-enrollment and toggle-disabled "exist"', async () => {
  const { connector, token } = await enrolled()
  const path = `/v1/connectors/${connector.id}`
  const { enrollmentKey } = await tenant.post(`${path}/regenerate-enrollment`)
  expect(enrollmentKey).not.toBe(connector.enrollmentKey)
  expect(await enrol(connector.enrollmentKey)).toMatchObject({ status: 401, body: GENERIC })
  using agent = await startAgent(gatewayUrl, token)
  expect(await tenant.post(`${path}/toggle-disabled`, { isDisabled: true })).toMatchObject({
    isDisabled: true,
  })
  expect(await endWithin(agent, 5_000)).toMatchObject({ code: 4410 })
})

test('connector endpoints: "an unknown or revoked" key or token "gives a deliberately generic 401"', async () => {
  const { connector } = await enrolled()
  await tenant.post(`/v1/connectors/${connector.id}/regenerate-enrollment`)
  for (const token of ['nonsense', tenant.key, connector.enrollmentKey]) {
    for (const answer of [await enrol(token), await heartbeat(token)]) {
      expect(answer).toMatchObject({ status: 401, body: GENERIC })
    }
  }
})
