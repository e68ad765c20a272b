import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { hangs } from '../kit/endpoint.ts'
import { homeOf } from '../kit/partitions.ts'
import { eventually, startRelay } from '../kit/relay.ts'

/** More than a lane holds in memory. */
const BACKLOG = 2_500

/** So late that a worker claims what the stream brings, too early for the sweeper. */
const LATE_MS = 10_000

test('a backlog larger than a lane goes out once each', async () => {
  await using relay = await startRelay({ worker: false })
  const { source, endpoint } = await relay.route()
  await relay.acceptMany(source, BACKLOG)
  await relay.advance(LATE_MS)
  await relay.startWorker()
  await eventually(() => expect(endpoint.arrivals.length).toBeGreaterThanOrEqual(BACKLOG), 40_000)
  const events = new Set(endpoint.arrivals.map(({ headers }) => headers['postern-event-id']))
  expect(events.size).toBe(BACKLOG)
  expect(endpoint.arrivals).toHaveLength(BACKLOG)
})

test('a backlog for one that does not keep up waits in PostgreSQL, and what is behind it in the stream goes out', async () => {
  await using relay = await startRelay({ worker: false })
  const hung = await relay.route({ respond: hangs })
  let behind = await relay.route()
  while (homeOf(relay, behind.destination) !== homeOf(relay, hung.destination))
    behind = await relay.route()
  await relay.acceptMany(hung.source, BACKLOG)
  const last = await relay.accept(behind.source)
  await relay.startWorker()
  await relay.reaches(last, { status: 'succeeded' })
  await eventually(async () => {
    const { rows } = await sql<{ parked: number }>`
      select count(*)::int as parked from delivery_waiting where next_at is null`.execute(relay.db)
    expect(rows[0]?.parked).toBeGreaterThan(0)
  })
})
