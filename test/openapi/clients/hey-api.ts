// Code of a user of @hey-api/openapi-ts. The test compiles and runs it.
import assert from 'node:assert/strict'
import { env } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

import { client } from './client/client.gen.js'
import {
  createConnection,
  createDestination,
  createSource,
  deleteSource,
  getEvent,
  getEventTimeline,
  getSource,
  listDeliveries,
  replayEvent,
  updateSource,
  type Delivery,
  type DeliveryStatus,
} from './client/index.js'

client.setConfig({ baseUrl: env['POSTERN_URL'] ?? '', auth: env['POSTERN_KEY'] ?? '' })
const url = env['DESTINATION_URL'] ?? ''

const { data: source } = await createSource({
  body: {
    name: 'stripe by hey-api',
    verifier: { preset: 'stripe', secret: 'whsec_example' },
    eventTypeField: 'body.type',
  },
  throwOnError: true,
})
assert.ok(source.verifier.type === 'hmac')
assert.equal(source.verifier.preset, 'stripe')

const { data: destination } = await createDestination({
  headers: { 'Idempotency-Key': crypto.randomUUID() },
  body: { name: 'shop by hey-api', url },
  throwOnError: true,
})
await createConnection({
  body: {
    name: 'paid by hey-api',
    sourceId: source.id,
    destinationId: destination.id,
    filter: { eventTypes: ['invoice.*'], body: { amount: { $gte: 10 } } },
  },
  throwOnError: true,
})
const path = { id: source.id }
const { data: patched } = await updateSource({
  path,
  body: { data: { verifier: { type: 'none' }, metadata: { team: 'payments' } } },
  throwOnError: true,
})
assert.equal(patched.verifier.type, 'none')

const body = JSON.stringify({ type: 'invoice.paid', amount: 12 })
const headers = { 'content-type': 'application/json' }
assert.equal((await fetch(source.ingestUrl, { method: 'POST', headers, body })).status, 200)

const [delivery] = await until('succeeded', 1)
assert.ok(delivery?.eventId)
const id = { id: delivery.eventId }
const { data: event } = await getEvent({ path: id, throwOnError: true })
assert.equal(event.eventType, 'invoice.paid')
const { data: timeline } = await getEventTimeline({ path: id, throwOnError: true })
assert.equal(timeline.verdict.cause, 'delivered')
assert.equal(timeline.deliveries[0]?.attempts[0]?.responseStatus, 200)
const { data: replay } = await replayEvent({ path: id, throwOnError: true })
assert.equal(replay.deliveries.length, 1)
await until('succeeded', 2)

const missing = await getSource({ path: { id: 'src_01jcqhrpsefh09tekf3cp3tkjz' } })
assert.ok(missing.error !== undefined && 'code' in missing.error)
assert.equal(missing.error.code, 'NOT_FOUND')
const wrong = await createDestination({ body: { name: '', url } })
assert.ok(wrong.error !== undefined && 'code' in wrong.error && wrong.error.code === 'BAD_REQUEST')
assert.equal(wrong.error.data.fields[0]?.path, 'body.name')

const gone = await deleteSource({ path, query: { cascade: true } })
assert.equal(gone.response?.status, 204)

async function until(status: DeliveryStatus, count: number): Promise<Delivery[]> {
  for (;;) {
    const query = { sourceId: source.id, status, limit: 10 }
    const { data } = await listDeliveries({ query, throwOnError: true })
    if (data.data.length >= count) return data.data
    await sleep(100)
  }
}
