import { randomBytes } from 'node:crypto'

import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { says } from '../kit/endpoint.ts'
import { talk } from '../kit/raw-socket.ts'
import { startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { answers, startAgent } from '../tunnel/agent.ts'
import { openGateway, type GatewayProcess } from '../tunnel/gateway.ts'

/** Lines of a role pass a filter of known names; here none does, so that nothing may be handed to the log at all. */
const lines: string[] = []
let relay: Relay
let gateway: GatewayProcess
beforeAll(async () => {
  const log = pino({ level: 'trace' }, { write: (line) => lines.push(line) })
  relay = await startRelay({ log, gatewayUrl: 'ws://gateway.test' })
  gateway = await openGateway(relay, 'gateway')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
})

const secrets = new Map<string, string>()

/** Remembered under its name: no line may have it, nor its base64, nor its URL-encoded form. */
function secret(name: string, text = `s3cr3t-${randomBytes(12).toString('hex')}`): string {
  secrets.set(name, text)
  return text
}

const JSON_TYPE = { 'content-type': 'application/json' }

async function runIngest(): Promise<void> {
  const github = await relay.make('sources', {
    verifier: { preset: 'github', secret: secret('a source’s secret') },
  })
  const basic = await relay.make('sources', {
    verifier: { type: 'basic_auth', username: 'me', secret: secret('a source’s password') },
  })
  const open = await relay.make('sources', {})
  for (const source of [github, basic, open]) {
    await relay.send(source, {
      path: `/x?token=${secret('a query of a sender')}`,
      headers: {
        ...JSON_TYPE,
        authorization: `Bearer ${secret('a header of a sender')}`,
        'x-hub-signature-256': 'sha256=00',
      },
      body: JSON.stringify({ card: secret('a body of a sender') }),
    })
  }
  await relay.send({ maskId: secret('a mask id that is none') })
  await talk(relay.ingest.url, {
    parts: [`GET / HTTP/1.1\r\nbad header ${secret('a header that is none')}\r\n\r\n`],
  })
}

async function runDelivery(): Promise<void> {
  const tokens = await relay.endpoint(
    says(200, JSON_TYPE, JSON.stringify({ access_token: secret('an access token') })),
  )
  const refusing = await relay.endpoint(says(401, {}, secret('an answer of a token endpoint')))
  const oauth = (tokenUrl: string) => ({
    type: 'oauth2ClientCredentials',
    tokenUrl,
    clientId: 'me',
    clientSecret: secret(`a client secret for ${tokenUrl}`),
  })
  const destinations: Resource[] = [
    {},
    { auth: { type: 'bearer', token: secret('a bearer token') } },
    { auth: { type: 'basic', username: 'me', password: secret('a password') } },
    { auth: oauth(tokens.url) },
    { auth: oauth(refusing.url) },
    { url: 'http://127.0.0.1:1/nobody' },
  ]
  for (const destination of destinations) {
    const { source, destination: made } = await relay.route({
      destination,
      respond: says(500, { 'x-answer': secret('a header of an endpoint') }, secret('an answer')),
    })
    const revealed = await relay.api('GET', `/v1/destinations/${made.id}/signing-secret`)
    secret('a signing secret', String(revealed.body.secret))
    const eventId = await relay.accept(source, { body: secret('a delivered body') })
    await relay.reaches(eventId, { attemptCount: 1 })
  }
}

async function runApi(): Promise<void> {
  secret('an API key', relay.key)
  const body = { name: 'x', verifier: { preset: 'nobody', secret: secret('a refused secret') } }
  expect((await relay.api('POST', '/v1/sources', body)).status).toBe(400)
  await relay.api('GET', `/v1/events?search=${secret('a search')}`)
  await relay.api('GET', '/v1/sources', undefined, { key: secret('a wrong API key') })
  await fetch(`${relay.apiUrl}/v1/sources`, {
    method: 'POST',
    headers: { ...JSON_TYPE, authorization: `Bearer ${relay.key}` },
    body: `{"name": ${secret('a body that is not JSON')}`,
  })
}

async function runConnectors(): Promise<void> {
  const connector = await relay.make('connectors', {})
  const key = secret('an enrolment key', connector.enrollmentKey)
  const started = await fetch(`${relay.apiUrl}/v1/connectors/bootstrap`, {
    method: 'POST',
    headers: { ...JSON_TYPE, authorization: `Bearer ${key}` },
    body: JSON.stringify({ instanceName: 'a', version: '1', startedAt: new Date().toISOString() }),
  })
  const { heartbeatToken }: Resource = await started.json()
  using agent = await startAgent(
    gateway.url,
    secret('a heartbeat token', heartbeatToken),
    answers(500, secret('an answer of an agent')),
  )
  expect(agent.refused).toBeUndefined()
  const source = await relay.make('sources', {})
  const destination = await relay.make('destinations', {
    url: 'http://inside.internal/hook',
    mode: 'private',
    connectorId: connector.id,
  })
  await relay.connect(source, destination)
  const eventId = await relay.accept(source, { body: secret('a body for an agent') })
  await relay.reaches(eventId, { attemptCount: 1 })
  using refused = await startAgent(gateway.url, secret('a wrong heartbeat token'))
  expect(refused.refused).toBeDefined()
}

test('no line has a secret or what a sender or an endpoint said, at any level', async () => {
  await runIngest()
  await runDelivery()
  await runApi()
  await runConnectors()
  const text = lines.join('\n')
  for (const kind of ['Handled a request', 'Attempted a delivery', 'Answered']) {
    expect(text).toContain(kind)
  }
  const shown = [...secrets].filter(([, value]) =>
    [
      value,
      Buffer.from(value).toString('base64').replace(/=+$/, ''),
      encodeURIComponent(value),
    ].some((form) => text.includes(form)),
  )
  expect(secrets.size).toBeGreaterThan(25)
  expect(shown.map(([name]) => name)).toEqual([])
})
