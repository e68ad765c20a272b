import { setTimeout as sleep } from 'node:timers/promises'

import { jetstreamManager } from '@nats-io/jetstream'
import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { HOUR_MS } from '../../core/clock.ts'
import { PARTITION_HELD_MS } from '../../core/db/deliveries/work/partition-owners.ts'
import { holdLease, LEASE_HELD_MS } from '../../core/db/processes/leases.ts'
import { firstIdAt } from '../../core/ids.ts'
import { DELIVERY_STREAM } from '../../core/jetstream/stream-subjects.ts'
import { PARTITIONS } from '../../core/limits.ts'
import { says, type Arrival } from '../kit/endpoint.ts'
import { listen } from '../kit/event-stream.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'
import { startWorld } from '../kit/world.ts'

/** Past the lease of a first attempt and the margin of the sweep. */
const SWEPT_MS = 21_000

const eventsOf = (arrivals: readonly Arrival[]): Set<unknown> =>
  new Set(arrivals.map(({ headers }) => headers['postern-event-id']))

async function sweptTo(relay: Relay): Promise<void> {
  const until = firstIdAt(relay.clock.now() - 2 * SWEPT_MS)
  await eventually(async () => {
    const { rows } = await sql<{ watermark: string }>`select watermark from sweep`.execute(relay.db)
    expect(String(rows[0]?.watermark) > until).toBe(true)
  })
}

test('a delivery lost after the clock was set back is swept', async () => {
  await using relay = await startRelay()
  const { source, endpoint } = await relay.route()
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  await relay.advance(HOUR_MS)
  await sweptTo(relay)
  await relay.advance(-HOUR_MS)
  await relay.stopWorker()
  const ids = await relay.acceptMany(source, 5)
  const manager = await jetstreamManager(relay.nats)
  await manager.streams.purge(DELIVERY_STREAM)
  await relay.startWorker()
  await relay.advance(SWEPT_MS)
  for (const id of ids) await relay.reaches(id, { status: 'succeeded', attemptCount: 1 })
  expect(endpoint.arrivals).toHaveLength(6)
}, 60_000)

test('a clock that is set an hour ahead sends nothing twice', async () => {
  await using relay = await startRelay()
  const paced = await relay.route({ destination: { rateLimit: 20 } })
  const slow = await relay.route({
    respond: (response) => {
      setTimeout(() => response.end(), 2_500)
    },
  })
  const slowIds = await relay.acceptMany(slow.source, 8)
  const pacedIds = await relay.acceptMany(paced.source, 60)
  await eventually(() => expect(slow.endpoint.arrivals).toHaveLength(8))
  await eventually(() => expect(paced.endpoint.arrivals.length).toBeGreaterThan(20))
  await relay.advance(HOUR_MS)
  for (const id of [...slowIds, ...pacedIds]) await relay.reaches(id, { status: 'succeeded' })
  // The row of a long attempt was due again, had its owner not known that it has it.
  await relay.reaches(await relay.accept(paced.source), { status: 'succeeded' })
  expect(slow.endpoint.arrivals).toHaveLength(8)
  expect(paced.endpoint.arrivals).toHaveLength(61)
  expect(eventsOf(paced.endpoint.arrivals).size).toBe(61)
}, 60_000)

