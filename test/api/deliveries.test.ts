import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  seedRoute,
  seedAttempt,
  seedDelivery,
  seedEvent,
  uuid,
  type SeededRoute,
} from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
let shop: SeededRoute
let eventId: string
const ids: Record<string, string> = {}

beforeAll(async () => {
  world = await startWorld()
  shop = await seedRoute(world, 'shop')
  eventId = await seedEvent(world, shop)
  const now = world.clock.now()
  const soon = (n: number): Date => new Date(now + n * 1000)
  const seeds: Record<
    string,
    Omit<Parameters<typeof seedDelivery>[1], keyof SeededRoute | 'eventId'>
  > = {
    succeeded: { status: 'succeeded', lastResponseStatus: 204 },
    fresh: { status: 'pending', leaseUntil: soon(15) },
    retrying: { status: 'pending', nextAt: soon(20), lastErrorCode: 'timeout' },
    later: {
      status: 'pending',
      nextAt: soon(90),
      lastErrorCode: 'bad_response',
      lastResponseStatus: 500,
    },
    parked: { status: 'pending', nextAt: null },
    paced: { status: 'throttled', throttledReason: 'rate_limit', nextAt: null },
    busy: {
      status: 'throttled',
      throttledReason: 'destination_busy',
      nextAt: soon(30),
      lastErrorCode: 'bad_response',
      lastResponseStatus: 502,
    },
    flying: { status: 'in_flight', nextAt: soon(5), claimedBy: 'worker' },
    timeout: { status: 'failed', lastErrorCode: 'timeout' },
    refused: { status: 'failed', lastErrorCode: 'bad_response', lastResponseStatus: 403 },
    cancelled: { status: 'cancelled' },
  }
  for (const [name, seed] of Object.entries(seeds)) {
    ids[name] = await seedDelivery(world, { ...shop, eventId, ...seed })
  }
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function names(query: string, key?: string): Promise<string[]> {
  const answer = await world.api('GET', `/v1/deliveries?${query}`, undefined, key ? { key } : {})
  expect(answer.body, query).toMatchObject({ data: expect.any(Array) })
  const known = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  return answer.body.data.map(({ id }: { id: string }) => known.get(id) ?? id)
}

test('the list filters by each member and by several', async () => {
  const all = Object.keys(ids).toReversed()
  const other = await seedRoute(world, 'other')
  const expected: Record<string, string[]> = {
    '': all,
    'sortDir=asc': Object.keys(ids),
    'status=pending': ['parked', 'later', 'retrying', 'fresh'],
    'status=throttled': ['busy', 'paced'],
    'status=in_flight': ['flying'],
    'status=failed': ['refused', 'timeout'],
    'status=succeeded': ['succeeded'],
    'status=cancelled': ['cancelled'],
    'errorCode=timeout': ['timeout', 'retrying'],
    'errorCode=timeout&status=failed': ['timeout'],
    'errorCode=bad_response&status=pending': ['later'],
    'responseStatus=403': ['refused'],
    'responseStatus=502': ['busy'],
    'responseStatus=204': ['succeeded'],
    'responseStatus=500&errorCode=bad_response': ['later'],
    'responseStatus=5xx': ['busy', 'later'],
    'responseStatus=5xx&status=pending': ['later'],
    'responseStatus=4xx': ['refused'],
    'responseStatus=4xx&status=failed': ['refused'],
    'responseStatus=2xx': ['succeeded'],
    'responseStatus=1xx': [],
    [`responseStatus=5xx&destinationId=${shop.destinationId}`]: ['busy', 'later'],
    [`responseStatus=5xx&destinationId=${other.destinationId}`]: [],
    [`responseStatus=5xx&connectionId=${shop.connectionId}`]: ['busy', 'later'],
    'errorCode=bad_response&responseStatus=5xx&status=throttled': ['busy'],
    [`eventId=${eventId}&responseStatus=5xx`]: ['busy', 'later'],
    [`eventId=${eventId}`]: all,
    [`eventId=${eventId}&status=pending`]: ['parked', 'later', 'retrying', 'fresh'],
    [`connectionId=${shop.connectionId}&status=failed`]: ['refused', 'timeout'],
    [`destinationId=${shop.destinationId}&status=throttled`]: ['busy', 'paced'],
    [`sourceId=${shop.sourceId}&errorCode=timeout`]: ['timeout', 'retrying'],
    [`destinationId=${other.destinationId}`]: [],
    [`connectionId=${other.connectionId}&status=pending`]: [],
    'from=2000-01-01T00:00:00Z&to=2001-01-01T00:00:00Z': [],
    'from=2000-01-01T00:00:00Z&status=failed': ['refused', 'timeout'],
    'to=2001-01-01T00:00:00Z&status=pending': [],
    'status=pending&sortBy=nextAttemptAt&sortDir=asc': ['retrying', 'later', 'fresh', 'parked'],
    'status=pending&sortBy=nextAttemptAt': ['later', 'retrying', 'parked', 'fresh'],
    'status=throttled&sortBy=nextAttemptAt&sortDir=asc': ['busy', 'paced'],
  }
  for (const [query, wanted] of Object.entries(expected)) {
    expect(await names(query), query).toEqual(wanted)
  }
})

test('pages in every order meet each delivery once', async () => {
  for (const query of [
    'status=pending&sortBy=nextAttemptAt&sortDir=asc',
    'status=pending&sortBy=nextAttemptAt&sortDir=desc',
    'status=pending&sortDir=asc',
    'errorCode=timeout',
    'sortDir=desc',
  ]) {
    const whole = await names(query)
    const seen: string[] = []
    let cursor = ''
    do {
      const page = await world.api('GET', `/v1/deliveries?limit=1&${query}${cursor}`)
      seen.push(...page.body.data.map(({ id }: { id: string }) => id))
      cursor = page.body.nextCursor === null ? '' : `&cursor=${page.body.nextCursor}`
    } while (cursor !== '')
    const known = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
    expect(
      seen.map((id) => known.get(id)),
      query,
    ).toEqual(whole)
  }
})

test('sorting by nextAttemptAt needs a status that waits', async () => {
  for (const query of ['sortBy=nextAttemptAt', 'sortBy=nextAttemptAt&status=failed']) {
    const answer = await world.api('GET', `/v1/deliveries?${query}`)
    expect(answer.body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'query.sortBy' }] },
    })
  }
})

