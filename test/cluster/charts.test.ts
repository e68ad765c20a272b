import { readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { openCluster, type Cluster } from './cluster.ts'
import { openCharts, LEAST, NAMESPACE, type Charts, type Rendered } from './rendered.ts'
import { expectRunbook, Rules, testRules } from './rules.ts'

const CLUSTER_MS = 120_000
const RUNTIME_CLASS = 'gvisor'

let cluster: Cluster
let charts: Charts
beforeAll(async () => {
  charts = await openCharts()
  cluster = await openCluster(inject('clusterDir'))
  await cluster.kubectl('create', 'namespace', NAMESPACE)
  const restricted = 'pod-security.kubernetes.io/enforce=restricted'
  await cluster.kubectl('label', 'namespace', NAMESPACE, restricted)
  // A pod is refused without them, also where it is only tried.
  await cluster.kubectl('create', 'serviceaccount', 'r-postern', '-n', NAMESPACE)
  const runtimeClass = { metadata: { name: RUNTIME_CLASS }, handler: 'runsc' }
  await cluster.request('POST', '/apis/node.k8s.io/v1/runtimeclasses', runtimeClass)
}, 20 * 60_000)
afterAll(async () => {
  await cluster.kubectl('delete', 'namespace', NAMESPACE, 'elsewhere', '--ignore-not-found')
  await cluster.kubectl('delete', 'runtimeclass', RUNTIME_CLASS)
  await charts[Symbol.asyncDispose]()
})

const SECRET = { existingSecret: { name: 'postern' } }
const { image } = LEAST
const EVALUATION = {
  image,
  encryptionKey: SECRET,
  evaluation: { enabled: true, postgresql: { password: SECRET } },
}
/** Values of all pods, by which both charts know them. */
const PODS = {
  commonLabels: { 'cost-center': '42' },
  runtimeClassName: RUNTIME_CLASS,
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['db.test'] }],
  dnsConfig: { searches: ['test'], options: [{ name: 'ndots', value: '2' }] },
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
  podDisruptionBudget: { minAvailable: '50%' },
}
const EVERYTHING = {
  ...LEAST,
  ...PODS,
  database: { ...SECRET, caSecret: { name: 'ca' } },
  spool: { ...SECRET, maxMb: 2_048 },
  global: { image: { ...image, tag: '1', pullSecrets: [{ name: 'pull' }] } },
  image: {},
  urls: { api: 'https://api.test', ingest: 'https://in.test', gateway: 'wss://gw.test' },
  settings: {
    trustedProxies: ['10.0.0.0/8'],
    deliveryAllowCidrs: ['192.168.0.0/16'],
    plans: { hobby: { deliveryQuota: 1 } },
  },
  extraEnv: [{ name: 'TZ', value: 'UTC' }],
  ingress: { enabled: true, className: 'nginx', tlsSecretName: 'tls', annotations: { a: 'b' } },
  api: { ingress: { className: 'inside', tlsSecretName: 'inside', tlsHosts: ['*.test'] } },
  ingest: {
    ingress: { annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' } },
    service: {
      type: 'LoadBalancer',
      loadBalancerClass: 'balancers.test/outside',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      ipFamilyPolicy: 'SingleStack',
      ipFamilies: ['IPv4'],
    },
  },
  gateway: {
    ingress: { enabled: false },
    service: { type: 'NodePort', externalTrafficPolicy: 'Cluster' },
  },
  networkPolicy: { enabled: true, monitoringFrom: [{ namespaceSelector: {} }] },
  worker: {
    autoscaling: {
      enabled: true,
      maxReplicas: 5,
      targetMemoryUtilization: 80,
      metrics: [
        {
          type: 'Pods',
          pods: { metric: { name: 'held' }, target: { type: 'AverageValue', averageValue: '1' } },
        },
      ],
    },
    podDisruptionBudget: { maxUnavailable: 2 },
    extraVolumes: [{ name: 'tmp', emptyDir: { sizeLimit: '1Gi' } }],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ operator: 'Exists' }],
    priorityClassName: 'high',
    podAnnotations: { a: 'b' },
    extraEnv: [{ name: 'X', value: 'y' }],
  },
  grafanaDashboard: { enabled: true },
  operator: {
    ...PODS,
    enabled: true,
    grafanaDashboard: { enabled: true },
    networkPolicy: { monitoringFrom: [{ namespaceSelector: {} }] },
    operator: {
      watchNamespaces: [NAMESPACE],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { 'app.kubernetes.io/component': 'operator' } },
        },
      ],
    },
  },
}
/** The operator alone, with what EVERYTHING gives it. */
const OPERATOR = { image, ...EVERYTHING.operator }
const AGENT = {
  image,
  mode: 'agent',
  agent: {
    relayUrl: 'https://api.test',
    enrollmentKey: SECRET,
    allow: ['http://*.internal:8080'],
    caSecret: { name: 'ca' },
    destinationCaSecret: { name: 'ca' },
    clientCertSecret: 'client',
  },
}
/** Kinds of others, which a bare API server does not know. */
const FOREIGN = {
  serviceMonitor: { enabled: true },
  prometheusRule: { enabled: true, runbookUrl: 'https://docs.test/runbook' },
  gatewayApi: { enabled: true, parentRefs: [{ name: 'gateway' }] },
}

