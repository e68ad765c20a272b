import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { hangs, says, startEndpoint } from '../kit/endpoint.ts'
import { eventually, LONG, openGateway, openRelay, refusal, startAgent } from './agent-world.ts'

const REVOKED = 'CONNECTOR_REPLICA_REVOKED'

function allowing(url: string): string[] {
  return ['--allow', new URL(url).origin, '--allow-loopback']
}

test('an agent enrols, connects and delivers to the service behind it', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  await using service = await startEndpoint(says(201, { 'x-answer': 'yes' }, 'thanks'))
  await using agent = startAgent(['--relay', relay.url, '--name', 'a-1', ...allowing(service.url)])
  await agent.said('Connected to gateway gateway-1')
  expect(relay.calls[0]).toMatchObject({
    path: '/v1/connectors/bootstrap',
    token: 'key-1',
    body: { instanceName: 'a-1', version: expect.any(String), startedAt: expect.any(String) },
  })
  const outcome = await gateway.send(
    {
      url: service.url,
      headers: [
        ['x-own', 'free'],
        ['connection', 'close'],
      ],
    },
    'hello',
  )
  expect(outcome).toMatchObject({
    kind: 'response',
    head: {
      status: 201,
      phases: { connectMs: expect.any(Number), firstByteMs: expect.any(Number) },
    },
  })
  expect(service.arrivals[0]).toMatchObject({
    method: 'POST',
    target: '/hook',
    headers: { host: new URL(service.url).host, 'x-own': 'free', 'content-length': '5' },
  })
  expect(service.arrivals[0]?.body.toString()).toBe('hello')
  expect(outcome).toMatchObject({
    head: { headers: expect.arrayContaining([['x-answer', 'yes']]) },
    body: Buffer.from('thanks'),
  })
  const identity = join(agent.stateDir, 'identity.json')
  expect(statSync(identity).mode & 0o777).toBe(0o600)
  const ops = await agent.opsUrl()
  expect((await fetch(`${ops}/readyz`)).status).toBe(200)
  const metrics = await (await fetch(`${ops}/metrics`)).text()
  expect(metrics).toContain('postern_connector_sessions 1')
  expect(metrics).toContain('postern_connector_requests_total{outcome="2xx"} 1')
  expect(metrics).toContain('postern_connector_connects_total{result="open"} 1')
  agent.child.kill('SIGTERM')
  expect(await agent.ended).toBe(0)
})

test('an agent serves its health at an address of IPv6', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  const args = ['--relay', relay.url, '--allow', 'a.internal', '--host', '::1']
  await using agent = startAgent(args)
  const ops = await agent.opsUrl()
  expect(new URL(ops).hostname).toBe('[::1]')
  expect((await fetch(`${ops}/livez`)).status).toBe(200)
})

test('a killed agent comes back with the token that it has on disk', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  const args = ['--relay', relay.url, '--allow', 'a.internal']
  await using first = startAgent(args)
  await first.said('Connected to gateway')
  first.child.kill('SIGKILL')
  await first.ended
  await using second = startAgent(args, { stateDir: first.stateDir })
  await second.said('Connected to gateway')
  expect(relay.calls.filter(({ path }) => path.endsWith('bootstrap'))).toHaveLength(1)
  expect(gateway.dialled.at(-1)?.token).toBe('token-1')
  await using third = startAgent(args, { stateDir: first.stateDir })
  expect(await third.ended).toBe(1)
  expect(third.lines.join('\n')).toContain('another agent uses the directory')
})

test('a token that the relay renews is on disk before it is used', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  const usual = relay.heartbeat
  relay.heartbeat = (token) => {
    const answer = usual(token)
    return { ...answer, body: { ...answer.body, nextToken: 'token-next' } }
  }
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await eventually('a heartbeat has the new token', () =>
    relay.calls.some(({ token }) => token === 'token-next'),
  )
  const kept = readFileSync(join(agent.stateDir, 'identity.json'), 'utf8')
  expect(JSON.parse(kept)).toMatchObject({ token: 'token-next' })
})

