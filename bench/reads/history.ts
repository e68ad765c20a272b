import pg from 'pg'

import { DAY_MS } from '../../core/clock.ts'
import { newId } from '../../core/ids.ts'
import { BUILT_IN_PLANS } from '../../core/plans/built-in-plans.ts'
import { retentionClassOf } from '../../core/plans/plans.ts'
import { fillDay, type Day } from './fill-day.ts'
import { ADD_SLOTS, ADD_SOURCE, DROP_ROUTES, ROUTES } from './history-sql.ts'
import { makeOthers, routesOf, type Era, type Measured } from './tenants.ts'

/** As many as the measured machine has cores. */
const WRITERS = 2

/** The measured project was in the class below while its events are of this age, in days. */
const MOVED = { from: 20, to: 30 }
const RETIRED_DAYS = 60

/** How much traffic a day has, in relation to that of the others. */
const CLASSES: { days: number; weight: number; era: (age: number) => Era }[] = [
  { days: 3, weight: 13, era: () => 'hobby' },
  { days: 7, weight: 13, era: () => 'launch' },
  { days: 30, weight: 8, era: (age) => (age >= MOVED.from ? 'moved' : 'scale') },
  { days: 90, weight: 7, era: enterpriseAt },
]

/** Nothing here has to outlive a crash. */
const FAST =
  "set synchronous_commit = off; set maintenance_work_mem = '256MB'; set work_mem = '64MB'; set jit = off; set enable_seqscan = off"

/**
 * A past of `events` over the days that each class is kept, with one to two deliveries each and an attempt or two of
 * those, made by SQL a day at a time; indexes are made once a day is full. Nothing of it goes out: what waits is due in
 * twenty days.
 */
export async function makeHistory(
  databaseUrl: string,
  measured: Measured,
  { events, nowMs }: { events: number; nowMs: number },
): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const clients: pg.Client[] = []
  for (let n = 0; n < WRITERS; n++) {
    const client = stack.adopt(new pg.Client(databaseUrl), (open) => open.end())
    await client.connect()
    await client.query(FAST)
    clients.push(client)
  }
  const [client] = clients
  if (client === undefined) throw new Error('No writers')
  await client.query(ROUTES)
  await writeRoutes(client, measured, nowMs)
  const days = daysOf(events, nowMs)
  // All workers share one walk.
  const todo = days.values()
  let made = 0
  const fill = async (writer: pg.Client): Promise<void> => {
    for (const day of todo) {
      await fillDay(writer, day)
      made += day.count
      console.log(`${made} of ${events} events`)
    }
  }
  await Promise.all(clients.map(fill))
  await client.query(DROP_ROUTES)
  await client.query(
    'vacuum analyze delivery_waiting, delivery_failed, event_rollup, delivery_rollup',
  )
}

async function writeRoutes(client: pg.Client, measured: Measured, nowMs: number): Promise<void> {
  const others = makeOthers(['hobby', 'launch', 'scale', 'enterprise'])
  for (const { plan, routes } of others) {
    const [route] = routes
    if (route === undefined) throw new Error(`No routes for ${plan}`)
    const at = new Date(nowMs)
    await client.query(
      `insert into organisation (id, name, plan, retention_class, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)`,
      [route.organisationId, plan, plan, retentionClassOf(BUILT_IN_PLANS[plan].retentionDays), at],
    )
    for (const projectId of new Set(routes.map((one) => one.projectId))) {
      await client.query(
        `insert into project (id, organisation_id, name, is_default, metadata, created_at, updated_at)
         values ($1, $2, $3, false, '{}', $4, $4)`,
        [projectId, route.organisationId, newId(nowMs), at],
      )
    }
  }
  for (const [era, routes] of Object.entries(routesOf(measured, others))) {
    let slot = 0
    for (const route of routes) {
      const { share, organisationId, projectId, sourceId, connectionIds, destinationIds } = route
      await client.query(ADD_SLOTS, [era, slot, share, organisationId, projectId, sourceId])
      await client.query(ADD_SOURCE, [sourceId, connectionIds, destinationIds, route.isFailing])
      slot += share
    }
  }
}

/** Every day of every class, with its part of the events; today's is as long as today was so far. */
function daysOf(events: number, nowMs: number): Day[] {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS
  const shares = CLASSES.flatMap(({ days, weight, era }) =>
    Array.from({ length: days }, (_, age) => {
      const dayMs = todayMs - age * DAY_MS
      const endMs = age === 0 ? nowMs : dayMs + DAY_MS
      return {
        retentionClass: days,
        age,
        era: era(age),
        dayMs,
        endMs,
        weight: (weight * (endMs - dayMs)) / DAY_MS,
      }
    }),
  )
  const whole = shares.reduce((sum, { weight }) => sum + weight, 0)
  let first = 0
  let passed = 0
  return shares.map(({ weight, ...day }) => {
    passed += weight
    const count = Math.round((events * passed) / whole) - first
    const made = { ...day, first, count }
    first += count
    return made
  })
}

function enterpriseAt(age: number): Era {
  if (age >= RETIRED_DAYS) return 'retired'
  return age >= MOVED.from && age < MOVED.to ? 'others' : 'enterprise'
}
