import { createHmac } from 'node:crypto'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { compileSigner, sign } from '../../core/delivery/signature.ts'
import { newId } from '../../core/ids.ts'
import type { Answer } from '../kit/call-api.ts'
import {
  eventually,
  SOON_MS,
  startRelay,
  type Relay,
  type Resource,
  type Sent,
} from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const OLD = 'the-first-secret'
const NEW = 'the-second-secret'

/** Calls an action of a source and checks its answer against the OpenAPI document. */
async function act(source: Resource, action: string, body?: object): Promise<Answer> {
  const path = `/v1/sources/${source.id}/${action}`
  const answer = await relay.api('POST', path, body)
  return answer
}

async function rotated(overlapSeconds?: number): Promise<Resource> {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: OLD } })
  const wish = { secret: NEW, ...(overlapSeconds !== undefined && { overlapSeconds }) }
  expect(await act(source, 'rotate-secret', wish)).toMatchObject({ status: 200 })
  return source
}

function signed(secret: string, to?: Sent['to']): Sent {
  const mac = createHmac('sha256', secret).update('{}').digest('hex')
  return { body: '{}', headers: { 'x-hub-signature-256': `sha256=${mac}` }, ...(to && { to }) }
}

/** The statuses that requests signed with each secret get. */
async function heard(source: Resource, ...secrets: string[]): Promise<number[]> {
  const answers = await Promise.all(
    secrets.map(async (secret) => await relay.send(source, signed(secret))),
  )
  return answers.map(({ status }) => status)
}

const rotationOf = async (source: Resource): Promise<Resource> =>
  (await relay.get(`/v1/sources/${source.id}`)).secretRotation

test('rotate-mask answers with a new mask, and the old one is 404 at once', async () => {
  const source = await relay.make('sources', {})
  await relay.accept(source)
  const { status, body } = await act(source, 'rotate-mask')
  expect(status).toBe(200)
  expect(body).toEqual({
    ...source,
    lastEventAt: body.lastEventAt,
    updatedAt: expect.any(String),
    maskId: expect.stringMatching(/^[a-z2-7]{26}$/),
    ingestUrl: expect.stringContaining(body.maskId),
  })
  expect(body.maskId).not.toBe(source.maskId)
  expect(await relay.send(source)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  await relay.accept(body)
})

test('a secret that rotate-secret makes is of the form that the verifier takes', async () => {
  const source = await relay.make('sources', {
    verifier: { preset: 'svix', secret: `whsec_${btoa(OLD)}` },
  })
  const before = relay.clock.now()
  const { status, body } = await act(source, 'rotate-secret')
  expect(status).toBe(200)
  expect(body).toEqual({
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    previousExpiresAt: expect.any(String),
  })
  const overlapMs = Date.parse(body.previousExpiresAt) - before
  expect(overlapMs).toBeGreaterThanOrEqual(86_400_000)
  expect(overlapMs).toBeLessThan(86_410_000)
  const at = Math.floor(relay.clock.now() / 1_000)
  const headers = {
    'svix-id': 'msg_1',
    'svix-timestamp': String(at),
    'svix-signature': sign(compileSigner([body.secret]), 'msg_1', at, Buffer.from('{}')),
  }
  await relay.accept(source, { body: '{}', headers })
  const shown = await relay.get(`/v1/sources/${source.id}`)
  expect(shown.secretHint).toBe(body.secret.slice(-4))
  expect(JSON.stringify(shown)).not.toContain(body.secret)
})

test('both secrets verify until previousExpiresAt, then the new one alone', async () => {
  const source = await rotated(3_600)
  expect(await heard(source, NEW, OLD, 'wrong')).toEqual([200, 200, 401])
  await relay.advance(3_600_000)
  expect(await heard(source, NEW, OLD, 'wrong')).toEqual([200, 401, 401])
  expect(await rotationOf(source)).toBeNull()
})

test('with overlapSeconds 0 the previous secret stops verifying at once', async () => {
  const source = await rotated(0)
  expect(await heard(source, NEW, OLD)).toEqual([200, 401])
  expect(await rotationOf(source)).toBeNull()
  expect(await act(source, 'rotate-secret', { secret: OLD })).toMatchObject({ status: 200 })
})

test('rotate-secret is ROTATION_OVERLAP_ACTIVE until the overlap ends', async () => {
  const source = await rotated(604_800)
  const { previousExpiresAt: expiresAt } = await rotationOf(source)
  expect(await act(source, 'rotate-secret')).toMatchObject({
    status: 409,
    body: { code: 'ROTATION_OVERLAP_ACTIVE', data: { expiresAt } },
  })
  await relay.advance(604_800_000)
  const { body } = await act(source, 'rotate-secret')
  expect(await heard(source, body.secret, NEW, OLD)).toEqual([200, 200, 401])
})

test('exactly one of several rotations at once succeeds', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: OLD } })
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => await act(source, 'rotate-secret')),
  )
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(7)
  const made = answers.find(({ status }) => status === 200)?.body.secret
  expect(await heard(source, made, OLD)).toEqual([200, 200])
})

