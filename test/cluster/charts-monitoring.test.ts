import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { childrenOf } from '../../operator/connector/children/children.ts'
import { ConnectorSpec } from '../../operator/kinds/connector.ts'
import { LEAST, openCharts, type Charts, type Rendered } from './rendered.ts'
import { expectRunbook, parseQueries, Rules, testRules } from './rules.ts'

let charts: Charts
beforeAll(async () => {
  charts = await openCharts()
}, 20 * 60_000)
afterAll(async () => await charts[Symbol.asyncDispose]())

const { image } = LEAST
const RUNBOOK_URL = 'https://docs.test/runbook'
const ALERTS = { enabled: true, runbookUrl: RUNBOOK_URL }
const OPERATOR = { image, serviceMonitor: { enabled: true }, prometheusRule: ALERTS }
const AGENT = {
  ...OPERATOR,
  mode: 'agent',
  agent: {
    relayUrl: 'https://api.test',
    enrollmentKey: { existingSecret: { name: 'postern' } },
    allow: ['http://*.internal:8080'],
  },
}

async function rulesOf(values: object): Promise<Rules> {
  const objects = await charts.render('postern-connector', values, { namespace: 'a' })
  return Rules.parse(objects.find(({ kind }) => kind === 'PrometheusRule')?.['spec'])
}

test.each([
  [
    'the operator',
    { ...OPERATOR, operator: { watchNamespaces: ['team-a', 'team-b'] } },
    'rules-connector.yaml',
    6,
  ],
  ['agents', AGENT, 'rules-agent.yaml', 1],
])(
  'each alert of %s opens when it must, has a runbook, and stays closed otherwise',
  async (_, values, file, count) => {
    const rules = await rulesOf(values)
    expect(rules.groups.flatMap((group) => group.rules)).toHaveLength(count)
    expectRunbook(rules, RUNBOOK_URL)
    expect(await testRules(charts, rules, `test/cluster/${file}`)).toContain('SUCCESS')
  },
)

test.each([
  ['targets of Services', OPERATOR, 1],
  ['targets of pods', { ...OPERATOR, serviceMonitor: {}, podMonitor: { enabled: true } }, 1],
  ['targets of somebody else', { ...OPERATOR, serviceMonitor: { enabled: false } }, 0],
  ['no pods', { ...OPERATOR, operator: { replicas: 0 } }, 0],
  ['agents', AGENT, 1],
  ['no agents', { ...AGENT, agent: { ...AGENT.agent, replicas: 0 } }, 0],
])('with %s a target that is gone is missed, or is not', async (_, values, count) => {
  const rules = await rulesOf(values)
  expect(JSON.stringify(rules).match(/absent\(/g) ?? []).toHaveLength(count)
})

test('without a runbook no alert of the operator names one', async () => {
  const rules = await rulesOf({ ...OPERATOR, prometheusRule: { enabled: true } })
  expect(JSON.stringify(rules)).not.toContain('runbook')
})

const Monitor = z.object({
  namespaceSelector: z.looseObject({}),
  selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
  podMetricsEndpoints: z.tuple([z.looseObject({ port: z.string() })]),
})

async function agentMonitorOf(values: object): Promise<z.infer<typeof Monitor>> {
  const objects = await charts.render('postern-connector', {
    image,
    agentPodMonitor: { enabled: true },
    ...values,
  })
  return Monitor.parse(objects.find(({ kind }) => kind === 'PodMonitor')?.['spec'])
}

test('the PodMonitor of agents finds those that the operator makes, at a port that is open', async () => {
  const connector = {
    metadata: { name: 'a.long.name', namespace: 'team-a', uid: '1' },
  }
  const spec = ConnectorSpec.parse({
    relayRef: { name: 'main' },
    allow: [{ hosts: ['*.svc'] }],
    template: { labels: { team: 'a' } },
  })
  const surroundings = { image: 'postern', baseUrl: 'https://api.test', hasCa: false }
  const Pods = z.object({
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        containers: z.tuple([z.object({ ports: z.array(z.object({ name: z.string() })) })]),
      }),
    }),
  })
  const children = childrenOf(connector, spec, surroundings)
  const specOf = (kind: string): unknown =>
    children.find((child) => child.kind.kind === kind)?.object['spec']
  const pods = Pods.parse(specOf('StatefulSet')).template
  const { selector, podMetricsEndpoints } = await agentMonitorOf({})
  expect(pods.metadata.labels).toMatchObject(selector.matchLabels)
  const [{ port }] = podMetricsEndpoints
  expect(pods.spec.containers[0].ports.map(({ name }) => name)).toContain(port)
  expect(specOf('NetworkPolicy')).toMatchObject({ ingress: [{ ports: [{ port }] }] })
  // The release's own pods have a monitor of their own.
  const own = await charts.render('postern-connector', AGENT)
  const labels = own.find(({ kind }) => kind === 'StatefulSet')?.metadata['labels']
  expect(labels).not.toMatchObject(selector.matchLabels)
})

