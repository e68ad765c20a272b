import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from './source-files.ts'

export interface DocumentedMetric {
  /** The heading that it stands below. */
  section: string
  name: string
  type: string
  labels: string[]
}

const ROW = /^\| `([a-z_]+)` *\| (counter|gauge|histogram) *\|([^|]*)\|/

/** The rows of docs/metrics.md that describe a metric. */
export function documentedMetrics(): DocumentedMetric[] {
  let section = ''
  return readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8')
    .split('\n')
    .flatMap((line) => {
      section = /^## (.*)$/.exec(line)?.[1] ?? section
      const [, name, type = '', labels = ''] = ROW.exec(line) ?? []
      if (name === undefined) return []
      const names = [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)
      return [{ section, name, type, labels: names }]
    })
}

export const AGENT_SECTION = 'The agent of a connector'
export const OPERATOR_SECTION = 'The operator'
