import { afterAll, beforeAll, expect, test } from 'vitest'

import { reportProcess } from '../../core/db/processes/processes.ts'
import { newId } from '../../core/ids.ts'
import { every } from '../../dataplane/every.ts'
import { startRelay, type Relay } from '../kit/relay.ts'
import { seedConnector } from '../kit/seed-connector.ts'
import { seedDelivery, uuid } from '../kit/seed.ts'
import type { Tenant } from '../kit/world.ts'
import {
  HOUR_MS,
  look,
  MINUTE_MS,
  expectTold,
  openDesk,
  openWatch,
  ownerOf,
  type Desk,
} from './desk.ts'

let relay: Relay
let gateway: Promise<void>
const stop = new AbortController()
beforeAll(async () => {
  relay = await startRelay({ signInsPerMinute: 1_000, authRequestsPerMinute: 10_000 })
  gateway = every(500, { signal: stop.signal, log: relay.deps.log, name: 'gateway' }, live)
})
afterAll(async () => {
  stop.abort()
  await gateway
  await relay[Symbol.asyncDispose]()
})

const SHARED_TOKEN = {
  type: 'shared_token',
  token: { in: 'header', name: 'x-token' },
  secret: 'one',
}

interface Scene {
  tenant: Tenant
  desk: Desk
  connectorId: string
}

/** A tenant whose connector had a replica until a moment ago. */
async function silentConnector(): Promise<Scene> {
  const tenant = await relay.createTenant()
  const desk = await openDesk(relay, tenant)
  const { connectorId } = await seedConnector({ ...relay, ...tenant })
  const scene = { tenant, desk, connectorId }
  await seen(scene)
  return scene
}

async function seen({ connectorId }: Scene): Promise<void> {
  await relay.pool.query('update connector set last_seen_at = $2 where id = $1', [
    uuid('cnr', connectorId),
    new Date(relay.clock.now()),
  ])
}

const GATEWAY = newId(Date.now())

/** A gateway reports again and again that it lives. */
async function live(): Promise<void> {
  await reportProcess(relay.db, { id: GATEWAY, role: 'gateway', name: 'seeded' })
}

/** A replica of the connector has a session at that gateway. */
async function comes(scene: Scene): Promise<void> {
  await relay.pool.query(
    `insert into tunnel_session (id, gateway_id, replica_id, connector_id)
     select gen_random_uuid(), $1, r.id, r.connector_id from replica r where r.connector_id = $2`,
    [GATEWAY, uuid('cnr', scene.connectorId)],
  )
  await seen(scene)
}

async function goes(scene: Scene): Promise<void> {
  await relay.pool.query('delete from tunnel_session where connector_id = $1', [
    uuid('cnr', scene.connectorId),
  ])
  await seen(scene)
}

test('a connector is told of after 5 minutes without a replica, and well after 30 seconds with one', async () => {
  const scene = await silentConnector()
  await using desk = scene.desk
  const watches = [openWatch(relay), openWatch(relay)]
  const looks = async (): Promise<void> => {
    await look(...watches)
    await look(...watches)
  }
  await relay.advance(4 * MINUTE_MS)
  await looks()
  await expectTold(desk, [])
  await relay.advance(61_000)
  await looks()
  await expectTold(desk, ['connector.offline'])

  await comes(scene)
  await looks()
  await relay.advance(20_000)
  await looks()
  await expectTold(desk, ['connector.offline'])
  // It goes and comes within the half minute: the half minute begins anew.
  await goes(scene)
  await looks()
  await comes(scene)
  await relay.advance(20_000)
  await looks()
  await expectTold(desk, ['connector.offline'])
  await relay.advance(31_000)
  await looks()
  await expectTold(desk, ['connector.offline', 'connector.recovered'])
})

