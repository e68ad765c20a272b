import { randomUUID } from 'node:crypto'

import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { buildApp } from '../../api/app.ts'
import type { Route } from '../../api/http/route.ts'
import { HOUR_MS } from '../../core/clock.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { claimAnswer, deleteOldAnswers } from '../../core/db/requests/idempotent-answers.ts'
import {
  IDEMPOTENCY_CLAIM_MS,
  IDEMPOTENCY_HOURS,
  IDEMPOTENT_ANSWER_BYTES_MAX,
} from '../../core/limits.ts'
import { digestOf } from '../../core/secrets/derived.ts'
import type { Answer } from '../kit/call-api.ts'
import { untilBlocked } from '../kit/row-locks.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function post(
  path: string,
  body: unknown,
  key: string,
  { headers = {}, ...options }: { headers?: Record<string, string>; key?: string } = {},
): Promise<Answer> {
  return await world.api('POST', path, body, {
    ...options,
    headers: { 'idempotency-key': key, ...headers },
  })
}

async function sources(): Promise<number> {
  const { rows } = await world.pool.query('select count(*) from source')
  return rows[0].count
}

function isReplayed({ headers }: Answer): boolean {
  return headers.get('idempotent-replayed') === 'true'
}

test('the same key and body return the first answer, and nothing happens twice', async () => {
  const first = await post('/v1/sources', { name: 'once' }, 'once')
  expect(first.status).toBe(201)
  expect(isReplayed(first)).toBe(false)
  const before = await sources()
  const again = await post('/v1/sources', { name: 'once' }, 'once')
  expect(again.status).toBe(201)
  expect(isReplayed(again)).toBe(true)
  expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body))
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect(await sources()).toBe(before)
})

test('another body, query or project under the same key is 409 CONFLICT', async () => {
  await post('/v1/sources', { name: 'mine' }, 'taken')
  for (const answer of [
    await post('/v1/sources', { name: 'other' }, 'taken'),
    await post('/v1/sources', undefined, 'taken'),
    await post('/v1/sources?x=1', { name: 'mine' }, 'taken'),
    await post('/v1/sources', { name: 'mine' }, 'taken', {
      headers: { 'x-project-id': world.projectId },
    }),
  ]) {
    expect(answer.body).toMatchObject({ code: 'CONFLICT', status: 409 })
  }
})

test('the scope of a key is API key, method and path', async () => {
  const { key } = await world.createKey({ sources: 'write', destinations: 'write' })
  const made = await post('/v1/sources', { name: 'scoped' }, 'scope')
  const elsewhere = await post('/v1/projects', { name: 'scoped' }, 'scope')
  expect([made.status, elsewhere.status]).toEqual([201, 201])
  const other = await post('/v1/sources', { name: 'scoped 2' }, 'scope', { key })
  expect(other.body).toMatchObject({ name: 'scoped 2' })
  const patch = await world.api(
    'PATCH',
    `/v1/sources/${made.body.id}`,
    { data: {} },
    { headers: { 'idempotency-key': 'scope' } },
  )
  expect(patch.status).toBe(200)
  expect(isReplayed(patch)).toBe(false)
})

test('a body with other white space, escapes or order of members is the same body', async () => {
  const first = await post(
    '/v1/sources',
    '{"name":"caf\u00e9/1","metadata":{"a":"1","b":"2"}}',
    'same',
  )
  expect(first.status).toBe(201)
  for (const body of [
    '{ "metadata": {"b":"2", "a":"1"},\n"name":"caf\u00e9/1" }\r\n',
    String.raw`{"name":"caf\u00e9\/1","metadata":{"\u0061":"1","b":"2"}}`,
    '\ufeff{"name":"caf\u00e9/1","metadata":{"a":"1","b":"2"}}',
  ]) {
    const again = await post('/v1/sources', body, 'same')
    expect(isReplayed(again), body).toBe(true)
    expect(again.body).toEqual(first.body)
  }
  for (const body of [
    '{"name":"caf\u00e9/1","metadata":{"a":"2","b":"1"}}',
    '{"name":"caf\u00e9/1","metadata":{"a":"1"}}',
    '{"name":"caf\u00e9/1","metadata":{"a":"1","b":"2"},"idempotencyKeys":[]}',
    '{"name":"caf\u00e9/1","metadata":{"a":"1","b":"2"}',
  ]) {
    expect((await post('/v1/sources', body, 'same')).body, body).toMatchObject({ code: 'CONFLICT' })
  }
})

