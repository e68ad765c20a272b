import { beforeAll, expect, inject, test } from 'vitest'

import type { Resource } from '../kit/relay.ts'
import { OTHER_SECRET, SECRET, SIGNED, signed } from './signature.ts'
import { accept, openTenant, send, type Tenant } from './tenant.ts'

const { ingestPid } = inject('installation')

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

async function rotated(overlapSeconds = 3_600): Promise<Resource> {
  const source = await tenant.make('sources', SIGNED)
  const wish = { secret: OTHER_SECRET, overlapSeconds }
  await tenant.post(`/v1/sources/${source.id}/rotate-secret`, wish)
  return source
}

const cancel = async ({ id }: Resource, body?: object) =>
  await tenant.api('POST', `/v1/sources/${id}/cancel-rotation`, body)

const answers = async (source: Resource, secret: string): Promise<number> =>
  (await send(source, signed('{}', { secret }))).status

test('sources: POST rotate-mask gives another ingest address', async () => {
  const source = await tenant.make('sources')
  const moved = await tenant.post(`/v1/sources/${source.id}/rotate-mask`)
  expect(moved).toMatchObject({ id: source.id })
  expect(await send(source)).toMatchObject({ status: 404 })
  await accept(moved)
})

test('sources: POST rotate-secret gives another secret; the previous one verifies in its overlap', async () => {
  const source = await rotated()
  expect(await answers(source, SECRET)).toBe(200)
  expect(await answers(source, OTHER_SECRET)).toBe(200)
})

test('sources: POST rotate-secret is 409 ROTATION_OVERLAP_ACTIVE "in its overlap window", and not after it', async () => {
  const source = await rotated(0)
  const path = `/v1/sources/${source.id}/rotate-secret`
  const { previousExpiresAt } = await tenant.post(path, {})
  const answer = await tenant.api('POST', path, {})
  expect(answer.status).toBe(409)
  expect(answer.body).toEqual({
    code: 'ROTATION_OVERLAP_ACTIVE',
    status: 409,
    message: expect.any(String),
    data: { expiresAt: previousExpiresAt },
  })
})

test('sources: POST cancel-rotation "reverts a rotation"', async () => {
  const source = await rotated()
  expect(await cancel(source)).toMatchObject({ status: 200, body: { secretRotation: null } })
  expect(await answers(source, SECRET)).toBe(200)
  expect(await answers(source, OTHER_SECRET)).toBe(401)
})

test('sources: POST cancel-rotation is 409 ROTATION_IN_USE once the new secret has verified; force overrides', async () => {
  const source = await rotated()
  expect(await answers(source, OTHER_SECRET)).toBe(200)
  const answer = await cancel(source)
  expect(answer.status).toBe(409)
  expect(answer.body).toEqual({
    code: 'ROTATION_IN_USE',
    status: 409,
    message: expect.any(String),
    data: { count: 1, lastSeenAt: expect.any(String) },
  })
  expect(await cancel(source, { force: true })).toMatchObject({ status: 200 })
  expect(await answers(source, OTHER_SECRET)).toBe(401)
})

test('sources: POST cancel-rotation is 503 ROTATION_USAGE_UNAVAILABLE while counters cannot be read; force overrides', async () => {
  const [source, other] = [await rotated(), await rotated()]
  process.kill(ingestPid, 'SIGSTOP')
  try {
    const answer = await cancel(source)
    expect(answer.status).toBe(503)
    expect(answer.body).toEqual({
      code: 'ROTATION_USAGE_UNAVAILABLE',
      status: 503,
      message: expect.any(String),
    })
    expect(await cancel(other, { force: true })).toMatchObject({ status: 200 })
  } finally {
    process.kill(ingestPid, 'SIGCONT')
  }
  expect(await cancel(source)).toMatchObject({ status: 200 })
})

test('sources: cancel-rotation "accepts boolean force"', async () => {
  const source = await rotated()
  expect((await cancel(source, { force: 'yes' })).body).toMatchObject({
    code: 'BAD_REQUEST',
    data: { fields: [{ path: 'body.force' }] },
  })
})

test('sources: POST test-signature "diagnoses a signature and returns the rejection reason"', async () => {
  const { id } = await tenant.make('sources', SIGNED)
  const path = `/v1/sources/${id}/test-signature`
  expect(await tenant.post(path, signed())).toMatchObject({ valid: true, reason: null })
  expect(await tenant.post(path, signed('{}', { secret: OTHER_SECRET }))).toMatchObject({
    valid: false,
    reason: 'signature_mismatch',
  })
})

test('sources: POST test-signature "can return RATE_LIMITED"', async () => {
  const { id } = await tenant.make('sources', SIGNED)
  const path = `/v1/sources/${id}/test-signature`
  const asked = Array.from({ length: 20 }, async () => await tenant.api('POST', path, signed()))
  const refused = (await Promise.all(asked)).find(({ status }) => status === 429)
  expect(refused?.body).toEqual({
    code: 'RATE_LIMITED',
    status: 429,
    message: expect.any(String),
    data: { limit: 5, remaining: 0, retryAfterSeconds: expect.any(Number) },
  })
})

test('sources: DELETE on a source ends it and its ingest address', async () => {
  const source = await tenant.make('sources')
  expect(await tenant.api('DELETE', `/v1/sources/${source.id}`)).toMatchObject({ status: 204 })
  expect(await tenant.api('GET', `/v1/sources/${source.id}`)).toMatchObject({ status: 404 })
  expect(await send(source)).toMatchObject({ status: 404 })
})