test('the PodMonitor of agents looks where the operator does', async () => {
  const { namespaceSelector: all } = await agentMonitorOf({})
  expect(all).toEqual({ any: true })
  const { namespaceSelector: some } = await agentMonitorOf({
    operator: { watchNamespaces: ['team-a', 'team-b'] },
  })
  expect(some).toEqual({ matchNames: ['team-a', 'team-b'] })
})

test.each([
  ['serviceMonitor', 'endpoints'],
  ['podMonitor', 'podMetricsEndpoints'],
])('the %s keeps the namespace of an object that a figure is about', async (member, endpoints) => {
  const specOf = (objects: readonly Rendered[]): object =>
    z
      .looseObject({})
      .parse(objects.find(({ kind }) => kind.toLowerCase() === member.toLowerCase())?.['spec'])
  const monitor = { serviceMonitor: {}, [member]: { enabled: true } }
  const operator = specOf(await charts.render('postern-connector', { ...OPERATOR, ...monitor }))
  expect(operator).toMatchObject({ [endpoints]: [{ port: 'ops', honorLabels: true }] })
  const agent = specOf(await charts.render('postern-connector', { ...AGENT, ...monitor }))
  expect(JSON.stringify(agent)).not.toContain('honorLabels')
})

test('the chart postern brings rules, dashboard and monitors of its operator beside its own', async () => {
  const all = { serviceMonitor: { enabled: true }, grafanaDashboard: { enabled: true } }
  const objects = await charts.render('postern', {
    ...LEAST,
    ...all,
    prometheusRule: { enabled: true },
    operator: { ...OPERATOR, ...all, enabled: true, agentPodMonitor: { enabled: true } },
  })
  const named = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
  const wanted = ['PrometheusRule r-postern', 'PrometheusRule r-postern-connector']
  wanted.push('ConfigMap r-postern-dashboard', 'ConfigMap r-postern-connector-dashboard')
  wanted.push('ServiceMonitor r-postern', 'ServiceMonitor r-postern-connector')
  wanted.push('PodMonitor r-postern-connector-agents')
  expect(named).toEqual(expect.arrayContaining(wanted))
  // A sidecar writes all dashboards into a folder, by these names.
  const files = objects.flatMap(({ kind, metadata, ...rest }) =>
    kind === 'ConfigMap' && metadata.name.endsWith('-dashboard')
      ? Object.keys(z.looseObject({}).parse(rest['data']))
      : [],
  )
  expect(files.toSorted()).toEqual(['postern-connectors.json', 'postern.json'])
})

const Dashboard = z.object({
  panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })).default([]) })),
})

test.each([
  ['postern', { ...LEAST, grafanaDashboard: { enabled: true } }],
  ['postern-connector', { image, grafanaDashboard: { enabled: true } }],
])('Prometheus can parse each query of the dashboard of %s', async (chart, values) => {
  const objects = await charts.render(chart, values)
  const found = objects.find(({ metadata }) => metadata.name.endsWith('-dashboard'))
  const [text = ''] = Object.values(z.record(z.string(), z.string()).parse(found?.['data']))
  const queries = Dashboard.parse(JSON.parse(text)).panels.flatMap(({ targets }) =>
    // As Grafana fills them in.
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '2m').replaceAll(/\$\w+/g, 'x')),
  )
  expect(queries.length).toBeGreaterThan(20)
  expect(await parseQueries(charts, queries)).toContain(`SUCCESS: ${queries.length} rules found`)
})

test.each([
  ['an interval of nothing', { image, agentPodMonitor: { interval: '0s' } }, 'interval'],
  ['an unknown member', { image, agentPodMonitor: { namespaces: ['a'] } }, 'namespaces'],
  ['a runbook that is no page', { image, prometheusRule: { runbookUrl: 'runbook' } }, 'runbookUrl'],
  [
    'a label that is no text',
    { image, grafanaDashboard: { labels: { dashboard: 1 } } },
    'grafanaDashboard',
  ],
  [
    'agents of an operator without one',
    { ...AGENT, agentPodMonitor: { enabled: true } },
    'agentPodMonitor.enabled',
  ],
])('%s is refused and named', async (_, values, named) => {
  expect(await charts.refusal('postern-connector', values)).toContain(named)
})
