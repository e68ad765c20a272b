import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { startCluster, type Cluster } from '../cluster/cluster.ts'
import { loadImage, NODE, untilNodeReady } from './node.ts'

/** Both charts on a real node: private delivery, updates and kills under load, and nothing left afterwards. */
const run = promisify(execFile)
const MINUTES = 60_000
const RELAY = 'postern'
const CUSTOMER = 'customer'

let cluster: Cluster
let helmPath: string
beforeAll(async () => {
  helmPath = (await run('test/cluster/helm.sh')).stdout.trim()
  cluster = await startCluster(NODE)
  const images = z.string().parse(process.env['IMAGES_DIR'])
  for (const name of ['pause', 'postern', 'postgresql', 'nats']) {
    await loadImage(join(images, `${name}.tar`))
  }
  await untilNodeReady(cluster)
  for (const name of [RELAY, CUSTOMER]) {
    await cluster.kubectl('create', 'namespace', name)
    const restricted = 'pod-security.kubernetes.io/enforce=restricted'
    await cluster.kubectl('label', 'namespace', name, restricted)
  }
}, 10 * MINUTES)
afterAll(async () => await cluster?.stop())

const helm = async (...args: string[]): Promise<string> => {
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig }
  return (await run(helmPath, args, { env, maxBuffer: 64 * 1024 * 1024 })).stdout
}
const inRelay = async (...args: string[]): Promise<string> =>
  await cluster.kubectl('-n', RELAY, ...args)
const sets = (...values: string[]): string[] => values.flatMap((value) => ['--set', value])
const words = (text: string): string[] => text.split(' ')
const secret = (bytes: number, form: 'base64' | 'hex'): string => randomBytes(bytes).toString(form)

const VALUES = sets(
  'image.repository=postern.test/postern',
  'image.tag=dev',
  'encryptionKey.existingSecret.name=postern',
  'evaluation.enabled=true',
  'evaluation.postgresql.password.existingSecret.name=postern',
  'evaluation.postgresql.image=postern.test/postgresql:1',
  'evaluation.nats.image=postern.test/nats:1',
)
const WAITING = ['--wait', '--wait-for-jobs', '--timeout', '8m']

async function admin(...args: string[]): Promise<unknown> {
  const program = ['exec', 'deploy/postern-api', '--', 'node', 'api/admin/main.ts']
  return JSON.parse(await inRelay(...program, ...args))
}

const Key = z.object({ key: z.string() })
let key = ''

/** The management API, as a client inside the cluster reaches it. */
async function api(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://postern-api.${RELAY}.svc/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text === '' ? '{}' : text))
}

test(
  'helm install brings the relay up, and helm test sees a webhook delivered through a connector',
  async () => {
    await inRelay(
      ...words('create secret generic postern'),
      `--from-literal=encryption-key=${secret(32, 'base64')}`,
      `--from-literal=postgres-password=${secret(16, 'hex')}`,
    )
    await helm('install', 'postern', 'charts/postern', '-n', RELAY, ...WAITING, ...VALUES)
    expect(await helm('test', 'postern', '-n', RELAY, '--timeout', '3m')).toContain('Succeeded')
    const permissions = ['sources', 'destinations', 'connections', 'connectors', 'deliveries']
    const made = await admin(
      ...words('keys create --name node'),
      ...permissions.flatMap((one) => ['--permission', `${one}=write`]),
    )
    ;({ key } = Key.parse(made))
  },
  15 * MINUTES,
)

/** A service that only pods of its namespace reach: it counts what it gets, by id. */
const SERVICE = `
const seen = new Set()
process.on('SIGTERM', () => process.exit(0))
require('http').createServer((request, response) => {
  if (request.method === 'POST') seen.add(request.headers['webhook-id'])
  request.resume().on('end', () => response.end(JSON.stringify([...seen])))
}).listen(8080)`

async function startService(): Promise<void> {
  const labels = { app: 'billing' }
  const container = {
    name: 'billing',
    image: 'postern.test/postern:dev',
    args: ['-e', SERVICE],
    ports: [{ name: 'http', containerPort: 8080 }],
    readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1 },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  }
  await cluster.request('POST', `/api/v1/namespaces/${CUSTOMER}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'billing', labels },
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
    },
  })
  await cluster.request('POST', `/api/v1/namespaces/${CUSTOMER}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'billing' },
    spec: { selector: labels, ports: [{ port: 8080, targetPort: 'http' }] },
  })
  await cluster.kubectl('-n', CUSTOMER, 'wait', '--for=condition=Ready', 'pod/billing')
}

const received = async (): Promise<Set<string>> => {
  const response = await fetch(`http://billing.${CUSTOMER}.svc:8080/`)
  return new Set(z.array(z.string()).parse(await response.json()))
}

