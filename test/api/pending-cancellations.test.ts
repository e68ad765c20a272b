import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  cancelStep,
  cancellationForConnection,
  cancellationForDestination,
  addPendingCancellations,
  CANCELLATION_STEP_ROWS,
} from '../../core/db/deliveries/act/pending-cancellations.ts'
import { advancePendingCancellations } from '../../dataplane/housekeeper/tasks/pending-cancellations.ts'
import { eventually } from '../kit/relay.ts'
import { seedRoute, seedDelivery, uuid, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

const now = (): Date => new Date(world.clock.now())

/** Parked deliveries, of two connections in turn. */
async function park(at: SeededRoute, other: SeededRoute, count: number): Promise<void> {
  const [first, second] = [uuid('con', at.connectionId), uuid('con', other.connectionId)]
  await sql`
    with parked as (
      insert into delivery (class, id, connection_id, destination_id, source_id, project_id, status, trigger, max_attempts)
      select 90, uuidv7(interval '-1 minute' + n * interval '1 ms'),
        case when n % 2 = 0 then ${first}::uuid else ${second}::uuid end, ${uuid('dst', at.destinationId)}::uuid,
        ${uuid('src', at.sourceId)}::uuid, ${uuid('prj', world.projectId)}::uuid, 'throttled', 'ingest', 8
      from generate_series(1, ${count}::int) as n returning *
    )
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, connection_id, source_id,
      partition, status, attempt_trigger)
    select id, class, ${uuid('org', world.organisationId)}::uuid, project_id, destination_id, connection_id, source_id, 0,
      status, 'initial' from parked`.execute(world.db)
}

/** Deliveries of a connection by status, and how many wait. */
async function standing(of: SeededRoute): Promise<Record<string, number>> {
  const connectionId = uuid('con', of.connectionId)
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*)::int as count from delivery where connection_id = ${connectionId}::uuid group by 1
    union all
    select 'waiting', count(*)::int from delivery_waiting where connection_id = ${connectionId}::uuid`.execute(
    world.db,
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function step(id: string): Promise<boolean> {
  return await world.db.transaction().execute((tx) => cancelStep(tx, id, now()))
}

async function pendingIds(): Promise<string[]> {
  const rows = await world.db.selectFrom('pending_cancellation').select('id').execute()
  return rows.map(({ id }) => id)
}

test('deliveries that wait for a deleted connection are cancelled step by step, and no others', async () => {
  const gone = await seedRoute(world, 'gone')
  const stays = await seedRoute(world, 'stays')
  await park(gone, stays, 5_000)
  const inHand = { ...gone, eventId: null, status: 'in_flight', nextAt: now(), claimedBy: 'worker' }
  await seedDelivery(world, inHand)
  const id = uuid('con', gone.connectionId)
  const pending = cancellationForConnection({ id, destinationId: uuid('dst', gone.destinationId) })
  await world.db.transaction().execute((tx) => addPendingCancellations(tx, [pending], now()))

  expect(await step(id)).toBe(true)
  expect(await standing(gone)).toMatchObject({ cancelled: CANCELLATION_STEP_ROWS / 2 })
  expect(await step(id)).toBe(true)
  expect(await step(id)).toBe(false)
  expect(await standing(gone)).toEqual({ cancelled: 2_500, in_flight: 1, waiting: 1 })
  expect(await standing(stays)).toEqual({ throttled: 2_500, waiting: 2_500 })
  const { body } = await world.api(
    'GET',
    `/v1/deliveries?status=cancelled&connectionId=${gone.connectionId}&limit=5`,
  )
  expect(body.data).toHaveLength(5)
})

test('the housekeeper cancels the deliveries that a deletion left, and a minute later those that a worker has parked since', async () => {
  const gone = await seedRoute(world, 'left')
  await park(gone, gone, 2_500)
  const id = uuid('dst', gone.destinationId)
  await world.db
    .transaction()
    .execute((tx) => addPendingCancellations(tx, [cancellationForDestination(id)], now()))
  await eventually(async () => {
    await advancePendingCancellations(world)
    expect(await standing(gone)).toEqual({ cancelled: 2_500, waiting: 0 })
  })

  await park(gone, gone, 3)
  await advancePendingCancellations(world)
  expect(await standing(gone)).toEqual({ cancelled: 2_500, throttled: 3, waiting: 3 })
  expect(await pendingIds()).toContain(id)
  world.clock.advance(61_000)
  await eventually(async () => {
    await advancePendingCancellations(world)
    expect(await pendingIds()).toEqual([])
  })
  expect(await standing(gone)).toEqual({ cancelled: 2_503, waiting: 0 })
})

test('a request deletes a source for which thousands of deliveries wait, and these are cancelled', async () => {
  const { sourceId, ...route } = await seedRoute(world, 'deleted')
  await park({ sourceId, ...route }, { sourceId, ...route }, 6_000)
  const deleted = await world.api('DELETE', `/v1/sources/${sourceId}?cascade=true`)
  expect(deleted.status).toBe(204)
  const { cancelled = 0 } = await standing({ sourceId, ...route })
  expect(cancelled).toBeGreaterThanOrEqual(CANCELLATION_STEP_ROWS)
  await eventually(async () => {
    await advancePendingCancellations(world)
    expect(await standing({ sourceId, ...route })).toEqual({ cancelled: 6_000, waiting: 0 })
  })
})