/** The same of the operator. */
const WATCHED = {
  serviceMonitor: { enabled: true },
  agentPodMonitor: { enabled: true },
  prometheusRule: FOREIGN.prometheusRule,
}

const VALUES: [name: string, chart: string, values: object][] = [
  ['postern with the least values', 'postern', LEAST],
  ['postern for evaluation', 'postern', EVALUATION],
  ['postern with everything', 'postern', EVERYTHING],
  ['postern without a gateway', 'postern', { ...LEAST, gateway: { enabled: false } }],
  ['postern-connector as an operator', 'postern-connector', { image }],
  [
    'postern-connector in some namespaces',
    'postern-connector',
    { image, operator: { watchNamespaces: [NAMESPACE] } },
  ],
  ['postern-connector with everything', 'postern-connector', OPERATOR],
  ['postern-connector as agents', 'postern-connector', AGENT],
]

test.each(VALUES)('%s passes helm lint', async (_, chart, values) => {
  const file = join(await mkdtemp(join(charts.scratch, 'lint-')), 'values.json')
  await writeFile(file, JSON.stringify(values))
  expect(await charts.helm('lint', '--strict', `charts/${chart}`, '-f', file)).toContain(
    '0 chart(s) failed',
  )
})

test.each(VALUES)(
  '%s: the API server takes every object, strictly',
  async (_, chart, values) => {
    const objects = await charts.render(chart, values)
    const file = join(await mkdtemp(join(charts.scratch, 'objects-')), 'objects.json')
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    await writeFile(file, JSON.stringify(list))
    const said = await cluster.kubectl(
      ...'apply --server-side --force-conflicts --dry-run=server --validate=strict -f'.split(' '),
      file,
    )
    expect(said.trim().split('\n')).toHaveLength(objects.length)
  },
  CLUSTER_MS,
)

/** The pod of each object that makes some. */
function podsOf(objects: readonly Rendered[]): { name: string; spec: object }[] {
  const Named = z.looseObject({ metadata: z.object({ name: z.string() }) })
  const Template = z.object({
    template: z.object({ spec: z.looseObject({ volumes: z.array(z.unknown()).default([]) }) }),
    volumeClaimTemplates: z.array(Named).default([]),
  })
  return objects.flatMap(({ kind, metadata, ...rest }) => {
    if (kind === 'Pod')
      return [{ name: metadata.name, spec: z.looseObject({}).parse(rest['spec']) }]
    if (!['Deployment', 'StatefulSet', 'Job'].includes(kind)) return []
    const { template, volumeClaimTemplates } = Template.parse(rest['spec'])
    const claimed = volumeClaimTemplates.map(({ metadata: { name } }) => ({ name, emptyDir: {} }))
    const volumes = [...template.spec.volumes, ...claimed]
    return [{ name: metadata.name, spec: { ...template.spec, volumes } }]
  })
}

