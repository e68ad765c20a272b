import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { testLeaving } from './leaving.ts'
import { testRollouts } from './rollouts.ts'
import {
  api,
  cluster,
  CUSTOMER,
  declare,
  helm,
  IMAGE,
  inCustomer,
  inRelay,
  made,
  MINUTES,
  openSite,
  OPERATOR,
  OPERATOR_VALUES,
  RELAY,
  run,
  sets,
  VALUES,
  WAITING,
  words,
} from './site.ts'
import { missing, send } from './webhooks.ts'

/** Both charts on a real node: private delivery, updates and kills under load, revocation, and nothing left afterwards. */
beforeAll(openSite, 10 * MINUTES)
afterAll(async () => await cluster?.stop())

const secret = (bytes: number, form: 'base64' | 'hex'): string => randomBytes(bytes).toString(form)

async function admin(...args: string[]): Promise<unknown> {
  const program = ['exec', 'deploy/postern-api', '--', 'node', 'api/admin/main.ts']
  return JSON.parse(await inRelay(...program, ...args))
}

const Key = z.object({ key: z.string() })
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
    const answer = await admin(
      ...words('keys create --name node'),
      ...permissions.flatMap((one) => ['--permission', `${one}=write`]),
    )
    made.key = Key.parse(answer).key
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

const BILLING = `http://billing.${CUSTOMER}.svc:8080`
const KINDS = 'connectors,sources,destinations,connections,relays'
const relayRef = { name: 'main' }
test(
  'an operator runs agents for a Connector, and a webhook comes to a service of its namespace',
  async () => {
    await startService()
    await helm(
      ...words(`install operator charts/postern-connector -n ${OPERATOR} --wait --timeout 5m`),
      ...OPERATOR_VALUES,
      ...sets('operator.relayPollSeconds=5'),
    )
    await inCustomer(...words('create secret generic relay'), `--from-literal=key=${made.key}`)
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
    made.sourceId = status.sourceId
    made.ingest = `http://postern-ingest.${RELAY}.svc${new URL(status.ingestUrl).pathname}`
    made.ways = 1
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
      sourceId: made.sourceId,
      destinationId: destination['id'],
    })
    made.ways = 2
    expect(await missing(await send(3))).toEqual([])
  },
  10 * MINUTES,
)

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
      ...OPERATOR_VALUES,
      ...sets('operator.relayPollSeconds=2', 'logLevel=debug'),
    )
    expect(await missing(await send(5))).toEqual([])
  },
  15 * MINUTES,
)

testRollouts()

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

testLeaving()

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
