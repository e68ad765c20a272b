import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { LEAST, openCharts, type Charts, type Rendered } from './rendered.ts'

let charts: Charts
beforeAll(async () => {
  charts = await openCharts()
}, 20 * 60_000)
afterAll(async () => await charts[Symbol.asyncDispose]())

const { image } = LEAST
const Labels = z.record(z.string(), z.string()).default({})
const Template = z.object({
  metadata: z.object({ labels: Labels }),
  spec: z.looseObject({
    containers: z.array(z.looseObject({ volumeMounts: z.array(z.unknown()).default([]) })),
    volumes: z.array(z.looseObject({ name: z.string() })).default([]),
  }),
})
const WithTemplate = z.object({
  selector: z.object({ matchLabels: Labels }).optional(),
  template: Template,
})

/** Each object that makes pods, by its name. */
function workloadsOf(objects: readonly Rendered[]): Map<string, z.infer<typeof WithTemplate>> {
  return new Map(
    objects.flatMap(({ metadata, ...rest }) => {
      const found = WithTemplate.safeParse(rest['spec']).data
      return found === undefined ? [] : [[metadata.name, found] as const]
    }),
  )
}

const PODS = {
  runtimeClassName: 'gvisor',
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['db.test'] }],
  dnsConfig: { searches: ['test'] },
}

test.each([
  ['postern', { ...LEAST, ...PODS, operator: { enabled: true, image, ...PODS } }, 7],
  ['postern-connector', { image, ...PODS }, 1],
])(
  'every pod of %s has the class, aliases and DNS that are named',
  async (chart, values, count) => {
    const workloads = workloadsOf(await charts.render(chart, values))
    expect(workloads.size).toBe(count)
    for (const [name, { template }] of workloads) expect(template.spec, name).toMatchObject(PODS)
  },
)

test('common labels are on each object and pod, and in no selector', async () => {
  const commonLabels = { team: 'payments', stage: 'live' }
  const objects = await charts.render('postern', {
    ...LEAST,
    commonLabels,
    worker: { podLabels: { stage: 'test' } },
    operator: { enabled: true, image, commonLabels },
  })
  for (const { metadata, ...rest } of objects) {
    // The pod and the script of `helm test` go with it.
    expect(metadata['labels'], metadata.name).toMatchObject({ team: 'payments' })
    expect(JSON.stringify(rest['spec'] ?? {})).not.toMatch(/(selector|matchLabels)[^}]*payments/i)
  }
  const workloads = workloadsOf(objects)
  for (const [name, { template }] of workloads) {
    expect(template.metadata.labels, name).toMatchObject({ team: 'payments' })
  }
  const worker = workloads.get('r-postern-worker')
  expect(worker?.template.metadata.labels).toMatchObject({
    ...worker?.selector?.matchLabels,
    stage: 'test',
  })
})

test('labels that are added give the migration another Job, whose template never changes', async () => {
  const nameOf = async (values: object): Promise<string[]> =>
    (await charts.render('postern', values))
      .filter(({ kind }) => kind === 'Job')
      .map(({ metadata }) => metadata.name)
  expect(await nameOf({ ...LEAST, commonLabels: { team: 'a' } })).not.toEqual(await nameOf(LEAST))
})

const MOUNT = { name: 'ca', mountPath: '/etc/ca', readOnly: true }

test('volumes of all roles and of one are mounted, and take the place of those of a name', async () => {
  const objects = await charts.render('postern', {
    ...LEAST,
    extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
    extraVolumeMounts: [MOUNT],
    worker: {
      extraVolumes: [{ name: 'tmp', emptyDir: { sizeLimit: '1Gi' } }],
      extraVolumeMounts: [{ ...MOUNT, subPath: 'worker.crt' }],
    },
  })
  const workloads = workloadsOf(objects)
  for (const [name, { template }] of workloads) {
    const { volumes, containers } = template.spec
    const names = volumes.map((volume) => volume.name)
    expect(names, name).toEqual([...new Set(names)])
    expect(names, name).toContain('ca')
    expect(containers[0]?.volumeMounts, name).toContainEqual(expect.objectContaining(MOUNT))
  }
  const worker = workloads.get('r-postern-worker')?.template.spec
  expect(worker?.volumes).toContainEqual({ name: 'tmp', emptyDir: { sizeLimit: '1Gi' } })
  const paths = worker?.containers[0]?.volumeMounts.filter((one) =>
    /etc\/ca/.test(JSON.stringify(one)),
  )
  expect(paths).toEqual([{ ...MOUNT, subPath: 'worker.crt' }])
})

test('volumes of operator and agents take the place of those of a name', async () => {
  const values = {
    image,
    extraVolumes: [{ name: 'tmp', emptyDir: {} }],
    extraVolumeMounts: [MOUNT],
  }
  const [operator] = workloadsOf(await charts.render('postern-connector', values)).values()
  expect(operator?.template.spec.volumes).toEqual([{ name: 'tmp', emptyDir: {} }])
  expect(operator?.template.spec.containers[0]?.volumeMounts).toContainEqual(MOUNT)
})