test.each(VALUES)(
  '%s: every pod is restricted',
  async (_, chart, values) => {
    const pods = podsOf(await charts.render(chart, values))
    expect(pods.length).toBeGreaterThan(0)
    for (const { name, spec } of pods) {
      // A pod of its own needs no account that the release would make.
      const pod = { ...spec, serviceAccountName: 'default', priorityClassName: undefined }
      const restartPolicy = { restartPolicy: 'Always', ...spec }.restartPolicy
      await cluster.request('POST', `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { ...pod, restartPolicy },
      })
    }
  },
  CLUSTER_MS,
)

test('an agent has more time to stop than it takes for its requests', async () => {
  const [agent] = podsOf(await charts.render('postern-connector', AGENT))
  const { terminationGracePeriodSeconds } = z
    .looseObject({ terminationGracePeriodSeconds: z.number() })
    .parse(agent?.spec)
  expect(terminationGracePeriodSeconds).toBeGreaterThan(65)
})

const NO_IDS = { podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } }

test.each([
  ['postern', { ...LEAST, ...NO_IDS, operator: { enabled: true, image, ...NO_IDS } }],
  ['postern-connector', { image, ...NO_IDS }],
  ['postern-connector', { ...AGENT, ...NO_IDS }],
])('the pods of %s have no ids where the cluster gives them its own', async (chart, values) => {
  const pods = podsOf(await charts.render(chart, values))
  expect(pods.length).toBeGreaterThan(0)
  for (const { spec } of pods) {
    expect(spec).toHaveProperty('securityContext.runAsNonRoot', true)
    expect(JSON.stringify(spec)).not.toMatch(/runAsUser|runAsGroup|fsGroup/)
  }
})

const Environment = z.array(z.looseObject({ name: z.string() }))
const WithEnvironment = z.object({
  containers: z.array(z.object({ name: z.string(), env: Environment })),
})

test.each([
  [
    'postern',
    {
      ...LEAST,
      extraEnv: [
        { name: 'TZ', value: 'UTC' },
        { name: 'LOG_LEVEL', value: 'warn' },
      ],
      worker: {
        extraEnv: [
          { name: 'LOG_LEVEL', value: 'debug' },
          { name: 'TZ', value: 'Asia/Tokyo' },
        ],
      },
      operator: {
        enabled: true,
        image,
        operator: { extraEnv: [{ name: 'HOST', value: '0.0.0.0' }] },
      },
    },
    { worker: { LOG_LEVEL: 'debug', TZ: 'Asia/Tokyo' }, api: { LOG_LEVEL: 'warn', TZ: 'UTC' } },
  ],
  [
    'postern-connector',
    { ...AGENT, agent: { ...AGENT.agent, extraEnv: [{ name: 'HOST', value: '0.0.0.0' }] } },
    { agent: { HOST: '0.0.0.0' } },
  ],
])('an extraEnv of %s takes the place of what it names', async (chart, values, expected) => {
  const containers = podsOf(await charts.render(chart, values)).flatMap(
    ({ spec }) => WithEnvironment.safeParse(spec).data?.containers ?? [],
  )
  for (const { name, env } of containers) {
    const names = env.map((one) => one.name)
    // Server-side apply keys the list by name, and refuses a second item of one.
    expect(names, name).toEqual([...new Set(names)])
  }
  for (const [name, members] of Object.entries(expected)) {
    const env = containers.find((one) => one.name === name)?.env ?? []
    const shown = Object.fromEntries(env.map((one) => [one.name, one['value']]))
    expect(shown, name).toMatchObject(members)
  }
})

const POD_ADDRESS = { valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }

test.each([
  ['operator', 'postern-connector', { image }, POD_ADDRESS],
  ['agents', 'postern-connector', AGENT, POD_ADDRESS],
  ['roles', 'postern', { ...LEAST, extraEnv: [{ name: 'HOST', value: '::' }] }, { value: '::' }],
])('%s answer their probes where pods have IPv6 alone', async (_, chart, values, address) => {
  const Env = z.array(z.looseObject({ name: z.string() }))
  const Probed = z.object({
    containers: z.array(z.object({ env: Env, livenessProbe: z.object({}) })),
  })
  const probed = podsOf(await charts.render(chart, values)).flatMap(
    ({ spec }) => Probed.safeParse(spec).data?.containers ?? [],
  )
  expect(probed.length).toBeGreaterThan(0)
  for (const { env } of probed) {
    expect(env.filter(({ name }) => name === 'HOST')).toEqual([{ name: 'HOST', ...address }])
  }
})

test('the API reaches ingest by its Service, and `helm test` all, also where few others may', async () => {
  const edge = { podSelector: { matchLabels: { app: 'edge' } } }
  const objects = await charts.render('postern', {
    ...LEAST,
    ingest: { service: { port: 8081 } },
    networkPolicy: { enabled: true, clientsFrom: [edge] },
  })
  const api = podsOf(objects).find(({ name }) => name.endsWith('-api'))
  const service = objects.find(
    ({ kind, metadata: { name } }) => kind === 'Service' && name.endsWith('-ingest'),
  )
  const { name, namespace } = service?.metadata ?? {}
  expect(JSON.stringify(api?.spec)).toContain(
    `{"name":"INGEST_SERVICE_URL","value":"http://${name}.${namespace}.svc:8081"}`,
  )
  const Policy = z.object({ ingress: z.array(z.unknown()) })
  const doors = ['api', 'ingest', 'gateway'].map((role) => {
    const policy = objects.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith(`-${role}`),
    )
    const { ingress } = Policy.parse(policy?.['spec'])
    return /"values":\[(.*?)\]/.exec(JSON.stringify(ingress))?.[1]
  })
  expect(doors).toEqual(['"test"', '"api","test"', '"test"'])
})

test.each([
  ['an unknown value', 'postern', { ...LEAST, ingres: {} }, 'ingres'],
  ['an unknown member', 'postern', { ...LEAST, worker: { replica: 3 } }, 'replica'],
  ['a wrong type', 'postern', { ...LEAST, worker: { replicas: 'three' } }, 'replicas'],
  ['a path in an origin', 'postern', { ...LEAST, urls: { api: 'https://a.test/x' } }, 'urls/api'],
  ['http for the gateway', 'postern', { ...LEAST, urls: { gateway: 'https://a.test' } }, 'gateway'],
  [
    'no range',
    'postern',
    { ...LEAST, settings: { trustedProxies: ['10.0.0.1'] } },
    'trustedProxies',
  ],
  [
    'no key',
    'postern',
    { image, database: SECRET, nats: SECRET },
    'encryptionKey.existingSecret.name',
  ],
  [
    'no database',
    'postern',
    { image, encryptionKey: SECRET, nats: SECRET },
    'database.existingSecret.name',
  ],
  [
    'no password',
    'postern',
    { image, encryptionKey: SECRET, evaluation: { enabled: true } },
    'password',
  ],
  ['an Ingress without a host', 'postern', { ...LEAST, ingress: { enabled: true } }, 'urls.api'],
  [
    'a route without a Gateway',
    'postern',
    { ...LEAST, urls: EVERYTHING.urls, gatewayApi: { enabled: true } },
    'gatewayApi.parentRefs',
  ],
  [
    'a least number of pods above the greatest',
    'postern',
    { ...LEAST, ingest: { autoscaling: { enabled: true, minReplicas: 20 } } },
    'ingest.autoscaling.minReplicas',
  ],
  [
    'an autoscaler of nothing',
    'postern',
    { ...LEAST, api: { autoscaling: { enabled: true, targetCpuUtilization: 0 } } },
    'api.autoscaling: scales on nothing',
  ],
  [
    'a label that a selector has',
    'postern',
    { ...LEAST, commonLabels: { 'app.kubernetes.io/instance': 'x' } },
    'commonLabels',
  ],
  [
    'two monitors of the same pods',
    'postern',
    { ...LEAST, serviceMonitor: { enabled: true }, podMonitor: { enabled: true } },
    'podMonitor.enabled',
  ],
  [
    'two monitors of the operator',
    'postern-connector',
    { image, serviceMonitor: { enabled: true }, podMonitor: { enabled: true } },
    'podMonitor.enabled',
  ],
  [
    'a share of pods that is no number',
    'postern',
    { ...LEAST, podDisruptionBudget: { maxUnavailable: 'half' } },
    'maxUnavailable',
  ],
  ['a volume without a name', 'postern', { ...LEAST, extraVolumes: [{}] }, 'extraVolumes'],
  ['an unknown mode', 'postern-connector', { image, mode: 'both' }, 'mode'],
  ['an agent without a relay', 'postern-connector', { image, mode: 'agent' }, 'agent.relayUrl'],
  [
    'an agent that may reach nothing',
    'postern-connector',
    { ...AGENT, agent: { ...AGENT.agent, allow: [] } },
    'agent.allow',
  ],
])('%s is refused and named', async (_, chart, values, named) => {
  expect(await charts.refusal(chart, values)).toContain(named)
})

test.each(VALUES)('%s renders the same each time', async (_, chart, values) => {
  expect(await charts.render(chart, values)).toEqual(await charts.render(chart, values))
})

const identity = ({ apiVersion, kind, metadata }: Rendered): string =>
  `${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`

test.each([
  [
    'postern',
    {
      ...EVERYTHING,
      ...FOREIGN,
      operator: { ...WATCHED, enabled: true, crds: { enabled: false } },
    },
  ],
  ['postern', EVALUATION],
  ['postern-connector', { ...OPERATOR, ...WATCHED, crds: { enabled: false } }],
  ['postern-connector', AGENT],
])('two releases of %s in a namespace share no object', async (chart, values) => {
  const one = (await charts.render(chart, values, { release: 'one' })).map(identity)
  const two = new Set((await charts.render(chart, values, { release: 'two' })).map(identity))
  expect(one.length).toBeGreaterThan(2)
  expect(one.filter((name) => two.has(name))).toEqual([])
})

/** Every member below these names, which are texts in each object. */
function textsOf(value: unknown, isText = false): unknown[] {
  if (Array.isArray(value)) return value.flatMap((one) => textsOf(one, isText))
  const members = z.record(z.string(), z.unknown()).safeParse(value).data
  if (members === undefined) return isText ? [value] : []
  return Object.entries(members).flatMap(([name, one]) =>
    textsOf(one, isText || /^(name|namespace|labels|matchLabels|selector)$/.test(name)),
  )
}

const ODD = { nameOverride: '1e3', fullnameOverride: 'true' }

test.each([
  ['postern', { ...EVERYTHING, ...FOREIGN, operator: { ...EVERYTHING.operator, ...ODD } }],
  ['postern', EVALUATION],
  ['postern-connector', { image }],
  ['postern-connector', { ...OPERATOR, ...WATCHED }],
  [
    'postern-connector',
    { ...AGENT, serviceMonitor: { enabled: true }, prometheusRule: FOREIGN.prometheusRule },
  ],
])(
  'names of %s that YAML takes for numbers or words of its own are texts',
  async (chart, values) => {
    const place = { release: '2026', namespace: '34' }
    const texts = (await charts.render(chart, { ...values, ...ODD }, place)).flatMap((one) =>
      textsOf(one.kind === 'CustomResourceDefinition' ? one.metadata : one),
    )
    expect(texts.filter((one) => typeof one !== 'string')).toEqual([])
  },
)

test.each(['docs/start.md', 'docs/kubernetes/install.md'])(
  'the Helm commands of %s have all the values that the chart needs',
  async (page) => {
    const text = readFileSync(page, 'utf8')
    const [, values = ''] = /```yaml\n# values\.yaml\n(.*?)```/s.exec(text) ?? []
    await writeFile(join(charts.scratch, 'values.yaml'), values)
    const commands = [...text.matchAll(/^helm install postern ((?:.*\\\n)*.*)$/gm)]
    expect(commands.length).toBeGreaterThan(0)
    for (const [, words = ''] of commands) {
      const args = words
        .replaceAll('\\\n', ' ')
        .replaceAll(/--wait(?:-for-jobs)?/g, '')
        .replace('values.yaml', join(charts.scratch, 'values.yaml'))
      expect(await charts.helm('template', 'postern', ...args.trim().split(/ +/))).toContain(
        'postern-api',
      )
    }
  },
)

test('a release in two namespaces shares no object but the definitions', async () => {
  const values = { ...EVERYTHING, ...FOREIGN, operator: { ...WATCHED, enabled: true } }
  const one = (await charts.render('postern', values, { namespace: 'a' })).map(identity)
  const two = new Set((await charts.render('postern', values, { namespace: 'b' })).map(identity))
  expect(one.filter((name) => two.has(name) && !name.includes('CustomResourceDefinition'))).toEqual(
    [],
  )
})

test('the definitions are those of crds/, kept when the release goes', async () => {
  const definitions = (await charts.render('postern-connector', { image })).filter(
    ({ kind }) => kind === 'CustomResourceDefinition',
  )
  expect(definitions.map(({ metadata }) => metadata.name).toSorted()).toEqual([
    'connections.postern.dev',
    'connectors.postern.dev',
    'destinations.postern.dev',
    'relays.postern.dev',
    'sources.postern.dev',
  ])
  for (const { metadata } of definitions) {
    expect(metadata['annotations']).toMatchObject({ 'helm.sh/resource-policy': 'keep' })
  }
})

/** The routes of a release that have timeouts, with them. */
async function timeoutsOf(gatewayApi: object): Promise<Record<string, unknown>> {
  const routes = { enabled: true, parentRefs: [{ name: 'gateway' }], ...gatewayApi }
  const values = { ...LEAST, urls: EVERYTHING.urls, gatewayApi: routes }
  const Route = z.object({ rules: z.tuple([z.object({ timeouts: z.unknown().optional() })]) })
  const rendered = (await charts.render('postern', values))
    .filter(({ kind }) => kind === 'HTTPRoute')
    .map(({ metadata, ...rest }) => [metadata.name, Route.parse(rest['spec']).rules[0]] as const)
  expect(rendered).toHaveLength(3)
  return Object.fromEntries(
    rendered.flatMap(([name, { timeouts }]) => (timeouts === undefined ? [] : [[name, timeouts]])),
  )
}

test('sessions and event streams have no timeout, where the Gateway can have none', async () => {
  const none = { request: '0s' }
  expect(await timeoutsOf({})).toEqual({ 'r-postern-api': none, 'r-postern-gateway': none })
  expect(await timeoutsOf({ timeouts: null })).toEqual({})
})

test('metrics of a role whose Service is public are scraped inside', async () => {
  const service = { type: 'LoadBalancer' }
  const objects = await charts.render('postern', {
    ...LEAST,
    ingest: { service },
    api: { service },
  })
  const Spec = z.object({
    type: z.string().optional(),
    clusterIP: z.string().optional(),
    ports: z.array(z.object({ name: z.string() })),
  })
  const services = objects
    .filter(({ kind }) => kind === 'Service')
    .map(({ metadata, ...rest }) => ({ name: metadata.name, ...Spec.parse(rest['spec']) }))
  const inside = services.filter(({ ports }) => ports.some(({ name }) => name === 'ops'))
  expect(inside.map(({ name }) => name).toSorted()).toEqual([
    'r-postern-api-ops',
    'r-postern-gateway',
    'r-postern-housekeeper',
    'r-postern-ingest-ops',
    'r-postern-worker',
  ])
  expect(inside.filter(({ type = 'ClusterIP' }) => type !== 'ClusterIP')).toEqual([])
})

test('an autoscaled role leaves its number of pods to the autoscaler', async () => {
  const objects = await charts.render('postern', EVERYTHING)
  const specs = objects
    .filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name.startsWith('r-postern-'))
    .map(({ metadata, ...rest }) => [metadata.name, z.looseObject({}).parse(rest['spec'])] as const)
  const replicas = Object.fromEntries(specs.map(([name, spec]) => [name, spec['replicas']]))
  expect(replicas).toMatchObject({ 'r-postern-worker': undefined, 'r-postern-ingest': 2 })
})

test('a role whose number is null leaves it to the autoscaler of somebody else', async () => {
  const objects = await charts.render('postern', {
    ...LEAST,
    worker: { replicas: null },
    ingest: { replicas: 0 },
  })
  const specOf = (role: string) =>
    objects.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === `r-postern-${role}`,
    )?.['spec']
  expect(specOf('worker')).not.toHaveProperty('replicas')
  expect(specOf('ingest')).toHaveProperty('replicas', 0)
})

test('no environment of a role holds a secret', async () => {
  const text = JSON.stringify(podsOf(await charts.render('postern', EVERYTHING)))
  expect(text).not.toContain('secretKeyRef')
  expect(text).toContain('POSTERN_ENCRYPTION_KEY_FILE')
})

/** Rights of the operator, by the API server's own judgement. */
async function may(verb: string, resource: string, namespace: string): Promise<boolean> {
  const account = `system:serviceaccount:${NAMESPACE}:op-postern-connector`
  try {
    await cluster.kubectl('auth', 'can-i', verb, resource, '-n', namespace, '--as', account, '-q')
    return true
  } catch {
    return false
  }
}

test(
  'in some namespaces the operator has its rights there and nowhere else',
  async () => {
    await cluster.kubectl('create', 'namespace', 'elsewhere')
    const objects = await charts.render(
      'postern-connector',
      {
        image,
        crds: { enabled: false },
        aggregateRoles: false,
        operator: { watchNamespaces: [NAMESPACE] },
      },
      { release: 'op' },
    )
    const rights = objects.filter(({ apiVersion }) => apiVersion.startsWith('rbac.'))
    const file = join(charts.scratch, 'rights.json')
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rights }))
    await cluster.kubectl('apply', '--server-side', '-f', file)
    const kinds = ['secrets', 'statefulsets.apps', 'connectors.postern.dev']
    for (const kind of kinds) {
      expect(await may('list', kind, NAMESPACE), kind).toBe(true)
      expect(await may('list', kind, 'elsewhere'), kind).toBe(false)
    }
    const never: [string, string][] = [
      ['create', 'pods'],
      ['create', 'pods/exec'],
      ['create', 'roles.rbac.authorization.k8s.io'],
      ['delete', 'connectors.postern.dev'],
      ['list', 'nodes'],
      ['impersonate', 'users'],
    ]
    for (const [verb, kind] of never) {
      expect(await may(verb, kind, NAMESPACE), `${verb} ${kind}`).toBe(false)
    }
  },
  CLUSTER_MS,
)

