import { createHmac } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { foldDeliveries } from '../../core/db/statistics/folds.ts'
import { judgeDestinations } from '../../dataplane/housekeeper/tasks/failing.ts'
import { says } from '../kit/endpoint.ts'
import { noteAttempt } from '../kit/noted-attempt.ts'
import { eventually, startRelay, type Relay, type Resource, type Route } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { HOUR_MS, look, expectTold, openDesk, openWatch, type Desk } from './desk.ts'

const ONCE = { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 1 }

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ signInsPerMinute: 1_000, authRequestsPerMinute: 10_000 })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const attempt = async (route: Route, status?: string): Promise<void> =>
  await noteAttempt(relay, route, status)
const judge = async (): Promise<void> => await judgeDestinations({ ...relay.deps, db: relay.db })
const bodyOf = (desk: Desk, n: number): Resource =>
  JSON.parse(desk.endpoint.arrivals[n]?.body.toString() ?? 'null')

test('a destination that fails for 5 days: 50, 70, 90 and 100 % once each, and one recovery, from two housekeepers', async () => {
  await using desk = await openDesk(relay)
  const watches = [openWatch(relay), openWatch(relay)]
  const failing = await relay.route({ destination: { retryPolicy: ONCE }, respond: says(500) })
  await attempt(failing)
  const expected: string[] = []
  for (const [hours, news] of [
    [59, []],
    [61, ['destination.failing 50']],
    [83, []],
    [85, ['destination.failing 70']],
    [107, []],
    [109, ['destination.failing 90']],
    [120, ['destination.disabled 100']],
  ] as const) {
    const sinceMs = hours * HOUR_MS
    await relay.advance(sinceMs - (relay.clock.now() - beganAtMs(failing)))
    await attempt(failing)
    await judge()
    await look(...watches)
    await look(...watches)
    expected.push(...news)
    await expectTold(desk, expected)
  }
  expect(bodyOf(desk, 0)).toMatchObject({
    type: 'destination.failing',
    data: {
      organisationId: relay.organisationId,
      projectId: relay.projectId,
      subject: { id: failing.destination.id, name: failing.destination.name },
      summary: expect.stringMatching(/has failed every attempt since .*50 %/),
      evidence: { percent: 50 },
      links: {
        dashboard: `${relay.apiUrl}/p/${relay.projectId}/destinations/${failing.destination.id}`,
      },
    },
  })

  failing.endpoint.respond = says(200)
  await relay.change('destinations', failing.destination.id, { isEnabled: true })
  await look(...watches)
  await attempt(failing, 'succeeded')
  await judge()
  await look(...watches)
  expected.push('destination.recovered')
  await expectTold(desk, expected)
  await relay.advance(HOUR_MS)
  await look(openWatch(relay), ...watches)
  await expectTold(desk, expected)
})

/** The minute that its run of failures began in, as far as this test knows. */
const began = new Map<string, number>()
function beganAtMs({ destination }: Route): number {
  const known = began.get(destination.id) ?? relay.clock.now()
  began.set(destination.id, known)
  return known
}

test('a destination whose endpoint answers 410 is told of at once, and again when it is enabled', async () => {
  const tenant = await relay.createTenant()
  await using desk = await openDesk(relay, tenant)
  const gone = await relay.route({ respond: says(410), key: tenant.key })
  await relay.accept(gone.source)
  await eventually(async () =>
    expect(await relay.get(`/v1/destinations/${gone.destination.id}`, tenant.key)).toMatchObject({
      isEnabled: false,
    }),
  )
  const watch = openWatch(relay)
  await look(watch)
  await expectTold(desk, ['destination.disabled 100'])
  expect(bodyOf(desk, 0).data).toMatchObject({ evidence: { reason: 'gone' } })
  gone.endpoint.respond = says(200)
  await relay.api(
    'PATCH',
    `/v1/destinations/${gone.destination.id}`,
    { data: { isEnabled: true } },
    { key: tenant.key },
  )
  await look(watch)
  await expectTold(desk, ['destination.disabled 100', 'destination.recovered'])
})

test('a notification is signed as Standard Webhooks, retried like every delivery, and raises no alert of its own', async () => {
  const tenant = await relay.createTenant()
  await using desk = await openDesk(relay, tenant)
  const watch = openWatch(relay)
  const gone = await relay.route({ respond: says(410), key: tenant.key })
  desk.endpoint.respond = says(500)
  await relay.accept(gone.source)
  await eventually(async () => {
    await look(watch)
    expect(desk.endpoint.arrivals.length).toBeGreaterThan(0)
  })
  const before = desk.endpoint.arrivals.length
  desk.endpoint.respond = says(200)
  await relay.advance(10_000)
  await eventually(() => expect(desk.endpoint.arrivals.length).toBeGreaterThan(before))
  const [first] = desk.endpoint.arrivals
  const last = desk.endpoint.arrivals.at(-1)
  const id = last?.headers['webhook-id']
  expect(first?.headers['webhook-id']).toBe(id)
  const { secret } = (await desk.owner.visit('GET', desk.at('/alerts/endpoint/signing-secret')))
    .body
  const signed = `${String(id)}.${String(last?.headers['webhook-timestamp'])}.${last?.body.toString()}`
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signature = createHmac('sha256', key).update(signed).digest('base64')
  expect(last?.headers['webhook-signature']).toBe(`v1,${signature}`)

  const { endpoint } = (await desk.owner.visit('GET', desk.at('/alerts/endpoint'))).body
  const [sent] = endpoint.deliveries
  const hidden = await relay.api('GET', `/v1/deliveries/${sent.id}`, undefined, { key: tenant.key })
  expect(hidden.status).toBe(404)

  // It fails for days, and then says that it is gone.
  desk.endpoint.respond = says(500)
  for (let hours = 0; hours < 130; hours += 26) {
    await relay.pool.query(
      `insert into operational_event (id, organisation_id, project_id, kind, subject_id, occasion, details, at)
       values (gen_random_uuid(), $1, $2, 'destination.failing', $3, $4, $5, now())`,
      [
        uuid('org', tenant.organisationId),
        uuid('prj', tenant.projectId),
        uuid('dst', gone.destination.id),
        String(hours),
        JSON.stringify({ name: 'x', percent: 50 }),
      ],
    )
    await look(watch)
    await relay.advance(26 * HOUR_MS)
  }
  desk.endpoint.respond = says(410)
  await relay.advance(8 * HOUR_MS)
  await foldDeliveries(relay.db)
  await judge()
  await look(watch)
  const { rows } = await relay.pool.query(
    `select a.type from alert a where a.organisation_id = $1 and a.name = 'Alerts'`,
    [uuid('org', tenant.organisationId)],
  )
  expect(rows).toEqual([])
  const { rows: failing } = await relay.pool.query(
    `select from destination_failure f join destination d on d.id = f.destination_id
     join project p on p.id = d.project_id where p.is_internal`,
  )
  expect(failing).toEqual([])
})