test('GET /v1/deliveries/{id} shows a delivery with its attempts', async () => {
  const id = await seedDelivery(world, { ...shop, eventId, lastResponseStatus: 200 })
  await seedAttempt(world, { deliveryId: id, number: 1 })
  const answer = await world.api('GET', `/v1/deliveries/${id}`)
  expect(answer.body).toMatchObject({
    id,
    nextAttemptAt: null,
    lastAttempt: { responseStatus: 200, errorCode: null, durationMs: 12.5 },
    attempts: [
      {
        deliveryId: id,
        number: 1,
        trigger: 'initial',
        phases: { dnsMs: null, connectMs: 1.25, tlsMs: null, firstByteMs: 11, totalMs: 12.5 },
        requestUrl: 'http://127.0.0.1:9/hook',
        responseHeaders: [['content-type', 'text/plain']],
      },
    ],
  })
})

async function readNamed(name: string) {
  return (await world.api('GET', `/v1/deliveries/${ids[name]}`)).body
}

test('nextAttemptAt is shown while a delivery waits for a time, not while a worker has it', async () => {
  expect((await readNamed('retrying')).nextAttemptAt).not.toBeNull()
  expect((await readNamed('busy')).nextAttemptAt).not.toBeNull()
  for (const name of ['parked', 'paced', 'flying', 'fresh', 'succeeded']) {
    expect((await readNamed(name)).nextAttemptAt, name).toBeNull()
  }
})

