import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { inject } from 'vitest'

import { freePorts } from '../../standalone/processes/ports.ts'
import { callApi, type Answer as ApiAnswer } from '../kit/call-api.ts'
import { runAdmin, SURROUNDINGS } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'
import { openCluster, type Answer, type Cluster } from './cluster.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const GROUP = '/apis/postern.dev/v1alpha1'

/** A namespace with a Relay whose key may do everything, and calls to both sides. */
export interface Scene extends AsyncDisposable {
  cluster: Cluster
  namespace: string
  apiUrl: string
  apiKey: string
  /** The path of the operators' Lease. */
  lease: string
  operator(options?: OperatorOptions): Promise<OperatorProcess>
  /** Server-side, as `kubectl apply` does. */
  apply(plural: string, name: string, spec: object, metadata?: object): Promise<Answer>
  get(plural: string, name: string): Promise<Answer>
  /** Undefined when it is not there. */
  find(path: string): Promise<Answer>
  list(plural: string): Promise<Answer[]>
  merge(plural: string, name: string, patch: object): Promise<Answer>
  remove(plural: string, name: string): Promise<void>
  api(method: string, path: string, body?: unknown): Promise<ApiAnswer>
  /** Every connector of the relay that belongs to an object of this namespace. */
  connectors(): Promise<Answer[]>
  /** A Secret that objects of every kind may name, unless `use` says which. */
  secret(name: string, data: Record<string, string>, use?: string): Promise<void>
  condition(plural: string, name: string, type: string): Promise<Answer>
  /** Declares the Relay `main`, with the key of the Secret `key`. */
  relayAt(baseUrl: string): Promise<void>
  /** An API key of the installation with these permissions alone, such as `connectors=read`; without any, an unscoped one. */
  makeKey(...permissions: string[]): Promise<string>
  /** Events of the namespace that regard the object of that name. */
  events(name: string): Promise<Answer[]>
}

interface OperatorOptions {
  name?: string
  env?: Record<string, string>
  kubeconfig?: string
}

interface OperatorProcess extends AsyncDisposable {
  pid: number
  opsUrl: string
  log: string
  exit: Promise<number | null>
  kill(signal: NodeJS.Signals): void
  isReady(): Promise<boolean>
  metric(name: string): Promise<number>
}

let count = 0