test('with two gateways there are two sessions, each told of the other', LONG, async () => {
  // Both are behind one address, as behind a load balancer: the second dial lands at the other.
  await using one = await openGateway('gateway-1')
  await using relay = await openRelay(one.url)
  let isMoved = false
  await using two = await openGateway('gateway-2')
  relay.heartbeat = () => ({
    status: 200,
    body: {
      heartbeatIntervalSeconds: 1,
      gatewayUrl: isMoved ? two.url : one.url,
      allowedHosts: [],
      isDisabled: false,
    },
  })
  one.admit = () =>
    one.sessions.length > 0
      ? {
          kind: 'refused',
          status: 409,
          code: 'CONFLICT',
          message: 'There is one',
          data: { gateways: 2 },
        }
      : { kind: 'admitted', owner: { replicaId: 'r', connectorId: 'c', organisationId: 'o' } }
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await agent.said('Connected to gateway gateway-1')
  isMoved = true
  await agent.said('Connected to gateway gateway-2')
  expect(two.dialled[0]?.gateways).toEqual(['gateway-1'])
  expect(one.sessions).toHaveLength(1)
  const metrics = await (await fetch(`${await agent.opsUrl()}/metrics`)).text()
  expect(metrics).toContain('postern_connector_sessions 2')
})

test('when a gateway goes away another is dialled before the session ends', LONG, async () => {
  await using one = await openGateway('gateway-1')
  await using two = await openGateway('gateway-2')
  await using relay = await openRelay(one.url)
  await using service = await startEndpoint(hangs)
  await using agent = startAgent(['--relay', relay.url, ...allowing(service.url)])
  await agent.said('Connected to gateway gateway-1')
  const pending = one.send({ url: service.url })
  await eventually('the service has the request', () => service.arrivals.length === 1)
  relay.heartbeat = () => ({
    status: 200,
    body: { heartbeatIntervalSeconds: 1, gatewayUrl: two.url, allowedHosts: [], isDisabled: false },
  })
  await relay.heardAnew()
  const old = one.sessions[0]
  old?.goAway('The gateway ends')
  await agent.said('Connected to gateway gateway-2')
  expect(one.sessions).toEqual([old])
  service.respond = says(200)
  await using other = await startEndpoint()
  expect(other.arrivals).toEqual([])
  expect(await pending).toMatchObject({ kind: 'failure', failure: { code: 'timeout' } })
})

test.for(['connector_deleted', 'replica_revoked'])(
  'an agent that hears %s wipes its token, stays up and does not come back',
  LONG,
  async (reason) => {
    await using gateway = await openGateway()
    await using relay = await openRelay(gateway.url)
    const args = ['--relay', relay.url, '--allow', 'a.internal']
    await using agent = startAgent(args)
    await agent.said('Connected to gateway')
    relay.heartbeat = () => refusal(403, REVOKED, reason)
    gateway.admit = () => ({
      kind: 'refused',
      status: 403,
      code: REVOKED,
      message: 'no',
      data: { reason },
    })
    gateway.sessions[0]?.close(4403, reason)
    await agent.said(reason === 'connector_deleted' ? 'was deleted' : 'was revoked')
    const calls = relay.calls.length
    await sleep(2_500)
    expect(relay.calls).toHaveLength(calls)
    expect(agent.child.exitCode).toBeNull()
    const ops = await agent.opsUrl()
    expect((await fetch(`${ops}/readyz`)).status).toBe(503)
    expect((await fetch(`${ops}/livez`)).status).toBe(200)
    expect(readFileSync(join(agent.stateDir, 'identity.json'), 'utf8')).not.toContain('token-')
    agent.child.kill('SIGKILL')
    await agent.ended
    // Started again it has nothing to do, and does not loop.
    await using again = startAgent(args, { stateDir: agent.stateDir })
    await again.said(reason === 'connector_deleted' ? 'was deleted' : 'was revoked')
    await sleep(1_000)
    expect(relay.calls).toHaveLength(calls)
    again.child.kill('SIGTERM')
    expect(await again.ended).toBe(0)
    // With another key it is another agent.
    await using _anew = startAgent(args, { stateDir: agent.stateDir, key: 'key-2' })
    await eventually('it enrols', () => relay.calls.some(({ token }) => token === 'key-2'))
  },
)

