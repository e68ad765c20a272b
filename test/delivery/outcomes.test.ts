import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { hangs, inTurn, says, type Respond } from '../kit/endpoint.ts'
import { eventually, SOON_MS, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const DEFAULT_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]
/** Time for a further claim of due rows and a write. */
const SLACK_MS = 2_000

test('a delivery that always fails is attempted 8 times over 28 h, each within its jitter, then failed', async () => {
  const { source, endpoint } = await relay.route({ respond: says(500, {}, 'no') })
  const eventId = await relay.accept(source)
  for (const [index, seconds] of DEFAULT_SECONDS.entries()) {
    const number = index + 1
    const { lastAttempt, nextAttemptAt } = await relay.reaches(eventId, {
      status: 'pending',
      attemptCount: number,
      lastError: 'bad_response',
    })
    const delayMs = Date.parse(nextAttemptAt) - Date.parse(lastAttempt.at)
    expect(delayMs).toBeGreaterThanOrEqual(seconds * 1_000)
    expect(delayMs).toBeLessThanOrEqual(seconds * 1_200 + SLACK_MS)
    expect(endpoint.arrivals).toHaveLength(number)
    await relay.advance(Date.parse(nextAttemptAt) - relay.clock.now())
  }
  const delivery = await relay.reaches(eventId, {
    status: 'failed',
    attemptCount: 8,
    maxAttempts: 8,
    nextAttemptAt: null,
    lastError: 'bad_response',
  })
  expect(delivery.completedAt).not.toBeNull()
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8]
  expect(delivery.attempts.map((one: Resource) => one.number)).toEqual(numbers)
  const triggers = delivery.attempts.map((one: Resource) => one.trigger)
  expect(triggers).toEqual(['initial', ...Array.from({ length: 7 }, () => 'automatic')])
  expect(endpoint.arrivals.map(({ headers }) => headers['postern-attempt'])).toEqual(
    numbers.map(String),
  )
  // The same message on every attempt, each signed at its own time.
  expect(new Set(endpoint.arrivals.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(new Set(endpoint.arrivals.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(8)
  const { data } = await relay.get('/v1/deliveries?status=failed&errorCode=bad_response')
  expect(data).toMatchObject([{ id: delivery.id }])
  await relay.advance(100 * 3_600_000)
  await relay.reaches(await relay.accept(source), { attemptCount: 1 })
  expect(endpoint.arrivals).toHaveLength(9)
})

test('jitter spreads retries over 20 % and never before their time', async () => {
  const { source } = await relay.route({ respond: says(503) })
  const ids = await Promise.all(Array.from({ length: 40 }, () => relay.accept(source)))
  const delays = await Promise.all(
    ids.map(async (id) => {
      const { lastAttempt, nextAttemptAt } = await relay.reaches(id, { attemptCount: 1 })
      const endedAtMs = Date.parse(lastAttempt.at) + lastAttempt.durationMs
      return Date.parse(nextAttemptAt) - endedAtMs
    }),
  )
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(4_990)
  expect(Math.max(...delays)).toBeLessThanOrEqual(7_000)
  expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(300)
})

const POLICIES: [name: string, retryPolicy: object, delays: number[]][] = [
  ['schedule', { strategy: 'schedule', scheduleSeconds: [1, 20] }, [1, 20]],
  ['linear', { strategy: 'linear', initialDelaySeconds: 10, maxAttempts: 4 }, [10, 20, 30]],
  [
    'exponential',
    { strategy: 'exponential', initialDelaySeconds: 10, maxDelaySeconds: 25, maxAttempts: 4 },
    [10, 20, 25],
  ],
  ['no retry', { strategy: 'schedule', maxAttempts: 1 }, []],
]

test.each(POLICIES)('retry policy: %s', async (_name, retryPolicy, delays) => {
  const { source } = await relay.route({ respond: says(500), destination: { retryPolicy } })
  const eventId = await relay.accept(source)
  for (const [index, seconds] of delays.entries()) {
    const waiting = await relay.reaches(eventId, { status: 'pending', attemptCount: index + 1 })
    const delayMs = Date.parse(waiting.nextAttemptAt) - Date.parse(waiting.lastAttempt.at)
    expect(delayMs).toBeGreaterThanOrEqual(seconds * 1_000)
    expect(delayMs).toBeLessThanOrEqual(seconds * 1_200 + SLACK_MS)
    await relay.advance(Date.parse(waiting.nextAttemptAt) - relay.clock.now())
  }
  await relay.reaches(eventId, { status: 'failed', attemptCount: delays.length + 1 })
})

const RETRY_ON: [retryOn: string[], status: number, expected: string][] = [
  [['5xx'], 500, 'pending'],
  [['5xx'], 404, 'failed'],
  [['503'], 503, 'pending'],
  [['503'], 500, 'failed'],
  [['bad_response'], 400, 'pending'],
  [['timeout'], 500, 'failed'],
]

test.each(RETRY_ON)(
  'retryOn %j: an answer %i leaves the delivery %s',
  async (retryOn, status, expected) => {
    const { source } = await relay.route({
      respond: says(status),
      destination: { retryPolicy: { strategy: 'schedule', retryOn } },
    })
    const delivery = await relay.reaches(await relay.accept(source), { attemptCount: 1 })
    expect(delivery.status).toBe(expected)
  },
)

const STATUSES: [status: number, expected: string][] = [
  [200, 'succeeded'],
  [204, 'succeeded'],
  [299, 'succeeded'],
  [301, 'pending'],
  [307, 'pending'],
  [400, 'pending'],
  [401, 'pending'],
  [500, 'pending'],
]

test.each(STATUSES)(
  'an answer %i makes the delivery %s, and no redirect is followed',
  async (status, expected) => {
    const elsewhere = await relay.endpoint()
    const { source } = await relay.route({ respond: says(status, { location: elsewhere.url }) })
    const delivery = await relay.reaches(await relay.accept(source), {
      status: expected,
      attemptCount: 1,
    })
    expect(delivery.attempts).toMatchObject([
      {
        responseStatus: status,
        outcome: expected === 'succeeded' ? 'succeeded' : 'failed',
        errorCode: expected === 'succeeded' ? null : 'bad_response',
      },
    ])
    expect(delivery.attempts[0].responseHeaders).toContainEqual(['location', elsewhere.url])
    expect(elsewhere.arrivals).toHaveLength(0)
  },
)

test('410 fails the delivery and disables the destination with the reason gone', async () => {
  const { source, destination, endpoint } = await relay.route({ respond: says(410) })
  const gone = await relay.accept(source)
  await relay.reaches(gone, { status: 'failed', attemptCount: 1 })
  await eventually(async () => {
    expect(await relay.get(`/v1/destinations/${destination.id}`)).toMatchObject({
      isEnabled: false,
      disabledReason: 'gone',
      health: 'disabled',
    })
  })
  endpoint.respond = says(200)
  const after = await relay.accept(source)
  await relay.reaches(after, { status: 'pending', lastError: 'destination_disabled' })
  expect(endpoint.arrivals).toHaveLength(1)
  await relay.change('destinations', destination.id, { isEnabled: true })
  await relay.reaches(after, { status: 'succeeded', attemptCount: 1 })
  await relay.reaches(gone, { status: 'failed' })
  expect(endpoint.arrivals).toHaveLength(2)
})

test('a 2xx succeeds whatever the size of its body, of which 16 KiB are kept', async () => {
  for (const bytes of [1_024 * 1_024, 5 * 1_024 * 1_024]) {
    const { source } = await relay.route({ respond: says(200, {}, 'x'.repeat(bytes)) })
    const { attempts } = await relay.reaches(await relay.accept(source), { status: 'succeeded' })
    expect(attempts).toMatchObject([{ outcome: 'succeeded', errorCode: null, responseStatus: 200 }])
    expect(attempts[0].responseBody).toBe('x'.repeat(16 * 1_024))
  }
})

/** A listener that is no HTTP server. */
async function listener(onConnection: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer({}, onConnection)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function closedPort(): Promise<number> {
  const server = await listener(undefined)
  const port = portOf(server)
  server.close()
  await once(server, 'close')
  return port
}

/** Sends an event to a URL and returns its only attempt. */
async function attemptAt(url: string, fields: object = {}): Promise<Resource> {
  const source = await relay.make('sources', {})
  await relay.connect(source, await relay.make('destinations', { url, ...fields }))
  const { attempts } = await relay.reaches(await relay.accept(source), {
    status: 'pending',
    attemptCount: 1,
  })
  return attempts[0]
}

const tricklesAs =
  (status: number): Respond =>
  (response) => {
    response.writeHead(status, { 'content-type': 'text/plain' })
    const timer = setInterval(() => response.write('.'), 100)
    response.on('close', () => clearInterval(timer))
  }

const FAILURES: [what: string, errorCode: string, url: () => Promise<string>][] = [
  ['a closed port', 'connection_refused', async () => `http://127.0.0.1:${await closedPort()}/`],
  [
    'a connection reset',
    'connection_reset',
    async () => `http://127.0.0.1:${portOf(await listener((socket) => socket.resetAndDestroy()))}/`,
  ],
  [
    'a connection closed without an answer',
    'connection_reset',
    async () =>
      `http://127.0.0.1:${portOf(await listener((socket) => socket.once('data', () => socket.end())))}/`,
  ],
  [
    'an answer that is not HTTP',
    'connection_reset',
    async () =>
      `http://127.0.0.1:${portOf(await listener((socket) => socket.once('data', () => socket.end('nonsense\r\n\r\n'))))}/`,
  ],
  ['a name that does not exist', 'dns_error', async () => 'http://does-not-exist.invalid/'],
  [
    'a server that does not speak TLS',
    'tls_error',
    async () => (await relay.endpoint()).url.replace('http:', 'https:'),
  ],
  [
    'a failed response above 1 MiB',
    'response_too_large',
    async () => (await relay.endpoint(says(500, {}, 'x'.repeat(1_024 * 1_024 + 1)))).url,
  ],
  [
    'headers without end',
    'response_too_large',
    async () => (await relay.endpoint(says(200, { 'x-long': 'x'.repeat(200_000) }))).url,
  ],
]

test.each(FAILURES)('%s is the error %s, and is tried again', async (_what, errorCode, url) => {
  expect(await attemptAt(await url())).toMatchObject({ errorCode, outcome: 'failed' })
})

test('an endpoint that hangs, and one that trickles, end at the deadline with timeout', async () => {
  const endpoints = [await relay.endpoint(hangs), await relay.endpoint(tricklesAs(500))]
  const attempts = await Promise.all(
    endpoints.map(({ url }) => attemptAt(url, { timeoutMs: 1_000 })),
  )
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({ errorCode: 'timeout', outcome: 'failed' })
    expect(attempt.durationMs).toBeGreaterThanOrEqual(990)
    expect(attempt.durationMs).toBeLessThan(2_000)
  }
  expect(attempts.map(({ responseStatus }) => responseStatus)).toEqual([null, 500])
})

test('a success whose body never ends is one at the deadline', async () => {
  const { source, endpoint } = await relay.route({
    respond: tricklesAs(200),
    destination: { timeoutMs: 1_000 },
  })
  const { attempts } = await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  expect(attempts).toMatchObject([{ responseStatus: 200, errorCode: null }])
  expect(endpoint.arrivals).toHaveLength(1)
})

test('a failure waits for as long as its Retry-After asks, and spends an attempt', async () => {
  const { source } = await relay.route({ respond: says(503, { 'retry-after': '600' }) })
  const waiting = await relay.reaches(await relay.accept(source), {
    status: 'pending',
    attemptCount: 1,
  })
  const endedAtMs = Date.parse(waiting.lastAttempt.at) + waiting.lastAttempt.durationMs
  const delayMs = Date.parse(waiting.nextAttemptAt) - endedAtMs
  expect(delayMs).toBeGreaterThanOrEqual(599_000)
  expect(delayMs).toBeLessThanOrEqual(601_000)
})

test('a trickle that ends within the deadline is a success', async () => {
  const { source } = await relay.route({
    respond: (response, arrival) => {
      tricklesAs(200)(response, arrival)
      setTimeout(() => response.end('!'), 350)
    },
  })
  const { attempts } = await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  expect(attempts[0].responseBody).toMatch(/^\.+!$/)
  expect(attempts[0].phases.firstByteMs).toBeLessThan(attempts[0].phases.totalMs)
})

test('without permission loopback is address_blocked, as a literal and behind a name', async () => {
  await using closed = await startRelay({ deliveryCidrs: [] })
  const endpoint = await closed.endpoint()
  const { port } = new URL(endpoint.url)
  const attemptedAt = async (url: string, fields: object = {}): Promise<Resource> => {
    const source = await closed.make('sources', {})
    const destination = await closed.make('destinations', { url: endpoint.url, ...fields })
    // Past the check on saving: the one when the socket connects is meant.
    await sql`update destination set url = ${url}
      where id = ${uuid('dst', destination.id)}`.execute(closed.db)
    await closed.connect(source, destination)
    const { attempts } = await closed.reaches(await closed.accept(source), { attemptCount: 1 })
    return attempts[0]
  }
  const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1']
  for (const host of hosts) {
    const attempt = await attemptedAt(`http://${host}:${port}/`)
    expect(attempt, host).toMatchObject({ errorCode: 'address_blocked', responseStatus: null })
  }
  for (const host of ['127.0.0.1', 'localhost']) {
    const tokenUrl = `http://${host}:${port}/`
    const auth = { type: 'oauth2ClientCredentials', tokenUrl, clientId: 'a', clientSecret: 'b' }
    const attempt = await attemptedAt('http://203.0.114.1/', { auth })
    expect(attempt, host).toMatchObject({ errorCode: 'address_blocked', responseStatus: null })
  }
  expect(endpoint.arrivals).toHaveLength(0)
})

test('an attempt longer than 1 s shows as in_flight, and no other destination waits for it', async () => {
  const slow = await relay.route({ respond: hangs, destination: { timeoutMs: 60_000 } })
  const quick = await relay.route()
  const hung = await relay.accept(slow.source)
  await eventually(() => expect(slow.endpoint.arrivals).toHaveLength(1))
  await relay.reaches(await relay.accept(quick.source), { status: 'succeeded' }, SOON_MS)
  await relay.reaches(hung, { status: 'in_flight', attemptCount: 0, nextAttemptAt: null }, SOON_MS)
  const { id } = await relay.deliveryOf(hung)
  expect(await relay.api('POST', `/v1/deliveries/${id}/retry`, {})).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT' },
  })
})

test('a hung destination holds its own 32 at most, and the next one gets all of its own', async () => {
  const slow = await relay.route({ respond: hangs, destination: { timeoutMs: 60_000 } })
  const quick = await relay.route()
  await Promise.all(Array.from({ length: 60 }, () => relay.accept(slow.source)))
  await eventually(() => expect(slow.endpoint.arrivals).toHaveLength(32))
  await Promise.all(Array.from({ length: 40 }, () => relay.accept(quick.source)))
  await eventually(() => expect(quick.endpoint.arrivals).toHaveLength(40), SOON_MS)
  expect(slow.endpoint.arrivals).toHaveLength(32)
})

test('maxConcurrency bounds the attempts that a destination gets at once', async () => {
  let open = 0
  let most = 0
  const { source, endpoint } = await relay.route({
    destination: { maxConcurrency: 3 },
    respond: (response) => {
      most = Math.max(most, ++open)
      setTimeout(() => {
        open--
        response.end()
      }, 30)
    },
  })
  await Promise.all(Array.from({ length: 20 }, () => relay.accept(source)))
  await eventually(() => expect(endpoint.arrivals).toHaveLength(20))
  expect(most).toBe(3)
})

test('a retry that lasts longer than its lease is not sent a second time', async () => {
  const { source, endpoint } = await relay.route({
    respond: inTurn(says(500), hangs),
    destination: { timeoutMs: 60_000 },
  })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  await relay.advance(6_500)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  await relay.reaches(eventId, { status: 'in_flight' })
  const probe = await relay.route({ respond: hangs, destination: { timeoutMs: 60_000 } })
  const other = await relay.accept(probe.source)
  // By the time that this one shows, the retry above has lasted for more than a second too.
  await relay.reaches(other, { status: 'in_flight' })
  await relay.advance(20_000)
  const after = await relay.route()
  await relay.reaches(await relay.accept(after.source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(2)
  expect(probe.endpoint.arrivals).toHaveLength(1)
})
