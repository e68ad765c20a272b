import { useQuery } from '@tanstack/react-query'

import type { Schemas } from '../../api/client.ts'
import { useProject } from '../../session/project.tsx'
import { compact, counted } from '../words/numbers.ts'
import { HOUR_MS } from '../words/spans.ts'
import { StatusShape } from '../words/status.tsx'
import { kindOf } from './health-strip.tsx'

import './last-day.css'

type Bucket = Schemas['DashboardBucket']

const HOURS = 24

/** The last day of each source, destination or connection of a list, hour by hour: a single request for all rows. */
export function useLastDay(
  groupBy: 'source' | 'destination' | 'connection',
): ReadonlyMap<string, readonly Bucket[]> {
  const { api, projectId } = useProject()
  const { data } = useQuery({
    queryKey: [projectId, 'last-day', groupBy],
    queryFn: () => {
      const from = new Date(Date.now() - (HOURS - 1) * HOUR_MS).toISOString()
      return api.getDashboard({ groupBy, granularity: 'hour', from })
    },
    refetchInterval: 30_000,
    // A project with more groups than an answer may have goes without.
    retry: false,
  })
  return Map.groupBy(data?.data ?? [], ({ group }) => group ?? '')
}

/** A cell for each hour, and how many failed for good. */
export function LastDay({ buckets = [] }: { buckets: readonly Bucket[] | undefined }) {
  const failed = buckets.reduce((sum, { deliveries }) => sum + deliveries.failed, 0)
  const succeeded = buckets.reduce((sum, { deliveries }) => sum + deliveries.succeeded, 0)
  if (buckets.every((bucket) => kindOf(bucket) === ''))
    return <span className="muted">nothing</span>
  const said = `${counted(succeeded, 'delivery', 'deliveries')} succeeded, ${failed} failed`
  return (
    <span className="last-day" title={said}>
      <span className="cells" role="img" aria-label={said}>
        {buckets.map((bucket) => (
          <i key={bucket.start} className={kindOf(bucket)} />
        ))}
      </span>
      {failed > 0 && (
        <span className="mono">
          <StatusShape status="failed" /> {compact(failed)}
        </span>
      )}
    </span>
  )
}
