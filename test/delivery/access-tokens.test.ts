import { afterAll, beforeAll, expect, test } from 'vitest'

import { hangs, inTurn, says, type Endpoint, type Respond } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Route } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const tokenSays = (token: string, expiresIn?: number): string =>
  JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: expiresIn })

/** A route whose destination wants an access token, and the endpoint that gives them. */
async function withTokens(): Promise<Route & { tokens: Endpoint }> {
  let count = 0
  const tokens = await relay.endpoint((response, arrival) => {
    count++
    const answer = tokenSays(`token-${count}`, 3_600)
    says(200, { 'content-type': 'application/json' }, answer)(response, arrival)
  })
  const auth = {
    type: 'oauth2ClientCredentials',
    tokenUrl: tokens.url,
    clientId: 'me',
    clientSecret: `s:${crypto.randomUUID()}`,
    scope: 'hooks',
  }
  return { ...(await relay.route({ destination: { auth } })), tokens }
}

test('OAuth 2.0: one token serves many deliveries at once, and is fetched again when it ends', async () => {
  const { source, endpoint, tokens } = await withTokens()
  await Promise.all(Array.from({ length: 5 }, () => relay.accept(source)))
  await eventually(() => expect(endpoint.arrivals).toHaveLength(5))
  expect(new Set(endpoint.arrivals.map(({ headers }) => headers.authorization))).toEqual(
    new Set(['Bearer token-1']),
  )
  const [asked] = tokens.arrivals
  expect(asked?.method).toBe('POST')
  expect(Object.fromEntries(new URLSearchParams(asked?.body.toString()))).toEqual({
    grant_type: 'client_credentials',
    scope: 'hooks',
  })
  expect(asked?.headers.authorization).toMatch(/^Basic /)
  await relay.advance(3_600_000)
  await relay.accept(source)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(6))
  expect(endpoint.arrivals[5]?.headers.authorization).toBe('Bearer token-2')
  expect(tokens.arrivals).toHaveLength(2)
})

test('OAuth 2.0: without a token nothing is sent, and the delivery is tried again', async () => {
  const { source, endpoint, tokens } = await withTokens()
  tokens.respond = says(401, {}, '{"error":"invalid_client"}')
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  expect(endpoint.arrivals).toHaveLength(0)
  tokens.respond = says(200, {}, tokenSays('later'))
  await relay.advance(6_500)
  await relay.reaches(eventId, { status: 'succeeded', attemptCount: 2 })
  expect(endpoint.arrivals[0]?.headers.authorization).toBe('Bearer later')
})

test('OAuth 2.0: a token that the destination refuses with 401 is not used again', async () => {
  const { source, endpoint, tokens } = await withTokens()
  endpoint.respond = (response, { headers }) => {
    response.writeHead(headers.authorization === 'Bearer token-1' ? 401 : 200).end()
  }
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  await relay.advance(6_500)
  await relay.reaches(eventId, { status: 'succeeded', attemptCount: 2 })
  expect(tokens.arrivals).toHaveLength(2)
})

const FAILURES: [what: string, respond: Respond, expected: object][] = [
  [
    '401 with a reason',
    says(401, {}, '{"error":"invalid_client"}'),
    { errorCode: 'bad_response', responseStatus: 401, responseBody: '{"error":"invalid_client"}' },
  ],
  ['410', says(410), { errorCode: 'bad_response', responseStatus: 410 }],
  [
    'a page to log in',
    says(200, {}, '<html>login'),
    { errorCode: 'bad_response', responseStatus: 200, responseBody: '<html>login' },
  ],
  [
    'a token under another name, which is not shown',
    says(200, {}, '{"accessToken":"s3cret","ttl":[5,"s3cret"]}'),
    {
      errorCode: 'bad_response',
      responseStatus: 200,
      responseBody: '{"accessToken":"***","ttl":[5,"***"]}',
    },
  ],
  [
    'a token that no header can carry',
    says(200, {}, tokenSays('a\nb')),
    { errorCode: 'bad_response' },
  ],
  ['an empty token', says(200, {}, tokenSays('')), { errorCode: 'bad_response' }],
  ['null', says(200, {}, 'null'), { errorCode: 'bad_response', responseBody: 'null' }],
  [
    'a redirect',
    says(302, { location: 'http://127.0.0.1:1/' }),
    { errorCode: 'bad_response', responseStatus: 302 },
  ],
  [
    'more than 16 KiB',
    says(500, {}, 'x'.repeat(100_000)),
    { errorCode: 'bad_response', responseBody: 'x'.repeat(16_384) },
  ],
  ['a reset', (response) => response.socket?.resetAndDestroy(), { errorCode: 'connection_reset' }],
]

