import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { openPool } from '../../core/db/connection/db.ts'
import { claimDue, claimParked, type Claimed } from '../../core/db/deliveries/work/claims.ts'
import { holdPartitions, type Hold } from '../../core/db/deliveries/work/partition-owners.ts'
import { readClaimed } from '../../core/db/deliveries/work/read-claimed.ts'
import { findEventBody } from '../../core/db/events/event-bodies.ts'
import { encodeId, newId, timeOfId } from '../../core/ids.ts'
import { CLAIM_BYTES_MAX, MESSAGE_BODY_BYTES_MAX } from '../../core/limits.ts'
import { seedRoute, seedDelivery, seedEvent, uuid, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

/** Seeded rows wait in this partition. */
const PARTITION = 0
const HEADERS_BYTES = '[["Content-Type","application/json"]]'.length

let world: World
let hold: Hold
/** As a worker's, with the ways of reading that grow with a table closed. */
let pool: ReturnType<typeof openPool>
beforeAll(async () => {
  world = await startWorld()
  pool = openPool({ url: world.databaseUrl, max: 2, log: world.deps.log, planning: 'lookups' })
  const member = { name: 'test', processId: newId(world.clock.now()) }
  const wish = { kept: [], wanted: [PARTITION], withExpired: true, withFormer: true }
  const [taken] = await holdPartitions(pool, member, wish)
  if (taken === undefined) throw new Error('The partition is not free')
  hold = taken
})
afterAll(async () => {
  await pool.end()
  await world[Symbol.asyncDispose]()
})

let count = 0

/** A destination with one waiting delivery for each body, oldest first; returns their ids. */
async function waiting(bodies: readonly Buffer[], nextAt: Date | null) {
  const seeded: SeededRoute = await seedRoute(world, `claims ${++count}`)
  const ids: string[] = []
  for (const [place, raw] of bodies.entries()) {
    const eventId = await seedEvent(world, { ...seeded, raw })
    const atMs = world.clock.now() + place
    const seed = { ...seeded, eventId, status: 'pending', nextAt, atMs }
    ids.push(uuid('dlv', await seedDelivery(world, seed)))
  }
  return { ids, destinationId: uuid('dst', seeded.destinationId) }
}

const claim = (limit: number) => {
  const nowMs = world.clock.now()
  return { nowMs, leaseUntilMs: nowMs + 15_000, limit, claimedBy: 'test' }
}

const ids = ({ deliveries }: Claimed): string[] => deliveries.map(({ deliveryId }) => deliveryId)

test('a claim stops before its bodies are too much, and says that there is more', async () => {
  const perClaim = Math.floor(CLAIM_BYTES_MAX / (MESSAGE_BODY_BYTES_MAX + HEADERS_BYTES))
  const body = Buffer.alloc(MESSAGE_BODY_BYTES_MAX, 'x')
  const parked = await waiting(Array<Buffer>(perClaim + 5).fill(body), null)
  const from = { destinationId: parked.destinationId, hold }
  const first = await claimParked(pool, from, claim(512))
  expect(first.isAll).toBe(false)
  expect(ids(first)).toEqual(parked.ids.slice(0, perClaim))
  const bytes = first.deliveries.reduce((sum, one) => sum + one.bytes, 0)
  expect(bytes).toBe(perClaim * (MESSAGE_BODY_BYTES_MAX + HEADERS_BYTES))
  expect(first.deliveries.every((one) => one.body?.equals(body))).toBe(true)
  const second = await claimParked(pool, from, claim(512))
  expect(second.isAll).toBe(true)
  expect(ids(second)).toEqual(parked.ids.slice(perClaim))
  expect(await claimParked(pool, from, claim(512))).toEqual({ deliveries: [], isAll: true })
})

test('due rows are claimed within the same bytes, the most overdue first', async () => {
  const perClaim = Math.floor(CLAIM_BYTES_MAX / (MESSAGE_BODY_BYTES_MAX + HEADERS_BYTES))
  const body = Buffer.alloc(MESSAGE_BODY_BYTES_MAX, 'y')
  const early = new Date(world.clock.now() - 60_000)
  const late = await waiting(Array<Buffer>(3).fill(body), new Date(early.getTime() + 1_000))
  const due = await waiting(Array<Buffer>(perClaim).fill(body), early)
  const first = await claimDue(pool, [hold], claim(256))
  expect(first.isAll).toBe(false)
  expect(ids(first)).toEqual(due.ids)
  const second = await claimDue(pool, [hold], claim(256))
  expect(second.isAll).toBe(true)
  expect(ids(second)).toEqual(late.ids)
})

test('a claim that is full by its rows says that there is more', async () => {
  const parked = await waiting(Array<Buffer>(3).fill(Buffer.from('{}')), null)
  const from = { destinationId: parked.destinationId, hold }
  expect(await claimParked(pool, from, claim(2))).toMatchObject({ isAll: false })
  expect(await claimParked(pool, from, claim(2))).toMatchObject({ isAll: true })
})

test('a larger body stays behind, to be read on its own', async () => {
  const large = Buffer.alloc(MESSAGE_BODY_BYTES_MAX + 1, 'z')
  const parked = await waiting([large, Buffer.from('{}'), Buffer.alloc(0)], null)
  const from = { destinationId: parked.destinationId, hold }
  const { deliveries } = await claimParked(pool, from, claim(512))
  expect(deliveries.map(({ body }) => body?.toString())).toEqual([undefined, '{}', ''])
  expect(deliveries.map(({ bytes }) => bytes - HEADERS_BYTES)).toEqual([0, 2, 0])
  const [first] = deliveries
  const { retentionClass, eventId } = first ?? { retentionClass: 0, eventId: null }
  expect(await findEventBody(pool, retentionClass, eventId ?? '')).toEqual(large)
  expect(await findEventBody(pool, 3, eventId ?? '')).toBeUndefined()
})

/** The partitions of events and deliveries that the open transaction has touched. */
async function touchedBy(own: typeof pool): Promise<string[]> {
  const { rows } = await own.query<{ name: string }>(`
    select distinct relation::regclass::text as name from pg_locks
    where pid = pg_backend_pid() and relation::regclass::text ~ '^(event|delivery)_[0-9]+_[^_]*$'
    order by 1`)
  return rows.map(({ name }) => name)
}

const dayOf = (id: string): string =>
  new Date(timeOfId(id)).toISOString().slice(0, 10).replaceAll('-', '')

test.for(['parked', 'due'])(
  'a claim of what is %s looks into its day and that of its event alone',
  async (kind) => {
    const nextAt = kind === 'parked' ? null : new Date(world.clock.now() - 60_000)
    const { destinationId } = await waiting([Buffer.from('{}')], nextAt)
    const own = openPool({
      url: world.databaseUrl,
      max: 1,
      log: world.deps.log,
      planning: 'lookups',
    })
    onTestFinished(async () => await own.end())
    await own.query('begin')
    const { deliveries } =
      kind === 'parked'
        ? await claimParked(own, { destinationId, hold }, claim(512))
        : await claimDue(own, [hold], claim(256))
    const touched = await touchedBy(own)
    await own.query('commit')
    expect(deliveries.map(({ body }) => body?.toString())).toEqual(['{}'])
    const { deliveryId, eventId } = deliveries[0] ?? { deliveryId: '', eventId: '' }
    expect(touched).toEqual([
      `delivery_90_${dayOf(deliveryId)}`,
      `event_90_${dayOf(eventId ?? '')}`,
    ])
  },
)

test('a claim brings along events of other days, whether these have a partition or not', async () => {
  const seeded = await seedRoute(world, `claims ${++count}`)
  const wait = async (eventId: string | null, fields: Partial<SeededRoute> = {}): Promise<void> => {
    const seed = { ...seeded, ...fields, eventId, status: 'pending', nextAt: null }
    await seedDelivery(world, seed)
  }
  for (const days of [0, 1, 40]) {
    const atMs = world.clock.now() - days * 86_400_000
    await wait(await seedEvent(world, { ...seeded, raw: `${days}`, atMs }))
  }
  const from = { destinationId: uuid('dst', seeded.destinationId), hold }
  const { deliveries, isAll } = await claimParked(pool, from, claim(512))
  expect(isAll).toBe(true)
  expect(deliveries.map(({ body, isOrphan }) => [body?.toString(), isOrphan])).toEqual([
    ['0', false],
    ['1', false],
    ['40', false],
  ])
})

test('a claim says what has lost its event or its connection', async () => {
  const gone = newId(world.clock.now())
  const seeded = await seedRoute(world, `claims ${++count}`)
  const eventId = await seedEvent(world, { ...seeded, raw: '{}' })
  const seed = { ...seeded, status: 'pending', nextAt: null }
  await seedDelivery(world, { ...seed, eventId: encodeId('evt', gone) })
  await seedDelivery(world, { ...seed, eventId, connectionId: encodeId('con', gone) })
  await seedDelivery(world, { ...seed, eventId })
  const from = { destinationId: uuid('dst', seeded.destinationId), hold }
  const { deliveries } = await claimParked(pool, from, claim(512))
  expect(deliveries.map(({ isOrphan }) => isOrphan)).toEqual([true, true, false])
})

test('a delivery claimed again belongs to the later claim', async () => {
  const parked = await waiting([Buffer.from('{}')], null)
  const present = claim(512)
  const from = { destinationId: parked.destinationId, hold }
  const { deliveries } = await claimParked(pool, from, present)
  const rows = deliveries.map((one) => ({ ...one, resumesAs: null, resumesAt: null }))
  expect((await readClaimed(pool, rows, present)).deliveries).toHaveLength(1)
  const former = { ...present, leaseUntilMs: present.leaseUntilMs - 1 }
  expect(await readClaimed(pool, rows, former)).toEqual({ deliveries: [], left: [] })
})

test.for([
  ['parked', null],
  ['due', new Date(0)],
] as const)(
  'a row that is %s though its delivery has ended is deleted by the claim that finds it',
  async ([kind, nextAt]) => {
    const { ids: all, destinationId } = await waiting(
      Array<Buffer>(2).fill(Buffer.from('{}')),
      nextAt,
    )
    const [ended, kept] = all
    await pool.query(`update delivery set status = 'succeeded' where id = $1`, [ended])
    const claimed =
      kind === 'parked'
        ? await claimParked(pool, { destinationId, hold }, claim(512))
        : await claimDue(pool, [hold], claim(256))
    expect(ids(claimed)).toEqual([kept])
    const { rows } = await pool.query<{ delivery_id: string }>(
      'select delivery_id from delivery_waiting where destination_id = $1',
      [destinationId],
    )
    expect(rows).toEqual([{ delivery_id: kept }])
  },
)

test('a claim without the hold of its partition takes nothing', async () => {
  const parked = await waiting([Buffer.from('{}')], null)
  const lost = { ...hold, epoch: hold.epoch - 1 }
  const from = { destinationId: parked.destinationId, hold: lost }
  expect(await claimParked(pool, from, claim(512))).toEqual({ deliveries: [], isAll: true })
})