export async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const cluster = await openCluster(inject('clusterDir'))
  const dataDir = inject('relayDir')
  const told = JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8'))
  const namespace = `test-${process.pid}-${count++}`
  await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  const apiKey = await makeKey(dataDir, namespace, [
    'connectors=write',
    'sources=write',
    'destinations=write',
    'connections=write',
  ])
  const logs = stack.use(scratch()).path
  const operators = new Set<OperatorProcess>()
  stack.defer(async () => {
    for (const one of operators) await one[Symbol.asyncDispose]()
  })
  const pathOf = (plural: string, name = ''): string =>
    `${GROUP}/namespaces/${namespace}/${plural}${name === '' ? '' : `/${name}`}`
  const find = async (path: string): Promise<Answer> =>
    await cluster.request('GET', path).catch((error: { status?: number }) => {
      if (error.status === 404) return undefined
      throw error
    })
  const scene: Scene = {
    cluster,
    namespace,
    apiUrl: told.apiUrl,
    apiKey,
    lease: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/postern-operator`,
    async operator(options = {}) {
      const started = await startOperator(cluster, namespace, logs, options)
      operators.add(started)
      return started
    },
    async apply(plural, name, spec, metadata = {}) {
      const kind = {
        relays: 'Relay',
        connectors: 'Connector',
        sources: 'Source',
        destinations: 'Destination',
        connections: 'Connection',
      }[plural]
      const body = {
        apiVersion: 'postern.dev/v1alpha1',
        kind,
        metadata: { name, ...metadata },
        spec,
      }
      const path = `${pathOf(plural, name)}?fieldManager=test&force=true`
      return await cluster.request('PATCH', path, body, 'application/apply-patch+yaml')
    },
    get: async (plural, name) => await cluster.request('GET', pathOf(plural, name)),
    find,
    list: async (plural) => (await cluster.request('GET', pathOf(plural))).items,
    merge: async (plural, name, patch) =>
      await cluster.request('PATCH', pathOf(plural, name), patch, 'application/merge-patch+json'),
    async remove(plural, name) {
      await cluster.request('DELETE', pathOf(plural, name))
    },
    api: async (method, path, body) =>
      await callApi(told.apiUrl, { method, path, body }, { key: apiKey }),
    async connectors() {
      const found: Answer[] = []
      let cursor = ''
      do {
        const { body } = await scene.api('GET', `/v1/connectors?limit=100${cursor}`)
        found.push(...body.data)
        cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`
      } while (cursor !== '')
      return found.filter(({ metadata }) => metadata['postern.dev/namespace'] === namespace)
    },
    async secret(name, data, use = 'relay.connector.source.destination') {
      const labels = use === '' ? {} : { 'postern.dev/use': use }
      const metadata = { name, labels }
      const body = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: data }
      const path = `/api/v1/namespaces/${namespace}/secrets/${name}?fieldManager=test&force=true`
      await cluster.request('PATCH', path, body, 'application/apply-patch+yaml')
    },
    async condition(plural, name, type) {
      const { status } = await scene.get(plural, name)
      return status?.conditions?.find((one: { type: string }) => one.type === type)
    },
    async relayAt(baseUrl) {
      const apiKeySecretRef = { name: 'key', key: 'apiKey' }
      await scene.apply('relays', 'main', { baseUrl, apiKeySecretRef })
    },
    makeKey: async (...permissions) =>
      await makeKey(dataDir, `${namespace}-${count++}`, permissions),
    async events(name) {
      const { items } = await cluster.request(
        'GET',
        `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
      )
      return items.filter(({ regarding }: Answer) => regarding.name === name)
    },
    [Symbol.asyncDispose]: async () => {},
  }
  await scene.secret('key', { apiKey })
  await scene.relayAt(told.apiUrl)
  const owned = stack.move()
  scene[Symbol.asyncDispose] = async () => await owned.disposeAsync()
  return scene
}

/** An API key of the installation, made as an administrator makes one. */
async function makeKey(
  dataDir: string,
  name: string,
  permissions: readonly string[],
): Promise<string> {
  const granted = permissions.flatMap((permission) => ['--permission', permission])
  const words = granted.length === 0 ? ['--unscoped'] : granted
  const ran = await runAdmin(['keys', 'create', '--name', name, ...words], { DATA_DIR: dataDir })
  if (ran.code !== 0) throw new Error(ran.stderr)
  return JSON.parse(ran.stdout).key
}

/** As the chart starts it. */
const CHART_ARGUMENTS =
  /args: \[(.+)\]/
    .exec(readFileSync(join(ROOT, 'charts/postern-connector/templates/operator.yaml'), 'utf8'))?.[1]
    ?.split(', ') ?? []

async function startOperator(
  cluster: Cluster,
  namespace: string,
  logs: string,
  { name = 'operator', env = {}, kubeconfig }: OperatorOptions,
): Promise<OperatorProcess> {
  const [port = 0] = await freePorts(1)
  const log = join(logs, `${name}-${count++}.log`)
  const child: ChildProcess = spawn(process.execPath, CHART_ARGUMENTS, {
    cwd: ROOT,
    env: {
      ...SURROUNDINGS,
      KUBECONFIG: kubeconfig ?? cluster.kubeconfig,
      POD_NAMESPACE: namespace,
      WATCH_NAMESPACES: namespace,
      INSTANCE_NAME: name,
      OPS_PORT: String(port),
      HOST: '127.0.0.1',
      CONNECTOR_IMAGE: 'postern.test/postern:test',
      RELAY_POLL_SECONDS: '2',
      // The relays of tests are on this machine.
      ALLOWED_RELAYS: '127.0.0.0/8',
      ALLOWED_TEMPLATE_MEMBERS: 'annotations',
      LOG_LEVEL: 'info',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = createWriteStream(log)
  child.stdout?.pipe(written, { end: false })
  child.stderr?.pipe(written, { end: false })
  const exit = once(child, 'exit').then(([code]): number | null => code)
  const opsUrl = `http://127.0.0.1:${port}`
  const started: OperatorProcess = {
    pid: child.pid ?? 0,
    opsUrl,
    log,
    exit,
    kill: (signal) => void child.kill(signal),
    async isReady() {
      return await fetch(`${opsUrl}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      )
    },
    async metric(metric) {
      const text = await (await fetch(`${opsUrl}/metrics`)).text()
      const lines = text.split('\n').filter((line) => line.startsWith(metric))
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exit
    },
  }
  return started
}

const POD_LOOK_MS = 200

/** The status of a pod, as the scheduler or a kubelet would write it: none of them is here. */
export async function showPod(scene: Scene, pod: string, status: object): Promise<void> {
  const path = `/api/v1/namespaces/${scene.namespace}/pods/${pod}/status`
  await scene.cluster.request('PATCH', path, { status }, 'application/merge-patch+json')
}

const readiness = (isReady: boolean): object => ({
  phase: 'Running',
  conditions: [
    {
      type: 'Ready',
      status: isReady ? 'True' : 'False',
      // Without a time it never becomes available.
      lastTransitionTime: new Date().toISOString(),
    },
  ],
})

/** Shows a pod as ready while its agent runs, whenever it is made anew. */
function standInForKubelet(scene: Scene, pod: string): AsyncDisposable {
  const path = `/api/v1/namespaces/${scene.namespace}/pods/${pod}`
  let hasEnded = false
  const look = async (): Promise<void> => {
    const found = await scene.find(path).catch(() => undefined)
    const isReady = (found?.status?.conditions ?? []).some(
      ({ type, status }: Answer) => type === 'Ready' && status === 'True',
    )
    if (found === undefined || isReady || hasEnded) return
    await showPod(scene, pod, readiness(true)).catch(() => {})
  }
  const timer = setInterval(() => void look(), POD_LOOK_MS)
  return {
    async [Symbol.asyncDispose]() {
      hasEnded = true
      clearInterval(timer)
      await showPod(scene, pod, readiness(false)).catch(() => {})
    },
  }
}

/** An agent of a Connector, with the key of its Secret, as its pod would run it. */
export async function startAgent(
  scene: Scene,
  connector: string,
  instance: string,
): Promise<AsyncDisposable> {
  const secret = await scene.cluster.request(
    'GET',
    `/api/v1/namespaces/${scene.namespace}/secrets/${connector}-connector`,
  )
  const state = scratch()
  const key = Buffer.from(secret.data['enrollment-key'], 'base64').toString('utf8')
  const child = spawn(process.execPath, ['connector-agent/main.ts'], {
    cwd: ROOT,
    env: {
      ...SURROUNDINGS,
      POSTERN_URL: scene.apiUrl,
      POSTERN_ENROLLMENT_KEY: key,
      POSTERN_ALLOW: '[{"hosts":["payroll.internal"]}]',
      STATE_DIR: state.path,
      INSTANCE_NAME: instance,
    },
    stdio: 'ignore',
  })
  const kubelet = standInForKubelet(scene, instance)
  return {
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]()
      if (child.exitCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      state[Symbol.dispose]()
    },
  }
}
