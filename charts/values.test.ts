import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

import { valuesOf, withValues } from './document-values.ts'

/** The longest attempt is one of 60 s. (dataplane/gateway/keeper.ts, dataplane/worker/worker.ts) */
const DRAIN_SECONDS = 68

const CHARTS = ['charts/postern', 'charts/postern-connector']

/** The paths of all values that a file sets, lists and empty objects as wholes. */
function pathsOf(value: unknown, path = ''): string[] {
  const members = z.record(z.string(), z.unknown()).safeParse(value).data
  if (members === undefined || Object.keys(members).length === 0) return [path]
  return Object.entries(members).flatMap(([name, inner]) =>
    pathsOf(inner, path === '' ? name : `${path}.${name}`),
  )
}

test.each(CHARTS)('%s: README lists every value as it is', (dir) => {
  // The formatter pads the columns.
  const plain = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
  expect(plain(withValues(dir))).toBe(plain(readFileSync(`${dir}/README.md`, 'utf8')))
})

test.each(CHARTS)(
  '%s: every value has a meaning, and every default a value of the schema',
  (dir) => {
    const rows = valuesOf(dir)
    expect(rows.filter(({ meaning }) => !/\S.*\.$/.test(meaning))).toEqual([])
    const defaults = pathsOf(parse(readFileSync(`${dir}/values.yaml`, 'utf8')))
    const known = rows.map(({ path }) => path)
    const unknown = defaults.filter(
      (path) => !known.some((one) => path === one || path.startsWith(`${one}.`)),
    )
    expect(unknown).toEqual([])
    expect(defaults.length).toBeGreaterThan(20)
  },
)

test('gateways and workers have more time to stop than they take, in the chart and in Compose', () => {
  const Role = z.object({ terminationGracePeriodSeconds: z.number() })
  const chart = z
    .object({ gateway: Role, worker: Role })
    .parse(parse(readFileSync('charts/postern/values.yaml', 'utf8')))
  const compose = z
    .object({ 'x-role': z.object({ stop_grace_period: z.string().regex(/^[0-9]+s$/) }) })
    .parse(parse(readFileSync('compose.yaml', 'utf8'), { merge: true }))
  expect(chart.gateway.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS)
  expect(chart.worker.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS)
  expect(parseInt(compose['x-role'].stop_grace_period, 10)).toBeGreaterThan(DRAIN_SECONDS)
})