test('the order of a list is part of a body', async () => {
  const sent = (keys: string[]) => ({ name: 'listed', idempotencyKeys: keys })
  expect((await post('/v1/sources', sent(['header.a', 'header.b']), 'list')).status).toBe(201)
  const other = await post('/v1/sources', sent(['header.b', 'header.a']), 'list')
  expect(other.body).toMatchObject({ code: 'CONFLICT' })
})

test('no body is the same as an empty one', async () => {
  const { destinationId } = await seedRoute(world, 'emptied')
  const path = `/v1/destinations/${destinationId}/rotate-signing-secret`
  const first = await post(path, undefined, 'empty')
  expect(first.status).toBe(200)
  const again = await post(path, {}, 'empty')
  expect(isReplayed(again)).toBe(true)
  expect(again.body).toEqual(first.body)
})

const REFUSED: [code: string, body: () => Promise<unknown>, mended: () => Promise<unknown>][] = [
  ['BAD_REQUEST', async () => ({ name: '' }), async () => ({ name: 'mended 400' })],
  ['BAD_REQUEST', async () => '{"name":', async () => ({ name: 'mended syntax' })],
  [
    'CONFLICT',
    async () => {
      await world.api('POST', '/v1/sources', { name: 'taken name' })
      return { name: 'taken name' }
    },
    async () => ({ name: 'mended 409' }),
  ],
]

test.each(REFUSED)(
  'after %s a mended body passes under the same key, and is kept',
  async (code, body, mended) => {
    const key = randomUUID()
    const refused = await post('/v1/sources', await body(), key)
    expect(refused.body).toMatchObject({ code })
    const sent = await mended()
    const made = await post('/v1/sources', sent, key)
    expect(made.status).toBe(201)
    expect(isReplayed(made)).toBe(false)
    const again = await post('/v1/sources', sent, key)
    expect(isReplayed(again)).toBe(true)
    expect(again.body).toEqual(made.body)
  },
)

test('requests that wait for one that is refused run by themselves', async () => {
  const body = { name: 'refused together', unknown: true }
  const answers = await Promise.all(
    Array.from({ length: 5 }, async () => await post('/v1/sources', body, 'together')),
  )
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400])
  expect(answers.some(isReplayed)).toBe(false)
})

test('a refusal is not kept: the same request passes when nothing stands in its way', async () => {
  const path = `/v1/connections`
  const ids = await seedRoute(world, 'refused')
  const body = { name: 'refused', sourceId: ids.sourceId, destinationId: ids.destinationId }
  expect((await post(path, body, 'refusal')).status).toBe(409)
  await world.api('DELETE', `/v1/connections/${ids.connectionId}`)
  const again = await post(path, body, 'refusal')
  expect(again.status).toBe(201)
  expect(isReplayed(again)).toBe(false)

  const reader = await world.createKey({ sources: 'read' })
  const refused = await post('/v1/sources', { name: 'late' }, 'permission', reader)
  expect(refused.status).toBe(403)
  await world.pool.query(`update api_key set permissions = '{"sources":"write"}' where id = $1`, [
    uuid('key', reader.id),
  ])
  expect((await post('/v1/sources', { name: 'late' }, 'permission', reader)).status).toBe(201)
})

