import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { newId } from '../../core/ids.ts'
import { seedEvent, seedRoute, uuid, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
let shop: SeededRoute
beforeAll(async () => {
  world = await startWorld()
  shop = await seedRoute(world, 'shop')
})
afterAll(async () => await world[Symbol.asyncDispose]())

interface List {
  data: { id: string }[]
  nextCursor: string | null
  truncated?: boolean
  searchedThrough?: string
}

async function list(on: World, query: string): Promise<List> {
  const answer = await on.api('GET', `/v1/events?${query}`)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

test('the list shows one type, or all that begin alike, beside other filters and a search', async () => {
  const other = await seedRoute(world, 'other')
  const at = (n: number): number => world.clock.now() - 60_000 + n * 1_000
  const types = ['order.paid', 'order.paid.late', 'order_paid', 'order%', null, String.raw`a\b`]
  const ids: string[] = []
  for (const [n, eventType] of types.entries()) {
    ids.unshift(await seedEvent(world, { ...shop, eventType, atMs: at(n), raw: `"number ${n}"` }))
  }
  const rejected = await seedEvent(world, {
    ...other,
    eventType: 'order.paid',
    status: 'rejected',
    rejectionReason: 'signature_mismatch',
    atMs: at(6),
  })
  const [backslash, none, percent, underscore, late, paid] = ids
  const expected: [query: string, ids: unknown[]][] = [
    ['eventType=order.paid', [rejected, paid]],
    ['eventType=order.paid*', [rejected, late, paid]],
    ['eventType=order.*', [rejected, late, paid]],
    ['eventType=order_paid', [underscore]],
    ['eventType=order_*', [underscore]],
    ['eventType=order%25', [percent]],
    ['eventType=a%5Cb', [backslash]],
    ['eventType=a%5C*', [backslash]],
    ['eventType=ORDER.PAID', []],
    ['eventType=order', []],
    ['eventType=*', [rejected, backslash, none, percent, underscore, late, paid]],
    ['eventType=order.paid&status=rejected', [rejected]],
    ['eventType=order.paid&status=received', [paid]],
    [`eventType=order.*&sourceId=${shop.sourceId}`, [late, paid]],
    [`eventType=order.*&sourceId=${shop.sourceId}&status=rejected`, []],
    ['eventType=order.*&sortDir=asc', [paid, late, rejected]],
    [`eventType=order.*&to=${new Date(at(2)).toISOString()}`, [late, paid]],
    ['eventType=order.*&search=number', [late, paid]],
    ['eventType=order.*&search=number%201', [late]],
    ['eventType=other&search=number', []],
    [`eventType=order.*&search=${paid}`, [paid]],
    [`eventType=other&search=${paid}`, []],
  ]
  for (const [query, found] of expected) {
    const { data } = await list(world, query)
    expect(
      data.map(({ id }) => id),
      query,
    ).toEqual(found)
  }
})

test('a rare type is found far back; a page whose time was up says how far it came, and goes on', async () => {
  await using own = await startWorld()
  const seeded = await seedRoute(own, 'many')
  const start = own.clock.now() - 3_600_000
  const seed = (atMs: number) => seedEvent(own, { ...seeded, eventType: 'rare', atMs })
  const oldest = await seed(start - 1_000)
  const near = await seed(start + COMMON - 10_000)
  await fill(own, seeded, start)
  const close = await list(own, 'eventType=rare&limit=1')
  expect(close.data.map(({ id }) => id)).toEqual([near])
  expect(close.truncated).toBeUndefined()

  for (const sortDir of ['desc', 'asc']) {
    const seen: string[] = []
    const through: string[] = []
    let cursor = ''
    do {
      const beganAt = performance.now()
      const page = await list(own, `eventType=rare&sortDir=${sortDir}${cursor}`)
      expect(performance.now() - beganAt).toBeLessThan(BUSY_MS)
      seen.push(...page.data.map(({ id }) => id))
      if (page.truncated === true) through.push(page.searchedThrough ?? '')
      // Short of its limit, a page goes on only where its time was up or it met the present.
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
    } while (cursor !== '')
    expect(seen, sortDir).toEqual(sortDir === 'asc' ? [oldest, near] : [near, oldest])
    expect(through.length, sortDir).toBeGreaterThan(0)
    const sorted = through.toSorted()
    expect(through, sortDir).toEqual(sortDir === 'asc' ? sorted : sorted.toReversed())
  }
}, 90_000)

/** An answer may take a second; a machine that does other things as well takes longer. */
const BUSY_MS = 5_000

/** More than is read in a second: each has a type that takes a while to unpack. */
const COMMON = 120_000
const TYPE_LENGTH = 60_000

async function fill(own: World, seeded: SeededRoute, start: number): Promise<void> {
  const tail = newId(start).replaceAll('-', '').slice(13)
  await sql`create table packed as select repeat('x', ${TYPE_LENGTH}::int) as event_type`.execute(
    own.db,
  )
  await sql`
    insert into event (class, id, organisation_id, project_id, source_id, status, event_type, verified_with, method, path,
      query, headers, size_bytes, is_binary, remote_ip, raw, verified_us, matched_us)
    select 90, (lpad(to_hex(${start}::bigint + n), 12, '0') || '7' || ${tail})::uuid, ${uuid('org', own.organisationId)}::uuid,
      ${uuid('prj', own.projectId)}::uuid, ${uuid('src', seeded.sourceId)}::uuid, 'received', event_type, 'none', 'POST',
      '', '', '[]', 2, false, '192.0.2.7', '{}', 1, 1
    from packed, generate_series(1, ${COMMON}::int) as n order by n`.execute(own.db)
}
