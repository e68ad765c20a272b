import { afterEach, beforeEach, expect, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { eventually } from '../kit/relay.ts'
import { openProxy, type Proxy } from './proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** Objects whose resource cannot be deleted, and how long each is held. */
const SOON_MS = 90_000
const REFUSED_MS = 300_000
/** So much is left of a bound when an operator looks whose clock is ahead by the rest. */
const LEFT_MS = 20_000
/** A time of Kubernetes has whole seconds. */
const SECOND_MS = 1_000

let scene: Scene
let relay: Proxy
beforeEach(async () => {
  scene = await openScene()
  relay = await openProxy(scene.apiUrl)
})
afterEach(async () => {
  await scene[Symbol.asyncDispose]()
  await relay[Symbol.asyncDispose]()
})

async function startAhead(ms: number): Promise<void> {
  const code = `const now=Date.now;Date.now=()=>now()+${ms}`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(code)}`
  await scene.operator({ env: { NODE_OPTIONS } })
}

/** A Relay of that name with a key of its own. */
async function relayOf(name: string, baseUrl: string, apiKey: string): Promise<object> {
  await scene.secret(name, { apiKey })
  await scene.apply('relays', name, { baseUrl, apiKeySecretRef: { name, key: 'apiKey' } })
  return { relayRef: { name } }
}

async function untilReason(plural: string, name: string, reason: string): Promise<void> {
  await eventually(async () => {
    expect(await scene.condition(plural, name, 'Ready')).toMatchObject({ reason })
  }, SOON_MS)
}

async function untilGone(plural: string, name: string): Promise<void> {
  await eventually(async () => {
    const names = (await scene.list(plural)).map(({ metadata }) => metadata.name)
    expect(names).not.toContain(name)
  }, SOON_MS)
}

async function expectWarning(name: string, words: string): Promise<void> {
  await eventually(async () => {
    const told = (await scene.events(name)).filter(
      ({ reason }) => reason === 'ReleasedWithoutDeletion',
    )
    expect(told).toMatchObject([{ type: 'Warning', note: expect.stringContaining(words) }])
  }, SOON_MS)
}

test('5 minutes where the relay refuses list or deletion, or has never answered and has no Relay; longer where it had', async () => {
  await startAhead(REFUSED_MS - LEFT_MS)
  const unscoped = await relayOf('unscoped', scene.apiUrl, await scene.makeKey())
  const blind = await relayOf('blind', scene.apiUrl, await scene.makeKey('destinations=write'))
  const homeless = { relayRef: { name: 'main' }, projectId: 'prj_01h455vb4pex5vsknk084sn02q' }
  const nowhere = await relayOf('nowhere', 'http://127.0.0.1:1', scene.apiKey)
  const away = await relayOf('away', relay.url, scene.apiKey)
  await scene.apply('sources', 'unscoped', unscoped)
  await scene.apply('sources', 'blind', blind)
  await scene.apply('connectors', 'blind', { ...blind, replicas: 0 })
  await scene.apply('sources', 'homeless', homeless)
  await scene.apply('sources', 'nowhere', nowhere)
  await scene.apply('connectors', 'nowhere', { ...nowhere, replicas: 0 })
  await scene.apply('sources', 'away', away)
  await untilReason('sources', 'unscoped', 'Applied')
  await untilReason('sources', 'away', 'Applied')
  await untilReason('sources', 'homeless', 'RemoteMissing')
  for (const plural of ['sources', 'connectors']) {
    await untilReason(plural, 'blind', 'InsufficientPermissions')
    await untilReason(plural, 'nowhere', 'RelayUnavailable')
  }
  const { sourceId } = (await scene.get('sources', 'unscoped')).status
  const { sourceId: awayId } = (await scene.get('sources', 'away')).status

  relay.watcher = { before: () => 'drop' }
  await scene.remove('relays', 'nowhere')
  await scene.remove('relays', 'away')
  for (const name of ['unscoped', 'blind', 'homeless', 'nowhere', 'away']) {
    await scene.remove('sources', name)
  }
  for (const name of ['blind', 'nowhere']) await scene.remove('connectors', name)
  const deletedAt = Date.now()
  await untilReason('sources', 'unscoped', 'InsufficientPermissions')
  for (const [plural, name] of [
    ['sources', 'unscoped'],
    ['sources', 'blind'],
    ['connectors', 'blind'],
    ['sources', 'homeless'],
    ['sources', 'nowhere'],
    ['connectors', 'nowhere'],
  ] as const) {
    await untilGone(plural, name)
    expect(Date.now() - deletedAt).toBeGreaterThan(LEFT_MS - 2 * SECOND_MS)
  }
  await expectWarning('unscoped', 'explicit grant')
  // It stays where it is, as the warning says.
  expect((await scene.api('DELETE', `/v1/sources/${sourceId}`)).status).toBe(204)

  expect(await scene.list('sources')).toMatchObject([{ metadata: { name: 'away' } }])
  relay.watcher = {}
  await untilGone('sources', 'away')
  expect((await scene.api('GET', `/v1/sources/${awayId}`)).status).toBe(404)
  expect(JSON.stringify(await scene.events('away'))).not.toContain('ReleasedWithoutDeletion')
})

test('a day where the relay has answered once and has no Relay any more; as long as it has one otherwise', async () => {
  await startAhead(DAY_MS - LEFT_MS)
  const gone = await relayOf('gone', relay.url, scene.apiKey)
  const stays = await relayOf('stays', relay.url, await scene.makeKey('sources=write'))
  await scene.apply('sources', 'gone', gone)
  await scene.apply('sources', 'stays', stays)
  await untilReason('sources', 'gone', 'Applied')
  await untilReason('sources', 'stays', 'Applied')
  relay.watcher = { before: () => 'drop' }
  await scene.remove('relays', 'gone')
  for (const name of ['stays', 'gone']) await scene.remove('sources', name)
  const deletedAt = Date.now()
  await untilGone('sources', 'gone')
  expect(Date.now() - deletedAt).toBeGreaterThan(LEFT_MS - 2 * SECOND_MS)
  await expectWarning('gone', 'cannot be reached')
  expect(await scene.list('sources')).toMatchObject([{ metadata: { name: 'stays' } }])
  relay.watcher = {}
  await untilGone('sources', 'stays')
})
