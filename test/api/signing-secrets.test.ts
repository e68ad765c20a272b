import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually, startRelay, type Relay, type Resource, type Route } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const BODY = '{"order":7}'

async function rotate(id: string, body?: object): Promise<Resource> {
  const path = `/v1/destinations/${id}/rotate-signing-secret`
  const answer = await relay.api('POST', path, body)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  return answer
}

async function reveal(id: string): Promise<Resource> {
  const path = `/v1/destinations/${id}/signing-secret`
  const answer = await relay.api('GET', path)
  expect(answer).toMatchObject({ status: 200 })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  return answer.body
}

/** Which of the secrets the official package accepts on the next delivery. */
async function acceptedOf(
  { source, endpoint }: Route,
  secrets: readonly string[],
): Promise<boolean[]> {
  const before = endpoint.arrivals.length
  await relay.accept(source, { body: BODY })
  const arrival = await eventually(() => {
    const next = endpoint.arrivals[before]
    if (next === undefined) throw new Error('Nothing has arrived')
    return next
  })
  const headers = Object.fromEntries(arrival.rawHeaders)
  // The package reads the system's clock.
  const isNow = Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000) < 200
  expect(isNow).toBe(true)
  return secrets.map((secret) => {
    try {
      new Webhook(secret).verify(arrival.body.toString(), headers)
      return true
    } catch {
      return false
    }
  })
}

async function auditOf(id: string): Promise<unknown[]> {
  const rows = await relay.db
    .selectFrom('audit')
    .select(['action', 'actor', 'changes'])
    .where('subject_id', '=', uuid('dst', id))
    .orderBy('id')
    .execute()
  return rows
}

test('the signing secret is revealed as the one that deliveries are signed with', async () => {
  const route = await relay.route()
  const { secret, previous } = await reveal(route.destination.id)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(previous).toBeNull()
  expect(await acceptedOf(route, [secret])).toEqual([true])
})

test('after a rotation the very next delivery is signed with both secrets, after the overlap with the new one', async () => {
  const route = await relay.route()
  const { id } = route.destination
  const { secret: first } = await reveal(id)
  // The destination is in the worker's memory with its first secret.
  expect(await acceptedOf(route, [first])).toEqual([true])
  const startedAt = relay.clock.now()
  const { status, body } = await rotate(id, { overlapSeconds: 60 })
  expect(status).toBe(200)
  expect(body.secret).not.toBe(first)
  const expiresInMs = Date.parse(body.previousExpiresAt) - startedAt
  expect(expiresInMs).toBeGreaterThanOrEqual(60_000)
  expect(expiresInMs).toBeLessThan(65_000)
  expect(await acceptedOf(route, [first, body.secret])).toEqual([true, true])
  expect(await reveal(id)).toEqual({
    secret: body.secret,
    previous: { secret: first, expiresAt: body.previousExpiresAt },
  })
  const shown = await relay.get(`/v1/destinations/${id}`)
  expect(shown.signingSecretRotation).toEqual({ previousExpiresAt: body.previousExpiresAt })
  expect(JSON.stringify(shown)).not.toContain('whsec_')

  await relay.advance(66_000)
  expect(await acceptedOf(route, [first, body.secret])).toEqual([false, true])
  expect(await reveal(id)).toEqual({ secret: body.secret, previous: null })
  expect((await relay.get(`/v1/destinations/${id}`)).signingSecretRotation).toBeNull()
})

test('during an overlap a rotation is 409 ROTATION_OVERLAP_ACTIVE; force displaces the previous secret', async () => {
  const route = await relay.route()
  const { id } = route.destination
  const { secret: first } = await reveal(id)
  const second = (await rotate(id)).body
  const overlapMs = Date.parse(second.previousExpiresAt) - relay.clock.now()
  expect(overlapMs).toBeGreaterThan(86_390_000)
  expect(overlapMs).toBeLessThanOrEqual(86_400_000)
  for (const body of [undefined, {}, { force: false }, { overlapSeconds: 0 }]) {
    expect(await rotate(id, body)).toMatchObject({
      status: 409,
      body: {
        code: 'ROTATION_OVERLAP_ACTIVE',
        status: 409,
        data: { expiresAt: second.previousExpiresAt },
      },
    })
  }
  expect(await acceptedOf(route, [first, second.secret])).toEqual([true, true])
  const third = (await rotate(id, { force: true })).body
  expect(await acceptedOf(route, [first, second.secret, third.secret])).toEqual([false, true, true])
  expect((await reveal(id)).previous.secret).toBe(second.secret)
})

