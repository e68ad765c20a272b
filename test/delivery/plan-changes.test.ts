import { setTimeout as sleep } from 'node:timers/promises'

import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { partitionOf } from '../../core/delivery/partition-of.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { copyDestination } from '../kit/many-destinations.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

const LANES = 500
/** Processes of PostgreSQL write theirs once a second. */
const STATISTICS_MS = 1_500

/** Parks a delivery for each of these destinations, which are disabled: their lanes stay open. */
async function openLanes(relay: Relay, destinationIds: readonly string[]): Promise<void> {
  const ids = destinationIds.map((id) => uuid('dst', id))
  const organisationId = uuid('org', relay.organisationId)
  const partitions = ids.map((id) => partitionOf(organisationId, id, false))
  await sql`update destination set is_enabled = false where id = any(${ids}::uuid[])`.execute(
    relay.db,
  )
  await sql`
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger)
    select gen_random_uuid(), 90, d.organisation_id, d.project_id, d.id, i.partition, 'pending', 'initial'
    from unnest(${ids}::uuid[], ${partitions}::int2[]) as i (id, partition) join destination d on d.id = i.id`.execute(
    relay.db,
  )
}

/** Destinations that workers have read so far: for each of them they look for a busy window. */
async function destinationsRead(relay: Relay): Promise<number> {
  const { rows } = await sql<{ reads: string }>`
    select idx_scan as reads from pg_stat_user_indexes where indexrelname = 'destination_busy_pkey'`.execute(
    relay.db,
  )
  return Number(rows[0]?.reads)
}

/** Waits until so many were read, and returns how many were when the statistics of that were written. */
async function readAtLeast(relay: Relay, count: number): Promise<number> {
  await eventually(async () => {
    expect(await destinationsRead(relay)).toBeGreaterThanOrEqual(count)
  }, 30_000)
  await sleep(STATISTICS_MS)
  return await destinationsRead(relay)
}

test('a change of a plan with 500 open lanes reads those alone, and keeps no change of a destination waiting', async () => {
  await using relay = await startRelay()
  const { destination } = await relay.route()
  const ids = await copyDestination(relay, destination.id, LANES)
  await openLanes(relay, ids)
  const before = await readAtLeast(relay, LANES)
  const { db, clock, nats, deps } = relay
  const announce = { ...deps, db, clock, nats }
  const other = await relay.createTenant()
  for (const { organisationId } of [other, relay]) {
    await announceChanges(announce, [{ kind: 'organisation', id: uuid('org', organisationId) }])
  }
  for (let change = 0; change < 3; change++) {
    const startedAt = performance.now()
    await announceChanges(announce, [{ kind: 'destination', id: uuid('dst', destination.id) }])
    expect(performance.now() - startedAt).toBeLessThan(1_500)
  }
  expect(await readAtLeast(relay, before + LANES)).toBeLessThan(before + 2 * LANES)
})
