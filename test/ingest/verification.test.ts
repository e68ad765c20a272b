import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { REJECTED_BYTES_BURST, REJECTED_BYTES_PER_SECOND } from '../../core/limits.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { openSourceSecrets, sealSourceSecrets } from '../../core/secrets/source-secrets.ts'
import { eventually, startRelay, type Relay, type Resource, type Sent } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const SECRET = 'a-secret-of-enough-length'
const hex = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('hex')
/** Well formed and wrong. */
const MAC = `v1,${btoa('x'.repeat(32))}`
const seconds = (): string => String(Math.floor(relay.clock.now() / 1_000))

async function eventsOf(source: Resource): Promise<Resource[]> {
  return (await relay.get(`/v1/events?sourceId=${source.id}&limit=100`)).data
}

function github(body: string, secret = SECRET): { body: string; headers: Record<string, string> } {
  return { body, headers: { 'x-hub-signature-256': `sha256=${hex(secret, body)}` } }
}

function stripe(body: string, ageSeconds = 0): Sent {
  const at = String(Number(seconds()) - ageSeconds)
  return { body, headers: { 'stripe-signature': `t=${at},v1=${hex(SECRET, `${at}.${body}`)}` } }
}

test('a verified request is stored with the verifier that ran, also after the source changed', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: SECRET } })
  const id = await relay.accept(source, github('{"a":1}'))
  const before = await relay.get(`/v1/events/${id}`)
  expect(before).toMatchObject({ status: 'unmatched', verifiedWith: 'github' })
  await relay.change('sources', source.id, { verifier: { type: 'none' } })
  expect(await relay.get(`/v1/events/${id}`)).toEqual(before)
})

const REASONS: [reason: string, preset: string, sent: () => Sent][] = [
  ['missing_signature_header', 'github', () => ({ body: '{}' })],
  ['signature_mismatch', 'github', () => github('{}', 'wrong')],
  [
    'malformed_signature_header',
    'github',
    () => ({ headers: { 'x-hub-signature-256': 'nonsense' } }),
  ],
  ['timestamp_out_of_tolerance', 'stripe', () => stripe('{}', 301)],
  [
    'missing_id_header',
    'svix',
    () => ({ headers: { 'svix-timestamp': seconds(), 'svix-signature': MAC } }),
  ],
  [
    'missing_timestamp_header',
    'svix',
    () => ({ headers: { 'svix-id': 'msg_1', 'svix-signature': MAC } }),
  ],
  [
    'malformed_timestamp',
    'svix',
    () => ({
      headers: { 'svix-id': 'msg_1', 'svix-timestamp': 'soon', 'svix-signature': MAC },
    }),
  ],
]

test('every failed verification gets the same 401, and is stored with its own reason', async () => {
  const told = new Set<string>()
  for (const [reason, preset, sent] of REASONS) {
    const secret = preset === 'svix' ? `whsec_${btoa(SECRET)}` : SECRET
    const { source } = await relay.route({ source: { verifier: { preset, secret } } })
    const heard = await relay.send(source, sent())
    expect(heard.status, reason).toBe(401)
    told.add(heard.text)
    const [event] = await eventsOf(source)
    expect(event, reason).toMatchObject({ status: 'rejected', rejectionReason: reason })
    expect(await relay.get(`/v1/events/${event.id}`)).toMatchObject({
      raw: sent().body ?? '',
      deliveries: [],
    })
    expect(heard.headers['postern-event-id']).toBeUndefined()
  }
  expect([...told]).toEqual([
    '{"ok":false,"code":"UNAUTHORIZED","message":"Signature verification failed"}',
  ])
})

test('a verifier that cannot be used rejects with verifier_misconfigured or unsupported_verifier', async () => {
  const without = await relay.make('sources', { verifier: { preset: 'asana' } })
  expect(await relay.send(without, { headers: { 'x-hook-signature': 'ab' } })).toMatchObject({
    status: 401,
  })
  expect(await eventsOf(without)).toMatchObject([{ rejectionReason: 'verifier_misconfigured' }])
  const newer = await relay.make('sources', {})
  await rewrite(newer, sql`verifier = '{"type":"quantum"}'`)
  expect(await relay.send(newer)).toMatchObject({ status: 401 })
  expect(await eventsOf(newer)).toMatchObject([{ rejectionReason: 'unsupported_verifier' }])
})