test.for<[name: string, verifier: object]>([
  ['none', { type: 'none' }],
  ['ip_allow_list', { type: 'ip_allow_list', cidrs: ['192.0.2.0/24'] }],
  [
    'all_of',
    {
      type: 'all_of',
      verifiers: [{ type: 'basic_auth', username: 'me', secret: OLD }],
    },
  ],
  ['a secret that the provider has not handed over yet', { preset: 'asana' }],
])('rotate-secret is BAD_REQUEST on a verifier without a secret: %s', async ([, verifier]) => {
  const source = await relay.make('sources', { verifier })
  expect(await act(source, 'rotate-secret', { secret: NEW })).toMatchObject({
    status: 400,
    body: { code: 'BAD_REQUEST', data: { fields: [{ path: 'params.id' }] } },
  })
})

test('rotate-secret refuses a secret that the verifier cannot read, and one that it cannot make', async () => {
  const hex = { preset: 'adyen', secret: 'ab'.repeat(32) }
  const plaid = { preset: 'plaid', keySource: { clientId: 'me' }, secret: OLD }
  const cases: [verifier: object, wish: object][] = [
    [hex, { secret: 'not hex' }],
    [plaid, {}],
  ]
  for (const [verifier, wish] of cases) {
    const source = await relay.make('sources', { verifier })
    expect(await act(source, 'rotate-secret', wish)).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', data: { fields: [{ path: 'body.secret' }] } },
    })
    expect(await rotationOf(source)).toBeNull()
  }
})

test('secretRotation counts what each secret verified in every ingest process within 2 s', async () => {
  const source = await rotated()
  const { previousExpiresAt, ...fresh } = await rotationOf(source)
  expect(previousExpiresAt).toEqual(expect.any(String))
  const none = { count: 0, lastSeenAt: null }
  expect(fresh).toEqual({ current: none, previous: none })
  const other = await relay.openIngest()
  const before = relay.clock.now()
  await relay.send(source, signed(NEW))
  await relay.send(source, signed(NEW, other))
  await relay.send(source, signed(NEW, other))
  await relay.send(source, signed(OLD, other))
  await relay.send(source, signed('wrong', other))
  const { current, previous } = await eventually(async () => {
    const rotation = await rotationOf(source)
    expect(rotation).toMatchObject({ current: { count: 3 }, previous: { count: 1 } })
    return rotation
  }, SOON_MS)
  expect(Date.parse(current.lastSeenAt)).toBeGreaterThanOrEqual(before)
  expect(Date.parse(current.lastSeenAt)).toBeLessThanOrEqual(Date.parse(previous.lastSeenAt))
  const [listed] = (await relay.get('/v1/sources?limit=1')).data
  expect(listed.secretRotation).toEqual({ previousExpiresAt, current, previous })
  await other.stop()
})

test('a process that stops leaves no count behind', async () => {
  const source = await rotated()
  const other = await relay.openIngest()
  await relay.send(source, signed(NEW, other))
  await other.stop()
  expect(await rotationOf(source)).toMatchObject({ current: { count: 1 } })
})

test('cancel-rotation without a rotation, or after its overlap, is CONFLICT', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: OLD } })
  const refused = { status: 409, body: { code: 'CONFLICT' } }
  expect(await act(source, 'cancel-rotation')).toMatchObject(refused)
  expect(await act(source, 'cancel-rotation', { force: true })).toMatchObject(refused)
  const ended = await rotated(60)
  await relay.advance(60_000)
  expect(await act(ended, 'cancel-rotation', { force: true })).toMatchObject(refused)
  expect(await heard(ended, NEW, OLD)).toEqual([200, 401])
})

test('cancel-rotation makes the previous secret current again while the new one is unused', async () => {
  const source = await rotated()
  expect(await heard(source, OLD)).toEqual([200])
  const { status, body } = await act(source, 'cancel-rotation')
  expect(status).toBe(200)
  expect(body).toMatchObject({ id: source.id, secretRotation: null, secretHint: OLD.slice(-4) })
  expect(await heard(source, OLD, NEW)).toEqual([200, 401])
  expect(await act(source, 'cancel-rotation')).toMatchObject({ status: 409 })
  expect(await act(source, 'rotate-secret')).toMatchObject({ status: 200 })
})