test('an answer that is too large to be kept is given once, and its request is done once', async () => {
  let done = 0
  const route: Route = {
    method: 'POST',
    path: '/large',
    operationId: 'large',
    tag: 'Sources',
    summary: 'Large',
    permission: 'any_key',
    scope: 'reach',
    params: {},
    query: z.strictObject({}),
    body: z.strictObject({}),
    responses: { 200: z.string() },
    errors: [],
    async handle() {
      done++
      return await Promise.resolve({ status: 200, body: 'x'.repeat(IDEMPOTENT_ANSWER_BYTES_MAX) })
    },
  }
  await using app = buildApp({ ...world.deps, registry: new Registry() }, [route])
  const send = async () =>
    await app.inject({
      method: 'POST',
      url: '/v1/large',
      headers: { authorization: `Bearer ${world.key}`, 'idempotency-key': 'large' },
    })
  const [first, again] = [await send(), await send()]
  expect([first.statusCode, again.statusCode, done]).toEqual([200, 409, 1])
  expect(again.json().message).toContain('too large')
  const { rows } = await world.pool.query(
    'select max(length(answer)) as most from idempotent_answer',
  )
  expect(rows[0].most).toBeLessThan(IDEMPOTENT_ANSWER_BYTES_MAX)
})

test('429 and 5xx are not kept', async () => {
  const { sourceId } = await seedRoute(world, 'limited')
  const path = `/v1/sources/${sourceId}/test-signature`
  const body = { headers: {}, body: '' }
  const flood = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => await post(path, body, `flood-${n}`)),
  )
  const n = flood.findIndex(({ status }) => status === 429)
  expect(n).toBeGreaterThan(-1)
  world.clock.advance(1_000)
  const again = await post(path, body, `flood-${n}`)
  expect(again.status).toBe(200)
  expect(isReplayed(again)).toBe(false)

  await world.pool.query('alter table source rename to elsewhere')
  expect((await post('/v1/sources', { name: 'failed' }, 'failed')).status).toBe(500)
  await world.pool.query('alter table elsewhere rename to source')
  const made = await post('/v1/sources', { name: 'failed' }, 'failed')
  expect(made.status).toBe(201)
  expect(isReplayed(made)).toBe(false)
})

test('after 24 hours the key is free, and the housekeeper deletes its row', async () => {
  await post('/v1/sources', { name: 'old' }, 'old')
  world.clock.advance(IDEMPOTENCY_HOURS * HOUR_MS - 60_000)
  const late = await post('/v1/sources', { name: 'old' }, 'old')
  expect(isReplayed(late)).toBe(true)
  world.clock.advance(60_000)
  const free = await post('/v1/sources', { name: 'new' }, 'old')
  expect(free.status).toBe(201)

  const now = world.clock.now()
  await world.pool.query(
    `insert into idempotent_answer (digest, request, holder, answer, created_at)
     select sha256(n::text::bytea), '', gen_random_uuid(), '', to_timestamp($1) from generate_series(1, 2500) n`,
    [(now - IDEMPOTENCY_HOURS * HOUR_MS) / 1000],
  )
  expect(await deleteOldAnswers(world.db, now)).toBeGreaterThanOrEqual(2500)
  const { rows } = await world.pool.query('select count(*), min(created_at) from idempotent_answer')
  expect(rows[0].count).toBeGreaterThan(0)
  expect(rows[0].min.getTime()).toBeGreaterThan(now - IDEMPOTENCY_HOURS * HOUR_MS)
})