test('an agent whose connector was deleted enrols with another key of its file', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  const usual = relay.heartbeat
  relay.heartbeat = (token) =>
    token === 'token-1' ? refusal(403, REVOKED, 'connector_deleted') : usual(token)
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await agent.said('was deleted')
  const enrolments = () => relay.calls.filter(({ path }) => path.endsWith('bootstrap'))
  const keyFile = join(agent.stateDir, 'key')
  // As it is while a Secret is replaced, and as it was.
  rmSync(keyFile)
  await sleep(11_000)
  writeFileSync(keyFile, 'key-1')
  await sleep(11_000)
  expect(enrolments()).toHaveLength(1)
  writeFileSync(keyFile, 'key-2')
  await eventually('it has a session', () => gateway.dialled.at(-1)?.token === 'token-2', 30_000)
  expect(enrolments().map(({ token }) => token)).toEqual(['key-1', 'key-2'])
  const ops = await agent.opsUrl()
  await eventually('it is ready', async () => (await fetch(`${ops}/readyz`)).ok)
  const kept = readFileSync(join(agent.stateDir, 'identity.json'), 'utf8')
  expect(JSON.parse(kept)).toMatchObject({ token: 'token-2' })
})

test(
  'an agent that was revoked does not come back with another key of its file',
  LONG,
  async () => {
    await using gateway = await openGateway()
    await using relay = await openRelay(gateway.url)
    relay.heartbeat = () => refusal(403, REVOKED, 'replica_revoked')
    await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
    await agent.said('was revoked')
    const calls = relay.calls.length
    writeFileSync(join(agent.stateDir, 'key'), 'key-2')
    await sleep(11_000)
    expect(relay.calls).toHaveLength(calls)
  },
)

test('a gateway that refuses who an agent was says nothing of who it is', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  let count = 0
  const bootstrap = relay.bootstrap
  relay.bootstrap = (token) => {
    const answer = bootstrap(token)
    return { ...answer, body: { ...answer.body, replicaId: `rep_${++count}` } }
  }
  const { admit } = gateway
  const late = Promise.withResolvers<Awaited<ReturnType<typeof admit>>>()
  // The second dial of the first identity is answered when there is another.
  gateway.admit = (dialled) =>
    dialled.token === 'token-1' && gateway.sessions.length > 0 ? late.promise : admit(dialled)
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await eventually('it dials a second time', () => gateway.dialled.length === 2)
  gateway.sessions[0]?.close(4403, 'identity_absent')
  await eventually('it is another', () => gateway.dialled.some(({ token }) => token === 'token-2'))
  const data = { reason: 'connector_deleted' }
  late.resolve({ kind: 'refused', status: 403, code: REVOKED, message: 'no', data })
  await agent.said('(403 CONNECTOR_REPLICA_REVOKED)')
  await relay.heardAnew()
  expect(relay.calls.at(-1)?.token).toBe('token-2')
})

test('an agent whose identity is absent enrols again, more slowly each time', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  relay.heartbeat = () => refusal(403, REVOKED, 'identity_absent')
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  const enrolments = () => relay.calls.filter(({ path }) => path.endsWith('bootstrap'))
  await eventually('it has enrolled three times', () => enrolments().length >= 3)
  const [, second, third] = enrolments()
  expect((third?.atMs ?? 0) - (second?.atMs ?? 0)).toBeGreaterThan(1_200)
  expect(agent.child.exitCode).toBeNull()
})

test('a token that nobody knows is tried again before the agent enrols anew', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await agent.said('Connected to gateway')
  const usual = relay.heartbeat
  relay.heartbeat = (token) => (token === 'token-1' ? refusal(401, 'UNAUTHORIZED') : usual(token))
  await eventually(
    'it enrols again',
    () => relay.calls.filter(({ path }) => path.endsWith('bootstrap')).length === 2,
  )
  const unknown = relay.calls.filter(
    ({ path, token }) => path.endsWith('heartbeat') && token === 'token-1',
  )
  expect(unknown.length).toBeGreaterThanOrEqual(4)
  await eventually('it is connected', () => gateway.sessions.length === 1)
})

