import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { decodeId } from '../../core/ids.ts'
import { makeSecret } from '../../core/keys/secret-text.ts'
import { DIALS_BURST, GATEWAY_SESSIONS_MAX } from '../../core/limits.ts'
import { admit } from '../../dataplane/gateway/dial/admission.ts'
import { DialLimit } from '../../dataplane/gateway/dial/dial-limit.ts'
import { Sessions } from '../../dataplane/gateway/sessions/sessions.ts'
import { seedReplica } from '../kit/seed-connector.ts'
import { uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'
import { endWithin, startAgent } from './agent.ts'
import { openGateway, type GatewayProcess } from './gateway.ts'

/** A header that takes longer is given up after 10 s, which are looked at once a second. */
const LORIS_MS = 20_000

let world: World
let gateway: GatewayProcess
beforeAll(async () => {
  world = await startWorld()
  gateway = await openGateway(world, 'gateway')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

async function openSocket(): Promise<Socket> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The status of the answer to an upgrade from that address. */
async function dialFrom(address: string, token: string): Promise<string> {
  const socket = await openSocket()
  socket.write(
    [
      'GET /v1/tunnel HTTP/1.1',
      'host: gateway',
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol: postern.tunnel.v1',
      `x-forwarded-for: ${address}`,
      `authorization: Bearer ${token}`,
      '\r\n',
    ].join('\r\n'),
  )
  const [data]: unknown[] = await once(socket, 'data')
  socket.destroy()
  return String(data).slice(9, 12)
}

test('an address that dials too often is refused before its token is looked at, and no other is', async () => {
  const flood = Array.from({ length: DIALS_BURST + 100 }, async () =>
    dialFrom('192.0.2.1', makeSecret('pst', 'hb').text),
  )
  const elsewhere = dialFrom('192.0.2.2', (await seedReplica(world)).token)
  const statuses = await Promise.all(flood)
  expect(new Set(statuses)).toEqual(new Set(['401', '429']))
  expect(statuses.filter((status) => status === '401').length).toBeGreaterThanOrEqual(DIALS_BURST)
  expect(await elsewhere).toBe('101')
})

test('slow and silent dialers are given up, and an honest agent is served beside them', async () => {
  const endings = Array.from({ length: 60 }, async (_, n) => {
    const socket = await openSocket()
    const drip = setInterval(() => {
      if (n % 3 !== 0) socket.write('x')
    }, 500)
    if (n % 3 === 1) socket.write('GET /v1/tunnel HTTP/1.1\r\nhost: a\r\nx-slow: ')
    if (n % 3 === 2)
      socket.write('POST /v1/tunnel HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n')
    socket.resume()
    await once(socket, 'close')
    clearInterval(drip)
  })
  using agent = await startAgent(gateway.url, (await seedReplica(world)).token)
  expect(agent.refused).toBeUndefined()
  const isOver = await Promise.race([Promise.all(endings), sleep(LORIS_MS, 'still there')])
  expect(isOver).toHaveLength(60)
  expect(await endWithin(agent, 200)).toBe('open')
}, 30_000)

test('a gateway that has all its sessions sends agents elsewhere', async () => {
  const { token } = await seedReplica(world)
  class Full extends Sessions {
    override get count(): number {
      return GATEWAY_SESSIONS_MAX
    }
  }
  const deps = {
    db: world.db,
    gatewayName: 'full',
    sessions: new Full(Math.random),
    dials: new DialLimit({ burst: 1, perSecond: 1 }),
    isLeaving: () => false,
  }
  expect(await admit(deps, { token, remoteIp: '192.0.2.3', gateways: [] })).toMatchObject({
    kind: 'refused',
    status: 503,
    message: 'The gateway has no room',
    retryAfterSeconds: 2,
  })
})

test('an organisation that has most sessions of a gateway leaves room for others', async () => {
  const { token } = await seedReplica(world)
  class Crowded extends Sessions {
    held = 300
    override get count(): number {
      return GATEWAY_SESSIONS_MAX - 100
    }
    override countOf(organisationId: string): number {
      return organisationId === uuid('org', world.organisationId) ? this.held : 0
    }
  }
  const sessions = new Crowded(Math.random)
  const deps = {
    db: world.db,
    gatewayName: 'crowded',
    sessions,
    dials: new DialLimit({ burst: 3, perSecond: 1 }),
    isLeaving: () => false,
  }
  const dialled = { token, remoteIp: '192.0.2.3', gateways: [] }
  expect(await admit(deps, dialled)).toMatchObject({
    kind: 'refused',
    status: 503,
    message: 'The gateway has no room for more sessions of this organisation',
  })
  sessions.held = 299
  expect(await admit(deps, dialled)).toMatchObject({ kind: 'admitted' })
})

test('dials of an IPv6 network are limited together', async () => {
  const { token } = await seedReplica(world)
  const deps = {
    db: world.db,
    gatewayName: 'dialled',
    sessions: new Sessions(Math.random),
    dials: new DialLimit({ burst: 1, perSecond: 1 }),
    isLeaving: () => false,
  }
  const dial = async (remoteIp: string) => await admit(deps, { token, remoteIp, gateways: [] })
  expect(await dial('2001:db8::1')).toMatchObject({ kind: 'admitted' })
  expect(await dial('2001:db8::2')).toMatchObject({ kind: 'refused', status: 429 })
  expect(await dial('2001:db8:0:1::1')).toMatchObject({ kind: 'admitted' })
})

test('a stolen token gets one session at a gateway, and both holders lose theirs when it is revoked', async () => {
  const { token, replicaId, connectorId } = await seedReplica(world)
  using owner = await startAgent(gateway.url, token)
  using thief = await startAgent(gateway.url, token)
  // Within seconds of one another they pass for crossing dials of one agent; the later one is told so.
  expect(thief.refused).toMatchObject({ status: 409 })
  await sleep(3_100)
  using again = await startAgent(gateway.url, token)
  expect(await endWithin(owner, 1_000)).toMatchObject({ code: 4409 })
  await world.api('POST', `/v1/connectors/${connectorId}/replicas/${replicaId}/revoke`)
  expect(await endWithin(again, 1_000)).toMatchObject({ code: 4403, reason: 'replica_revoked' })
  expect(decodeId('rpl', replicaId)).toBeDefined()
})
