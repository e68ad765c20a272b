import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openScene, type Scene } from './scene.ts'

/**
 * `npm run bench:operator`: a thousand Connectors under a single key with the ordinary limit of requests, and an operator
 * beside Secrets that are not its own.
 */
const COUNT = Number(process.env['CONNECTORS'] ?? 1_000)
/** Eight requests a second, and a little to begin. */
const MADE_MS = (COUNT / 8) * 1_000 + 15_000
const CREATES_AT_ONCE = 20
const REST_S = 120
const RESYNC_MS = 10_000
const MEMORY_MIB = 256
const PATIENCE_MS = 15 * 60_000

const FOREIGN = Number(process.env['FOREIGN_SECRETS'] ?? 30_000)
const FOREIGN_MIB = 20
/** After its start: what it took for that has gone by then. */
const SETTLED_MS = 20_000

type Operator = Awaited<ReturnType<Scene['operator']>>

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(async () => await scene[Symbol.asyncDispose]())

const figures: Record<string, string> = {}
afterAll(() => {
  const lines = Object.entries(figures).map(([figure, value]) => `${figure}: ${value}\n`)
  process.stdout.write(lines.join(''))
})

async function untilLeads(operator: Operator): Promise<number> {
  await eventually(async () => {
    expect(await operator.metric('leader_election_master_status')).toBe(1)
  }, PATIENCE_MS)
  return performance.now()
}

const isMade = ({ status }: { status?: { conditions: { type: string; status: string }[] } }) =>
  status?.conditions.some((one) => one.type === 'EnrollmentReady' && one.status === 'True') === true

const writes = async (operator: Operator): Promise<number> => {
  let sum = 0
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    sum += await operator.metric(`rest_client_requests_total{method="${method}"`)
  }
  for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
    sum += await operator.metric(`postern_operator_relay_requests_total{method="${method}"`)
  }
  return sum
}

const peakMib = ({ pid }: Operator): number => mib(pid, 'VmHWM')
const presentMib = ({ pid }: Operator): number => mib(pid, 'VmRSS')

function mib(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
}

test(
  `${COUNT} Connectors are made as fast as the key allows, rest quietly, and are looked through after a restart`,
  async () => {
    const names = Array.from({ length: COUNT }, (_, at) => `many-${at}`)
    const declare = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        await scene.apply('connectors', name, { relayRef: { name: 'main' }, replicas: 0 })
      }
    }
    await Promise.all(Array.from({ length: CREATES_AT_ONCE }, declare))
    await using first = await scene.operator()
    const began = await untilLeads(first)
    await eventually(async () => {
      expect((await scene.list('connectors')).filter(isMade)).toHaveLength(COUNT)
      await sleep(1_000)
    }, PATIENCE_MS)
    const madeMs = performance.now() - began
    figures['made, s'] = `${(madeMs / 1_000).toFixed(1)} (at most ${MADE_MS / 1_000})`

    await eventually(async () => {
      const before = await writes(first)
      await sleep(30_000)
      expect(await writes(first)).toBe(before)
    }, PATIENCE_MS)
    const asked = async (): Promise<[number, number]> => [
      await first.metric('rest_client_requests_total'),
      await first.metric('postern_operator_relay_requests_total'),
    ]
    const [kubeBefore, relayBefore] = await asked()
    await sleep(REST_S * 1_000)
    const [kubeAfter, relayAfter] = await asked()
    const kubeRate = (kubeAfter - kubeBefore) / REST_S
    const relayRate = ((relayAfter - relayBefore) / REST_S) * 60
    figures['at rest, requests to Kubernetes a second'] = `${kubeRate.toFixed(2)} (under 1)`
    figures['at rest, requests to /v1 a minute'] = `${relayRate.toFixed(1)} (at most 12)`
    figures['memory at its peak, MiB'] = `${peakMib(first).toFixed(0)} (under ${MEMORY_MIB})`
    figures['memory at rest, MiB'] = presentMib(first).toFixed(0)
    const peak = peakMib(first)
    first.kill('SIGTERM')
    await first.exit

    await using second = await scene.operator()
    const ledAt = await untilLeads(second)
    await eventually(async () => {
      const looked = await second.metric(
        'controller_runtime_reconcile_total{controller="connector",result="success"}',
      )
      expect(looked).toBeGreaterThanOrEqual(COUNT)
      expect(await second.metric('workqueue_depth')).toBe(0)
    }, PATIENCE_MS)
    const resyncMs = performance.now() - ledAt
    figures['looked through after a restart, s'] = `${(resyncMs / 1_000).toFixed(1)} (under 10)`
    figures['writes of that'] = String(await writes(second))
    figures['memory then, MiB'] = peakMib(second).toFixed(0)
    expect(await writes(second)).toBe(0)
    expect(peak).toBeLessThan(MEMORY_MIB)
    expect(kubeRate).toBeLessThan(1)
    expect(relayRate).toBeLessThanOrEqual(12)
    expect(madeMs).toBeLessThan(MADE_MS)
    expect(resyncMs).toBeLessThan(RESYNC_MS)
  },
  60 * 60_000,
)

/** Resident memory of an operator some time after its start, MiB. */
async function settledMib(): Promise<number> {
  await using operator = await scene.operator()
  await untilLeads(operator)
  await sleep(SETTLED_MS)
  return presentMib(operator)
}

test(
  `${FOREIGN} foreign Secrets with 1 KB of metadata cost no memory`,
  async () => {
    const before = [await settledMib(), await settledMib(), await settledMib()]
    const annotations = { note: 'x'.repeat(1_024) }
    const names = Array.from({ length: FOREIGN }, (_, at) => `foreign-${at}`)
    const create = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        const metadata = { name, annotations }
        const path = `/api/v1/namespaces/${scene.namespace}/secrets`
        await scene.cluster.request('POST', path, { metadata, stringData: { key: 'x' } })
      }
    }
    await Promise.all(Array.from({ length: CREATES_AT_ONCE }, create))
    const after = [await settledMib(), await settledMib(), await settledMib()]
    const words = (all: number[]): string => all.map((one) => one.toFixed(0)).join(', ')
    figures['memory without foreign Secrets, MiB'] = words(before)
    figures[`memory with ${FOREIGN} of them, MiB`] = words(after)
    expect(median(after) - median(before)).toBeLessThan(FOREIGN_MIB)
  },
  60 * 60_000,
)

const median = (all: number[]): number => all.toSorted((a, b) => a - b)[1] ?? Infinity