test.for(FAILURES)(
  'a token endpoint that answers with %s is named in the attempt',
  async ([, respond, expected]) => {
    const { source, destination, endpoint, tokens } = await withTokens()
    tokens.respond = respond
    const { attempts } = await relay.reaches(await relay.accept(source), {
      status: 'pending',
      attemptCount: 1,
    })
    expect(attempts).toMatchObject([{ requestUrl: tokens.url, outcome: 'failed', ...expected }])
    expect(attempts[0].durationMs).toBeGreaterThan(0)
    expect(endpoint.arrivals).toHaveLength(0)
    expect(await relay.get(`/v1/destinations/${destination.id}`)).toMatchObject({ isEnabled: true })
  },
)

test.for([429, 502, 503, 504])(
  'a token endpoint that answers %i is busy, and spends no attempt',
  async (status) => {
    const { source, tokens } = await withTokens()
    tokens.respond = inTurn(
      says(status, { 'retry-after': '60' }),
      says(200, {}, tokenSays('later')),
    )
    const eventId = await relay.accept(source)
    const { attempts } = await relay.reaches(eventId, {
      status: 'throttled',
      throttledReason: 'destination_busy',
      attemptCount: 0,
    })
    expect(attempts).toMatchObject([
      { requestUrl: tokens.url, outcome: 'busy', responseStatus: status },
    ])
    await relay.advance(61_000)
    await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
  },
)

test('a token endpoint that is closed or does not answer has the ordinary errors', async () => {
  const { source, tokens } = await withTokens()
  tokens.respond = hangs
  const hung = await relay.accept(source)
  const hangsFor = await relay.reaches(hung, { status: 'pending', attemptCount: 1 }, 15_000)
  expect(hangsFor.attempts).toMatchObject([{ errorCode: 'timeout', responseStatus: null }])
  expect(hangsFor.attempts[0].durationMs).toBeGreaterThan(9_000)
  await tokens[Symbol.asyncDispose]()
  const refused = await relay.reaches(await relay.accept(source), { attemptCount: 1 })
  expect(refused.attempts).toMatchObject([
    { errorCode: 'connection_refused', requestUrl: tokens.url },
  ])
})

test.for([
  ['absent', undefined],
  ['null', null],
  ['0', 0],
  ['a text', 'soon'],
])('a token whose expires_in is %s is used for 60 s', async ([, expiresIn]) => {
  const { source, endpoint, tokens } = await withTokens()
  let count = 0
  tokens.respond = (response) => {
    count++
    response.end(JSON.stringify({ access_token: `t${count}`, expires_in: expiresIn }))
  }
  const sent = async (): Promise<string | undefined> => {
    const before = endpoint.arrivals.length
    await relay.reaches(await relay.accept(source), { status: 'succeeded' })
    return endpoint.arrivals[before]?.headers.authorization
  }
  expect(await sent()).toBe('Bearer t1')
  await relay.advance(50_000)
  expect(await sent()).toBe('Bearer t1')
  await relay.advance(11_000)
  expect(await sent()).toBe('Bearer t2')
})