test('a connector that flaps is told of once in half an hour, with how often', async () => {
  const scene = await silentConnector()
  await using desk = scene.desk
  const watch = openWatch(relay)
  const flap = async (): Promise<void> => {
    await relay.advance(6 * MINUTE_MS)
    await look(watch)
    await look(watch)
    await comes(scene)
    await look(watch)
    await relay.advance(MINUTE_MS)
    await look(watch)
    await goes(scene)
  }
  const first = ['connector.offline', 'connector.recovered']
  for (let times = 0; times < 4; times++) await flap()
  await expectTold(desk, first)
  await relay.advance(6 * MINUTE_MS)
  await look(watch)
  await look(watch)
  // Told 28 minutes ago: a little later it is still offline.
  await expectTold(desk, first)
  await relay.advance(3 * MINUTE_MS)
  await look(watch)
  await expectTold(desk, [...first, 'connector.offline'])
  const last = JSON.parse(desk.endpoint.arrivals.at(-1)?.body.toString() ?? '{}')
  expect(last.data.flapping).toBe(4)
  const { body } = await desk.owner.visit('GET', desk.at('/alerts'))
  expect(body.data).toHaveLength(1)
})

test('after a restart nothing is told again, and nothing opens for 2 minutes', async () => {
  const scene = await silentConnector()
  await using desk = scene.desk
  await relay.advance(6 * MINUTE_MS)
  const before = openWatch(relay)
  await look(before)
  await look(before)
  await expectTold(desk, ['connector.offline'])
  for (let times = 0; times < 3; times++) {
    const restarted = openWatch(relay)
    await look(restarted)
    await look(restarted)
  }
  await expectTold(desk, ['connector.offline'])

  const other = await silentConnector()
  await using otherDesk = other.desk
  await relay.advance(6 * MINUTE_MS)
  const { AlertWatch } = await import('../../dataplane/housekeeper/alerts/watch.ts')
  const { countTold } = await import('../../dataplane/housekeeper/alerts/alert-metrics.ts')
  const { Registry } = await import('prom-client')
  const young = new AlertWatch({
    ...relay.deps,
    nats: relay.nats,
    dashboardUrl: relay.apiUrl,
    told: countTold(new Registry()),
    hasMail: false,
  })
  await look(young)
  await look(young)
  await expectTold(otherDesk, [])
  await relay.advance(2 * MINUTE_MS)
  await look(young)
  await look(young)
  await expectTold(otherDesk, ['connector.offline'])
  await expectTold(desk, ['connector.offline'])
})

test('a clock that is set ahead, and back, tells nothing twice and nothing that is not so', async () => {
  const online = await silentConnector()
  await comes(online)
  const offline = await silentConnector()
  await using desk = offline.desk
  await using onlineDesk = online.desk
  const watch = openWatch(relay)
  for (const ms of [5 * 24 * HOUR_MS, -4 * 24 * HOUR_MS, 4 * 24 * HOUR_MS, 40 * MINUTE_MS]) {
    await relay.advance(ms)
    await look(watch)
    await look(watch)
  }
  await expectTold(desk, ['connector.offline'])
  await expectTold(onlineDesk, [])
})

test('a quota is told of at 80 and 100 %, and when a new window begins', async () => {
  const tenant = await relay.createTenant('launch')
  await using desk = await openDesk(relay, tenant)
  const watch = openWatch(relay)
  const use = async (deliveries: number): Promise<void> => {
    const month = new Date(relay.clock.now())
    await relay.pool.query(
      `insert into usage (organisation_id, window_started_at, deliveries) values ($1, $2, $3)
       on conflict (organisation_id, window_started_at) do update set deliveries = excluded.deliveries`,
      [
        uuid('org', tenant.organisationId),
        new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth())),
        deliveries,
      ],
    )
    await look(watch)
  }
  await use(79_999)
  await expectTold(desk, [])
  await use(80_000)
  await use(90_000)
  await expectTold(desk, ['quota.threshold 80'])
  await use(100_000)
  await use(120_000)
  await expectTold(desk, ['quota.threshold 80', 'quota.threshold 100'])
  await relay.advance(32 * 24 * HOUR_MS)
  await look(watch)
  await look(watch)
  await expectTold(desk, ['quota.threshold 80', 'quota.threshold 100', 'quota.recovered'])
})

