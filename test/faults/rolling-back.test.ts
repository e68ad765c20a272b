import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { ROLES } from '../failover/role-process.ts'
import { openConnector } from './connector.ts'
import { openFleet, type Fleet } from './fleet.ts'
import { startLoad, type Load } from './load.ts'
import { openRoute, stored, type Route } from './route.ts'
import { settle } from './settle.ts'
import { makeVersionAfter, type VersionAfter } from './version-after.ts'

const PER_SECOND = { public: 40, private: 10 }
const SENT_BETWEEN = 20
const ACCEPTED_MS = 20_000
/** A worker that is killed repeats at most what it has under way; each way ends one worker. */
const CONCURRENCY = 20
const DUPLICATES_MAX = 2 * CONCURRENCY
const Made = z.object({ id: z.string() })

const stack = new AsyncDisposableStack()
let fleet: Fleet
let after: VersionAfter
beforeAll(async () => {
  after = stack.use(makeVersionAfter())
  fleet = stack.use(await openFleet())
})
afterAll(async () => await stack.disposeAsync())

interface Lane {
  name: string
  route: Route
  load: Load
}

async function migrations(): Promise<string[]> {
  const rows = await fleet.query('select name from kysely_migration order by name', [])
  return rows.map((row) => z.object({ name: z.string() }).parse(row).name)
}

/** Replaces the process of each role by one of this copy of the repository, and uses each: by webhooks and by the API. */
async function roll(word: string, lanes: readonly Lane[], root?: string): Promise<void> {
  for (const role of ROLES) {
    await fleet.replace(role, root)
    await Promise.all(lanes.map(async ({ load }) => await load.accepted(ACCEPTED_MS)))
    const name = `${word} ${role}`
    const { id } = Made.parse(await fleet.api('POST', '/v1/sources', { name }))
    expect(await fleet.api('GET', `/v1/sources/${id}`)).toMatchObject({ name })
  }
  expect(fleet.roots()).toEqual(ROLES.map(() => root))
  await Promise.all(lanes.map(async ({ load }) => await load.goesOn(SENT_BETWEEN)))
}

async function openLane(name: keyof typeof PER_SECOND, destination: object): Promise<Lane> {
  const options = { destination: { maxConcurrency: CONCURRENCY, ...destination } }
  const route = stack.use(await openRoute(fleet, name, options))
  const load = stack.use(startLoad({ ...route, perSecond: PER_SECOND[name] }))
  return { name, route, load }
}

test('an older version works on a newer schema, rolled out and back under load', async () => {
  const connector = stack.use(await openConnector(fleet, 'private'))
  const lanes = [await openLane('public', {}), await openLane('private', connector.destination)]
  const hidden = lanes[1]?.route.destination.url ?? ''
  connector.startAgent('agent', [hidden])
  await connector.online(1)

  const before = await migrations()
  expect(await fleet.migrate(after.root)).toContain(after.migration)
  await roll('forward', lanes, after.root)
  expect(await fleet.migrate()).toContain('The schema is of a newer version: nothing to migrate')
  await roll('back', lanes)
  expect(await migrations()).toEqual([...before, after.migration])
  expect(fleet.deaths()).toBe(0)

  for (const lane of lanes) await expectAccounted(lane)
})

/** Each webhook was answered 200 with an event of its own, which is stored and was delivered. */
async function expectAccounted({ name, route, load }: Lane): Promise<void> {
  const sent = await load.stop()
  const account = await settle(`rolled out and back, ${name}`, fleet, { route, sent })
  expect(account).toMatchObject({ refused: 0, unanswered: 0, delivered: account.sent })
  const ids = sent.flatMap(({ answer }) => (answer.kind === 'accepted' ? [answer.eventId] : []))
  expect(new Set(ids).size).toBe(account.sent)
  expect(await stored(fleet, route)).toBe(account.sent)
  expect(account.duplicated).toBeLessThanOrEqual(DUPLICATES_MAX)
}
