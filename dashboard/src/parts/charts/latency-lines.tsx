import type { Schemas } from '../../api/client.ts'
import { span } from '../words/numbers.ts'

import './latency-lines.css'

type Bucket = Schemas['DashboardBucket']

const WIDTH = 600
const HEIGHT = 140
const LINES = ['p50', 'p95', 'p99'] as const

/** Percentiles of the time from storing an event to its delivery, on a logarithmic axis: both ends can be read. */
export function LatencyLines({ buckets }: { buckets: readonly Bucket[] }) {
  const values = buckets.flatMap(({ latencyMs }) =>
    LINES.flatMap((line) => (latencyMs[line] === null ? [] : [latencyMs[line]])),
  )
  if (values.length === 0) return <p className="muted">Nothing was delivered in this range.</p>
  const highest = Math.max(10, ...values)
  const y = (ms: number) => HEIGHT - (Math.log1p(ms) / Math.log1p(highest)) * (HEIGHT - 8)
  const x = (index: number) =>
    buckets.length < 2 ? WIDTH / 2 : (index / (buckets.length - 1)) * WIDTH
  const last = buckets.findLast(({ latencyMs }) => latencyMs.p50 !== null)?.latencyMs
  const said = LINES.map(
    (line) => `${line} ${last?.[line] == null ? 'none' : span(last[line])}`,
  ).join(', ')
  return (
    <figure className="latency">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Last: ${said}`}
      >
        {LINES.map((line) => (
          <path key={line} className={line} d={pathOf(buckets, line, x, y)} />
        ))}
      </svg>
      <figcaption>
        {LINES.map((line) => (
          <span key={line}>
            <i className={line} aria-hidden="true" /> {line}{' '}
            <code>{last?.[line] == null ? 'none' : span(last[line])}</code>
          </span>
        ))}
        <span className="muted">highest {span(highest)}</span>
      </figcaption>
    </figure>
  )
}

/** A span without deliveries is a gap; one alone between gaps is a dot. */
function pathOf(
  buckets: readonly Bucket[],
  line: (typeof LINES)[number],
  x: (index: number) => number,
  y: (ms: number) => number,
): string {
  let path = ''
  let isOpen = false
  buckets.forEach(({ latencyMs }, index) => {
    const ms = latencyMs[line]
    if (ms !== null) {
      const at = `${x(index).toFixed(1)} ${y(ms).toFixed(1)}`
      path += isOpen ? `L${at}` : `M${at}h.1`
    }
    isOpen = ms !== null
  })
  return path
}
