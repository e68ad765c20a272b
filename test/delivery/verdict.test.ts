import { afterAll, beforeAll, expect, test } from 'vitest'

import { hangs, says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function verdictOn(eventId: string): Promise<Resource> {
  const { verdict } = await relay.get(`/v1/events/${eventId}/timeline`)
  return verdict
}

async function expectSaid(eventId: string, expected: object): Promise<void> {
  await eventually(async () => expect(await verdictOn(eventId)).toMatchObject(expected))
}

test('the verdict of a delivery behind a busy destination names the end of the busy window', async () => {
  const { source, destination } = await relay.route({
    respond: says(429, { 'retry-after': '3600' }),
  })
  const first = await relay.accept(source)
  const { nextAttemptAt } = await relay.reaches(first, { status: 'throttled' })
  await expectSaid(first, {
    cause: 'destination_busy',
    sentence: `${destination.name} answered 429; it is asked again at ${nextAttemptAt.replace(/\.\d+Z/, 'Z')}.`,
    nextAt: nextAttemptAt,
  })
  const second = await relay.accept(source)
  await expectSaid(second, {
    cause: 'destination_busy',
    sentence: `Waits behind ${destination.name}, which answered 429 and is left alone until ${nextAttemptAt.replace(/\.\d+Z/, 'Z')}. No attempt is spent.`,
    nextAt: nextAttemptAt,
  })
})

test('the verdict of a delivery behind a saturated destination says so', async () => {
  const { source, destination } = await relay.route({
    respond: hangs,
    destination: { maxConcurrency: 1, timeoutMs: 60_000 },
  })
  const first = await relay.accept(source)
  const second = await relay.accept(source)
  await relay.reaches(first, { status: 'in_flight' })
  await expectSaid(first, {
    cause: 'retrying',
    sentence: `The first attempt to reach ${destination.name} is under way.`,
    nextAt: null,
  })
  await expectSaid(second, {
    cause: 'destination_saturated',
    sentence: `Waits in line for ${destination.name}, which gets at most 1 request at once. No attempt is spent.`,
    nextAt: null,
  })
})

test('a busy window that is over says so no more', async () => {
  const { source, destination, endpoint } = await relay.route({ respond: says(503) })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  endpoint.respond = says(429, { 'retry-after': '3600' })
  const busy = await relay.accept(source)
  await relay.reaches(busy, { status: 'throttled' })
  // Its own next attempt is due in some seconds, long before the window ends.
  await expectSaid(eventId, { cause: 'destination_busy' })
  endpoint.respond = says(503)
  await relay.change('destinations', destination.id, { url: `${endpoint.url}/other` })
  await relay.reaches(busy, { status: 'pending', attemptCount: 1 })
  await expectSaid(eventId, { cause: 'retrying' })
})

test('the verdict of a request by GET says what its delivery leaves out', async () => {
  const { source, endpoint } = await relay.route({ source: { allowedMethods: ['GET'] } })
  const eventId = await relay.accept(source, { method: 'GET', path: '?order=7' })
  await relay.reaches(eventId, { status: 'succeeded' })
  expect(endpoint.arrivals[0]).toMatchObject({ method: 'POST', body: Buffer.alloc(0) })
  const { sentence } = await verdictOn(eventId)
  expect(sentence).toMatch(
    /^Delivered to 1 of 1 connection, .* It came by GET without a body: it is delivered by POST, with an empty body and without its query\.$/,
  )
})

test('the verdict of a cancelled delivery says who cancelled it, if that is recorded', async () => {
  const { source, destination, connection } = await relay.route({ respond: says(500) })
  const byClient = await relay.accept(source)
  const { id } = await relay.reaches(byClient, { status: 'pending', attemptCount: 1 })
  await relay.api('POST', `/v1/deliveries/${id}/cancel`)
  await expectSaid(byClient, { sentence: `Cancelled for connection ${connection.name}.` })
  const byDeletion = await relay.accept(source)
  await relay.reaches(byDeletion, { status: 'pending', attemptCount: 1 })
  await relay.api('DELETE', `/v1/connections/${connection.id}`)
  await expectSaid(byDeletion, {
    cause: 'cancelled',
    sentence: 'Cancelled: its connection was deleted.',
  })
  await expectSaid(byClient, {
    cause: 'cancelled',
    sentence: 'Cancelled; its connection is deleted now.',
  })
  await relay.connect(source, destination)
  const withDestination = await relay.accept(source)
  await relay.reaches(withDestination, { status: 'pending', attemptCount: 1 })
  await relay.api('DELETE', `/v1/destinations/${destination.id}?cascade=true`)
  await expectSaid(withDestination, { sentence: 'Cancelled: its destination was deleted.' })
})

test('attempts left are those that the present policy allows', async () => {
  const { source, destination } = await relay.route({ respond: says(500) })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  await relay.change('destinations', destination.id, {
    retryPolicy: { strategy: 'linear', initialDelaySeconds: 60, maxAttempts: 3 },
  })
  await expectSaid(eventId, { sentence: expect.stringMatching(/The next is waiting, 2 left\.$/) })
})

test('a delivery that succeeded says so, and what an attempt that was asked for later came to', async () => {
  const { source, endpoint } = await relay.route()
  const eventId = await relay.accept(source)
  const { id } = await relay.reaches(eventId, { status: 'succeeded' })
  endpoint.respond = says(500)
  await relay.api('POST', `/v1/deliveries/${id}/retry`)
  await expectSaid(eventId, {
    cause: 'delivered',
    sentence: expect.stringMatching(
      /^Delivered to 1 of 1 connection; an attempt that was asked for later: 500 in \d+ ms\.$/,
    ),
  })
})
