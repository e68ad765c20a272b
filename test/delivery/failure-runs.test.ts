import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { readCommand } from '../../api/admin/commands.ts'
import { DAY_MS, MINUTE_MS } from '../../core/clock.ts'
import { readSettings } from '../../core/config.ts'
import { deleteEndedRuns, listRuns } from '../../core/db/deliveries/upkeep/destination-failures.ts'
import {
  disableDestination,
  disableFailing,
} from '../../core/db/deliveries/work/delivery-destinations.ts'
import { deleteOldOperationalEvents } from '../../core/db/processes/operational-events.ts'
import { foldDeliveries } from '../../core/db/statistics/folds.ts'
import { newId } from '../../core/ids.ts'
import { judgeDestinations } from '../../dataplane/housekeeper/tasks/failing.ts'
import type { Answer } from '../kit/call-api.ts'
import { noticesOf } from '../kit/notices.ts'
import { seedDelivery, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

type Resource = Answer['body']

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

let count = 0
async function makeDestination(): Promise<Resource> {
  const fields = { name: `destination ${++count}`, url: 'http://127.0.0.1:9/hook' }
  const made = await world.api('POST', '/v1/destinations', fields)
  expect(made.status).toBe(201)
  return made.body
}

const shown = async ({ id }: Resource): Promise<Resource> =>
  (await world.api('GET', `/v1/destinations/${id}`)).body

const toggle = async ({ id }: Resource, isEnabled: boolean): Promise<void> => {
  const answer = await world.api('POST', `/v1/destinations/${id}/toggle`, { isEnabled })
  expect(answer.status).toBe(200)
}

const judge = async (): Promise<void> => await judgeDestinations(world.deps)

interface Counted {
  /** Minutes from now. */
  at: number
  attempts?: number
  succeeded?: number
}

/** Counts attempts as results do. */
async function countAttempts(destination: Resource, counted: readonly Counted[]): Promise<void> {
  const nowMs = Math.floor(world.clock.now() / MINUTE_MS) * MINUTE_MS
  await world.db
    .insertInto('delivery_delta')
    .values(
      counted.map(({ at, attempts = 1, succeeded = 0 }) => ({
        at: new Date(nowMs + at * MINUTE_MS),
        project_id: uuid('prj', world.projectId),
        source_id: newId(nowMs),
        destination_id: uuid('dst', destination.id),
        connection_id: newId(nowMs),
        succeeded,
        failed: 0,
        throttled: 0,
        attempts,
        retried: 0,
        latencies: null,
      })),
    )
    .execute()
}

async function note(destination: Resource, ...counted: Counted[]): Promise<void> {
  await countAttempts(destination, counted)
  await foldDeliveries(world.db)
}

/** Since when it fails, in minutes from now; null when it does not, undefined when nothing is noted. */
async function failingSince(destination: Resource): Promise<number | null | undefined> {
  const row = await world.db
    .selectFrom('destination_failure')
    .select('failing_since')
    .where('destination_id', '=', uuid('dst', destination.id))
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (row.failing_since === null) return null
  const nowMs = Math.floor(world.clock.now() / MINUTE_MS) * MINUTE_MS
  return (row.failing_since.getTime() - nowMs) / MINUTE_MS
}

const failed = (at: number): Counted => ({ at })
const succeeded = (at: number): Counted => ({ at, succeeded: 1 })

test.for<[string, Counted[][], number | null | undefined]>([
  ['a success alone leaves no trace', [[succeeded(-3)]], undefined],
  ['the first failure begins it', [[failed(-9)], [failed(-3)]], -9],
  ['failures in one fold', [[failed(-3), failed(-9)]], -9],
  ['a success ends it', [[failed(-9)], [succeeded(-3)]], null],
  ['a failure after a success begins it again', [[failed(-9)], [succeeded(-5)], [failed(-3)]], -3],
  ['the same in one fold', [[failed(-9), succeeded(-5), failed(-3), failed(-2)]], -3],
  ['a success in the same minute', [[{ at: -3, attempts: 9, succeeded: 1 }], [failed(-2)]], -2],
  ['a success among failures of a minute', [[failed(-9)], [failed(-3), succeeded(-3)]], null],
  [
    'a success that is counted late leaves what followed it',
    [[failed(-9), failed(-2)], [succeeded(-5)]],
    -2,
  ],
  ['a success from before it, counted late', [[failed(-5)], [succeeded(-9)]], -5],
  [
    'a failure from before a success, counted late',
    [[failed(-9)], [succeeded(-3)], [failed(-5)]],
    null,
  ],
  ['a failure from before it, counted late', [[failed(-5)], [failed(-9)]], -5],
  ['throttled deliveries are no attempts', [[failed(-9)], [{ at: -3, attempts: 0 }]], -9],
  ['a pause of 7 days', [[failed(-3 - 7 * 1440)], [failed(-3)]], -3 - 7 * 1440],
  ['a silence of more than 7 days', [[failed(-4 - 7 * 1440)], [failed(-3)]], -3],
])('a run of failures: %s', async ([, folds, expected]) => {
  const destination = await makeDestination()
  for (const counted of folds) await note(destination, ...counted)
  expect(await failingSince(destination)).toBe(expected)
})

test('folds of two housekeepers at once note every outcome', async () => {
  const destinations = await Promise.all(Array.from({ length: 20 }, makeDestination))
  for (const destination of destinations) {
    await countAttempts(destination, [failed(-9), succeeded(-5), failed(-3)])
  }
  await Promise.all([foldDeliveries(world.db), foldDeliveries(world.db)])
  await foldDeliveries(world.db)
  const since = await Promise.all(destinations.map(failingSince))
  expect(since).toEqual(destinations.map(() => -3))
})

test('two housekeepers at once tell everything once and disable once', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-5 * 1440), failed(0))
  await Promise.all([judge(), judge(), judge()])
  const notices = await noticesOf(world, destination)
  expect(notices.map(({ kind, details }) => [kind, details.percent])).toEqual([
    ['destination.failing', 50],
    ['destination.failing', 70],
    ['destination.failing', 90],
    ['destination.disabled', 100],
  ])
  expect(await shown(destination)).toMatchObject({
    isEnabled: false,
    disabledReason: 'failing',
    health: 'disabled',
  })
  const audit = await world.db
    .selectFrom('audit')
    .select(['actor', 'action', 'changes', 'project_id'])
    .where('subject_id', '=', uuid('dst', destination.id))
    .where('action', '=', 'destination.disable')
    .execute()
  expect(audit).toEqual([
    {
      actor: 'postern',
      action: 'destination.disable',
      changes: { isEnabled: false, disabledReason: 'failing' },
      project_id: uuid('prj', world.projectId),
    },
  ])
})