test('if two processes get the same key at once, one request acts and the others get its answer', async () => {
  const pool = openPool({ url: world.databaseUrl, max: 5, log: world.deps.log })
  await using db = openDb(pool)
  await using second = buildApp({ ...world.deps, db, registry: new Registry() })
  const url = await second.listen({ host: '127.0.0.1', port: 0 })
  const before = await sources()
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const response = await fetch(`${n % 2 === 0 ? url : world.apiUrl}/v1/sources`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${world.key}`,
          'content-type': 'application/json',
          'idempotency-key': 'race',
        },
        body: '{"name":"race"}',
      })
      const { id } = z.object({ id: z.string() }).parse(await response.json())
      return { id, replayed: response.headers.get('idempotent-replayed') }
    }),
  )
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
  expect(answers.filter(({ replayed }) => replayed === null)).toHaveLength(1)
  expect(await sources()).toBe(before + 1)
})

test('a second request waits 10 s for the first, without a connection, then is 409 CONFLICT', async () => {
  const { sourceId } = await seedRoute(world, 'slow')
  const path = `/v1/sources/${sourceId}/toggle`
  const holder = await world.pool.connect()
  await holder.query('begin')
  await holder.query('select from source where id = $1 for update', [uuid('src', sourceId)])
  const first = post(path, { isEnabled: false }, 'slow')
  await untilBlocked(world.pool, 1)
  const started = performance.now()
  // More than the pool holds: were they to keep connections, nothing else would be answered.
  const waiting = Array.from(
    { length: 8 },
    async () => await post(path, { isEnabled: false }, 'slow'),
  )
  const others = await Promise.all(
    Array.from({ length: 20 }, async () => await world.api('GET', '/v1/sources')),
  )
  expect(others.map(({ status }) => status)).toEqual(others.map(() => 200))
  expect(performance.now() - started).toBeLessThan(5_000)
  for (const answer of await Promise.all(waiting)) {
    expect(answer.body).toMatchObject({ code: 'CONFLICT', status: 409 })
  }
  expect(performance.now() - started).toBeGreaterThan(9_500)
  await holder.query('commit')
  holder.release()
  expect((await first).body).toMatchObject({ isEnabled: false })
  const kept = await post(path, { isEnabled: false }, 'slow')
  expect(isReplayed(kept)).toBe(true)
}, 60_000)

test('the key of a request whose process died is free after its claim', async () => {
  const { id } = await world.createKey({ sources: 'write' })
  const digest = digestOf([`key:${id}`, 'POST', '/v1/sources', 'died'])
  const now = world.clock.now()
  const dead = { digest, holder: randomUUID() }
  expect(await claimAnswer(world.db, dead, Buffer.from('x'), now)).toBe(true)
  const heir = { digest, holder: randomUUID() }
  const claim = async (ms: number) => await claimAnswer(world.db, heir, Buffer.from('y'), now + ms)
  expect(await claim(IDEMPOTENCY_CLAIM_MS - 1)).toBe(false)
  expect(await claim(IDEMPOTENCY_CLAIM_MS)).toBe(true)
})

test('neither the key, the request nor the answer can be read in the database', async () => {
  const key = 'a-key-that-nobody-guesses'
  const made = await post('/v1/sources', { name: 'hidden-name' }, key)
  const { rows } = await world.pool.query('select * from idempotent_answer')
  const bytes = rows
    .flatMap((row) => Object.values(row))
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)))
    .join()
  for (const secret of [key, 'hidden-name', made.body.maskId, made.body.id]) {
    expect(bytes).not.toContain(secret)
  }
})

test.for(['', 'x'.repeat(256), 'a b', 'ké', 'a\tb'])(
  'Idempotency-Key %j is BAD_REQUEST that names the header',
  async (key) => {
    const before = await sources()
    const answer = await post('/v1/sources', { name: 'never' }, key)
    expect(answer.body).toMatchObject({
      code: 'BAD_REQUEST',
      data: { fields: [{ path: 'header.idempotency-key' }] },
    })
    expect(await sources()).toBe(before)
  },
)

test('a key of 255 visible characters is taken', async () => {
  const key = `!~${'x'.repeat(253)}`
  expect((await post('/v1/sources', { name: 'long key' }, key)).status).toBe(201)
  expect(isReplayed(await post('/v1/sources', { name: 'long key' }, key))).toBe(true)
})
