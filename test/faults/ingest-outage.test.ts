import { randomBytes } from 'node:crypto'

import { pino } from 'pino'
import { request } from 'undici'
import { expect, test } from 'vitest'

import { createOrganisation } from '../../api/accounts/organisations/organisations.ts'
import { newSource } from '../../api/sources/change.ts'
import { recordFacts } from '../../core/db/billing/ledger.ts'
import { insertSource } from '../../core/db/configuration/sources.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { migrate } from '../../core/db/migrate.ts'
import { newId } from '../../core/ids.ts'
import { ensureDeliveryStream } from '../../core/jetstream/delivery-stream.ts'
import { openNats } from '../../core/nats.ts'
import { BUILT_IN_PLANS } from '../../core/plans/built-in-plans.ts'
import { eventually, openIngestOn, startRelay } from '../kit/relay.ts'
import { scratch, startTestNats, startTestPostgres } from '../kit/servers.ts'
import { TESTER } from '../kit/tester.ts'

const clock = { now: () => Date.now() }
const log = pino({ level: 'silent' })

test('without PostgreSQL ingest answers 503 with Retry-After, and takes webhooks again when it is back', async () => {
  await using stack = new AsyncDisposableStack()
  const directory = stack.use(scratch())
  const nats = stack.use(await startTestNats(directory.path))
  let postgres = await startTestPostgres(directory.path)
  stack.defer(async () => await postgres.stop())
  const pool = openPool({ url: postgres.url, max: 4, log, statementTimeoutMs: 5_000 })
  const db = stack.use(openDb(pool))
  await migrate(db, clock.now())
  const tenancy = { db, clock, plans: BUILT_IN_PLANS, ledger: recordFacts, actor: TESTER }
  const { organisation, defaultProjectId } = await createOrganisation(tenancy, {
    name: 'Test',
    plan: 'enterprise',
  })
  const named = {
    id: newId(clock.now()),
    organisationId: organisation.id,
    name: 'a',
    kind: 'http' as const,
  }
  const source = newSource({ ...named, projectId: defaultProjectId }, null, new Date())
  const other = newSource(
    { ...named, id: newId(clock.now()), name: 'b', projectId: defaultProjectId },
    null,
    new Date(),
  )
  await insertSource(db, source)
  await insertSource(db, other)

  const connection = await openNats(nats.url, 'ingest', log)
  stack.defer(async () => await connection.close())
  await ensureDeliveryStream(connection)
  const ingest = await openIngestOn(
    {
      databaseUrl: postgres.url,
      natsUrl: nats.url,
      keyring: new Map([['0', randomBytes(32)]]),
      plans: BUILT_IN_PLANS,
      clock,
      log,
      ingestUrl: 'http://ingest.test',
    },
    'ingest',
  )
  stack.defer(async () => await ingest.stop())
  const send = async (
    maskId: string,
  ): Promise<{ status: number; retryAfter: unknown; body: unknown }> => {
    const { statusCode, headers, body } = await request(`${ingest.url}/${maskId}`, {
      method: 'POST',
    })
    return { status: statusCode, retryAfter: headers['retry-after'], body: await body.json() }
  }
  expect(await send(source.maskId)).toMatchObject({ status: 200 })

  await postgres.stop()
  const unavailable = {
    status: 503,
    retryAfter: expect.stringMatching(/^[1-9]\d*$/),
    body: { ok: false, message: expect.any(String) },
  }
  const heard = await Promise.all([source, source, other, other].map(({ maskId }) => send(maskId)))
  // A source that was known, and one that cannot be looked up: never a 200, and never a 404.
  expect(heard).toEqual([unavailable, unavailable, unavailable, unavailable])

  postgres = await startTestPostgres(directory.path)
  await eventually(async () => {
    expect(await send(source.maskId)).toMatchObject({ status: 200 })
    expect(await send(other.maskId)).toMatchObject({ status: 200 })
  })
  const events = await db.selectFrom('event').select('source_id').execute()
  const stored = events.filter((event) => event.source_id === source.id)
  expect(stored.length).toBeGreaterThanOrEqual(2)
})

test('without NATS ingest stores and answers 200, and what it stored goes out when NATS is back', async () => {
  await using relay = await startRelay()
  const { source, endpoint } = await relay.route()
  const before = await relay.accept(source)
  await relay.reaches(before, { status: 'succeeded' })
  await relay.stopNats()
  const ids = await Promise.all(Array.from({ length: 5 }, () => relay.accept(source)))
  expect(endpoint.arrivals).toHaveLength(1)
  await relay.restartNats()
  await relay.advance(21_000)
  for (const id of ids) await relay.reaches(id, { status: 'succeeded' }, 10_000)
  expect(endpoint.arrivals).toHaveLength(6)
  const after = await relay.accept(source)
  await relay.reaches(after, { status: 'succeeded', attemptCount: 1 })
})
