import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openProxy, type Passing, type Proxy } from './proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** Each answer of the relay, as the status of an object tells it. */
const SOON_MS = 60_000

let scene: Scene
let relay: Proxy
beforeAll(async () => {
  scene = await openScene()
  relay = await openProxy(scene.apiUrl)
  await scene.relayAt(relay.url)
  await scene.operator()
})
afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
})
beforeEach(() => {
  relay.watcher = {}
})

const relayRef = { name: 'main' }

async function expectCondition(
  [plural, name]: readonly [string, string],
  type: string,
  expected: object | undefined,
): Promise<void> {
  await eventually(async () => {
    const condition = await scene.condition(plural, name, type)
    expect(expected === undefined ? [condition] : condition).toMatchObject(expected ?? [undefined])
  }, SOON_MS)
}

const declare = async (name: string, spec: object = {}): Promise<readonly [string, string]> => {
  await scene.apply('connectors', name, { relayRef, replicas: 0, ...spec })
  return ['connectors', name]
}

/** A refusal stands, and is not tried again with each list of the relay. */
async function expectPatience(name: string, reason: string): Promise<void> {
  const before = callsOf('POST').length
  const lists = relay.seen.length
  await eventually(() => expect(relay.seen.length).toBeGreaterThan(lists + 1), SOON_MS)
  expect(callsOf('POST')).toHaveLength(before)
  expect(await scene.condition('connectors', name, 'Ready')).toMatchObject({ reason })
}

const callsOf = (method: string): Passing[] => relay.seen.filter((one) => one.method === method)

test('401: Relay and Connector are stalled, the key is left in peace, and a good one in its Secret acts at once', async () => {
  const object = await declare('refused-key')
  await expectCondition(object, 'Ready', { reason: 'ScaledToZero' })
  await scene.secret('key', { apiKey: `${scene.apiKey.slice(0, -4)}aaaa` })
  for (const one of [object, ['relays', 'main']] as const) {
    await expectCondition(one, 'Ready', { status: 'False', reason: 'CredentialsInvalid' })
    await expectCondition(one, 'Stalled', { status: 'True', reason: 'CredentialsInvalid' })
  }
  const before = relay.seen.length
  await declare('refused-key', { displayName: 'new name' })
  await declare('another')
  await expectCondition(['connectors', 'another'], 'Stalled', { reason: 'CredentialsInvalid' })
  expect(relay.seen.length - before).toBeLessThan(2)
  await scene.secret('key', { apiKey: scene.apiKey })
  for (const name of ['refused-key', 'another']) {
    await expectCondition(['connectors', name], 'Ready', { reason: 'ScaledToZero' })
    await expectCondition(['connectors', name], 'Stalled', undefined)
  }
  await expectCondition(['relays', 'main'], 'Ready', { status: 'True', reason: 'Reachable' })
})

test('403 INSUFFICIENT_API_KEY_PERMISSIONS: a key that may only read stalls what has to be made', async () => {
  await scene.secret('reader', { key: await scene.makeKey('connectors=read', 'sources=read') })
  await scene.apply('relays', 'reader', {
    baseUrl: relay.url,
    apiKeySecretRef: { name: 'reader', key: 'key' },
  })
  const ref = { relayRef: { name: 'reader' } }
  const object = await declare('may-not', ref)
  await scene.apply('sources', 'may-not', ref)
  for (const one of [object, ['sources', 'may-not']] as const) {
    await expectCondition(one, 'Ready', { status: 'False', reason: 'InsufficientPermissions' })
    await expectCondition(one, 'Stalled', { reason: 'InsufficientPermissions' })
  }
  const refused = { status: 'False', reason: 'InsufficientPermissions' }
  await expectCondition(['relays', 'reader'], 'Ready', refused)
  const { message } = await scene.condition('relays', 'reader', 'Stalled')
  expect(message).toMatch(/POST connectors/)
  await expectPatience('may-not', 'InsufficientPermissions')
  await scene.secret('reader', { key: await scene.makeKey('connectors=write', 'sources=write') })
  await expectCondition(object, 'Ready', { reason: 'ScaledToZero' })
  await expectCondition(['sources', 'may-not'], 'Ready', { status: 'True' })
  await expectCondition(['relays', 'reader'], 'Ready', { status: 'True', reason: 'Reachable' })
})

test('403 CONNECTOR_LIMIT_REACHED: the message has the numbers of the plan', async () => {
  const message = 'The plan allows 3 connectors, and there are 3'
  const data = { limit: 3, current: 3 }
  relay.watcher = {
    before: ({ method, path }) =>
      method === 'POST' && path === '/v1/connectors'
        ? { status: 403, body: { code: 'CONNECTOR_LIMIT_REACHED', message, data } }
        : undefined,
  }
  const object = await declare('too-many')
  const expected = { status: 'False', reason: 'ConnectorLimitReached', message }
  await expectCondition(object, 'Ready', expected)
  await expectCondition(object, 'Stalled', { reason: 'ConnectorLimitReached' })
  await expectCondition(object, 'Provisioned', expected)
  await expectPatience('too-many', 'ConnectorLimitReached')
})

