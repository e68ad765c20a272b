import { hash } from 'node:crypto'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { Parsed } from '../../core/request/parsed.ts'
import { seedAgent, type SeededAgent } from '../kit/agent.ts'
import {
  seedAttempt,
  seedDelivery,
  seedEvent,
  seedRoute,
  uuid,
  type SeededRoute,
} from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'
import { longestTurnMs, turnMs } from './cost.ts'
import { LARGE_BODIES, type LargeBody } from './large-bodies.ts'

let world: World
let shop: SeededRoute
let agent: SeededAgent
let client: Worker
beforeAll(async () => {
  world = await startWorld()
  shop = await seedRoute(world, 'shop')
  agent = await seedAgent(world, 'member')
  client = new Worker(new URL('reader.ts', import.meta.url))
})
afterAll(async () => {
  await client.terminate()
  await world[Symbol.asyncDispose]()
})

const RUNS = 3

/** As long as a body of that size may take to be read. */
const TURNS_MAX = 2

interface Asked {
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** The statuses, and digests of the `raw`, `rawBase64` and `payload` of the first answer. */
interface Read {
  statuses: number[]
  digests: string[]
}

/** Sends a request some times at once. */
async function read({ path, ...init }: Asked, times: number): Promise<Read> {
  const headers = { authorization: `Bearer ${world.key}`, ...init.headers }
  client.postMessage({ method: 'GET', ...init, headers, url: `${world.apiUrl}${path}`, times }, [])
  const [answer]: Read[] = await once(client, 'message')
  return answer ?? { statuses: [], digests: [] }
}

/** Expects turns that are short while the API answers, in one of a few runs: the machine may stop some. */
async function expectShortTurns(asked: Asked, times = 1): Promise<Read> {
  const turn = turnMs()
  let turns = Number.POSITIVE_INFINITY
  let answer: Read = { statuses: [], digests: [] }
  for (let run = 0; run < RUNS && turns >= TURNS_MAX; run++) {
    const ms = await longestTurnMs(async () => {
      answer = await read(asked, times)
    })
    turns = Math.min(turns, ms / turn)
  }
  expect(answer.statuses).toEqual([200])
  expect(turns, `${times} of ${asked.path}`).toBeLessThan(TURNS_MAX)
  return answer
}

async function seed({ contentType, raw, mail }: LargeBody): Promise<string> {
  const headers: [string, string][] = [['Content-Type', contentType]]
  const id = await seedEvent(world, { ...shop, contentType, raw, headers })
  if (mail !== undefined) {
    await world.pool.query('update event set mail = $2 where id = $1', [uuid('evt', id), mail])
  }
  return id
}

test.for(LARGE_BODIES)('an event of %s is shown in short turns', async ([, make]) => {
  const body = make()
  const id = await seed(body)
  const came = body.mail ?? body.raw
  const request = { headers: { 'content-type': body.contentType }, query: '', body: body.raw }
  const payload = JSON.stringify(new Parsed(request).payload())
  const { digests } = await expectShortTurns({ path: `/v1/events/${id}` })
  expect(digests).toEqual([came.toString(), came, payload].map((each) => hash('sha256', each)))
  await expectShortTurns({ path: `/v1/events/${id}?bodyBytes=65536` })
  await expectShortTurns({
    path: '/capabilities/events.get',
    method: 'POST',
    headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ projectId: world.projectId, eventId: id }),
  })
  await expectShortTurns({ path: `/v1/events/${id}/timeline` })
})

test('an event that is read twelve times at once is shown in short turns', async () => {
  const raw = Buffer.alloc(5 * 1_024 * 1_024, '\u0001 "\n')
  const id = await seed({ contentType: 'text/plain', raw })
  await expectShortTurns({ path: `/v1/events/${id}` }, 12)
})

test('events with large bodies are listed and searched in short turns', async () => {
  await expectShortTurns({ path: '/v1/events?limit=100' })
  await expectShortTurns({ path: '/v1/events?search=xyz' })
})

/** Attempts of one delivery, as many as are shown, whose destination answered as much as is kept. */
async function seedAttempts(eventId: string, attempts: number): Promise<string> {
  const deliveryId = await seedDelivery(world, { ...shop, eventId, attemptCount: attempts })
  for (let number = 1; number <= attempts; number++) {
    await seedAttempt(world, { deliveryId, number })
  }
  const id = uuid('dlv', deliveryId)
  const body = Buffer.alloc(16 * 1_024, '\u0001"')
  await world.pool.query('update attempt set response_body = $2 where delivery_id = $1', [id, body])
  return deliveryId
}

test('attempts with large answers are shown in short turns', async () => {
  const eventId = await seedEvent(world, shop)
  const deliveries = 12
  let last = ''
  for (let count = 0; count < deliveries; count++) last = await seedAttempts(eventId, 100)
  await expectShortTurns({ path: `/v1/events/${eventId}/timeline` })
  await expectShortTurns({ path: `/v1/deliveries/${last}` }, 4)
})