/** The alerts of a release in the namespace `a`. */
async function rulesOf(values: object): Promise<Rules> {
  const prometheusRule = { enabled: true, runbookUrl: 'RUNBOOK_URL' }
  const all = { ...LEAST, serviceMonitor: { enabled: true }, prometheusRule, ...values }
  const objects = await charts.render('postern', all, { namespace: 'a' })
  return Rules.parse(objects.find(({ kind }) => kind === 'PrometheusRule')?.['spec'])
}

test.each([
  ['four roles', {}, ['ingest', 'worker', 'housekeeper', 'gateway']],
  ['no gateway', { gateway: { enabled: false } }, ['ingest', 'worker', 'housekeeper']],
  ['no pods of ingest', { ingest: { replicas: 0 } }, ['worker', 'housekeeper', 'gateway']],
  [
    'targets of pods',
    { serviceMonitor: { enabled: false }, podMonitor: { enabled: true } },
    ['ingest', 'worker', 'housekeeper', 'gateway'],
  ],
  ['targets of somebody else', { serviceMonitor: { enabled: false } }, []],
])('with %s no other is missed', async (_, values, missed) => {
  const rules = (await rulesOf(values)).groups.flatMap((group) => group.rules)
  const absent = rules.flatMap(({ expr }) => /absent\(.*="(\w+)"\}/.exec(expr)?.[1] ?? [])
  expect(absent).toEqual(missed)
})

test('without a runbook no alert names one', async () => {
  expect(JSON.stringify(await rulesOf({ prometheusRule: { enabled: true } }))).not.toContain(
    'runbook',
  )
})

test('the volumes that are watched can lie in other namespaces', async () => {
  const volumes = { namespaces: 'nats|pg', claims: String.raw`nats-js-.*|postgres-\d+` }
  const prometheusRule = { enabled: true, volumes }
  const rules = (await rulesOf({ prometheusRule })).groups.flatMap((group) => group.rules)
  const { expr = '' } = rules.find(({ alert }) => alert === 'PosternVolumeFull') ?? {}
  expect(expr).toContain(
    `{namespace=~\`${volumes.namespaces}\`,persistentvolumeclaim=~\`${volumes.claims}\`}`,
  )
})

test('each alert opens when it must, has a runbook, and stays closed otherwise', async () => {
  const rules = await rulesOf({})
  expectRunbook(rules, 'RUNBOOK_URL')
  expect(await testRules(charts, rules, 'test/cluster/rules.yaml')).toContain('SUCCESS')
})
