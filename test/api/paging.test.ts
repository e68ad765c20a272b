import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { CallerLimits } from '../../api/auth/caller-limits.ts'
import { ROUTES } from '../../api/routes.ts'
import { says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'

const EVENTS = 8
const LIMITS = [1, 2, 3]

/** Names that letters, cases, accents and surrogate pairs put in an order. */
const NAMES = ['b', 'B', 'ä', 'a', 'é', 'ﬁ', '𝒳', '\u{1f600}', 'b 2', '_', '%']

let relay: Relay
/** The connector whose replicas are listed. */
let connectorId: string
beforeAll(async () => {
  relay = await startRelay({ gatewayUrl: 'ws://gateway.test' })
  await makeResources()
  await makeDeliveries()
  await makeOperations()
}, 60_000)
afterAll(async () => await relay[Symbol.asyncDispose]())

/** Makes rows whose times PostgreSQL writes: with microseconds, and the same for all rows of a transaction. */
async function makeResources(): Promise<void> {
  for (const name of NAMES) {
    const url = 'http://127.0.0.1:9/'
    const source = await relay.make('sources', { name })
    const destination = await relay.make('destinations', { name, url })
    await relay.connect(source, destination, { name })
    await relay.make('projects', { name })
    await relay.make('connectors', { name })
  }
  const connector = await relay.make('connectors', {})
  connectorId = connector.id
  for (const at of NAMES.keys()) await enrol(connector.enrollmentKey, `agent ${at}`)
  for (const table of ['source', 'destination', 'connection', 'project', 'connector']) {
    await sql`
      update ${sql.table(table)} t set updated_at = now() + n % 4 * interval '7 microseconds'
      from (select id, row_number() over (order by id) as n from ${sql.table(table)}) as numbered
      where numbered.id = t.id`.execute(relay.db)
  }
}

async function enrol(key: string, instanceName: string): Promise<void> {
  relay.deps.callers = new CallerLimits()
  await relay.pool.query('delete from public_limit')
  const response = await fetch(`${relay.apiUrl}/v1/connectors/bootstrap`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ instanceName, version: '1', startedAt: new Date().toISOString() }),
  })
  expect(response.status, await response.text()).toBe(200)
}

/** Makes two deliveries of each event: one waits for its retry, the other for its turn at a slow destination. */
async function makeDeliveries(): Promise<void> {
  const retryPolicy = { strategy: 'schedule', scheduleSeconds: [600], maxAttempts: 3 }
  const { source } = await relay.route({ respond: says(500), destination: { retryPolicy } })
  const slow = await relay.make('destinations', {
    url: (await relay.endpoint()).url,
    rateLimit: 1,
    rateLimitPeriod: 'hour',
  })
  await relay.connect(source, slow)
  await relay.acceptMany(source, EVENTS)
  await eventually(async () => {
    for (const status of ['pending', 'throttled']) {
      const { data } = await relay.get(`/v1/deliveries?status=${status}&limit=100`)
      expect(data.length).toBeGreaterThanOrEqual(EVENTS - 1)
      if (status === 'pending') {
        const timed = data.filter((one: { nextAttemptAt: unknown }) => one.nextAttemptAt !== null)
        expect(timed.length).toBeGreaterThanOrEqual(EVENTS)
      }
    }
  })
}

async function makeOperations(): Promise<void> {
  for (const kind of ['retry', 'replay', 'cancel', 'retry']) {
    const filter = { status: kind === 'replay' ? 'rejected' : 'failed' }
    const answer = await relay.api('POST', '/v1/operations', { kind, filter })
    expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  }
}

/** Every list of the API in every sort, with what its sort needs besides. */
const LISTS = ROUTES.filter(({ query }) => query !== null && 'cursor' in query.shape).flatMap(
  ({ path, query }) =>
    sortsOf(query).flatMap((sortBy) =>
      (sortBy === 'nextAttemptAt' ? ['&status=pending', '&status=throttled'] : ['']).map(
        (needed): [query: string] => [`/v1${path}?sortBy=${sortBy}${needed}`],
      ),
    ),
)

function sortsOf(query: z.ZodObject | null): readonly string[] {
  const sortBy = z.instanceof(z.ZodDefault).parse(query?.shape['sortBy']).unwrap()
  return z.array(z.string()).parse(z.instanceof(z.ZodEnum).parse(sortBy).options)
}