test('cancel-rotation is ROTATION_IN_USE as soon as the new secret has verified a request', async () => {
  const source = await rotated()
  const before = relay.clock.now()
  expect(await heard(source, NEW)).toEqual([200])
  // No wait: what ingest has only in memory counts.
  const { status, body } = await act(source, 'cancel-rotation')
  expect({ status, body }).toMatchObject({ status: 409, body: { code: 'ROTATION_IN_USE' } })
  expect(body.data).toEqual({ count: 1, lastSeenAt: expect.any(String) })
  expect(Date.parse(body.data.lastSeenAt)).toBeGreaterThanOrEqual(before)
  expect(await heard(source, NEW, OLD)).toEqual([200, 200])
  expect(await act(source, 'cancel-rotation', { force: true })).toMatchObject({ status: 200 })
  expect(await heard(source, NEW, OLD)).toEqual([401, 200])
})

test('a use of an earlier rotation does not count against the next', async () => {
  const source = await rotated()
  expect(await heard(source, NEW)).toEqual([200])
  expect(await act(source, 'cancel-rotation', { force: true })).toMatchObject({ status: 200 })
  await act(source, 'rotate-secret')
  expect(await act(source, 'cancel-rotation')).toMatchObject({ status: 200 })
})

test('cancel-rotation is ROTATION_USAGE_UNAVAILABLE while a live ingest process does not answer', async () => {
  const source = await rotated()
  const silent = { id: newId(relay.clock.now()), role: 'ingest', name: 'silent' }
  const seen = { ...silent, seen_at: new Date(relay.clock.now()) }
  await relay.db.insertInto('process').values(seen).execute()
  try {
    const startedAt = performance.now()
    expect(await act(source, 'cancel-rotation')).toMatchObject({
      status: 503,
      body: { code: 'ROTATION_USAGE_UNAVAILABLE' },
    })
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(490)
    expect(await rotationOf(source)).not.toBeNull()
    expect(await act(source, 'cancel-rotation', { force: true })).toMatchObject({ status: 200 })
  } finally {
    await relay.db.deleteFrom('process').where('id', '=', silent.id).execute()
  }
})

test('cancel-rotation is ROTATION_USAGE_UNAVAILABLE while the counters cannot be read; nothing counted is lost', async () => {
  const source = await rotated()
  await sql`alter table secret_usage rename to secret_usage_away`.execute(relay.db)
  try {
    expect(await act(source, 'cancel-rotation')).toMatchObject({
      status: 503,
      body: { code: 'ROTATION_USAGE_UNAVAILABLE' },
    })
    expect(await heard(source, NEW)).toEqual([200])
    expect(await act(source, 'cancel-rotation')).toMatchObject({ status: 503 })
  } finally {
    await sql`alter table secret_usage_away rename to secret_usage`.execute(relay.db)
  }
  expect(await act(source, 'cancel-rotation')).toMatchObject({ body: { data: { count: 1 } } })
  await sql`alter table secret_usage rename to secret_usage_away`.execute(relay.db)
  try {
    expect(await act(source, 'cancel-rotation', { force: true })).toMatchObject({ status: 200 })
  } finally {
    await sql`alter table secret_usage_away rename to secret_usage`.execute(relay.db)
  }
})

test('a new secret by PATCH ends a rotation, the current one written again does not', async () => {
  const source = await rotated()
  const write = async (secret: string): Promise<Resource> =>
    await relay.change('sources', source.id, { verifier: { preset: 'github', secret } })
  expect((await write(NEW)).secretRotation).not.toBeNull()
  expect(await heard(source, OLD)).toEqual([200])
  expect((await write('a-third-secret')).secretRotation).toBeNull()
  expect(await heard(source, 'a-third-secret', NEW, OLD)).toEqual([200, 401, 401])
})

test('the audit tells of each rotation and of no secret', async () => {
  const source = await rotated()
  await act(source, 'cancel-rotation', { force: true })
  await act(source, 'rotate-mask')
  const rows = await relay.db
    .selectFrom('audit')
    .select(['action', 'changes'])
    .where('subject_id', '=', uuid('src', source.id))
    .orderBy('id')
    .execute()
  expect(rows.map(({ action }) => action)).toEqual([
    'source.create',
    'source.rotate-secret',
    'source.cancel-rotation',
    'source.rotate-mask',
  ])
  expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${OLD}|${NEW}`))
})

test('the counts of a source go with it', async () => {
  const source = await rotated()
  expect(await heard(source, NEW)).toEqual([200])
  await eventually(async () => expect((await rotationOf(source)).current.count).toBe(1))
  expect((await relay.api('DELETE', `/v1/sources/${source.id}`)).status).toBe(204)
  const rows = await relay.db
    .selectFrom('secret_usage')
    .select('rotation_id')
    .where('source_id', '=', uuid('src', source.id))
    .execute()
  expect(rows).toEqual([])
})
