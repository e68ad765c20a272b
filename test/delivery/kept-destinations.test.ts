import { expect, test } from 'vitest'

import { BUILT_IN_PLANS } from '../../core/plans/built-in-plans.ts'
import { Destinations } from '../../dataplane/worker/lanes/destinations.ts'
import { Pacer } from '../../dataplane/worker/pacing/pacer.ts'
import { copyDestination } from '../kit/many-destinations.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { startWorld } from '../kit/world.ts'

const MAX = 4
/** Fixed, so that a failure comes again. */
const SEED = 20_261_126

function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('the last destinations used are kept, others are read again as they are then', async () => {
  await using world = await startWorld()
  const { db, keyring } = world
  const { destinationId } = await seedRoute(world, 'kept')
  const ids = (await copyDestination(world, destinationId, 8)).map((id) => uuid('dst', id))
  const destinations = new Destinations({
    db,
    keyring,
    plans: BUILT_IN_PLANS,
    isAllowed: () => true,
    pacer: new Pacer(),
    destinationsMax: MAX,
  })
  const random = randomOf(SEED)
  /** Kept ones, the latest used last, with the time-out that each had when it was read. */
  const used = new Map<string, number>()
  for (let step = 0; step < 100; step++) {
    const id = ids[random(ids.length)] ?? ''
    if (random(10) === 0) {
      destinations.forget(id)
      used.delete(id)
      continue
    }
    const readMs = used.get(id)
    const timeoutMs = 1_000 + step
    await db
      .updateTable('destination')
      .set({ timeout_ms: timeoutMs })
      .where('id', '=', id)
      .execute()
    const found = await destinations.get(id)
    expect(found?.timeoutMs).toBe(readMs ?? timeoutMs)
    used.delete(id)
    used.set(id, readMs ?? timeoutMs)
    const [oldest = ''] = used.keys()
    if (used.size > MAX) used.delete(oldest)
  }
})

async function deliveredOf(relay: Relay, eventId: string): Promise<string[]> {
  const { data } = await relay.get(`/v1/deliveries?eventId=${eventId}&limit=100`)
  return data.map((delivery: Resource) => `${delivery.destinationId} ${delivery.status}`).toSorted()
}

test('a worker delivers to more destinations than it keeps, each as it is configured then', async () => {
  await using relay = await startRelay({ destinationsMax: 3 })
  const { source, destination, endpoint } = await relay.route()
  const copies = await copyDestination(relay, destination.id, 6)
  const all = [destination.id, ...copies]
  for (const id of copies)
    await relay.make('connections', { sourceId: source.id, destinationId: id })
  const succeeded = all.map((id) => `${id} succeeded`).toSorted()
  for (let round = 0; round < 2; round++) {
    const events = await relay.acceptMany(source, 2)
    for (const id of events) {
      await eventually(async () => expect(await deliveredOf(relay, id)).toEqual(succeeded))
    }
  }
  expect(endpoint.arrivals).toHaveLength(4 * all.length)
  const moved = await relay.endpoint()
  for (const id of all) await relay.change('destinations', id, { url: moved.url })
  await relay.acceptMany(source, 2)
  await eventually(() => expect(moved.arrivals).toHaveLength(2 * all.length))
  expect(endpoint.arrivals).toHaveLength(4 * all.length)
})
