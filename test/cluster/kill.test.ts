import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { isWrite, openApiProxy } from './api-proxy.ts'
import { openProxy, type Passing, type Watcher } from './proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** An operator that is killed with SIGKILL at every request of its work, and the one that comes after it. */
const POINTS = 50
const DELETIONS = 10
/** A create asks for finalizer, POST, id, Secret, a look and an apply for each other child, status, event. */
const REQUESTS = 14
const ALL = 'kill-'
const MOMENTS = ['unheard', 'late', 'unanswered', 'answered'] as const
/** A life without its request ends so long after its work. */
const REST_MS = 1_500
const SOON_MS = 120_000
/** The same number makes the same run. */
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e6))

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(async () => await scene[Symbol.asyncDispose]())

interface Point {
  /** Requests of which objects count. */
  of: string
  request: number
  moment: (typeof MOMENTS)[number]
  /** How long a request that outlives its sender stays on its way. */
  lateMs: number
}

function random(): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
}

/** Every request of a create in turn, each time at another moment of it. */
function pointsOf(names: readonly string[]): Point[] {
  const next = random()
  return names.map((name, at) => ({
    // Each third life dies of the work that those before it have left.
    of: at % 3 === 2 ? ALL : name,
    request: 1 + (at % REQUESTS),
    moment: MOMENTS[Math.floor(next() * MOMENTS.length)] ?? 'late',
    lateMs: next() * 1_500,
  }))
}

/** Has `kill` called at the point; both servers' requests count, lists and watches do not. */
function watcherOf(point: Point, kill: () => void): Watcher {
  let left = point.request
  const isPoint = (asked: Passing): boolean => {
    const isLook = asked.method === 'GET' && /[?&](limit|watch)=/.test(asked.path)
    const isOfRelay = point.of === ALL && /\/connectors\/cnr_/.test(asked.path)
    const isConcerned = isOfRelay || `${asked.path} ${asked.body}`.includes(point.of)
    return !isLook && !asked.path.includes('/leases') && isConcerned && --left === 0
  }
  let chosen: Passing | undefined
  return {
    async before(asked) {
      if (!isPoint(asked)) return undefined
      chosen = asked
      if (point.moment === 'unheard' || point.moment === 'late') kill()
      if (point.moment === 'unheard') return 'drop'
      if (point.moment === 'late') await sleep(point.lateMs)
      return undefined
    },
    async after(asked, pass) {
      if (asked !== chosen) return await pass()
      if (point.moment === 'unanswered') return kill()
      await pass()
      kill()
    },
  }
}

test(
  `an operator that is killed before, during and after each request makes each connector once (SEED=${seed})`,
  async () => {
    await using api = await openApiProxy(scene.cluster)
    await using relay = await openProxy(scene.apiUrl)
    await scene.relayAt(relay.url)
    let killed = 0
    const live = async (point: Point, isDone: () => Promise<boolean>): Promise<void> => {
      await using operator = await scene.operator({ kubeconfig: api.kubeconfig })
      const watcher = watcherOf(point, () => {
        killed++
        operator.kill('SIGKILL')
      })
      api.watcher = watcher
      relay.watcher = watcher
      const ended = operator.exit.then(() => true)
      while (!(await Promise.race([ended, sleep(300, false)])) && !(await isDone())) continue
      await Promise.race([ended, sleep(REST_MS)])
    }
    const names = Array.from({ length: POINTS }, (_, at) => `kill-${String(at).padStart(2, '0')}`)
    for (const [at, point] of pointsOf(names).entries()) {
      const replicas = at % 10 === 0 ? 1 : 0
      await scene.apply('connectors', names[at] ?? '', { relayRef: { name: 'main' }, replicas })
      await live(point, async () => await isMade(names[at] ?? ''))
    }
    api.watcher = {}
    relay.watcher = {}
    {
      await using _operator = await scene.operator({ kubeconfig: api.kubeconfig })
      await eventually(async () => await expectEach(names), SOON_MS)
      await expectKeysGood(names)
    }
    for (const name of names) await scene.remove('connectors', name)
    for (const point of pointsOf(Array.from({ length: DELETIONS }, () => ALL))) {
      await live(point, async () => (await scene.list('connectors')).length === 0)
    }
    // Some lives end before their request comes.
    expect(killed).toBeGreaterThan((POINTS + DELETIONS) / 2)
    api.watcher = {}
    relay.watcher = {}
    await using _operator = await scene.operator({ kubeconfig: api.kubeconfig })
    await eventually(async () => {
      expect(await scene.list('connectors')).toEqual([])
      expect(await scene.connectors()).toEqual([])
      expect(await children()).toEqual([])
    }, SOON_MS)
    // A request of a dead operator that comes late would make one now.
    await sleep(2_000)
    expect(await scene.connectors()).toEqual([])
    expect(api.seen.filter(isWrite).length).toBeGreaterThan(POINTS * 10)
  },
  10 * 60_000,
)

async function isMade(name: string): Promise<boolean> {
  const ready = await scene.condition('connectors', name, 'Ready')
  return ['ScaledToZero', 'RollingOut'].includes(ready?.reason)
}

/** Each Connector has the one connector that bears its name, and every child once. */
async function expectEach(names: readonly string[]): Promise<void> {
  const objects = await scene.list('connectors')
  const made = await scene.connectors()
  const byId = new Map(made.map((one) => [one.metadata['postern.dev/uid'], one.id]))
  expect(made).toHaveLength(names.length)
  const wanted = objects.map(({ metadata, status }) => [metadata.name, status?.connectorId])
  const found = objects.map(({ metadata }) => [metadata.name, byId.get(metadata.uid)])
  expect(wanted).toEqual(found)
  const conditions = objects.map(({ status }) =>
    status.conditions
      .filter(({ type }: { type: string }) => type === 'Provisioned' || type === 'EnrollmentReady')
      .map((one: { status: string }) => one.status),
  )
  expect(conditions).toEqual(names.map(() => ['True', 'True']))
  expect(await children()).toHaveLength(names.length * KINDS.length)
}

const KINDS = [
  'api/v1/secrets',
  'api/v1/serviceaccounts',
  'apis/apps/v1/statefulsets',
  'apis/policy/v1/poddisruptionbudgets',
  'apis/networking.k8s.io/v1/networkpolicies',
]

/** Every object that the operator has made for a Connector. */
async function children(): Promise<string[]> {
  const found: string[] = []
  for (const kind of KINDS) {
    const [prefix, plural] = [kind.slice(0, kind.lastIndexOf('/')), kind.split('/').at(-1)]
    const labels = 'app.kubernetes.io/managed-by%3Dpostern-operator'
    const path = `/${prefix}/namespaces/${scene.namespace}/${plural}?labelSelector=${labels}`
    const { items } = await scene.cluster.request('GET', path)
    for (const { metadata } of items) found.push(`${plural}/${metadata.name}`)
  }
  return found
}

/** The key in each Secret is the live one of its connector. */
async function expectKeysGood(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = `/api/v1/namespaces/${scene.namespace}/secrets/${name}-connector`
    const { data } = await scene.cluster.request('GET', path)
    const key = Buffer.from(data['enrollment-key'], 'base64').toString('utf8')
    await eventually(async () => {
      const response = await fetch(`${scene.apiUrl}/v1/connectors/bootstrap`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ instanceName: name, version: '1', startedAt: new Date() }),
      })
      await response.body?.cancel()
      expect(response.status, name).toBe(200)
    }, SOON_MS)
  }
}