test('409 CONFLICT: a name that somebody else has is said, left alone, and free again with another', async () => {
  const taken = await scene.api('POST', '/v1/connectors', { name: 'taken by hand' })
  const object = await declare('conflict', { displayName: 'taken by hand' })
  await expectCondition(object, 'Stalled', { reason: 'NameConflict' })
  const { message } = await scene.condition('connectors', 'conflict', 'Ready')
  expect(message).toContain('taken by hand')
  await expectPatience('conflict', 'NameConflict')
  const { body } = await scene.api('GET', `/v1/connectors/${taken.body.id}`)
  expect(body).toMatchObject({ name: 'taken by hand', metadata: {} })
  await declare('conflict', { displayName: 'mine' })
  await expectCondition(object, 'Ready', { reason: 'ScaledToZero' })
  await scene.api('DELETE', `/v1/connectors/${taken.body.id}`)
})

test('400: the words of the relay stand in the message, and another spec helps at once', async () => {
  const spec = { relayRef, url: 'https://shop.example.com/hooks', retryPolicy: { attempts: -1 } }
  await scene.apply('destinations', 'refused', spec)
  const object = ['destinations', 'refused'] as const
  await expectCondition(object, 'Stalled', { reason: 'Refused' })
  const { message } = await scene.condition('destinations', 'refused', 'Ready')
  expect(message).toContain('retryPolicy')
  await scene.apply('destinations', 'refused', { relayRef, url: spec.url })
  await expectCondition(object, 'Ready', { status: 'True' })
  await expectCondition(object, 'Stalled', undefined)
})

test('404: a connector to be taken over that is not there is said', async () => {
  const object = await declare('absent', { connectorId: 'cnr_01h455vb4pex5vsknk084sn02q' })
  await expectCondition(object, 'Stalled', { reason: 'RemoteMissing' })
  await scene.remove('connectors', 'absent')
})

test('429: the whole key is silent for as long as the relay says, and nothing is stalled', async () => {
  await expectCondition(['connectors', 'conflict'], 'Ready', { reason: 'ScaledToZero' })
  let refusedAt = 0
  relay.watcher = {
    before({ method, at }) {
      if (refusedAt > 0 || method !== 'POST') return undefined
      refusedAt = at
      return { status: 429, headers: { 'retry-after': '6' }, body: { message: 'Too many' } }
    },
  }
  const object = await declare('throttled')
  await expectCondition(object, 'Ready', { status: 'Unknown', reason: 'RateLimited' })
  expect(await scene.condition('connectors', 'throttled', 'Stalled')).toBeUndefined()
  await expectCondition(object, 'Ready', { reason: 'ScaledToZero' })
  // Lists may have been under way.
  const early = relay.seen.filter(
    ({ at, authorization }) =>
      authorization === `Bearer ${scene.apiKey}` &&
      at > refusedAt + 2_000 &&
      at < refusedAt + 5_900,
  )
  expect(early).toEqual([])
})

test('5xx and silence: what runs is left alone, and goes on when the relay is back', async () => {
  relay.watcher = { before: () => ({ status: 503, body: { message: 'Away' } }) }
  const object = await declare('away')
  await expectCondition(object, 'Ready', { status: 'Unknown', reason: 'RelayUnavailable' })
  expect(await scene.condition('connectors', 'away', 'Stalled')).toBeUndefined()
  relay.watcher = { before: () => 'drop' }
  await declare('silent')
  await expectCondition(['connectors', 'silent'], 'Ready', { reason: 'RelayUnavailable' })
  relay.watcher = {}
  for (const name of ['away', 'silent']) {
    await expectCondition(['connectors', name], 'Ready', { reason: 'ScaledToZero' })
  }
})

test('a list that began before a Connector was made shows it provisioned, and the status says so', async () => {
  await expectCondition(await declare('listed'), 'Provisioned', { status: 'True' })
  const held = Promise.withResolvers<void>()
  let isHeld = false
  relay.watcher = {
    async before({ method, path }) {
      if (isHeld || method !== 'GET' || !path.startsWith('/v1/connectors?limit=100'))
        return undefined
      isHeld = true
      await held.promise
      return undefined
    },
  }
  await eventually(() => expect(isHeld).toBe(true), SOON_MS)
  const object = await declare('overtaken')
  await expectCondition(object, 'EnrollmentReady', { status: 'True' })
  await eventually(async () => {
    const { connectorId } = (await scene.get('connectors', 'overtaken')).status
    const answer = await scene.api('GET', `/v1/connectors/${connectorId}`)
    expect(answer.body.provisionedAt).not.toBeNull()
  }, SOON_MS)
  held.resolve()
  await expectCondition(object, 'Provisioned', { status: 'True' })
})

test('each change of Ready is an event, and the ones that are faults are warnings', async () => {
  const events = await scene.events('refused-key')
  const said = events.map(({ type, reason }) => `${type} ${reason}`)
  expect(said).toContain('Warning CredentialsInvalid')
  expect(said.length).toBeLessThan(15)
  expect(JSON.stringify(events)).not.toContain(scene.apiKey)
})
