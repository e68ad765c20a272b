import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { sql } from 'kysely'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'

import { PARTITIONS } from '../../core/limits.ts'
import { hangs, says } from '../kit/endpoint.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { eventually, startRelay } from '../kit/relay.ts'
import { seedRoute, seedEvent, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

/** Past the lease of a first attempt and the margin of the sweep. */
const SWEPT_MS = 21_000
/** A worker's partitions are free after their lease, of 5 s on PostgreSQL's clock. */
const FREE_MS = 20_000

type Installation = Pick<World, 'databaseUrl' | 'natsUrl' | 'keyring'>

/** The real program, which can be killed. */
function startRole(role: 'worker' | 'housekeeper', of: Installation, name: string) {
  const [key] = [...of.keyring].map(([id, bytes]) => `${id}:${bytes.toString('base64')}`)
  const child = spawn(process.execPath, [`dataplane/${role}/main.ts`], {
    cwd: new URL('../..', import.meta.url),
    env: {
      ...SURROUNDINGS,
      DATABASE_URL: of.databaseUrl,
      NATS_URL: of.natsUrl,
      POSTERN_ENCRYPTION_KEY: key,
      DELIVERY_ALLOW_CIDRS: '127.0.0.0/8',
      INSTANCE_NAME: name,
      OPS_PORT: '0',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const died = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await died
  }
  onTestFinished(kill)
  return { kill }
}

test('a killed worker is followed after its lease', async () => {
  await using relay = await startRelay({ worker: false })
  const one = await relay.openWorker('one')
  await eventually(() => expect(one.partitions()).toHaveLength(PARTITIONS))
  const killed = startRole('worker', relay, 'killed')
  await eventually(async () => {
    const query = sql`select from partition_owner where holder = 'killed'`
    const { rows } = await query.execute(relay.db)
    expect(rows.length + one.partitions().length).toBe(PARTITIONS)
    expect(rows.length).toBeGreaterThan(0)
  }, 20_000)
  await killed.kill()
  await eventually(() => expect(one.partitions()).toHaveLength(PARTITIONS), FREE_MS)
})

test('deliveries in flight in a killed worker go out from another', async () => {
  await using relay = await startRelay({ worker: false })
  const slow = await relay.route({ respond: hangs, destination: { timeoutMs: 5_000 } })
  const killed = startRole('worker', relay, 'killed')
  const shown = await relay.accept(slow.source)
  await relay.reaches(shown, { status: 'in_flight' }, 15_000)
  // This one is in the worker's memory alone.
  const unseen = await relay.accept(slow.source)
  await eventually(() => expect(slow.endpoint.arrivals).toHaveLength(2))
  await killed.kill()
  slow.endpoint.respond = says(200)
  await relay.advance(SWEPT_MS)
  await relay.startWorker()
  for (const eventId of [shown, unseen]) {
    await relay.reaches(eventId, { status: 'succeeded' }, FREE_MS)
  }
  const arrived = slow.endpoint.arrivals.map(({ headers }) => headers['postern-event-id'])
  expect(new Set(arrived)).toEqual(new Set([shown, unseen]))
  expect(arrived.length).toBeLessThanOrEqual(4)
})

test('a housekeeper that is killed in the middle of a chunk leaves nothing done twice or not at all', async () => {
  await using world = await startWorld()
  const from = await seedRoute(world, 'killed')
  const ids: string[] = []
  for (let n = 0; n < 700; n++) {
    ids.push(await seedEvent(world, { ...from, atMs: world.clock.now() - 700 + n }))
  }
  const query = async (text: string) => (await world.pool.query(text)).rows
  const waiters = `select count(*)::int as n from pg_locks where not granted and relation = 'delivery_waiting'::regclass`
  const waiting = async (n: number): Promise<void> => {
    await eventually(async () => expect(await query(waiters)).toEqual([{ n }]), 15_000)
  }
  await using stack = new AsyncDisposableStack()
  const hold = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: world.databaseUrl })
    stack.defer(async () => await client.end())
    await client.connect()
    await client.query('begin')
    await client.query('lock table delivery_waiting in share row exclusive mode')
    return client
  }

  const first = startRole('housekeeper', world, 'first')
  const before = await hold()
  const filter = { sourceId: from.sourceId }
  const { body } = await world.api('POST', '/v1/operations', { kind: 'replay', filter })
  const read = async () => (await world.api('GET', `/v1/operations/${body.id}`)).body
  await waiting(1)
  // The second lock stands behind the first chunk, which therefore commits, and before the next.
  const between = hold()
  await waiting(2)
  await before.query('commit')
  const after = await between
  await waiting(1)
  await first.kill()
  await after.query('commit')
  const halfway = await read()
  expect(halfway.status).toBe('running')
  expect(halfway.processed).toBeGreaterThan(0)
  expect(halfway.processed).toBeLessThan(700)
  const made = `select event_id as id from delivery where trigger = 'replay' order by event_id`
  expect(await query(made)).toHaveLength(halfway.processed)

  startRole('housekeeper', world, 'second')
  await eventually(async () => expect(await read()).toMatchObject({ status: 'completed' }), FREE_MS)
  expect(await read()).toMatchObject({ matched: 700, processed: 700, failed: 0 })
  expect(await query(made)).toEqual(ids.map((id) => ({ id: uuid('evt', id) })))
  // Folded and unfolded counts of the housekeeper.
  const counted = `select sum(deliveries)::int as n from (
    select deliveries from usage union all select deliveries from usage_delta) as counted`
  expect(await query(counted)).toEqual([{ n: 700 }])
})
