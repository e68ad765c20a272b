import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

import { documentedMetrics } from '../kit/documented-metrics.ts'

/** Metrics of Prometheus, the kubelet and Node; tests compare the documented ones with real scrapes. */
const FOREIGN = /^(up$|kubelet_volume_stats_|process_|nodejs_)/
/** Labels of the target, or of a histogram. */
const TARGET_LABELS = [
  'namespace',
  'pod',
  'persistentvolumeclaim',
  'app_kubernetes_io_component',
  'app_kubernetes_io_instance',
  'le',
]

const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ expr: z.string() })) })),
})
const Dashboard = z.object({
  templating: z.object({
    list: z.array(z.object({ query: z.union([z.string(), z.object({ query: z.string() })]) })),
  }),
  panels: z.array(
    z.object({
      id: z.number(),
      title: z.string(),
      type: z.string(),
      targets: z.array(z.object({ expr: z.string() })).default([]),
    }),
  ),
})

const RULES = [
  'charts/postern/files/rules.yaml',
  'charts/postern-connector/files/rules-operator.yaml',
  'charts/postern-connector/files/rules-agent.yaml',
]
const DASHBOARDS = [
  'charts/postern/files/dashboard.json',
  'charts/postern-connector/files/dashboard.json',
]

function rulesOf(file: string): string[] {
  const { groups } = Rules.parse(parse(readFileSync(file, 'utf8')))
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr))
}

function dashboardOf(file: string): z.infer<typeof Dashboard> {
  return Dashboard.parse(JSON.parse(readFileSync(file, 'utf8')))
}

function queriesOf(file: string): string[] {
  const { templating, panels } = dashboardOf(file)
  const variables = templating.list.flatMap(({ query }) =>
    typeof query === 'string' ? [] : query.query,
  )
  return [...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...variables]
}

/** The metrics that an expression reads, and the labels by which it selects and groups. */
function readBy(expression: string): { metrics: string[]; labels: string[] } {
  const labels: string[] = []
  const bare = expression
    // Before the texts go: a placeholder of the chart, such as `{OPERATOR,`, selects by labels of the target.
    .replaceAll(/\b(?:OPERATOR|OBJECTS|AGENTS)\b/g, 'namespace=""')
    .replace(/^label_values\((.*), (\w+)\)$/, (_, inner: string, label: string) => {
      labels.push(label)
      return inner
    })
    .replaceAll(/"[^"]*"|`[^`]*`/g, '')
    .replaceAll(/\{([^}]*)\}/g, (_, matchers: string) => {
      labels.push(...[...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, one = '']) => one))
      return ''
    })
    .replaceAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g, (_, names: string) => {
      labels.push(...names.split(',').map((one) => one.trim()))
      return ''
    })
    .replaceAll(/\[[^\]]*\]/g, '')
  const words = [...bare.matchAll(/(?<![\w.])[a-z_:][\w:]*(?!\w*\s*\()/gi)].map(([word]) => word)
  return { metrics: words.filter((word) => !/^(and|or|unless|bool)$/.test(word)), labels }
}

const EXPRESSIONS = [
  ...RULES.map((file) => [file, rulesOf(file)] as const),
  ...DASHBOARDS.map((file) => [file, queriesOf(file)] as const),
]

test.each(EXPRESSIONS)('each query of %s reads metrics and labels that there are', (_, queries) => {
  const known = new Map(documentedMetrics().map((metric) => [metric.name, metric]))
  const documented = (name: string) => {
    const histogram = known.get(name.replace(/_(?:bucket|sum|count)$/, ''))
    // A histogram has no series of its own name.
    return histogram?.type === 'histogram' && histogram.name === name
      ? undefined
      : (known.get(name) ?? histogram)
  }
  expect(queries.length).toBeGreaterThan(0)
  for (const query of queries) {
    const { metrics, labels } = readBy(query)
    expect(metrics, query).not.toEqual([])
    const missing = metrics.filter((name) => !FOREIGN.test(name) && documented(name) === undefined)
    expect(missing, query).toEqual([])
    const own = metrics.flatMap((name) => documented(name)?.labels ?? [])
    expect(
      labels.filter((label) => !TARGET_LABELS.includes(label) && !own.includes(label)),
      query,
    ).toEqual([])
  }
})

test('each metric of operator and agents is in an alert, a panel, or said to be in none', () => {
  const unread = new Set([
    'postern_connector_build_info',
    'postern_event_loop_stalls_total',
    'postern_trace_spans_total',
    'workqueue_adds_total',
    'workqueue_retries_total',
  ])
  const read = EXPRESSIONS.filter(([file]) => file.includes('postern-connector'))
    .flatMap(([, queries]) => queries.flatMap((query) => readBy(query).metrics))
    .map((name) => name.replace(/_bucket$/, ''))
  const rows = documentedMetrics().filter(({ section }) =>
    ['The operator', 'The agent of a connector'].includes(section),
  )
  const names = rows.map(({ name }) => name)
  expect(names.filter((name) => !read.includes(name) && !unread.has(name))).toEqual([])
})

test.each(DASHBOARDS)('panels of %s have ids and titles of their own', (file) => {
  const { panels } = dashboardOf(file)
  const ids = panels.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)])
  const shown = panels.filter(({ type }) => type !== 'row')
  expect(shown.filter(({ targets }) => targets.length === 0)).toEqual([])
  const titles = shown.map(({ title }) => title)
  expect(titles).toEqual([...new Set(titles)])
})