test('under a flood every 401 is answered and 50 rejected events are stored, then 10 a second', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: SECRET } })
  const startedAt = performance.now()
  /** Returns the seconds since the first one began. */
  const flood = async (): Promise<number> => {
    const heard = await Promise.all(Array.from({ length: 150 }, () => relay.send(source)))
    expect(heard.every(({ status }) => status === 401)).toBe(true)
    return (performance.now() - startedAt) / 1_000
  }
  const stored = async (): Promise<number> => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from event
      where source_id = ${uuid('src', source.id)}`.execute(relay.db)
    return rows[0]?.count ?? 0
  }
  const burstSeconds = await flood()
  const burst = await stored()
  expect(burst).toBeGreaterThanOrEqual(50)
  expect(burst).toBeLessThanOrEqual(51 + 10 * burstSeconds)
  await relay.advance(2_000)
  const bothSeconds = await flood()
  const later = (await stored()) - burst
  expect(later).toBeGreaterThanOrEqual(20)
  expect(later).toBeLessThanOrEqual(22 + 10 * bothSeconds)
  expect(await relay.send(source, github('{}'))).toMatchObject({ status: 200 })
})

test('headers and query of a rejected request count in what is stored of them', async () => {
  const verifier = { preset: 'github', secret: SECRET }
  const source = await relay.make('sources', { verifier, maxPayloadSizeKb: 5_120 })
  const startedAt = performance.now()
  await relay.send(source, { body: Buffer.alloc(REJECTED_BYTES_BURST - 1_000, 'a') })
  const large: Sent[] = [
    { headers: { 'x-large': 'h'.repeat(14_000) } },
    { path: `/${'p'.repeat(7_000)}?${'q'.repeat(7_000)}` },
  ]
  await Promise.all(Array.from({ length: 44 }, (_, at) => relay.send(source, large[at % 2])))
  const tookSeconds = (performance.now() - startedAt) / 1_000
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from event
    where source_id = ${uuid('src', source.id)}`.execute(relay.db)
  expect(rows[0]?.count).toBeGreaterThanOrEqual(1)
  expect(rows[0]?.count).toBeLessThanOrEqual(2 + (REJECTED_BYTES_PER_SECOND * tookSeconds) / 14_000)
})

test('a rejected request does not take the dedupe key', async () => {
  const source = await relay.make('sources', {
    verifier: { preset: 'github', secret: SECRET },
    idempotencyKeys: ['header.x-github-delivery'],
  })
  const withId = ({ body, headers }: ReturnType<typeof github>): Sent => ({
    body,
    headers: { ...headers, 'x-github-delivery': 'one' },
  })
  expect(await relay.send(source, withId(github('{}', 'wrong')))).toMatchObject({ status: 401 })
  expect((await relay.send(source, withId(github('{}')))).body.eventId).toMatch(/^evt_/)
  expect((await relay.send(source, withId(github('{}')))).body.duplicate).toBe(true)
  expect(await relay.send(source, withId(github('{}', 'wrong')))).toMatchObject({ status: 401 })
})

test('both secrets verify during a rotation overlap, and the new one alone after it', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: SECRET } })
  const { rows } = await sql<{ secrets: Buffer }>`select secrets from source
    where id = ${uuid('src', source.id)}`.execute(relay.db)
  const row = { id: uuid('src', source.id), organisationId: uuid('org', relay.organisationId) }
  const { current } = openSourceSecrets(relay.keyring, {
    ...row,
    secrets: rows[0]?.secrets ?? null,
  })
  const sealed = sealSourceSecrets(relay.keyring, row, { current: 'new-secret', previous: current })
  const until = new Date(relay.clock.now() + 3_600_000)
  await rewrite(source, sql`secrets = ${sealed}, previous_secret_expires_at = ${until}`)
  const statuses = async (): Promise<number[]> => {
    const secrets = ['new-secret', SECRET, 'wrong']
    const heard = await Promise.all(
      secrets.map(async (secret) => await relay.send(source, github('{}', secret))),
    )
    return heard.map(({ status }) => status)
  }
  expect(await statuses()).toEqual([200, 200, 401])
  await relay.advance(3_600_000)
  expect(await statuses()).toEqual([200, 401, 401])
})

/** A write past the management API, told to ingest as the API tells it. */
async function rewrite(source: Resource, set: ReturnType<typeof sql>): Promise<void> {
  const id = uuid('src', source.id)
  await sql`update source set ${set} where id = ${id}`.execute(relay.db)
  await announceChanges(relay, [{ kind: 'source', id }])
}

