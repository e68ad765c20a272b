import type { Schemas } from '../../api/client.ts'
import { span } from '../words/numbers.ts'
import { Lines } from './lines.tsx'

const STROKES = { p50: 'plain', p95: 'dashed', p99: 'dotted' } as const
const NAMES = ['p50', 'p95', 'p99'] as const

/** Percentiles of the time that attempts took. */
export function LatencyLines({ buckets }: { buckets: readonly Schemas['DashboardBucket'][] }) {
  const values = buckets.flatMap(({ latencyMs }) => NAMES.map((name) => latencyMs[name] ?? 0))
  const highest = Math.max(...values)
  if (highest <= 0) return <p className="muted">Nothing was delivered in this range.</p>
  const last = buckets.findLast(({ latencyMs }) => latencyMs.p50 !== null)?.latencyMs
  const lines = NAMES.map((name) => ({
    name,
    stroke: STROKES[name],
    values: buckets.map(({ latencyMs }) => latencyMs[name]),
    highest: Math.max(10, highest),
    said: last?.[name] == null ? 'none' : span(last[name]),
  }))
  return <Lines label="Last" lines={lines} note={`highest ${span(highest)}`} />
}
