import { useQuery } from '@tanstack/react-query'
import { Link, Navigate, useNavigate, useSearch } from '@tanstack/react-router'

import { read, type Schemas } from '../../api/client.ts'
import { Bars, type Bar } from '../../parts/charts/bars.tsx'
import { LatencyLines } from '../../parts/charts/latency-lines.tsx'
import { Loaded } from '../../parts/states.tsx'
import { timeText } from '../../parts/words/time.tsx'
import { RANGES, type Range } from '../../routes/values.ts'
import { useProject } from '../../shell/project.tsx'
import { Attention } from './attention.tsx'
import { Figures } from './figures.tsx'
import { useCounts } from './queries.ts'
import { bucketMs, SPANS } from './range.ts'
import { Talkers } from './talkers.tsx'

type Bucket = Schemas['DashboardBucket']

export function Overview() {
  const { range = '24h' } = useSearch({ from: '/inside/p/$projectId/' })
  const { api, projectId } = useProject()
  const counts = useCounts(range)
  const presence = useQuery({
    queryKey: [projectId, 'has-any'],
    queryFn: () => read(api.GET('/events/has-any')),
    refetchOnMount: 'always',
  })
  // An answer of an earlier visit may be from before the first event.
  if (presence.isFetchedAfterMount && presence.data?.hasAny === false) {
    return <Navigate to="/p/$projectId/start" params={{ projectId }} replace />
  }
  return (
    <>
      <header>
        <h1>Overview</h1>
        <RangeChoice range={range} />
      </header>
      <Figures range={range} counts={counts.data} />
      <Attention />
      <Loaded query={counts} noun="The overview">
        {(buckets) => (
          <div className="columns">
            <section className="section">
              <h2>Outcomes</h2>
              <Outcomes buckets={buckets} range={range} />
            </section>
            <section className="section">
              <h2>Time to deliver</h2>
              <LatencyLines buckets={buckets} />
            </section>
          </div>
        )}
      </Loaded>
      <Talkers range={range} />
    </>
  )
}

function RangeChoice({ range }: { range: Range }) {
  const { projectId } = useProject()
  return (
    <nav className="buttons" aria-label="Range">
      {RANGES.map((each) => (
        <Link
          key={each}
          className="button"
          to="/p/$projectId"
          params={{ projectId }}
          search={{ range: each }}
          aria-current={each === range ? 'true' : undefined}
          replace
        >
          {each}
        </Link>
      ))}
    </nav>
  )
}

function Outcomes({ buckets, range }: { buckets: readonly Bucket[]; range: Range }) {
  const { projectId } = useProject()
  const navigate = useNavigate()
  const open = (index: number) => {
    const bucket = buckets[index]
    if (bucket === undefined) return
    const end = Date.parse(bucket.start) + bucketMs(SPANS[range].granularity)
    void navigate({
      to: '/p/$projectId/events',
      params: { projectId },
      search: { from: bucket.start, to: new Date(end).toISOString() },
    })
  }
  return (
    <Bars
      label={`Deliveries of ${SPANS[range].words}`}
      overlayName="retries"
      bars={buckets.map(barOf)}
      open={open}
    />
  )
}

function barOf({ start, deliveries, retried }: Bucket): Bar {
  return {
    label: timeText(start),
    parts: [
      { name: 'succeeded', tone: 'good', value: deliveries.succeeded },
      { name: 'failed', tone: 'bad', value: deliveries.failed },
    ],
    overlay: retried,
  }
}
