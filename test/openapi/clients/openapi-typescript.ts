// Code of a user of openapi-typescript and openapi-fetch. The test compiles and runs it.
import assert from 'node:assert/strict'
import { env } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

import createClient from 'openapi-fetch'

import type { components, paths } from './schema.js'

const api = createClient<paths>({
  baseUrl: env['POSTERN_URL'] ?? '',
  headers: { authorization: `Bearer ${env['POSTERN_KEY']}` },
})
const url = env['DESTINATION_URL'] ?? ''

function given<T>(value: T | undefined, error: unknown): T {
  assert.ok(value !== undefined, JSON.stringify(error))
  return value
}

const sourceBody: components['schemas']['SourceCreate'] = {
  name: 'stripe by openapi-typescript',
  verifier: { preset: 'stripe', secret: 'whsec_example' },
  eventTypeField: 'body.type',
}
const made = await api.POST('/v1/sources', { body: sourceBody })
const source = given(made.data, made.error)
assert.ok(source.verifier.type === 'hmac')
assert.equal(source.verifier.preset, 'stripe')

const to = await api.POST('/v1/destinations', {
  params: { header: { 'Idempotency-Key': crypto.randomUUID() } },
  body: { name: 'shop by openapi-typescript', url },
})
const destination = given(to.data, to.error)
const by = await api.POST('/v1/connections', {
  body: {
    name: 'paid by openapi-typescript',
    sourceId: source.id,
    destinationId: destination.id,
    filter: { eventTypes: ['invoice.*'], body: { amount: { $gte: 10 } } },
  },
})
given(by.data, by.error)

const path = { id: source.id }
const patched = await api.PATCH('/v1/sources/{id}', {
  params: { path },
  body: { data: { verifier: null, metadata: { team: 'payments' } } },
})
assert.equal(given(patched.data, patched.error).verifier.type, 'none')

const body = JSON.stringify({ type: 'invoice.paid', amount: 12 })
const headers = { 'content-type': 'application/json' }
assert.equal((await fetch(source.ingestUrl, { method: 'POST', headers, body })).status, 200)

const delivered = await until('succeeded', 1)
const [delivery] = delivered
assert.ok(delivery?.eventId)
const id = { path: { id: delivery.eventId } }
const event = await api.GET('/v1/events/{id}', { params: id })
assert.equal(given(event.data, event.error).eventType, 'invoice.paid')
const timeline = await api.GET('/v1/events/{id}/timeline', { params: id })
const told = given(timeline.data, timeline.error)
assert.equal(told.verdict.cause, 'delivered')
assert.equal(told.deliveries[0]?.attempts[0]?.responseStatus, 200)
const replay = await api.POST('/v1/events/{id}/replay', { params: id })
assert.equal(given(replay.data, replay.error).deliveries.length, 1)
await until('succeeded', 2)

const missing = await api.GET('/v1/sources/{id}', {
  params: { path: { id: 'src_01jcqhrpsefh09tekf3cp3tkjz' } },
})
assert.ok(missing.error !== undefined && 'code' in missing.error)
assert.equal(missing.error.code, 'NOT_FOUND')
assert.equal(missing.response.status, 404)
const wrong = await api.POST('/v1/destinations', { body: { name: '', url } })
assert.ok(wrong.error !== undefined && 'code' in wrong.error && wrong.error.code === 'BAD_REQUEST')
assert.equal(wrong.error.data.fields[0]?.path, 'body.name')

const gone = await api.DELETE('/v1/sources/{id}', { params: { path, query: { cascade: true } } })
assert.equal(gone.response.status, 204)

async function until(
  status: components['schemas']['DeliveryStatus'],
  count: number,
): Promise<components['schemas']['Delivery'][]> {
  for (;;) {
    const query = { sourceId: source.id, status, limit: 10 }
    const page = await api.GET('/v1/deliveries', { params: { query } })
    const { data } = given(page.data, page.error)
    if (data.length >= count) return data
    await sleep(100)
  }
}
