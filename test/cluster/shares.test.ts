import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openProxy, type Proxy } from './proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** A tenant with much to do, one whose relay hangs and one whose list has no end hold up no other. */
const SOON_MS = 60_000
const MANY = 300
const HANGING = 20
/** More than the same takes alone. */
const MORE_MS = 3_000

let scene: Scene
let hanging: Proxy
let endless: Proxy
beforeAll(async () => {
  scene = await openScene()
  hanging = await openProxy(scene.apiUrl)
  endless = await openProxy(scene.apiUrl)
  await scene.operator()
})
afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await hanging[Symbol.asyncDispose]()
  await endless[Symbol.asyncDispose]()
})

async function relayOf(name: string, baseUrl: string): Promise<object> {
  await scene.secret(name, { key: await scene.makeKey('connectors=write') }, 'relay')
  await scene.apply('relays', name, { baseUrl, apiKeySecretRef: { name, key: 'key' } })
  return { relayRef: { name }, replicas: 0 }
}

/** How long a new Connector takes until all is made for it. */
async function timeOf(name: string, spec: object): Promise<number> {
  const began = performance.now()
  await scene.apply('connectors', name, spec)
  await eventually(async () => {
    const ready = await scene.condition('connectors', name, 'Ready')
    expect(ready).toMatchObject({ reason: 'ScaledToZero' })
  }, SOON_MS)
  return performance.now() - began
}

test('a new Connector is made as fast beside 300 of another key, a relay that hangs and a list without an end', async () => {
  const own = await relayOf('own', scene.apiUrl)
  await timeOf('first', own)
  const aloneMs = await timeOf('alone', own)

  hanging.watcher = { before: async () => await new Promise(() => {}) }
  const item = {
    name: 'x',
    updatedAt: '2026-11-26T12:00:00Z',
    metadata: { text: 'y'.repeat(9_000) },
  }
  let page = 0
  endless.watcher = {
    before: () => {
      page++
      const data = Array.from({ length: 100 }, (_, at) => ({ id: `cnr_${page}_${at}`, ...item }))
      return { status: 200, body: { data, nextCursor: `${page}` } }
    },
  }
  const silent = await relayOf('silent', hanging.url)
  const long = await relayOf('long', endless.url)
  const busy = await relayOf('busy', scene.apiUrl)
  await scene.apply('connectors', 'long', long)
  const names = (count: number, prefix: string): string[] =>
    Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
  await Promise.all(
    names(HANGING, 'silent').map(async (name) => await scene.apply('connectors', name, silent)),
  )
  await Promise.all(
    names(MANY, 'busy').map(async (name) => await scene.apply('connectors', name, busy)),
  )
  // The median of three: a single one may meet a pause of the machine.
  const timesMs: number[] = []
  for (const name of names(3, 'beside')) timesMs.push(await timeOf(name, own))
  const besideMs = timesMs.toSorted((a, b) => a - b)[1]
  const figures = `ms alone ${aloneMs.toFixed()}, beside ${timesMs.map((ms) => ms.toFixed()).join(', ')}`
  expect(besideMs, figures).toBeLessThan(aloneMs + MORE_MS)
  // They were all under way.
  expect(hanging.seen.length).toBeGreaterThan(0)
  expect(page).toBeGreaterThan(0)
  const made = await scene.list('connectors')
  const isMade = ({ metadata, status }: (typeof made)[number]): boolean =>
    metadata.name.startsWith('busy-') && status?.connectorId !== undefined
  expect(made.filter(isMade).length).toBeLessThan(MANY)
}, 180_000)
