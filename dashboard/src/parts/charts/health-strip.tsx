import type { Schemas } from '../../api/client.ts'
import { counted } from '../words/numbers.ts'
import { timeText } from '../words/time.tsx'

import './health-strip.css'

type Bucket = Schemas['DashboardBucket']

/** A cell for each hour: all well, some failed, all failed, nothing. */
export function HealthStrip({ buckets }: { buckets: readonly Bucket[] }) {
  const failed = buckets.reduce((sum, { deliveries }) => sum + deliveries.failed, 0)
  const succeeded = buckets.reduce((sum, { deliveries }) => sum + deliveries.succeeded, 0)
  const said = `${counted(succeeded, 'delivery', 'deliveries')} succeeded, ${failed} failed`
  return (
    <figure className="health-strip">
      <div role="img" aria-label={said}>
        {buckets.map((bucket) => (
          <i key={bucket.start} className={kindOf(bucket)} title={titleOf(bucket)} />
        ))}
      </div>
      <figcaption className="muted">{said}</figcaption>
    </figure>
  )
}

export function kindOf({ deliveries, retried }: Bucket): string {
  if (deliveries.failed > 0) return deliveries.succeeded > 0 ? 'some' : 'bad'
  if (deliveries.succeeded > 0) return retried > 0 ? 'some' : 'good'
  return retried > 0 ? 'some' : ''
}

function titleOf({ start, deliveries, retried }: Bucket): string {
  return `${timeText(start)}: ${deliveries.succeeded} succeeded, ${deliveries.failed} failed, ${retried} retries`
}
