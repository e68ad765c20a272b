import { Registry } from 'prom-client'
import { expect } from 'vitest'

import { countTold } from '../../dataplane/housekeeper/alerts/alert-metrics.ts'
import { AlertWatch } from '../../dataplane/housekeeper/alerts/watch.ts'
import { signIn, seedPerson, type Browser } from '../kit/browser-like.ts'
import { startEndpoint, type Endpoint } from '../kit/endpoint.ts'
import { eventually, type Relay } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import type { Tenant, World } from '../kit/world.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS

/** A housekeeper's watch over alerts, which may open some at once. */
export function openWatch(world: World, { hasMail = false } = {}): AlertWatch {
  const { deps, db, clock } = world
  const settled = { now: () => clock.now() - (isSettling ? 3 * MINUTE_MS : 0) }
  let isSettling = true
  const watch = new AlertWatch({
    ...deps,
    db,
    clock: settled,
    nats: world.nats,
    dashboardUrl: world.apiUrl,
    told: countTold(new Registry()),
    hasMail,
  })
  isSettling = false
  return watch
}

/** A looks at all signals by each, at once. */
export async function look(...watches: readonly AlertWatch[]): Promise<void> {
  await Promise.all(watches.map(async (watch) => await watch.pass({ isAll: true })))
}

let people = 0

export async function ownerOf(world: World, tenant: Tenant = world): Promise<Browser> {
  const email = `owner-${people++}@example.com`
  await seedPerson(world, email, { [tenant.organisationId]: 'owner' })
  return await signIn(world, email)
}

/** An address that alerts go to, and the notifications that it has got. */
export interface Desk extends AsyncDisposable {
  endpoint: Endpoint
  owner: Browser
  at(path: string): string
  /** The types, each with its level if it has any. */
  told(): string[]
  /** How the deliveries to it stand. */
  deliveries(): Promise<string[]>
}

export async function openDesk(relay: Relay, tenant: Tenant = relay): Promise<Desk> {
  const endpoint = await startEndpoint()
  const owner = await ownerOf(relay, tenant)
  const at = (path: string): string => `/app/api/${tenant.projectId}${path}`
  const set = await owner.visit('PUT', at('/alerts/endpoint'), { url: `${endpoint.url}/alerts` })
  expect(set.status).toBe(200)
  const told = (): string[] =>
    endpoint.arrivals.map(({ body }) => {
      const { type, data } = JSON.parse(body.toString())
      return data.level > 1 ? `${type} ${data.level}` : type
    })
  return {
    endpoint,
    owner,
    at,
    told,
    async deliveries() {
      const { rows } = await relay.pool.query<{ status: string }>(
        `select d.status from delivery d join project p on p.id = d.project_id
         where p.is_internal and p.organisation_id = $1`,
        [uuid('org', tenant.organisationId)],
      )
      return rows.map(({ status }) => status)
    },
    [Symbol.asyncDispose]: async () => await endpoint[Symbol.asyncDispose](),
  }
}

/** Waits until it was told so, and no more is stored for it. */
export async function expectTold(desk: Desk, expected: readonly string[]): Promise<void> {
  await eventually(() => expect(desk.told().toSorted()).toEqual(expected.toSorted()))
  await eventually(async () =>
    expect(await desk.deliveries()).toEqual(expected.map(() => 'succeeded')),
  )
  expect(desk.told()).toHaveLength(expected.length)
}