test('a key that was changed in its file is read again', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  const usual = relay.bootstrap
  relay.bootstrap = (token) => (token === 'key-2' ? usual(token) : refusal(401, 'UNAUTHORIZED'))
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await agent.said('does not know the enrolment key')
  writeFileSync(join(agent.stateDir, 'key'), 'key-2\n')
  await agent.said('Connected to gateway')
  expect(relay.calls.map(({ token }) => token)).toContain('key-2')
})

test(
  'a relay that is busy is not asked again before its time, and the session stays',
  LONG,
  async () => {
    await using gateway = await openGateway()
    await using relay = await openRelay(gateway.url)
    await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
    await agent.said('Connected to gateway')
    relay.heartbeat = () => ({ ...refusal(429, 'RATE_LIMITED'), headers: { 'retry-after': '3' } })
    const beats = () => relay.calls.filter(({ path }) => path.endsWith('heartbeat'))
    const before = beats().length
    await eventually('one more came', () => beats().length > before)
    const at = beats().length
    await sleep(2_500)
    expect(beats()).toHaveLength(at)
    expect(gateway.sessions).toHaveLength(1)
    await eventually('it asks again', () => beats().length > at)
  },
)

test('a disabled connector waits and comes back', LONG, async () => {
  await using gateway = await openGateway()
  await using relay = await openRelay(gateway.url)
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await agent.said('Connected to gateway')
  const usual = relay.heartbeat
  relay.heartbeat = (token) => {
    const answer = usual(token)
    return { ...answer, body: { ...answer.body, isDisabled: true } }
  }
  gateway.admit = () => ({
    kind: 'refused',
    status: 403,
    code: 'CONNECTOR_DISABLED',
    message: 'Disabled',
  })
  gateway.sessions[0]?.close(4410, 'disabled')
  await agent.said('The connector is disabled')
  const dialled = gateway.dialled.length
  await sleep(2_500)
  expect(gateway.dialled.length).toBeLessThanOrEqual(dialled + 1)
  expect((await fetch(`${await agent.opsUrl()}/readyz`)).status).toBe(503)
  relay.heartbeat = usual
  gateway.admit = () => ({
    kind: 'admitted',
    owner: { replicaId: 'r', connectorId: 'c', organisationId: 'o' },
  })
  await eventually('it is connected again', () => gateway.sessions.length >= 1)
})

test('a gateway that was killed is dialled until it is back', LONG, async () => {
  const first = await openGateway()
  const port = Number(new URL(first.url).port)
  await using relay = await openRelay(first.url)
  await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
  await agent.said('Connected to gateway')
  await first[Symbol.asyncDispose]()
  await agent.said('nothing listens at')
  await using again = await openGateway('gateway-1', port)
  await eventually('the session is back', () => again.sessions.length === 1)
  expect(relay.calls.filter(({ path }) => path.endsWith('bootstrap'))).toHaveLength(1)
})

test(
  'SIGTERM: requests in flight are answered, new ones go elsewhere, the code is 0',
  LONG,
  async () => {
    await using gateway = await openGateway()
    await using relay = await openRelay(gateway.url)
    await using service = await startEndpoint((response) => {
      setTimeout(() => response.writeHead(200).end('late'), 1_500)
    })
    await using agent = startAgent(['--relay', relay.url, ...allowing(service.url)])
    await agent.said('Connected to gateway')
    const ops = await agent.opsUrl()
    const session = gateway.sessions[0]
    const pending = gateway.send({ url: service.url })
    await eventually('the service has the request', () => service.arrivals.length === 1)
    agent.child.kill('SIGTERM')
    await eventually('the gateway heard it', () => session?.streams.isAccepting === false)
    expect((await fetch(`${ops}/readyz`)).status).toBe(503)
    expect(await pending).toMatchObject({ kind: 'response', head: { status: 200 } })
    expect(await agent.ended).toBe(0)
  },
)