test.each([
  [
    'header',
    { type: 'shared_token', secret: SECRET, token: { in: 'header', name: 'X-Token' } },
    { headers: { 'x-token': SECRET } },
  ],
  [
    'query',
    { type: 'shared_token', secret: SECRET, token: { in: 'query', name: 'key' } },
    { path: `?a=1&key=${SECRET}&b=2` },
  ],
  [
    'basic',
    { type: 'basic_auth', username: 'me', secret: SECRET },
    { headers: { authorization: `Basic ${btoa(`me:${SECRET}`)}` } },
  ],
])(
  'a shared secret in the %s is stored masked and not forwarded',
  async (_in, verifier, sent: Sent) => {
    const { source, endpoint } = await relay.route({ source: { verifier } })
    const id = await relay.accept(source, sent)
    const event = JSON.stringify(await relay.get(`/v1/events/${id}`))
    expect(event).toContain('***')
    expect(event).not.toContain(SECRET)
    expect(event).not.toContain(btoa(`me:${SECRET}`))
    const { rows } = await sql<{ text: string }>`
      select headers || query as text from event where source_id = ${uuid('src', source.id)}`.execute(
      relay.db,
    )
    expect(JSON.stringify(rows)).not.toContain(SECRET)
    const [arrival] = await eventually(() => {
      expect(endpoint.arrivals).toHaveLength(1)
      return endpoint.arrivals
    })
    expect(JSON.stringify(arrival?.rawHeaders)).not.toContain(SECRET)
    expect(arrival?.headers).not.toHaveProperty('x-token')
    expect(arrival?.headers).not.toHaveProperty('authorization')
  },
)

/** A handshake is answered and leaves no event. */
async function shakes(source: Resource, sent: Sent, expected: object): Promise<void> {
  const heard = await relay.send(source, sent)
  expect(heard).toMatchObject(expected)
  expect(heard.headers['postern-event-id']).toBeUndefined()
  expect(await eventsOf(source)).toEqual([])
}

test('meta: a GET with the verify token is echoed, with a wrong one 403', async () => {
  const source = await relay.make('sources', {
    verifier: { preset: 'meta', secret: SECRET },
    handshake: { verifyToken: 'hello' },
  })
  const ask = (token: string): Sent => ({
    method: 'GET',
    path: `?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=42`,
  })
  expect(await relay.send(source, ask('wrong'))).toMatchObject({ status: 403, text: '' })
  await shakes(source, ask('hello'), {
    status: 200,
    text: '42',
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  })
  expect(await relay.send(source, { method: 'GET' })).toMatchObject({ status: 405 })
})

test('webSub: a hub is echoed for the topic of the source, and gets 404 for another', async () => {
  const source = await relay.make('sources', {
    verifier: { preset: 'webSub', secret: SECRET, params: { topic: 'https://a.test/feed?id=1' } },
  })
  const ask = (mode: string, topic: string): Sent => ({
    method: 'GET',
    path: `?hub.mode=${mode}&hub.topic=${encodeURIComponent(topic)}&hub.challenge=%3Cscript%3E`,
  })
  const refused = await relay.send(source, ask('subscribe', 'https://a.test/feed?id=2'))
  expect(refused).toMatchObject({ status: 404, text: '' })
  for (const mode of ['subscribe', 'unsubscribe']) {
    await shakes(source, ask(mode, 'https://a.test/feed?id=1'), {
      status: 200,
      text: '<script>',
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    })
  }
})

test('cloudEvents: OPTIONS with an origin is granted, and its events need the token', async () => {
  const source = await relay.make('sources', {
    verifier: { preset: 'cloudEvents', secret: SECRET },
  })
  const origin = 'eventemitter.example.com'
  await shakes(
    source,
    { method: 'OPTIONS', headers: { 'webhook-request-origin': origin } },
    {
      status: 200,
      text: '',
      headers: { allow: 'POST', 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*' },
    },
  )
  expect(await relay.send(source, { method: 'OPTIONS' })).toMatchObject({ status: 405 })
  const event = { 'ce-type': 'a.b', 'ce-source': '/a', 'ce-id': '1' }
  expect(await relay.send(source, { body: '{}', headers: event })).toMatchObject({ status: 401 })
  const headers = { ...event, authorization: `Bearer ${SECRET}` }
  expect(await relay.send(source, { body: '{}', headers })).toMatchObject({ status: 200 })
})

test('a challenge sent to a source of another preset is no handshake', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'github', secret: SECRET } })
  const path = '?hub.mode=subscribe&hub.verify_token=hello&hub.challenge=42'
  expect(await relay.send(source, { method: 'GET', path })).toMatchObject({ status: 405 })
})

