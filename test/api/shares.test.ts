import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import type { TooManyRequests } from '../../api/auth/rate-limit.ts'
import { OrganisationShares } from '../../core/db/configuration/organisation-shares.ts'
import { classOfEvent } from '../../core/db/events/events.ts'
import { READS_WAITING_MAX } from '../../core/limits.ts'
import { openBrowser, PASSWORD } from '../kit/browser-like.ts'
import { seedRoute, seedEvent, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

test('long reads of one organisation hold up neither its own requests nor the reads of another', async () => {
  const { reads } = world.deps
  const [other, busyOne] = [randomUUID(), randomUUID()]
  const others = async (): Promise<unknown> =>
    await Promise.all([
      reads.run(other, async (db) => await sql`select 1`.execute(db)),
      world.api('GET', '/v1/sources'),
      world.api('GET', '/v1/events?search=nothing'),
    ])
  await others()
  const startedAt = performance.now()
  const busy = Array.from({ length: 12 }, async () => {
    await reads.run(busyOne, async (db) => await sql`select pg_sleep(0.5)`.execute(db))
  })
  await others()
  const othersMs = performance.now() - startedAt
  await Promise.all(busy)
  // Two at a time: twelve take six times as long as one.
  const busyMs = performance.now() - startedAt
  expect(busyMs).toBeGreaterThan(2_900)
  expect(othersMs).toBeLessThan(busyMs / 2)
})

test('an organisation whose long reads wait in a row is told to come again, and a failed read gives its place back', async () => {
  const { reads } = world.deps
  const failing = randomUUID()
  const failed = Array.from({ length: 5 }, async () => {
    await reads.run(failing, async (db) => await sql`select 1 / 0`.execute(db))
  })
  await Promise.allSettled(failed)
  const count = READS_WAITING_MAX + 5
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, async () => {
      await reads.run(failing, async () => await sleep(20))
    }),
  )
  const refused = outcomes.flatMap((one): TooManyRequests[] =>
    one.status === 'rejected' ? [one.reason] : [],
  )
  expect(refused).toHaveLength(3)
  expect(refused[0]?.message).toContain('searches and counts')
})

test('searches, plans and statistics are such reads', async () => {
  const { sourceId } = await seedRoute(world, 'read')
  await seedEvent(world, { sourceId })
  const { reads } = world.deps
  const busy = Array.from({ length: 2 + READS_WAITING_MAX }, async () => {
    await reads.run(uuid('org', world.organisationId), async () => await sleep(1_000))
  })
  const plan = { kind: 'replay', filter: { sourceId } }
  const answers = [
    await world.api('GET', '/v1/events?search=order'),
    await world.api('POST', '/v1/operations/plan', plan),
    await world.api('POST', '/v1/operations', plan),
    await world.api(
      'GET',
      '/v1/stats/dashboard?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z&granularity=hour',
    ),
  ]
  expect(answers.map(({ status }) => status)).toEqual([429, 429, 429, 429])
  expect((await world.api('GET', '/v1/events')).status).toBe(200)
  await Promise.all(busy)
})

test("the list of an event's deliveries looks for the event inside the project alone", async () => {
  const { sourceId } = await seedRoute(world, 'looked-for')
  const id = uuid('evt', await seedEvent(world, { sourceId }))
  const other = await world.createTenant()
  expect(await classOfEvent(world.db, uuid('prj', world.projectId), id)).toBe(90)
  expect(await classOfEvent(world.db, uuid('prj', other.projectId), id)).toBeUndefined()
})

test('organisations that strangers make from one network share one share until they are proved and a week old', async () => {
  await using own = await startWorld({ signUp: 'open', trustedProxies: ['127.0.0.0/8'] })
  const signUp = async (address: string, n: number): Promise<string> => {
    const wish = { email: `p${n}@example.com`, name: 'P', password: PASSWORD }
    const body = { ...wish, organisationName: 'O' }
    const headers = { 'x-forwarded-for': address }
    const made = await openBrowser(own.apiUrl).visit('POST', '/auth/sign-up', body, { headers })
    return uuid('org', made.body.organisations[0].id)
  }
  const there = [await signUp('203.0.113.1', 1), await signUp('203.0.113.2', 2)]
  const elsewhere = await signUp('2001:db8:1:2::3', 3)
  const sharesOf = async (ids: readonly string[]) => {
    const shares = new OrganisationShares(own.db)
    return await Promise.all(ids.map(async (id) => await shares.of(id)))
  }
  const installed = uuid('org', own.organisationId)
  const network = 'network 203.0.113.0/24'
  expect(await sharesOf([...there, elsewhere, installed])).toEqual([
    network,
    network,
    'network 2001:db8:1::/48',
    installed,
  ])
  const [first = ''] = there
  await own.pool.query(`update organisation set created_at = created_at - interval '8 days'`)
  expect(await sharesOf([first])).toEqual([network])
  await own.pool.query(`update person set email_verified_at = now()`)
  expect(await sharesOf([first])).toEqual([first])
  await own.pool.query(`update organisation set created_at = now()`)
  expect(await sharesOf([first])).toEqual([network])
})