test('a destination that was busy when the clock was set back is tried again at once', async () => {
  await using relay = await startRelay()
  const { source, endpoint } = await relay.route({ respond: says(429, { 'retry-after': '20' }) })
  const waiting = await relay.accept(source)
  await relay.reaches(waiting, { status: 'throttled' })
  endpoint.respond = says(200)
  await relay.advance(-HOUR_MS)
  const ids = await relay.acceptMany(source, 5)
  for (const id of ids) await relay.reaches(id, { status: 'succeeded' })
  // A scheduled retry waits for its time, which the clock reaches late.
  await relay.advance(HOUR_MS + 20_000)
  await relay.reaches(waiting, { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(1 + ids.length + 1)
}, 60_000)

test('a stream shows every event on both sides of a step, live and resumed', async () => {
  await using relay = await startRelay({ worker: false })
  const source = await relay.make('sources', {})
  using live = await listen(relay.apiUrl, { key: relay.key })
  await live.heard('ready')
  const ids = await relay.acceptMany(source, 3)
  await live.hears(ids)
  const before = live.lastId()
  await relay.advance(HOUR_MS)
  ids.push(...(await relay.acceptMany(source, 3)))
  await live.hears(ids)
  const ahead = live.lastId()
  await relay.advance(-HOUR_MS)
  ids.push(...(await relay.acceptMany(source, 3)))
  await live.hears(ids)
  await relay.advance(60_000)
  ids.push(...(await relay.acceptMany(source, 3)))
  await live.hears(ids)
  expect(new Set(live.events()).size).toBe(live.events().length)

  using fromBefore = await listen(relay.apiUrl, { key: relay.key, lastEventId: before })
  await fromBefore.hears(ids.slice(3))
  using fromAhead = await listen(relay.apiUrl, { key: relay.key, lastEventId: ahead })
  await fromAhead.hears(ids.slice(6))
  expect(fromAhead.messages.filter(({ event }) => event === 'gap')).toEqual([])
}, 60_000)

test('a key that was used up when the clock was set back is good again a minute later', async () => {
  await using world = await startWorld({ requestsPerMinute: 2 })
  for (const status of [200, 200, 429]) {
    expect(await world.api('GET', '/v1/projects')).toMatchObject({ status })
  }
  world.clock.advance(-HOUR_MS)
  world.clock.advance(61_000)
  const answer = await world.api('GET', '/v1/projects')
  expect(answer).toMatchObject({ status: 200 })
  expect(Number(answer.headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(60)
})

test('a lease does not outlive its holder by an hour because the clock of PostgreSQL was set back', async () => {
  await using world = await startWorld()
  const { db } = world
  await holdLease(db, 'a lease', 'the dead')
  await sql`update lease set held_until = held_until + interval '1 hour'`.execute(db)
  expect(await holdLease(db, 'a lease', 'the next')).toBeUndefined()
  await eventually(async () => {
    expect(await holdLease(db, 'a lease', 'the next')).toBe(2)
  }, LEASE_HELD_MS + 1_000)
})

test('a lease is not lost to a process whose clock is an hour ahead', async () => {
  await using world = await startWorld()
  const { db } = world
  expect(await holdLease(db, 'a lease', 'the holder')).toBe(1)
  world.clock.advance(HOUR_MS)
  expect(await holdLease(db, 'a lease', 'another')).toBeUndefined()
  expect(await holdLease(db, 'a lease', 'the holder')).toBe(1)
})

test('partitions do not outlive their owner by an hour because the clock of PostgreSQL was set back', async () => {
  await using relay = await startRelay({ worker: false })
  await sql`
    insert into worker (name, process_id, seen_at)
    values ('the dead', gen_random_uuid(), clock_timestamp() + interval '1 hour')`.execute(relay.db)
  await sql`
    update partition_owner set holder = 'the dead', process_id = (select process_id from worker),
      held_until = clock_timestamp() + interval '1 hour'`.execute(relay.db)
  const worker = await relay.openWorker('the next')
  await eventually(() => {
    expect(worker.partitions()).toHaveLength(PARTITIONS)
  }, 4 * PARTITION_HELD_MS)
}, 60_000)

test('no worker takes the partitions of another because the clock of PostgreSQL was set ahead', async () => {
  await using relay = await startRelay({ worker: false })
  const workers = [await relay.openWorker('one'), await relay.openWorker('two')]
  const shares = (): number[][] => workers.map((worker) => worker.partitions())
  await eventually(() => {
    expect(shares().flat()).toHaveLength(PARTITIONS)
  }, 3 * PARTITION_HELD_MS)
  // Long enough for both to take what expired.
  await sleep(2 * PARTITION_HELD_MS)
  const before = shares()
  await sql`
    with workers as (update worker set seen_at = seen_at - interval '1 hour')
    update partition_owner set held_until = held_until - interval '1 hour'`.execute(relay.db)
  for (let look = 0; look < PARTITION_HELD_MS / 50; look++) {
    expect(shares()).toEqual(before)
    await sleep(50)
  }
}, 60_000)