let ingest = ''
test(
  'agents of the second chart deliver to a service of their own namespace',
  async () => {
    await startService()
    const connector = await api('POST', '/connectors', { name: 'customer' })
    await cluster.kubectl(
      ...words(`-n ${CUSTOMER} create secret generic enrollment`),
      `--from-literal=enrollment-key=${String(connector['enrollmentKey'])}`,
    )
    await helm(
      ...words(`install agents charts/postern-connector -n ${CUSTOMER} --wait --timeout 5m`),
      ...sets(
        'mode=agent',
        'image.repository=postern.test/postern',
        'image.tag=dev',
        `agent.relayUrl=http://postern-api.${RELAY}.svc`,
        'agent.enrollmentKey.existingSecret.name=enrollment',
        `agent.allow={http://billing.${CUSTOMER}.svc:8080}`,
      ),
    )
    const source = await api('POST', '/sources', { name: 'node' })
    const destination = await api('POST', '/destinations', {
      name: 'billing',
      url: `http://billing.${CUSTOMER}.svc:8080/hook`,
      mode: 'private',
      connectorId: connector['id'],
    })
    const between = { sourceId: source['id'], destinationId: destination['id'] }
    await api('POST', '/connections', { name: 'node', ...between })
    ingest = `http://postern-ingest.${RELAY}.svc${new URL(String(source['ingestUrl'])).pathname}`
    const [eventId] = await send(1)
    expect(await missing([eventId ?? ''])).toEqual([])
  },
  10 * MINUTES,
)

/** Sends so many webhooks, again until each is accepted; their events' ids. */
async function send(count: number, pauseMs = 0): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    ids.push(await sendOne(at))
    await sleep(pauseMs)
  }
  return ids
}

async function sendOne(at: number): Promise<string> {
  for (const end = Date.now() + MINUTES; ; await sleep(200)) {
    try {
      const body = JSON.stringify({ at })
      const signal = AbortSignal.timeout(10_000)
      const response = await fetch(ingest, { method: 'POST', body, signal })
      if (response.ok) return z.object({ eventId: z.string() }).parse(await response.json()).eventId
      await response.body?.cancel()
    } catch {
      // A pod that went away with the request: no answer, and so nothing that was promised.
    }
    if (Date.now() > end) throw new Error('No ingest takes a webhook')
  }
}

/** Events of which the service has not got the delivery, once there is nothing more to come. */
async function missing(eventIds: readonly string[]): Promise<string[]> {
  let left = [...eventIds]
  for (const end = Date.now() + 3 * MINUTES; left.length > 0 && Date.now() < end;) {
    const seen = await received()
    const still: string[] = []
    for (const eventId of left) {
      const { data } = await api('GET', `/deliveries?eventId=${eventId}`)
      const [delivery] = z.array(z.object({ id: z.string() })).parse(data)
      if (delivery === undefined || !seen.has(delivery.id)) still.push(eventId)
    }
    left = still
    if (left.length > 0) await sleep(1_000)
  }
  return left
}

test(
  'a rolling update of every role under load loses nothing',
  async () => {
    const sending = send(150, 200)
    await inRelay('rollout', 'restart', 'deploy')
    await cluster.kubectl('-n', CUSTOMER, 'rollout', 'restart', 'statefulset')
    await inRelay('rollout', 'status', 'deploy', '--timeout=8m')
    expect(await missing(await sending)).toEqual([])
  },
  15 * MINUTES,
)

test(
  'pods that are killed on the node under load lose nothing',
  async () => {
    const sending = send(100, 200)
    for (const role of ['worker', 'ingest', 'gateway', 'nats', 'postgresql']) {
      const of = `app.kubernetes.io/component=${role}`
      const pod = await inRelay('get', 'pods', '-l', of, '-o', 'jsonpath={.items[0].metadata.name}')
      await inRelay('delete', 'pod', pod, '--force', '--grace-period=0')
      await sleep(3_000)
    }
    expect(await missing(await sending)).toEqual([])
  },
  15 * MINUTES,
)

test(
  'an upgrade with other values takes hold',
  async () => {
    const values = [...VALUES, ...sets('worker.replicas=3', 'settings.logLevel=debug')]
    await helm('upgrade', 'postern', 'charts/postern', '-n', RELAY, ...WAITING, ...values)
    const ready = ['get', 'deploy', 'postern-worker', '-o', 'jsonpath={.status.readyReplicas}']
    expect(await inRelay(...ready)).toBe('3')
    expect(await missing(await send(5))).toEqual([])
  },
  15 * MINUTES,
)

test(
  'an uninstall leaves nothing behind',
  async () => {
    await helm('uninstall', 'agents', '-n', CUSTOMER, '--wait', '--timeout', '3m')
    await helm('uninstall', 'postern', '-n', RELAY, '--wait', '--timeout', '3m')
    const kinds =
      'all,pvc,configmaps,secrets,serviceaccounts,roles,rolebindings,pdb,networkpolicies'
    const left = async (): Promise<string[]> => {
      const names: string[] = []
      for (const namespace of [RELAY, CUSTOMER]) {
        const found = await cluster.kubectl('-n', namespace, 'get', kinds, '-o', 'name')
        names.push(...found.trim().split('\n'))
      }
      // These came before the charts.
      return names.filter(
        (name) => !/root-ca|account\/default|billing|\/postern$|enrollment|^$/.test(name),
      )
    }
    for (const end = Date.now() + 2 * MINUTES; Date.now() < end && (await left()).length > 0;) {
      await sleep(1_000)
    }
    expect(await left()).toEqual([])
  },
  10 * MINUTES,
)