test('a destination that a client enables fails anew: a run, its notices, and a recovery that is owed', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-5 * 1440), failed(0))
  await judge()
  // This attempt was under way when the destination was disabled.
  await note(destination, failed(0))
  await judge()
  await toggle(destination, true)
  expect(await failingSince(destination)).toBeNull()
  expect(await shown(destination)).toMatchObject({ health: 'healthy', disabledReason: null })

  world.clock.advance(DAY_MS)
  await note(destination, failed(-1))
  world.clock.advance(3 * DAY_MS)
  await note(destination, failed(-1))
  await judge()
  expect(await shown(destination)).toMatchObject({ health: 'failing', isEnabled: true })
  const again = (await noticesOf(world, destination)).slice(4)
  expect(again).toMatchObject([{ kind: 'destination.failing', details: { percent: 50 } }])

  await note(destination, succeeded(0))
  expect(await shown(destination)).toMatchObject({ health: 'healthy' })
  await Promise.all([judge(), judge()])
  const kinds = (await noticesOf(world, destination)).slice(5).map(({ kind }) => kind)
  expect(kinds).toEqual(['destination.recovered'])
})

test('a destination that succeeds after it was disabled and enabled has recovered', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-5 * 1440), failed(0))
  await judge()
  await note(destination, succeeded(0))
  await judge()
  expect((await noticesOf(world, destination)).at(-1)?.kind).toBe('destination.disabled')
  await toggle(destination, true)
  await note(destination, succeeded(1))
  await judge()
  expect((await noticesOf(world, destination)).at(-1)?.kind).toBe('destination.recovered')
})

test('a client who switches a failing destination off and on begins a new run at once', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-4 * 1440), failed(0))
  await toggle(destination, false)
  await note(destination, failed(-4 * 1440), failed(0))
  await judge()
  await toggle(destination, true)
  await note(destination, failed(1))
  await judge()
  expect(await failingSince(destination)).toBe(1)
  expect(await shown(destination)).toMatchObject({ health: 'healthy' })
  expect(await noticesOf(world, destination)).toEqual([])
})

test('a destination of which nothing is heard any more is not disabled', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-4 * 1440), failed(0))
  world.clock.advance(2 * DAY_MS)
  await judge()
  expect(await shown(destination)).toMatchObject({ isEnabled: true, health: 'failing' })
  await note(destination, failed(0))
  await judge()
  expect(await shown(destination)).toMatchObject({ isEnabled: false, disabledReason: 'failing' })
})

test('judging changes nothing that ingest and workers keep, but for a destination that is disabled', async () => {
  const destination = await makeDestination()
  const changes = async (): Promise<number> =>
    (
      await world.db
        .selectFrom('config_change')
        .select('id')
        .where('subject_id', '=', uuid('dst', destination.id))
        .execute()
    ).length
  const before = await changes()
  await note(destination, failed(-4 * 1440), failed(0))
  await judge()
  await note(destination, succeeded(0))
  await judge()
  expect(await changes()).toBe(before)
  expect(await noticesOf(world, destination)).toHaveLength(3)
  await note(destination, failed(1), failed(5 * 1440 + 1))
  await judge()
  expect(await changes()).toBe(before + 1)
})

