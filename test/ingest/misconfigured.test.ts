import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
const lines: string[] = []
beforeAll(async () => {
  const log = pino({ level: 'info' }, { write: (line) => lines.push(line) })
  relay = await startRelay({ log })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const TOKEN = [{ alg: 'RS256', kid: 'k' }, {}]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .concat('AAAA')
  .join('.')
const URL_OF_KEYS = 'https://127.0.0.1/keys'
const UNREACHABLE = {
  type: 'jwt',
  token: { in: 'header', name: 'x-token' },
  algorithms: ['RS256'],
  keySource: { kind: 'jwks', url: URL_OF_KEYS },
}

test.each([
  [
    'a secret that the provider has not handed over',
    { preset: 'asana' },
    { 'x-hook-signature': 'ab' },
    'secret: The verifier has no secret',
  ],
  ['keys that cannot be got', UNREACHABLE, { 'x-token': TOKEN }, `Cannot get ${URL_OF_KEYS}: `],
])(
  'verifier_misconfigured says what is wrong to the owner, and not to the sender: %s',
  async (_what, verifier, headers, detail) => {
    const source = await relay.make('sources', { verifier })
    const heard = await relay.send(source, { headers, body: '{}' })
    expect(heard.text).toBe(
      '{"ok":false,"code":"UNAUTHORIZED","message":"Signature verification failed"}',
    )
    const path = `/v1/sources/${source.id}/test-signature`
    const { body } = await relay.api('POST', path, { headers, body: '{}' })
    expect(body).toMatchObject({ valid: false, reason: 'verifier_misconfigured' })
    expect(body.detail).toContain(detail)
    const [event] = (await relay.get(`/v1/events?sourceId=${source.id}`)).data
    const { verdict } = await relay.get(`/v1/events/${event.id}/timeline`)
    expect(verdict.sentence).toContain(`Not accepted: verifier misconfigured, ${detail}`)
    const line = await eventually(() => lineOf(source))
    expect(line).toMatchObject({ outcome: 'rejected', rejectionReason: body.reason })
    expect(line.rejectionDetail).toContain(detail)
  },
)

test('a request that is rejected for itself has no detail', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: 's' } })
  await relay.send(source, { body: '{}' })
  const [event] = (await relay.get(`/v1/events?sourceId=${source.id}`)).data
  const { verdict } = await relay.get(`/v1/events/${event.id}/timeline`)
  expect(verdict.sentence).toBe(
    'Not accepted: missing signature header (verifier github). The sender got 401.',
  )
  const line = await eventually(() => lineOf(source))
  expect(line).toMatchObject({ rejectionReason: 'missing_signature_header' })
  expect(line).not.toHaveProperty('rejectionDetail')
})

/** The log line of the only request of a source. */
function lineOf(source: Resource): Resource {
  const line = lines.find((text) => text.includes(source.id) && text.includes('Handled a request'))
  if (line === undefined) throw new Error('The request is not logged yet')
  return JSON.parse(line)
}