const SIGNED: [preset: string, sent: (secret: string) => Sent, expected: object][] = [
  [
    'slack',
    (secret) => {
      const body = '{"type":"url_verification","challenge":"abc"}'
      const at = seconds()
      const signature = `v0=${hex(secret, `v0:${at}:${body}`)}`
      return {
        body,
        headers: {
          'content-type': 'application/json',
          'x-slack-request-timestamp': at,
          'x-slack-signature': signature,
        },
      }
    },
    { status: 200, text: 'abc' },
  ],
  [
    'zoom',
    (secret) => {
      const body = '{"event":"endpoint.url_validation","payload":{"plainToken":"abc"}}'
      const at = seconds()
      const signature = `v0=${hex(secret, `v0:${at}:${body}`)}`
      return {
        body,
        headers: { 'x-zm-request-timestamp': at, 'x-zm-signature': signature },
      }
    },
    { status: 200, body: { plainToken: 'abc', encryptedToken: hex(SECRET, 'abc') } },
  ],
  [
    'twitch',
    (secret) => {
      const body = '{"challenge":"abc"}'
      const at = new Date(relay.clock.now()).toISOString()
      return {
        body,
        headers: {
          'twitch-eventsub-message-id': 'one',
          'twitch-eventsub-message-timestamp': at,
          'twitch-eventsub-message-type': 'webhook_callback_verification',
          'twitch-eventsub-message-signature': `sha256=${hex(secret, `one${at}${body}`)}`,
        },
      }
    },
    { status: 200, text: 'abc' },
  ],
]

test.each(SIGNED)(
  '%s: a signed challenge is answered, a badly signed one is a rejected event',
  async (preset, sent, expected) => {
    const source = await relay.make('sources', { verifier: { preset, secret: SECRET } })
    await shakes(source, sent(SECRET), expected)
    expect(await relay.send(source, sent('wrong'))).toMatchObject({ status: 401 })
    expect(await eventsOf(source)).toMatchObject([{ rejectionReason: 'signature_mismatch' }])
  },
)

test('discord: a signed ping is answered with type 1, a badly signed one with 401', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex')
  const source = await relay.make('sources', { verifier: { preset: 'discord', publicKeys: [raw] } })
  const ping = (signed: string): Sent => {
    const at = seconds()
    const signature = signWith(null, Buffer.from(at + signed), privateKey).toString('hex')
    return {
      body: '{"type":1}',
      headers: { 'x-signature-timestamp': at, 'x-signature-ed25519': signature },
    }
  }
  await shakes(source, ping('{"type":1}'), { status: 200, body: { type: 1 } })
  expect(await relay.send(source, ping('{"type":2}'))).toMatchObject({ status: 401 })
})

test('xero: no answer to a signed or a badly signed request has a body', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'xero', secret: SECRET } })
  const sign = (secret: string) => createHmac('sha256', secret).update('{}').digest('base64')
  const sent = (secret: string) => ({ body: '{}', headers: { 'x-xero-signature': sign(secret) } })
  expect(await relay.send(source, sent('wrong'))).toMatchObject({ status: 401, text: '' })
  expect(await relay.send(source, sent(SECRET))).toMatchObject({ status: 200, text: '' })
  const events = await eventsOf(source)
  expect(events.map(({ status }) => status)).toEqual(['unmatched', 'rejected'])
})

test('asana: a secret is captured once, while the source has none', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'asana' } })
  const shake = (secret: string): Sent => ({ body: '{}', headers: { 'x-hook-secret': secret } })
  await shakes(source, shake(SECRET), { status: 200, headers: { 'x-hook-secret': SECRET } })
  expect(await relay.send(source, shake('another-secret'))).toMatchObject({ status: 401 })
  const event = (secret: string): Sent => ({
    body: '{"events":[]}',
    headers: { 'x-hook-signature': hex(secret, '{"events":[]}') },
  })
  expect(await relay.send(source, event(SECRET))).toMatchObject({ status: 200 })
  expect(await relay.send(source, event('another-secret'))).toMatchObject({ status: 401 })
})

test('asana: of secrets sent at once exactly one is captured', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'asana' } })
  const secrets = Array.from({ length: 8 }, (_, n) => `captured-secret-${n}`)
  const heard = await Promise.all(
    secrets.map((secret) => relay.send(source, { headers: { 'x-hook-secret': secret } })),
  )
  const taken = secrets.filter((_, n) => heard[n]?.status === 200)
  expect(taken).toHaveLength(1)
  const verifying = await Promise.all(
    secrets.map(async (secret) => {
      const sent = { body: '{}', headers: { 'x-hook-signature': hex(secret, '{}') } }
      return (await relay.send(source, sent)).status === 200 ? secret : undefined
    }),
  )
  expect(verifying.filter((secret) => secret !== undefined)).toEqual(taken)
})

test('mailchimp: a GET is 200 and empty, and shows as lastHandshakeAt', async () => {
  const source = await relay.make('sources', { verifier: { preset: 'mailchimp', secret: SECRET } })
  await shakes(source, { method: 'GET' }, { status: 200, text: '' })
  await eventually(async () => {
    const { lastHandshakeAt } = await relay.get(`/v1/sources/${source.id}`)
    expect(lastHandshakeAt).not.toBeNull()
  })
})