test('a source is told of that rejects at least 50 requests and most of them, until 15 minutes are calm', async () => {
  const tenant = await relay.createTenant()
  await using desk = await openDesk(relay, tenant)
  const watch = openWatch(relay)
  const source = await relay.make('sources', { name: 'flooded' }, tenant.key)
  const count = async (status: string, events: number): Promise<void> => {
    const start = new Date(relay.clock.now() - (relay.clock.now() % MINUTE_MS))
    await relay.pool.query(
      `insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
       values ($1, 'minute', $2, $3, $4, $5, $6)
       on conflict (project_id, granularity, start, source_id, status, rejection_reason)
       do update set events = event_rollup.events + excluded.events`,
      [
        uuid('prj', tenant.projectId),
        start,
        uuid('src', source.id),
        status,
        status === 'rejected' ? 'signature_mismatch' : '',
        events,
      ],
    )
    await look(watch)
  }
  await count('rejected', 49)
  await expectTold(desk, [])
  await count('received', 50)
  await count('rejected', 1)
  // Half is not more than half.
  await expectTold(desk, [])
  await count('rejected', 1)
  await expectTold(desk, ['source.rejections'])
  const told = JSON.parse(desk.endpoint.arrivals[0]?.body.toString() ?? '{}')
  expect(told.data).toMatchObject({
    subject: { id: source.id, name: 'flooded' },
    evidence: { requests: 101, rejected: 51, reason: 'signature_mismatch' },
  })
  await relay.advance(10 * MINUTE_MS)
  await count('received', 100)
  await expectTold(desk, ['source.rejections'])
  await relay.advance(6 * MINUTE_MS)
  await look(watch)
  await expectTold(desk, ['source.rejections', 'source.recovered'])
})

test('a destination is told of whose first attempts wait for 15 minutes, but not for their pace', async () => {
  const tenant = await relay.createTenant()
  await using desk = await openDesk(relay, tenant)
  const watch = openWatch(relay)
  await relay.stopWorker()
  try {
    const [slow, paced] = [
      await relay.route({ key: tenant.key }),
      await relay.route({ key: tenant.key }),
    ]
    const park = async ({ source, connection, destination }: typeof slow, status: string) =>
      await seedDelivery(relay, {
        ...tenant,
        eventId: null,
        sourceId: source.id,
        connectionId: connection.id,
        destinationId: destination.id,
        status,
        nextAt: null,
      })
    await park(slow, 'pending')
    await park(paced, 'throttled')
    await relay.pool.query(`update delivery_waiting set attempt_trigger = 'initial'`)
    await relay.advance(14 * MINUTE_MS)
    await look(watch)
    expect(await openTypes(desk)).toEqual([])
    await relay.advance(2 * MINUTE_MS)
    await look(watch)
    expect(await openTypes(desk)).toEqual([`backlog.age ${slow.destination.id}`])
    await relay.pool.query('delete from delivery_waiting where destination_id = $1', [
      uuid('dst', slow.destination.id),
    ])
    await look(watch)
    expect(await openTypes(desk)).toEqual([])
  } finally {
    await relay.startWorker()
  }
  await expectTold(desk, ['backlog.age', 'backlog.recovered'])
})

async function openTypes(desk: Desk): Promise<string[]> {
  const { body } = await desk.owner.visit('GET', desk.at('/alerts?state=open'))
  return body.data.map(
    ({ type, subject }: { type: string; subject: { id: string } }) => `${type} ${subject.id}`,
  )
}

