import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { startCluster, type Cluster } from '../cluster/cluster.ts'
import { loadImage, NODE, untilNodeReady } from './node.ts'

/** Both charts on a real node: private delivery, updates and kills under load, revocation, and nothing left afterwards. */
const run = promisify(execFile)
const MINUTES = 60_000
const RELAY = 'postern'
const CUSTOMER = 'customer'
const OPERATOR = 'operator'

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
  for (const name of [RELAY, CUSTOMER, OPERATOR]) {
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
const inCustomer = async (...args: string[]): Promise<string> =>
  await cluster.kubectl('-n', CUSTOMER, ...args)
const sets = (...values: string[]): string[] => values.flatMap((value) => ['--set', value])
const words = (text: string): string[] => text.split(' ')
const secret = (bytes: number, form: 'base64' | 'hex'): string => randomBytes(bytes).toString(form)

const IMAGE = sets('image.repository=postern.test/postern', 'image.tag=dev')
/** The node has the cores of this machine, and a rolling update needs room beside what runs. */
const ROLES = ['api', 'ingest', 'worker', 'gateway', 'housekeeper']
const SMALL = ROLES.map((role) => `${role}.resources.requests.cpu=20m`)
const VALUES = sets(
  ...SMALL,
  'encryptionKey.existingSecret.name=postern',
  'evaluation.enabled=true',
  'evaluation.postgresql.password.existingSecret.name=postern',
  'evaluation.postgresql.image=postern.test/postgresql:1',
  'evaluation.nats.image=postern.test/nats:1',
).concat(IMAGE)
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
  await inCustomer('wait', '--for=condition=Ready', 'pod/billing', '--timeout=2m')
}

const received = async (): Promise<Set<string>> => {
  const response = await fetch(`http://billing.${CUSTOMER}.svc:8080/`)
  return new Set(z.array(z.string()).parse(await response.json()))
}

/** An object of ours in the customer's namespace, as `kubectl apply` makes it. */
async function declare(kind: string, name: string, spec: object): Promise<void> {
  const plural = `${kind.toLowerCase()}s`
  const path = `/apis/postern.dev/v1alpha1/namespaces/${CUSTOMER}/${plural}/${name}`
  const object = { apiVersion: 'postern.dev/v1alpha1', kind, metadata: { name }, spec }
  const query = '?fieldManager=test&force=true'
  await cluster.request('PATCH', `${path}${query}`, object, 'application/apply-patch+yaml')
}

const BILLING = `http://billing.${CUSTOMER}.svc:8080`
const KINDS = 'connectors,sources,destinations,connections,relays'
const relayRef = { name: 'main' }
/** Ways from the source to the service: so many deliveries has each event. */
let ways = 0
let ingest = ''
let sourceId = ''
test(
  'an operator runs agents for a Connector, and a webhook comes to a service of its namespace',
  async () => {
    await startService()
    await helm(
      ...words(`install operator charts/postern-connector -n ${OPERATOR} --wait --timeout 5m`),
      ...IMAGE,
      ...sets('operator.relayPollSeconds=5', 'operator.resources.requests.cpu=20m'),
    )
    await inCustomer(...words('create secret generic relay'), `--from-literal=key=${key}`)
    await inCustomer(...words('label secret relay postern.dev/use=relay'))
    await declare('Connection', 'node', {
      relayRef,
      sourceRef: { name: 'node' },
      destinationRef: { name: 'billing' },
    })
    await declare('Destination', 'billing', {
      relayRef,
      url: `${BILLING}/hook`,
      mode: 'private',
      connectorRef: { name: 'inside' },
    })
    await declare('Source', 'node', { relayRef })
    await declare('Connector', 'inside', {
      relayRef,
      allow: [{ hosts: [`billing.${CUSTOMER}.svc`], ports: [8080] }],
    })
    await declare('Relay', 'main', {
      baseUrl: `http://postern-api.${RELAY}.svc`,
      apiKeySecretRef: { name: 'relay', key: 'key' },
    })
    await inCustomer('wait', '--for=condition=Ready', KINDS, '--all', '--timeout=4m')
    const { status } = await cluster.request(
      'GET',
      `/apis/postern.dev/v1alpha1/namespaces/${CUSTOMER}/sources/node`,
    )
    sourceId = status.sourceId
    ingest = `http://postern-ingest.${RELAY}.svc${new URL(status.ingestUrl).pathname}`
    ways = 1
    expect(await missing(await send(3))).toEqual([])
  },
  10 * MINUTES,
)

