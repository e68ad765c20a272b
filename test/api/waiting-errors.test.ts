import { afterAll, beforeAll, expect, test } from 'vitest'

import { says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

const WAITING = 150_000

/** Every so many of them came to something rare. */
const RARE = 30_000

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function ids(query: string): Promise<string[]> {
  const { data } = await relay.get(`/v1/deliveries?${query}`)
  return data.map(({ id }: Resource) => id)
}

test('a waiting delivery is found by what its last attempt came to, and by nothing before', async () => {
  const { source, destination, endpoint } = await relay.route({ respond: says(503) })
  const own = `destinationId=${destination.id}`
  const eventId = await relay.accept(source)
  const { id } = await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  expect(await ids(`${own}&responseStatus=5xx&errorCode=bad_response`)).toEqual([id])
  endpoint.respond = says(429)
  await relay.advance(7_000)
  await relay.reaches(eventId, { status: 'throttled' })
  expect(await ids(`${own}&responseStatus=429&status=throttled`)).toEqual([id])
  expect(await ids(`${own}&responseStatus=5xx`)).toEqual([])
  // Put back by hand it still says what came of it last.
  endpoint.respond = says(404)
  await relay.advance(60_000)
  await relay.reaches(eventId, { status: 'pending', lastAttempt: { responseStatus: 404 } }, 8_000)
  await relay.change('destinations', destination.id, { isEnabled: false })
  expect((await relay.api('POST', `/v1/deliveries/${id}/retry`)).status).toBe(202)
  await relay.reaches(eventId, { status: 'pending', lastError: 'destination_disabled' })
  expect(await ids(`${own}&responseStatus=404&status=pending`)).toEqual([id])
})

test('a list by error is quick beside 150,000 waiting rows of the project', async () => {
  const { source, destination, connection } = await relay.route({
    destination: { isEnabled: false },
  })
  const { rows } = await relay.pool.query<{ prefix: string }>(
    `select lpad(to_hex($1::bigint), 12, '0') as prefix`,
    [Math.floor(relay.clock.now()) - 3_600_000],
  )
  const prefix = rows[0]?.prefix ?? ''
  const id = `($1 || lpad(to_hex(28672 + n / 65536), 4, '0') || 'b000' || lpad(to_hex(n), 12, '0'))::uuid`
  const facts = `n, ${id} as id, case when n % ${RARE} = 0 then 503 when n % 3 = 0 then 429 end as status`
  const given = [
    prefix,
    uuid('dst', destination.id),
    uuid('prj', relay.projectId),
    uuid('con', connection.id),
    uuid('src', source.id),
  ]
  await relay.pool.query(
    `with seed as (select ${facts} from generate_series(1, ${WAITING}) n)
    insert into delivery (class, id, event_id, connection_id, destination_id, source_id, project_id, status, trigger,
      max_attempts, last_response_status, last_error_code, last_attempt_at)
    select 90, id, id, $4::uuid, $2::uuid, $5::uuid, $3::uuid, 'pending', 'ingest', 8, status,
      case when status is not null then 'bad_response' when n % ${RARE} = 7 then 'tls_error' end, now() from seed`,
    given,
  )
  await relay.pool.query(
    `insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger, error_code, response_status)
    select id, class, $2::uuid, project_id, destination_id, 0, status, 'automatic', last_error_code, last_response_status
    from delivery where destination_id = $1::uuid`,
    [uuid('dst', destination.id), uuid('org', relay.organisationId)],
  )
  const expected: [query: string, count: number][] = [
    ['responseStatus=503', 5],
    ['responseStatus=5xx', 5],
    ['responseStatus=4xx', 50],
    ['errorCode=tls_error', 5],
    ['errorCode=bad_response', 50],
    ['errorCode=bad_response&responseStatus=503', 5],
    ['status=pending&responseStatus=503', 5],
    [`destinationId=${destination.id}&responseStatus=5xx`, 5],
    ['responseStatus=418', 0],
  ]
  for (const [query, count] of expected) {
    await eventually(async () => {
      const startedAt = performance.now()
      const found = await ids(`limit=50&from=2000-01-01T00:00:00Z&${query}`)
      const tookMs = performance.now() - startedAt
      expect(found, query).toHaveLength(count)
      expect(tookMs, query).toBeLessThan(50)
    })
  }
}, 60_000)