const Budget = z.object({
  maxUnavailable: z.union([z.number(), z.string()]).optional(),
  minAvailable: z.union([z.number(), z.string()]).optional(),
})

async function budgetsOf(chart: string, values: object): Promise<Record<string, unknown>> {
  const objects = await charts.render(chart, values)
  const found = objects.filter(({ kind }) => kind === 'PodDisruptionBudget')
  return Object.fromEntries(
    found.map(({ metadata, ...rest }) => [metadata.name, Budget.parse(rest['spec'])]),
  )
}

test('budgets have the number of their role, or that of all, and can be left out', async () => {
  const budgets = await budgetsOf('postern', {
    ...LEAST,
    podDisruptionBudget: { minAvailable: '50%' },
    worker: { podDisruptionBudget: { maxUnavailable: 2 } },
    housekeeper: { podDisruptionBudget: { enabled: false } },
    gateway: { enabled: false },
  })
  expect(budgets).toEqual({
    'r-postern-api': { minAvailable: '50%' },
    'r-postern-ingest': { minAvailable: '50%' },
    'r-postern-worker': { maxUnavailable: 2 },
  })
  const off = { image, podDisruptionBudget: { enabled: false } }
  expect(await budgetsOf('postern-connector', off)).toEqual({})
  const least = { image, podDisruptionBudget: { minAvailable: 1 } }
  expect(Object.values(await budgetsOf('postern-connector', least))).toEqual([{ minAvailable: 1 }])
})

test('an autoscaler counts CPU, memory and metrics of yours', async () => {
  const own = {
    type: 'External',
    external: { metric: { name: 'age' }, target: { type: 'Value', value: '30' } },
  }
  const scaling = { enabled: true, targetMemoryUtilization: 80, metrics: [own] }
  const objects = await charts.render('postern', {
    ...LEAST,
    worker: { autoscaling: { ...scaling, targetCpuUtilization: 0 } },
    ingest: { autoscaling: { enabled: true } },
  })
  const metrics = objects.flatMap(({ kind, metadata, ...rest }) =>
    kind === 'HorizontalPodAutoscaler'
      ? [[metadata.name, z.looseObject({}).parse(rest['spec'])['metrics']]]
      : [],
  )
  const percent = (name: string, averageUtilization: number): object => ({
    type: 'Resource',
    resource: { name, target: { type: 'Utilization', averageUtilization } },
  })
  expect(Object.fromEntries(metrics)).toEqual({
    'r-postern-ingest': [percent('cpu', 70)],
    'r-postern-worker': [percent('memory', 80), own],
  })
})

test('the containers have the security context that is named', async () => {
  const containerSecurityContext = { seLinuxOptions: { type: 'container_t' } }
  for (const [chart, values] of [
    ['postern', LEAST],
    ['postern-connector', { image }],
  ] as const) {
    const objects = await charts.render(chart, { ...values, containerSecurityContext })
    for (const [name, { template }] of workloadsOf(objects)) {
      expect(template.spec.containers[0], name).toMatchObject({
        securityContext: { ...containerSecurityContext, readOnlyRootFilesystem: true },
      })
    }
  }
})

test('Prometheus alone reaches the operator, from where it is said to be', async () => {
  const from = [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }]
  const policies = async (networkPolicy: object): Promise<unknown[]> =>
    (await charts.render('postern-connector', { image, networkPolicy })).flatMap((one) =>
      one.kind === 'NetworkPolicy' ? [one['spec']] : [],
    )
  expect(await policies({ monitoringFrom: from })).toMatchObject([
    { policyTypes: ['Ingress'], ingress: [{ ports: [{ port: 'ops' }], from }] },
  ])
  expect(await policies({ enabled: false })).toEqual([])
})

test.each([
  ['postern', { ...LEAST, podMonitor: { enabled: true } }],
  ['postern-connector', { image, podMonitor: { enabled: true } }],
])('a PodMonitor of %s finds its pods', async (chart, values) => {
  const objects = await charts.render(chart, values)
  const monitor = objects.find(({ kind }) => kind === 'PodMonitor')
  const { selector } = z
    .object({ selector: z.object({ matchLabels: Labels }) })
    .parse(monitor?.['spec'])
  const found = [...workloadsOf(objects)].filter(([, { template }]) =>
    Object.entries(selector.matchLabels).every(
      ([name, value]) => template.metadata.labels[name] === value,
    ),
  )
  expect(found.length).toBe(chart === 'postern' ? 6 : 1)
  expect(monitor?.['spec']).toMatchObject({
    podTargetLabels: [
      'app.kubernetes.io/component',
      // Two releases in a namespace have operators or agents of their own.
      ...(chart === 'postern' ? [] : ['app.kubernetes.io/instance']),
    ],
    podMetricsEndpoints: [{ port: 'ops', path: '/metrics' }],
  })
})