/** A delivery of that status as a worker leaves it; what waits is due in an hour. */
async function seeded(status: string): Promise<string> {
  const waits = ['pending', 'throttled', 'in_flight'].includes(status)
  return await seedDelivery(world, {
    ...shop,
    eventId,
    status,
    lastErrorCode: 'timeout',
    completedAt: waits ? null : new Date(),
    ...(waits && { nextAt: new Date(world.clock.now() + 3_600_000) }),
  })
}

test.for(['succeeded', 'failed', 'cancelled', 'pending'])(
  'retry makes one manual attempt due of a delivery that is %s',
  async (status) => {
    const id = await seeded(status)
    const path = `/v1/deliveries/${id}/retry`
    const answer = await world.api('POST', path)
    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({ id, status: 'pending', completedAt: null, attemptCount: 1 })
    expect(Date.parse(answer.body.nextAttemptAt)).toBeLessThanOrEqual(world.clock.now())
    const { rows } = await world.pool.query(
      `select attempt_trigger, claimed_by, status from delivery_waiting where delivery_id = $1`,
      [uuid('dlv', id)],
    )
    expect(rows).toEqual([{ attempt_trigger: 'manual', claimed_by: null, status: 'pending' }])
    const failed = await world.pool.query('select from delivery_failed where delivery_id = $1', [
      uuid('dlv', id),
    ])
    expect(failed.rowCount).toBe(0)
  },
)

test.for(['throttled', 'in_flight'])(
  'retry of a delivery that is %s is 409 and changes nothing',
  async (status) => {
    const id = await seeded(status)
    const before = await world.api('GET', `/v1/deliveries/${id}`)
    const answer = await world.api('POST', `/v1/deliveries/${id}/retry`)
    expect(answer.body).toMatchObject({ code: 'CONFLICT', status: 409 })
    expect((await world.api('GET', `/v1/deliveries/${id}`)).body).toEqual(before.body)
  },
)

test('retry leaves a first attempt alone that is under way', async () => {
  const leaseUntil = new Date(world.clock.now() + 15_000)
  const id = await seedDelivery(world, { ...shop, eventId, status: 'pending', leaseUntil })
  expect((await world.api('POST', `/v1/deliveries/${id}/retry`)).status).toBe(202)
  const { rowCount } = await world.pool.query(
    'select from delivery_waiting where delivery_id = $1',
    [uuid('dlv', id)],
  )
  expect(rowCount).toBe(0)
})

test('retry tells the workers', async () => {
  const told = world.nats.subscribe('waiting.due', { max: 1 })
  const id = await seedDelivery(world, { ...shop, eventId, status: 'failed' })
  await world.nats.flush()
  await world.api('POST', `/v1/deliveries/${id}/retry`)
  for await (const message of told) expect(message.subject).toBe('waiting.due')
})

test('retry is refused when there is nothing left to send to, or nothing to send', async () => {
  const gone = await seedRoute(world, 'gone')
  const orphan = await seedDelivery(world, { ...gone, eventId, status: 'failed' })
  await world.api('DELETE', `/v1/connections/${gone.connectionId}`)
  const refused = await world.api('POST', `/v1/deliveries/${orphan}/retry`)
  expect(refused.body).toMatchObject({ code: 'CONFLICT' })
  const tested = await seedDelivery(world, {
    eventId: null,
    connectionId: null,
    sourceId: null,
    destinationId: shop.destinationId,
  })
  expect((await world.api('POST', `/v1/deliveries/${tested}/retry`)).status).toBe(409)
})

test('deliveries of another organisation are not listed', async () => {
  const tenant = await world.createTenant()
  expect(await names('', tenant.key)).toEqual([])
  expect(await names(`eventId=${eventId}`, tenant.key)).toEqual([])
  expect(await names('status=pending', tenant.key)).toEqual([])
  expect(await names('status=failed', tenant.key)).toEqual([])
})
