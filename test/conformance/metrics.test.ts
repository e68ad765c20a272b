import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import {
  AGENT_SECTION,
  documentedMetrics,
  OPERATOR_SECTION,
  type DocumentedMetric,
} from '../kit/documented-metrics.ts'
import { parseScrape, type Scrape } from '../kit/scrape.ts'

const { dataDir } = inject('installation')
const Told = z.object({ metricsUrls: z.record(z.string(), z.url()) })

/** The scrape of all roles, one after the other. */
let scrape: Scrape
beforeAll(async () => {
  const told = Told.parse(JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')))
  const texts = Object.values(told.metricsUrls).map(async (url) => await (await fetch(url)).text())
  scrape = parseScrape((await Promise.all(texts)).join('\n'))
})

/** The rows that describe a metric of a role of `npm start`. */
function documented(): DocumentedMetric[] {
  return documentedMetrics().filter(
    ({ section }) => section !== AGENT_SECTION && section !== OPERATOR_SECTION,
  )
}

test('docs/metrics.md has a row for each metric of a scrape, and for no other', () => {
  const served = [...scrape.metrics].map(([name, { type }]) => `${name} ${type}`)
  expect(served.length).toBeGreaterThan(30)
  expect(
    documented()
      .map(({ name, type }) => `${name} ${type}`)
      .toSorted(),
  ).toEqual(served.toSorted())
})

test('docs/metrics.md names the labels of each metric', () => {
  const labelsOf = new Map(documented().map(({ name, labels }) => [name, labels]))
  const bad = scrape.samples
    .filter(({ name }) => name.startsWith('postern_'))
    .filter(({ name, labels }) => {
      const metric = labelsOf.get(name) ?? labelsOf.get(name.replace(/_(?:bucket|sum|count)$/, ''))
      const own = Object.keys(labels).filter((label) => label !== 'le')
      return metric === undefined || own.some((label) => !metric.includes(label))
    })
  expect(bad).toEqual([])
})

/** Prometheus' conventions, as its own linter has them; that one runs in the suite `openapi`. */
const CONVENTIONS: [rule: string, keeps: (name: string, type: string, help: string) => boolean][] =
  [
    ['is in snake case below postern_', (name) => /^postern(?:_[a-z0-9]+)+$/.test(name)],
    [
      'ends in _total if it is a counter, and only then',
      (name, type) => name.endsWith('_total') === (type === 'counter'),
    ],
    ['has no name that a histogram makes', (name) => !/_(?:count|sum|bucket|info)$/.test(name)],
    ['has no type in its name', (name) => !/_(?:counter|gauge|histogram|summary)\b/.test(name)],
    ['has its unit at its end', (name) => !/_(?:seconds|bytes)_(?!total$)/.test(name)],
    [
      'has a base unit, spelt out',
      (name) =>
        !/_(?:ms|msec|milliseconds|us|microseconds|minutes|hours|days|kb|mb|kilobytes|megabytes|sec|secs|pct|percent)(?:_|$)/.test(
          name,
        ),
    ],
    [
      'has a help that begins as a sentence and has no full stop',
      (_name, _type, help) => /^[A-Z0-9].*[^.]$/.test(help),
    ],
  ]

test.for(CONVENTIONS)('each metric of a scrape %s', ([, keeps]) => {
  const bad = [...scrape.metrics].filter(([name, { type, help }]) => !keeps(name, type, help))
  expect(bad).toEqual([])
})
