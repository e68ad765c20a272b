import { request, type ClientRequest, type IncomingMessage } from 'node:http'

import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import {
  ANSWERS_PER_ORGANISATION,
  ANSWERS_WAITING_MAX,
  PUBLIC_BODY_BYTES_MAX,
} from '../../core/limits.ts'
import { openBrowser } from '../kit/browser-like.ts'
import { seedEvent, seedRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ gatewayUrl: 'ws://gateway.test' })
})
afterEach(() => void vi.useRealTimers())
afterAll(async () => await world[Symbol.asyncDispose]())

/** A client that takes nothing of its answer. */
function ask(path: string): { client: ClientRequest; head: Promise<IncomingMessage> } {
  const headers = { authorization: `Bearer ${world.key}` }
  const client = request(`${world.apiUrl}${path}`, { headers, agent: false })
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    client.once('response', resolve).once('error', reject)
  })
  head.catch(() => undefined)
  client.end()
  return { client, head }
}

test('clients that leave while they read or wait give back the places of large answers', async () => {
  const { sourceId } = await seedRoute(world, 'large')
  const raw = Buffer.alloc(2 * 1_024 * 1_024, '\u0001')
  const path = `/v1/events/${await seedEvent(world, { sourceId, contentType: 'text/plain', raw })}`
  // No place is freed for the slowness of its client.
  vi.useFakeTimers({ toFake: ['setInterval'] })
  const reading = Array.from({ length: ANSWERS_PER_ORGANISATION }, () => ask(path))
  for (const { head } of reading) expect((await head).statusCode).toBe(200)
  const waiting = Array.from({ length: ANSWERS_WAITING_MAX + 1 }, () => ask(path))
  const refused = await Promise.race(waiting.map(async ({ head }) => await head))
  expect(refused.statusCode).toBe(429)
  expect(refused.headers).toMatchObject({ 'retry-after': '1', 'x-content-type-options': 'nosniff' })
  // The first that wait get their places without a client.
  for (const { client } of [...waiting, ...reading]) client.destroy()
  await expect.poll(async () => (await world.api('GET', path)).status).toBe(200)
})

test('bodies that are read of anybody have 16 KiB at most', async () => {
  const connector = await world.api('POST', '/v1/connectors', { name: 'large' })
  const headers = { authorization: `Bearer ${connector.body.enrollmentKey}` }
  const browser = openBrowser(world.apiUrl)
  const bare = '{"x":""}'
  const most = bare.replace('""', `"${'x'.repeat(PUBLIC_BODY_BYTES_MAX - bare.length)}"`)
  const unknown = await browser.visit('POST', '/auth/sign-in', most)
  expect(unknown.body.message).toContain('body.x: Unknown member')
  for (const path of ['/auth/sign-in', '/auth/setup', '/v1/connectors/bootstrap']) {
    const large = await browser.visit('POST', path, `${most} `, { headers })
    expect(large, path).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', message: 'body: Request body is too large' },
    })
    expect(large.headers.get('x-content-type-options')).toBe('nosniff')
  }
})