test(
  'agents of the second chart alone, without an operator, deliver to the same service',
  async () => {
    const connector = await api('POST', '/connectors', { name: 'customer' })
    await inCustomer(
      ...words(`create secret generic enrollment`),
      `--from-literal=enrollment-key=${String(connector['enrollmentKey'])}`,
    )
    await helm(
      ...words(`install agents charts/postern-connector -n ${CUSTOMER} --wait --timeout 5m`),
      ...IMAGE,
      ...sets(
        'mode=agent',
        'agent.resources.requests.cpu=20m',
        `agent.relayUrl=http://postern-api.${RELAY}.svc`,
        'agent.enrollmentKey.existingSecret.name=enrollment',
        `agent.allow={${BILLING}}`,
      ),
    )
    const destination = await api('POST', '/destinations', {
      name: 'by agents alone',
      url: `${BILLING}/hook`,
      mode: 'private',
      connectorId: connector['id'],
    })
    await api('POST', '/connections', {
      name: 'by agents alone',
      sourceId,
      destinationId: destination['id'],
    })
    ways = 2
    expect(await missing(await send(3))).toEqual([])
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

/** Events of which the service has not got every delivery, once there is nothing more to come. */
async function missing(eventIds: readonly string[]): Promise<string[]> {
  let left = [...eventIds]
  for (const end = Date.now() + 3 * MINUTES; left.length > 0 && Date.now() < end;) {
    const seen = await received()
    const still: string[] = []
    for (const eventId of left) {
      const { data } = await api('GET', `/deliveries?eventId=${eventId}`)
      const deliveries = z.array(z.object({ id: z.string() })).parse(data)
      const came = deliveries.filter(({ id }) => seen.has(id))
      if (came.length < ways || came.length < deliveries.length) still.push(eventId)
    }
    left = still
    if (left.length > 0) await sleep(1_000)
  }
  return left
}

test(
  'a rolling update of every role, the operator and all agents under load loses nothing',
  async () => {
    const sending = send(150, 200)
    await inRelay('rollout', 'restart', 'deploy')
    await inCustomer('rollout', 'restart', 'statefulset')
    await cluster.kubectl('-n', OPERATOR, 'rollout', 'restart', 'deploy')
    await inRelay('rollout', 'status', 'deploy', '--timeout=8m')
    await inCustomer('rollout', 'status', 'statefulset', '--timeout=8m')
    await cluster.kubectl('-n', OPERATOR, 'rollout', 'status', 'deploy', '--timeout=8m')
    expect(await missing(await sending)).toEqual([])
    await inCustomer('wait', '--for=condition=Ready', KINDS, '--all', '--timeout=4m')
  },
  15 * MINUTES,
)

/** SIGKILL from the node, of which neither the pod nor Kubernetes is told beforehand. */
async function killOnNode(namespace: string, labels: string): Promise<void> {
  const path = 'jsonpath={.items[0].status.containerStatuses[0].containerID}'
  const found = await cluster.kubectl('-n', namespace, 'get', 'pods', '-l', labels, '-o', path)
  const id = found.replace('containerd://', '')
  await run('ctr', ['--namespace', 'k8s.io', 'tasks', 'kill', '--signal', 'SIGKILL', id])
}

test(
  'processes that are killed on the node under load lose nothing',
  async () => {
    const sending = send(100, 200)
    for (const role of ['worker', 'ingest', 'gateway', 'nats', 'postgresql']) {
      await killOnNode(RELAY, `app.kubernetes.io/component=${role}`)
      await sleep(3_000)
    }
    await killOnNode(CUSTOMER, 'app.kubernetes.io/managed-by=postern-operator')
    await killOnNode(CUSTOMER, 'app.kubernetes.io/component=agent')
    await killOnNode(OPERATOR, 'app.kubernetes.io/component=operator')
    expect(await missing(await sending)).toEqual([])
    await inCustomer('wait', '--for=condition=Ready', KINDS, '--all', '--timeout=4m')
  },
  15 * MINUTES,
)

test(
  'an upgrade of both charts with other values takes hold',
  async () => {
    const values = [...VALUES, ...sets('worker.replicas=3', 'settings.logLevel=debug')]
    await helm('upgrade', 'postern', 'charts/postern', '-n', RELAY, ...WAITING, ...values)
    const ready = ['get', 'deploy', 'postern-worker', '-o', 'jsonpath={.status.readyReplicas}']
    expect(await inRelay(...ready)).toBe('3')
    await helm(
      ...words(`upgrade operator charts/postern-connector -n ${OPERATOR} --wait --timeout 5m`),
      ...IMAGE,
      ...sets('operator.relayPollSeconds=2', 'logLevel=debug'),
      ...sets('operator.resources.requests.cpu=20m'),
    )
    expect(await missing(await send(5))).toEqual([])
  },
  15 * MINUTES,
)

/** Until so many agents of the Connector have a session, by its status. */
async function untilConnected(count: number): Promise<void> {
  const wish = `--for=jsonpath={.status.connectedReplicas}=${count}`
  await inCustomer('wait', wish, 'connector/inside', '--timeout=2m')
}

test(
  'a revoked agent has no session, the others deliver, and its next pod enrols anew',
  async () => {
    await untilConnected(2)
    const { status } = await cluster.request(
      'GET',
      `/apis/postern.dev/v1alpha1/namespaces/${CUSTOMER}/connectors/inside`,
    )
    const replicas = await api('GET', `/connectors/${status.connectorId}/replicas`)
    const Replica = z.object({ id: z.string(), name: z.string(), status: z.string() })
    const online = z
      .array(Replica)
      .parse(replicas['data'])
      .find((one) => one.status === 'online')
    const { id, name } = Replica.parse(online)
    await api('POST', `/connectors/${status.connectorId}/replicas/${id}/revoke`, {})
    await untilConnected(1)
    await inCustomer('wait', '--for=condition=Ready=false', `pod/${name}`, '--timeout=2m')
    expect(await missing(await send(5))).toEqual([])
    await inCustomer('delete', 'pod', name)
    await untilConnected(2)
  },
  10 * MINUTES,
)

const Named = z.object({ id: z.string(), name: z.string() })
test(
  'deleted objects leave nothing in the relay, and no pod',
  async () => {
    // It was made by hand, and would hold the source.
    const { data: rules } = await api('GET', '/connections?limit=100')
    for (const { id, name } of z.array(Named).parse(rules)) {
      if (name === 'by agents alone') await api('DELETE', `/connections/${id}`)
    }
    await inCustomer('delete', KINDS, '--all', '--timeout=4m')
    const names: string[] = []
    for (const kind of ['connectors', 'sources', 'destinations', 'connections']) {
      const { data } = await api('GET', `/${kind}?limit=100`)
      for (const { name } of z.array(Named).parse(data)) names.push(name)
    }
    const byHand = new Set(['by agents alone', 'customer'])
    expect(names.filter((name) => !byHand.has(name))).toEqual([])
    const ours = 'app.kubernetes.io/managed-by=postern-operator'
    const kinds = 'pods,statefulsets,secrets,serviceaccounts,pdb,networkpolicies'
    for (const end = Date.now() + MINUTES; Date.now() < end; await sleep(1_000)) {
      if ((await inCustomer('get', kinds, '-l', ours, '-o', 'name')) === '') break
    }
    expect(await inCustomer('get', kinds, '-l', ours, '-o', 'name')).toBe('')
  },
  10 * MINUTES,
)

test(
  'an uninstall leaves nothing behind but the definitions, which are kept',
  async () => {
    for (const [release, namespace] of [
      ['operator', OPERATOR],
      ['agents', CUSTOMER],
      ['postern', RELAY],
    ] as const) {
      await helm(
        ...words(`uninstall ${release} -n ${namespace} --ignore-not-found --wait --timeout 3m`),
      )
    }
    for (
      const end = Date.now() + 2 * MINUTES;
      Date.now() < end && (await leftovers()).length > 0;
    ) {
      await sleep(1_000)
    }
    expect(await leftovers()).toEqual([])
    const definitions = ['crd', '-l', 'app.kubernetes.io/part-of=postern', '-o', 'name']
    expect((await cluster.kubectl('get', ...definitions)).trim().split('\n')).toHaveLength(5)
  },
  10 * MINUTES,
)

/** Objects that did not come before the charts. */
async function leftovers(): Promise<string[]> {
  const kinds =
    'all,pvc,configmaps,secrets,serviceaccounts,roles,rolebindings,pdb,networkpolicies,leases'
  const names: string[] = []
  for (const namespace of [RELAY, CUSTOMER, OPERATOR]) {
    const found = await cluster.kubectl('-n', namespace, 'get', kinds, '-o', 'name')
    names.push(...found.trim().split('\n'))
  }
  const wide = 'clusterroles,clusterrolebindings,validatingwebhookconfigurations'
  const roles = await cluster.kubectl('get', wide, '-o', 'name')
  names.push(...roles.split('\n').filter((name) => name.includes('postern')))
  const before = /root-ca|account\/default|billing|secret\/(postern|relay|enrollment)$|^$/
  return names.filter((name) => !before.test(name))
}
