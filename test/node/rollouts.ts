import { setTimeout as sleep } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { cluster, CUSTOMER, MINUTES } from './site.ts'
import { missing, send } from './webhooks.ts'

/** Rollouts of agents that cannot finish. */
const PATH = `/apis/postern.dev/v1alpha1/namespaces/${CUSTOMER}/connectors/inside`
const SOON_MS = 2 * MINUTES

/** A change that no pod comes of, how it is taken back, and the state of `Ready` meanwhile. */
const STUCK = [
  {
    change: { template: { image: 'postern.test/absent:1' } },
    back: { template: null },
    reason: 'ImagePullFailed',
    words: /absent:1/,
  },
  {
    change: { tls: { caSecretRef: { name: 'absent', key: 'ca.crt' } } },
    back: { tls: null },
    reason: 'SecretNotFound',
    words: /"absent"/,
  },
  {
    change: { template: { nodeSelector: { absent: 'yes' } } },
    back: { template: null },
    reason: 'Unschedulable',
    words: /node\(s\) didn't match/,
  },
]

async function change(spec: object): Promise<number> {
  const { metadata } = await cluster.request(
    'PATCH',
    PATH,
    { spec },
    'application/merge-patch+json',
  )
  return metadata.generation
}

/** Resolves when `Ready` of that generation has the status and the reason. */
async function untilReady(generation: number, status: string, reason: string): Promise<string> {
  for (const end = Date.now() + SOON_MS; ; await sleep(500)) {
    const conditions: Record<string, string>[] = (await cluster.request('GET', PATH)).status
      .conditions
    const ready = conditions.find(({ type }) => type === 'Ready')
    const isOfIt = Number(ready?.['observedGeneration']) === generation
    if (isOfIt && ready?.['status'] === status && ready['reason'] === reason) {
      return ready['message'] ?? ''
    }
    if (isOfIt && status !== 'True')
      expect(ready?.['status'], JSON.stringify(ready)).not.toBe('True')
    if (Date.now() > end) throw new Error(`Ready is ${JSON.stringify(ready)}`)
  }
}

export function testRollouts(): void {
  test(
    'a rollout whose pods cannot start is not Ready and says why, while the agents before it deliver',
    testStuck,
    10 * MINUTES,
  )
}

async function testStuck(): Promise<void> {
  for (const { change: spec, back, reason, words: said } of STUCK) {
    const generation = await change(spec)
    expect(await untilReady(generation, 'Unknown', reason)).toMatch(said)
    expect(await missing(await send(3))).toEqual([])
    await untilReady(generation, 'Unknown', reason)
    const { status } = await cluster.request('GET', PATH)
    expect(status.connectedReplicas).toBeGreaterThan(0)
    await untilReady(await change(back), 'True', 'Connected')
  }
}