test('a run of a busy destination is not judged, though a fold that came in between has noted it', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-5 * 1440), failed(0))
  const isListed = async (): Promise<boolean> =>
    (await listRuns(world.db, { afterId: undefined, limit: 1_000 })).some(
      ({ destinationId }) => destinationId === uuid('dst', destination.id),
    )
  expect(await isListed()).toBe(true)
  await seedDelivery(world, {
    eventId: null,
    connectionId: null,
    sourceId: null,
    destinationId: destination.id,
    status: 'throttled',
    nextAt: new Date(world.clock.now()),
    lastResponseStatus: 429,
  })
  expect(await isListed()).toBe(false)
})

test('a destination that succeeds while it is judged stays in service', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-5 * 1440), failed(0))
  const [run] = (await listRuns(world.db, { afterId: undefined, limit: 1_000 })).filter(
    ({ destinationId }) => destinationId === uuid('dst', destination.id),
  )
  if (run === undefined) throw new Error('No run was noted')
  await note(destination, succeeded(0))
  const isDisabled = await world.db
    .transaction()
    .execute(async (tx) => await disableFailing(tx, run, world.clock.now()))
  expect(isDisabled).toBe(false)
  expect(await shown(destination)).toMatchObject({ isEnabled: true, health: 'healthy' })
})

test('a destination that is gone is disabled and told once', async () => {
  const destination = await makeDestination()
  const id = uuid('dst', destination.id)
  const nowMs = world.clock.now()
  await Promise.all([
    disableDestination(world.db, id, 'gone', nowMs),
    disableDestination(world.db, id, 'gone', nowMs + 1),
  ])
  expect(await noticesOf(world, destination)).toMatchObject([
    { kind: 'destination.disabled', details: { reason: 'gone' } },
  ])
  expect(await shown(destination)).toMatchObject({ disabledReason: 'gone', health: 'disabled' })
})

test('nothing is kept of deleted destinations, of ended runs, and of old operational events', async () => {
  const deleted = await makeDestination()
  const ended = await makeDestination()
  await note(deleted, failed(0))
  await note(ended, failed(-9))
  await note(ended, succeeded(0))
  await world.api('DELETE', `/v1/destinations/${deleted.id}`)
  expect(await failingSince(deleted)).toBeUndefined()
  // This attempt ended after its destination was deleted.
  await note(deleted, failed(0))
  await judge()
  expect(await failingSince(deleted)).toBeUndefined()
  expect(await failingSince(ended)).toBeNull()
  await deleteEndedRuns(world.db, new Date(world.clock.now() + 2 * MINUTE_MS))
  expect(await failingSince(ended)).toBeUndefined()

  await note(ended, failed(-4 * 1440), failed(0))
  await judge()
  expect(await noticesOf(world, ended)).toHaveLength(2)
  await deleteOldOperationalEvents(world.db, world.clock.now() - MINUTE_MS)
  expect(await noticesOf(world, ended)).toHaveLength(2)
  await deleteOldOperationalEvents(world.db, world.clock.now() + MINUTE_MS)
  expect(await noticesOf(world, ended)).toEqual([])
})

test('notices list prints what the organisation must hear of, and nothing of another', async () => {
  const destination = await makeDestination()
  await note(destination, failed(-3 * 1440), failed(0))
  await judge()
  const other = await world.createTenant()
  const list = async (organisationId: string): Promise<unknown> => {
    const run = readCommand(['notices', 'list', '--organisation', organisationId])
    if ('help' in run) throw new Error('Expected a command')
    const context = {
      ...world.deps,
      actor: { name: 'admin', address: null },
      settings: readSettings({}),
    }
    return await run(context)
  }
  expect(await list(world.organisationId)).toContainEqual({
    at: expect.any(String),
    kind: 'destination.failing',
    projectId: world.projectId,
    subjectId: destination.id,
    details: {
      name: destination.name,
      percent: 50,
      failingSince: expect.stringMatching(/:00\.000Z$/),
      disablesAt: expect.stringMatching(/:00\.000Z$/),
    },
  })
  expect(await list(other.organisationId)).toEqual([])
})

test('a busy delivery that waits ends a run, another’s does not', async () => {
  const [busy, failing] = [await makeDestination(), await makeDestination()]
  for (const one of [busy, failing]) await note(one, failed(-9), failed(0))
  await sql`
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger, next_at, response_status)
    select gen_random_uuid(), 90, ${uuid('org', world.organisationId)}, ${uuid('prj', world.projectId)}, id, 0, status,
      'automatic', now(), response_status
    from (values (${uuid('dst', busy.id)}::uuid, 'throttled', 504), (${uuid('dst', failing.id)}::uuid, 'pending', 503))
      as t (id, status, response_status)`.execute(world.db)
  await judge()
  expect((await failingSince(busy)) ?? null).toBeNull()
  expect(await shown(busy)).toMatchObject({ health: 'healthy' })
  expect(await shown(failing)).toMatchObject({ health: 'failing' })
})
