import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { eventually, startRelay, type Relay, type Resource, type Route } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

/** Three routes in the order of their ids; the destination in the middle is to become unreadable. */
async function openRoutes(
  relay: Relay,
  fields: Parameters<Relay['route']>[0],
): Promise<[Route, Route, Route]> {
  return [await relay.route(fields), await relay.route(fields), await relay.route(fields)]
}

const idOf = (destination: Resource): string => uuid('dst', destination.id)

test('parked deliveries go out though the secrets of another destination cannot be opened', async () => {
  await using relay = await startRelay()
  const routes = await openRoutes(relay, { destination: { isEnabled: false } })
  const [before, broken, behind] = routes
  const ids = await Promise.all(routes.map(async ({ source }) => await relay.accept(source)))
  for (const id of ids) await relay.reaches(id, { lastError: 'destination_disabled' })
  await relay.stopWorker()
  await sql`update destination set is_enabled = true, disabled_reason = null,
    secrets = case when id = ${idOf(broken.destination)} then '\\x00'::bytea else secrets end`.execute(
    relay.db,
  )
  await relay.startWorker()
  for (const { endpoint } of [before, behind])
    await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  expect(broken.endpoint.arrivals).toEqual([])
})

test('changed settings count though those of another destination cannot be read', async () => {
  await using relay = await startRelay()
  // Attempts under way keep their lanes open.
  const answer = Promise.withResolvers<void>()
  const routes = await openRoutes(relay, {
    respond: (response) => void answer.promise.then(() => response.end()),
  })
  const [before, broken, behind] = routes
  for (const { source } of routes) await relay.accept(source)
  for (const { endpoint } of routes)
    await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  const moved = await relay.endpoint()
  await sql`update destination set url = ${moved.url},
    secrets = case when id = ${idOf(broken.destination)} then '\\x00'::bytea else secrets end`.execute(
    relay.db,
  )
  for (const { source } of [before, behind]) {
    await eventually(async () => {
      const had = moved.arrivals.length
      await relay.accept(source)
      await eventually(() => expect(moved.arrivals.length).toBeGreaterThan(had), 1_000)
    })
  }
  answer.resolve()
})