test('a rotation is told of while the previous secret is still used in its last hours', async () => {
  const tenant = await relay.createTenant()
  await using desk = await openDesk(relay, tenant)
  const watch = openWatch(relay)
  const source = await relay.make(
    'sources',
    { name: 'rotating', verifier: SHARED_TOKEN },
    tenant.key,
  )
  const path = `/v1/sources/${source.id}/rotate-secret`
  const rotated = await relay.api('POST', path, { secret: 'two' }, { key: tenant.key })
  expect(rotated.status).toBe(200)
  const use = async (): Promise<void> => {
    await relay.pool.query(
      `insert into secret_usage (rotation_id, source_id, current_count, previous_count, previous_seen_at)
       select rotation_id, id, 0, 1, $2 from source where id = $1
       on conflict (rotation_id) do update set previous_seen_at = excluded.previous_seen_at`,
      [uuid('src', source.id), new Date(relay.clock.now())],
    )
    await look(watch)
  }
  await use()
  await relay.advance(11 * HOUR_MS)
  await use()
  await expectTold(desk, [])
  await relay.advance(2 * HOUR_MS)
  await use()
  await use()
  await expectTold(desk, ['rotation.unused'])
  await relay.advance(12 * HOUR_MS)
  await look(watch)
  expect(await openTypes(desk)).toEqual([])
  await expectTold(desk, ['rotation.unused'])
})

test('a muted subject is told of when the mute ends; an alert that is acknowledged is not told of again', async () => {
  const scene = await silentConnector()
  await using desk = scene.desk
  const watch = openWatch(relay)
  const offline = async (): Promise<void> => {
    await relay.advance(6 * MINUTE_MS)
    await look(watch)
    await look(watch)
  }
  const mute = { subjectId: scene.connectorId, seconds: 3_600 }
  expect((await desk.owner.visit('POST', desk.at('/alerts/mute'), mute)).status).toBe(200)
  await offline()
  await expectTold(desk, [])
  const { body } = await desk.owner.visit('GET', desk.at('/alerts?state=open'))
  expect(body).toMatchObject({ openCount: 1, data: [{ mutedUntil: expect.any(String) }] })
  await relay.advance(HOUR_MS)
  await look(watch)
  await expectTold(desk, ['connector.offline'])

  const alert = body.data[0].id
  const acknowledged = await desk.owner.visit('POST', desk.at(`/alerts/${alert}/acknowledge`))
  expect(acknowledged.body).toMatchObject({ acknowledgedAt: expect.any(String) })
  await comes(scene)
  await look(watch)
  await relay.advance(MINUTE_MS)
  await look(watch)
  await goes(scene)
  await offline()
  await relay.advance(40 * MINUTE_MS)
  await look(watch)
  await expectTold(desk, ['connector.offline', 'connector.recovered'])
})

test('nobody hears of what is deleted or switched off by a person', async () => {
  const scene = await silentConnector()
  await using desk = scene.desk
  const watch = openWatch(relay)
  await relay.advance(6 * MINUTE_MS)
  await look(watch)
  await look(watch)
  await expectTold(desk, ['connector.offline'])
  const path = `/v1/connectors/${scene.connectorId}/toggle-disabled`
  const off = await relay.api('POST', path, { isDisabled: true }, { key: scene.tenant.key })
  expect(off.status).toBe(200)
  await look(watch)
  expect(await openTypes(desk)).toEqual([])
  await expectTold(desk, ['connector.offline'])
})

test('without an address nothing is told, and what is open then is told once there is one', async () => {
  const tenant = await relay.createTenant()
  const { connectorId } = await seedConnector({ ...relay, ...tenant })
  await relay.pool.query('update connector set last_seen_at = $2 where id = $1', [
    uuid('cnr', connectorId),
    new Date(relay.clock.now()),
  ])
  const watch = openWatch(relay)
  await relay.advance(6 * MINUTE_MS)
  await look(watch)
  await look(watch)
  const owner = await ownerOf(relay, tenant)
  const { body } = await owner.visit('GET', `/app/api/${tenant.projectId}/alerts`)
  expect(body.data).toMatchObject([{ type: 'connector.offline', notifications: [] }])
  await using desk = await openDesk(relay, tenant)
  await look(watch)
  await look(watch)
  await expectTold(desk, ['connector.offline'])
})