test('without an overlap the previous secret signs nothing more, and the next rotation is free', async () => {
  const route = await relay.route()
  const { id } = route.destination
  const { secret: first } = await reveal(id)
  const { secret: second } = (await rotate(id, { overlapSeconds: 0 })).body
  expect(await acceptedOf(route, [first, second])).toEqual([false, true])
  expect((await reveal(id)).previous).toBeNull()
  expect((await rotate(id)).status).toBe(200)
})

test('a rotation is answered when each live worker knows of it, or after 2 s', async () => {
  const { destination } = await relay.route()
  const { rows } = await relay.pool.query(`select from process where role = 'worker'`)
  expect(rows).toHaveLength(1)
  const quickAt = performance.now()
  await rotate(destination.id, { overlapSeconds: 0 })
  expect(performance.now() - quickAt).toBeLessThan(1_900)
  const frozen = { id: crypto.randomUUID(), role: 'worker', name: 'frozen' }
  const seen = { ...frozen, seen_at: new Date(relay.clock.now()) }
  await relay.db.insertInto('process').values(seen).execute()
  const slowAt = performance.now()
  expect((await rotate(destination.id, { overlapSeconds: 0 })).status).toBe(200)
  expect(performance.now() - slowAt).toBeGreaterThan(1_900)
  await relay.db.deleteFrom('process').where('id', '=', frozen.id).execute()
})

test('the second of two rotations at once is refused', async () => {
  const { destination } = await relay.route()
  const answers = await Promise.all([rotate(destination.id), rotate(destination.id)])
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
})

test('other changes of a destination leave its secrets alone', async () => {
  const { destination } = await relay.route()
  const { body } = await rotate(destination.id)
  const before = await reveal(destination.id)
  await relay.change('destinations', destination.id, { headers: { 'x-a': 'b' }, timeoutMs: 2_000 })
  expect(await reveal(destination.id)).toEqual(before)
  expect(before.secret).toBe(body.secret)
})

test('a reveal and a rotation are in the audit, without any secret', async () => {
  const { destination } = await relay.route()
  const { secret } = await reveal(destination.id)
  const { body } = await rotate(destination.id, { overlapSeconds: 5 })
  const rows = await auditOf(destination.id)
  expect(rows).toMatchObject([
    { action: 'destination.create' },
    { action: 'destination.reveal-signing-secret', actor: expect.stringMatching(/^key:key_/) },
    { action: 'destination.rotate-signing-secret', changes: { overlapSeconds: 5, force: false } },
  ])
  const text = JSON.stringify(rows)
  for (const one of [secret, body.secret]) {
    expect(text).not.toContain(one)
    expect(text).not.toContain(one.slice('whsec_'.length))
  }
})

test('a key without an explicit grant reaches neither', async () => {
  const { destination } = await relay.route()
  const { key: unscoped } = await relay.createKey(null)
  const { key: reader } = await relay.createKey({ destinations: 'read' })
  for (const key of [unscoped, reader]) {
    for (const [method, action] of [
      ['GET', 'signing-secret'],
      ['POST', 'rotate-signing-secret'],
    ] as const) {
      const path = `/v1/destinations/${destination.id}/${action}`
      expect((await relay.api(method, path, undefined, { key })).body).toMatchObject({
        code: 'INSUFFICIENT_API_KEY_PERMISSIONS',
      })
    }
  }
  expect(await auditOf(destination.id)).toHaveLength(1)
})