test('there are lists of nine kinds', () => {
  expect(new Set(LISTS.map(([query]) => query.split('?')[0]))).toEqual(
    new Set([
      '/v1/sources',
      '/v1/destinations',
      '/v1/connections',
      '/v1/projects',
      '/v1/connectors',
      '/v1/connectors/:id/replicas',
      '/v1/events',
      '/v1/deliveries',
      '/v1/operations',
    ]),
  )
})

test.each(LISTS)(
  '%s gives each row once in both directions, whatever the length of a page',
  async (list) => {
    const query = list.replace(':id', connectorId)
    const idsOf = async (dir: string): Promise<string[]> =>
      (await relay.get(`${query}&sortDir=${dir}&limit=100`)).data.map(
        (row: { id: string }) => row.id,
      )
    const [up, down] = [await idsOf('asc'), await idsOf('desc')]
    expect(up.length).toBeGreaterThan(3)
    expect(down.toSorted()).toEqual(up.toSorted())
    for (const [dir, whole] of [
      ['asc', up],
      ['desc', down],
    ] as const) {
      for (const limit of LIMITS) {
        const walked = await walk(`${query}&sortDir=${dir}&limit=${limit}`, whole.length)
        expect(walked, `${dir}, limit ${limit}`).toEqual(whole)
      }
    }
  },
  60_000,
)

test.each([['status=pending'], ['status=throttled']])(
  'deliveries by nextAttemptAt, %s, are in the order of their times',
  async (status) => {
    for (const dir of ['asc', 'desc']) {
      const { data } = await relay.get(
        `/v1/deliveries?${status}&sortBy=nextAttemptAt&sortDir=${dir}&limit=100`,
      )
      const times: string[] = data.flatMap((one: { nextAttemptAt: string | null }) =>
        one.nextAttemptAt === null ? [] : [one.nextAttemptAt],
      )
      const sorted = times.toSorted()
      expect(times).toEqual(dir === 'asc' ? sorted : sorted.toReversed())
    }
  },
)

const IDS = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '7fffffff-ffff-7fff-bfff-ffffffffffff',
  'not-an-id',
]
const VALUES = [
  '',
  'text',
  '-1',
  '1e9',
  '9'.repeat(16),
  '9'.repeat(17),
  '9'.repeat(400),
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20T00:00:00.000Z',
  '294277-01-01T00:00:00Z',
  '2026-02-30T00:00:00.000Z',
  'infinity',
  'now',
  "'; select 1; --",
  '\0',
  '\ud800',
  '%_\\',
  '\u{1f600}',
]

test.each(LISTS)('%s refuses a cursor that somebody wrote, or goes on behind it', async (list) => {
  const query = list.replace(':id', connectorId)
  const first = await relay.get(`${query}&limit=1`)
  const [digest, value, id] = JSON.parse(Buffer.from(first.nextCursor, 'base64url').toString())
  const written = [
    ...VALUES.map((one) => [digest, one, id]),
    ...IDS.map((one) => [digest, value, one]),
    ...IDS.flatMap((one) => VALUES.map((other) => [digest, other, one])),
    [digest, value],
    [digest, value, id, id],
    [digest, 1, id],
    [digest, null, id],
    ['', value, id],
    {},
    null,
  ].map((one) => Buffer.from(JSON.stringify(one)).toString('base64url'))
  for (const cursor of [...written, 'x', '%00', 'W10', '😀']) {
    const path = `${query}&limit=2&cursor=${encodeURIComponent(cursor)}`
    const { status, body } = await relay.api('GET', path)
    const told = `${Buffer.from(cursor, 'base64url').toString()}: ${JSON.stringify(body)}`
    const refused = {
      status: 400,
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'query.cursor' }] },
    }
    const page = { data: expect.any(Array) }
    expect(body, told).toMatchObject(status === 200 ? page : refused)
  }
})

/** The ids of all pages; gives up when there are more than there are rows. */
async function walk(query: string, rows: number): Promise<string[]> {
  const ids: string[] = []
  let cursor = ''
  do {
    const page = await relay.get(`${query}${cursor}`)
    ids.push(...page.data.map((row: { id: string }) => row.id))
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
  } while (cursor !== '' && ids.length <= rows)
  return ids
}
