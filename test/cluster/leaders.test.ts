import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { type ApiProxy, isWrite, openApiProxy } from './api-proxy.ts'
import { openProxy, type Proxy } from './proxy.ts'
import { openScene, type Scene } from './scene.ts'

const FAILOVER_MS = 20_000
const SOON_MS = 60_000

type Operator = Awaited<ReturnType<Scene['operator']>>

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(async () => await scene[Symbol.asyncDispose]())

const leads = async (operator: Operator): Promise<boolean> =>
  (await operator.metric('leader_election_master_status')) === 1

/** Milliseconds until it leads. */
async function untilLeads(operator: Operator): Promise<number> {
  const began = performance.now()
  await eventually(async () => expect(await leads(operator)).toBe(true), SOON_MS)
  return performance.now() - began
}

async function untilProvisioned(...names: string[]): Promise<void> {
  await eventually(async () => {
    for (const name of names) {
      const condition = await scene.condition('connectors', name, 'EnrollmentReady')
      expect(condition, name).toMatchObject({ status: 'True' })
    }
  }, SOON_MS)
}

const declare = async (name: string): Promise<void> => {
  await scene.apply('connectors', name, { relayRef: { name: 'main' }, replicas: 0 })
}

const startThrough = async (proxy: ApiProxy, name: string): Promise<Operator> =>
  await scene.operator({ name, kubeconfig: proxy.kubeconfig })

const writes = (...proxies: Proxy[]): number =>
  proxies.flatMap(({ seen }) => seen.filter(isWrite)).length

test('a standby is ready, and takes over in 20 s from a leader that is frozen, which then writes nothing more', async () => {
  await using first = await openApiProxy(scene.cluster)
  await using second = await openApiProxy(scene.cluster)
  await using relay = await openProxy(scene.apiUrl)
  await scene.relayAt(relay.url)
  await using a = await startThrough(first, 'a')
  await untilLeads(a)
  await using b = await startThrough(second, 'b')
  await eventually(async () => expect(await b.isReady()).toBe(true), SOON_MS)
  expect(await leads(b)).toBe(false)
  const names = Array.from({ length: 12 }, (_, at) => `frozen-${at}`)
  for (const name of names) await declare(name)
  // In the midst of its work, so that it has requests to send when it wakes.
  await eventually(() => expect(writes(first)).toBeGreaterThan(20), SOON_MS)
  a.kill('SIGSTOP')
  expect(await untilLeads(b)).toBeLessThan(FAILOVER_MS)
  await untilProvisioned(...names)
  // The new leader is at rest: from here on each write is the old one's.
  await eventually(async () => {
    const before = writes(second, relay)
    await sleep(4_000)
    expect(writes(second, relay)).toBe(before)
  }, SOON_MS)
  const before = writes(first, relay)
  a.kill('SIGCONT')
  expect(await a.exit).toBe(1)
  expect(writes(first, relay)).toBe(before)
  expect(await scene.connectors()).toHaveLength(names.length)
  b.kill('SIGTERM')
  expect(await b.exit).toBe(0)
})

test('a standby takes over in 20 s from a leader that is killed, and one of the same name at once', async () => {
  await scene.relayAt(scene.apiUrl)
  await using a = await scene.operator({ name: 'c' })
  await untilLeads(a)
  await using b = await scene.operator({ name: 'd' })
  await eventually(async () => expect(await b.isReady()).toBe(true), SOON_MS)
  a.kill('SIGKILL')
  expect(await untilLeads(b)).toBeLessThan(FAILOVER_MS)
  await declare('after-a-kill')
  await untilProvisioned('after-a-kill')
  b.kill('SIGKILL')
  await b.exit
  // Nobody else would get it for ten minutes.
  const patch = { spec: { leaseDurationSeconds: 600 } }
  const type = 'application/merge-patch+json'
  await scene.cluster.request('PATCH', scene.lease, patch, type)
  await using again = await scene.operator({ name: 'd' })
  await untilLeads(again)
})
