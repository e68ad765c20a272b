import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { newId } from '../../core/ids.ts'
import { startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ worker: false, connectionsPerSource: 3 })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const JSON_TYPE = { 'content-type': 'application/json' }

const KINDS = 60

/** Some 12 KB that no event passes, of each kind another. */
const LARGE_FILTERS = Array.from({ length: KINDS }, (_, kind) => ({
  body: { $and: Array.from({ length: 700 }, (__, at) => ({ a: { $neq: kind + at } })) },
}))

async function insertConnections(
  source: Resource,
  destination: Resource,
  count: number,
): Promise<void> {
  const now = new Date(relay.clock.now())
  const rows = Array.from({ length: count }, (_, at) => {
    const id = newId(now.getTime())
    return {
      id,
      organisation_id: uuid('org', relay.organisationId),
      project_id: uuid('prj', relay.projectId),
      name: id,
      source_id: uuid('src', source.id),
      destination_id: uuid('dst', destination.id),
      is_enabled: true,
      filter: JSON.stringify(LARGE_FILTERS[at % KINDS]),
      metadata: '{}',
      created_at: now,
      updated_at: now,
    }
  })
  for (let at = 0; at < count; at += 100) {
    await relay.db
      .insertInto('connection')
      .values(rows.slice(at, at + 100))
      .execute()
  }
}

/** The longest that the event loop stood still while `act` ran, which holds ingest and the API of this test. */
async function stillMs(act: () => Promise<unknown>): Promise<number> {
  await sleep(50)
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  await act()
  await sleep(20)
  delay.disable()
  return delay.max / 1e6
}

test('the first event after a change of a source with 500 large filters stops nobody', async () => {
  const source = await relay.make('sources', { name: 'crowded' })
  const endpoint = await relay.endpoint()
  const destination = await relay.make('destinations', { name: 'crowded', url: endpoint.url })
  await insertConnections(source, destination, 500)
  const send = async (): Promise<void> =>
    void (await relay.accept(source, { body: '{"a":70}', headers: JSON_TYPE }))
  const cold = await stillMs(send)
  await relay.change('sources', source.id, { metadata: { changed: 'yes' } })
  const startedAt = performance.now()
  const warm = await stillMs(send)
  const warmMs = performance.now() - startedAt
  expect({ cold: cold < 150, warm: warm < 100, fast: warmMs < 1_000 }, `${cold} ${warm}`).toEqual({
    cold: true,
    warm: true,
    fast: true,
  })
})

test('a changed filter of one of many connections holds from the next event on', async () => {
  const source = await relay.make('sources', { name: 'changing' })
  const endpoint = await relay.endpoint()
  const destination = await relay.make('destinations', { name: 'changing', url: endpoint.url })
  const fields = { filter: { body: { a: 1 } } }
  const connection = await relay.connect(source, destination, fields)
  await relay.connect(source, destination, { ...fields, name: 'other' })
  const statusOf = async (): Promise<unknown> => {
    const id = await relay.accept(source, { body: '{"a":2}', headers: JSON_TYPE })
    return (await relay.get(`/v1/events/${id}`)).status
  }
  expect(await statusOf()).toBe('filtered')
  await relay.change('connections', connection.id, { filter: { body: { a: 2 } } })
  expect(await statusOf()).toBe('received')
  await relay.change('connections', connection.id, { filter: { body: { a: 3 } } })
  expect(await statusOf()).toBe('filtered')
  await relay.change('connections', connection.id, { filter: null })
  expect(await statusOf()).toBe('received')
})

test('a source takes as many connections as the setting says, however they come', async () => {
  const [full, other] = [
    await relay.make('sources', { name: 'full' }),
    await relay.make('sources', { name: 'other' }),
  ]
  const endpoint = await relay.endpoint()
  const destination = await relay.make('destinations', { name: 'full', url: endpoint.url })
  const ends = (source: Resource) => ({ sourceId: source.id, destinationId: destination.id })
  for (const name of ['f1', 'f2', 'f3']) await relay.make('connections', { name, ...ends(full) })
  const moved = await relay.make('connections', { name: 'moved', ...ends(other) })
  const refused = { status: 400, body: { code: 'BAD_REQUEST' } }
  const fields = [{ path: 'body.sourceId', message: 'This source has 3 connections, the most' }]
  const answers = [
    await relay.api('POST', '/v1/connections', { name: 'f4', ...ends(full) }),
    await relay.api('PUT', '/v1/connections/by-name/f4', ends(full)),
    await relay.api('PATCH', `/v1/connections/${moved.id}`, { data: { sourceId: full.id } }),
  ]
  for (const answer of answers) {
    expect(answer).toMatchObject(refused)
    expect(answer.body.data.fields).toEqual(fields)
  }
  // Its own are changed all the same.
  const again = await relay.api('PUT', '/v1/connections/by-name/f1', ends(full))
  expect(again.status).toBe(200)
})
